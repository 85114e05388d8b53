//! Files that a run writes on request.

use std::path::{Path, PathBuf};

use perfdb_replay::accelerators::{Visibility, visible};
use perfdb_replay::backend::Backend;
use perfdb_replay::session::RunReport;
use serde::Serialize;

use super::OutputArguments;
use crate::Failure;
use crate::json_file::JsonFile;

/// The files that a run writes on request. They are opened first, so that one that cannot be written is told before
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
    pub fn refuse_inputs<'a>(&self, inputs: impl Iterator<Item = &'a PathBuf> + Clone) -> Result<(), Failure> {
        for file in self.results.iter().chain(&self.dumps) {
            perfdb_files::replace::refuse_inputs(file.path(), inputs.clone().map(PathBuf::as_path))?;
        }
        Ok(())
    }

    /// Writes what a run has given.
    pub fn write(self, report: &RunReport) -> Result<(), Failure> {
        self.write_parts(&report.results, &report.dumps)
    }

    /// Writes results and dumped outputs; the latter one object per line.
    pub fn write_parts(self, results: &impl Serialize, dumps: &[impl Serialize]) -> Result<(), Failure> {
        if let Some(file) = self.results {
            file.write(results)?;
        }
        if let Some(file) = self.dumps {
            let lines = dumps.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
            file.write_text(&format!("[{}]\n", lines.join(",\n")))?;
        }
        Ok(())
    }
}

/// Says that the host is measured, where accelerators are there and nobody has chosen a backend.
pub fn warn_of_host(visibility: &Visibility) {
    let accelerators = visible(Backend::Npu, visibility).len();
    if accelerators > 0 {
        crate::warn(&format!(
            "the host's CPU is measured although {accelerators} accelerator(s) are visible; --backend npu measures them"
        ));
    }
}
