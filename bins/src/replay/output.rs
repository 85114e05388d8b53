//! Files that a run writes on request.

use std::path::{Path, PathBuf};

use perfdb_files::replace::Staged;
use perfdb_replay::accelerators::{Visibility, visible};
use perfdb_replay::backend::Backend;
use perfdb_replay::session::{Event, RunFiles, RunReport};
use serde::Serialize;

use super::{OutputArguments, stopped};
use crate::Failure;
use crate::json_file::JsonFile;

/// The files that a run writes on request. They are opened first, so that one that cannot be written is reported before
/// anything is measured.
pub struct ReportFiles {
    results: Option<JsonFile>,
    dumps: Option<JsonFile>,
}

impl ReportFiles {
    /// Opens the files that were asked for. The run makes the folder `output`.
    pub fn open(arguments: &OutputArguments, output: &Path) -> Result<ReportFiles, Failure> {
        let open = |path: &Option<PathBuf>| JsonFile::open_for(path.as_ref().map(|path| path.as_os_str()), output);
        Ok(ReportFiles { results: open(&arguments.results)?, dumps: open(&arguments.dump_outputs)? })
    }

    /// Refuses files that the run reads.
    pub fn refuse_inputs<'a>(&self, inputs: impl Iterator<Item = &'a PathBuf>) -> Result<(), Failure> {
        let outputs = self.results.iter().chain(&self.dumps).map(JsonFile::path);
        Ok(perfdb_files::replace::refuse_inputs(outputs, inputs.map(PathBuf::as_path))?)
    }

    /// Writes what a run has given, together with its own files: all of it or nothing.
    pub fn write(self, report: &mut RunReport, notify: &(dyn Fn(Event<'_>) + Sync)) -> Result<(), Failure> {
        let mut files = std::mem::take(&mut report.files);
        self.stage(&report.results, &report.dumps)?.into_iter().for_each(|staged| files.add(staged));
        files.commit(notify).map_err(stopped)
    }

    /// Writes the files of several runs, together with their joined results and dumped outputs: all of it or nothing.
    pub fn write_parts(
        self,
        mut files: RunFiles,
        results: &impl Serialize,
        dumps: &[impl Serialize],
    ) -> Result<(), Failure> {
        self.stage(results, dumps)?.into_iter().for_each(|staged| files.add(staged));
        files.commit(&|_| {}).map_err(stopped)
    }

    /// Stages results and dumped outputs; the latter one object per line.
    fn stage(self, results: &impl Serialize, dumps: &[impl Serialize]) -> Result<Vec<Staged>, Failure> {
        let mut staged = Vec::new();
        if let Some(file) = self.results {
            staged.push(file.stage(results)?);
        }
        if let Some(file) = self.dumps {
            let lines = dumps.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
            staged.push(file.stage_text(&format!("[{}]\n", lines.join(",\n")))?);
        }
        Ok(staged)
    }
}

/// Warns that the host is measured, where accelerators are there and nobody has chosen a backend.
pub fn warn_of_host(visibility: &Visibility) {
    let accelerators = visible(Backend::Npu, visibility).len();
    if accelerators > 0 {
        crate::warn(&format!(
            "the host's CPU is measured although {accelerators} accelerator(s) are visible; --backend npu measures them"
        ));
    }
}
