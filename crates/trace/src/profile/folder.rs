//! The profile in a folder that a profiler wrote.

use std::path::{Path, PathBuf};

use super::refused;
use crate::Error;

/// How deep profilers nest their files: `RUN_ascend_pt/PROF_…/mindstudio_profiler_output/op_summary_….csv`.
const DEPTH: usize = 3;
/// Names that a message lists.
const SHOWN: usize = 5;

/// A kind of file as messages name it, and which names it has.
type NamedKind = (&'static str, fn(&str) -> bool);

/// What is looked for, best first: a timeline has launches and steps, a table has none.
const WANTED: [NamedKind; 7] = [
    ("trace_view.json", |name| name == "trace_view.json"),
    ("kernel_details.csv", |name| name == "kernel_details.csv"),
    ("op_summary*.csv", |name| name.starts_with("op_summary") && name.ends_with(".csv")),
    ("*.sqlite", |name| name.ends_with(".sqlite")),
    ("*.rpd", |name| name.ends_with(".rpd")),
    ("*.pt.trace.json", |name| name.ends_with(".pt.trace.json") || name.ends_with(".pt.trace.json.gz")),
    ("*.json", |name| name.ends_with(".json") || name.ends_with(".json.gz")),
];

/// The profile of a folder of Ascend's profiler (`…_ascend_pt`), of nsys, or of the PyTorch profiler.
///
/// # Errors
/// When the folder cannot be read, or has none or several.
pub fn file_in(folder: &Path) -> Result<PathBuf, Error> {
    let mut files = Vec::new();
    collect(folder, DEPTH, &mut files)?;
    files.sort();
    let refused = |reason| Err(Error::Profile { path: folder.to_owned(), reason });
    for (_, fits) in WANTED {
        let found: Vec<&PathBuf> = files.iter().filter(|path| fits(&name_of(path))).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok((*one).clone()),
            several => {
                let inside = |path: &&&PathBuf| path.strip_prefix(folder).unwrap_or(path).display().to_string();
                let names: Vec<String> = several.iter().take(SHOWN).map(|path| inside(&path)).collect();
                let more = if several.len() > SHOWN { ", …" } else { "" };
                let count = several.len();
                let many = if several.iter().all(|path| name_of(path).contains(".json")) {
                    "; compare-traces --before and --after take folders of runs, --ranks one of ranks"
                } else {
                    ""
                };
                return refused(format!("holds {count} profiles, name one: {}{more}{many}", names.join(", ")));
            }
        }
    }
    let is_report = |path: &&PathBuf| refused::NSYS_REPORTS.iter().any(|end| name_of(path).ends_with(end));
    if let Some(report) = files.iter().find(is_report) {
        let reason = format!("export it first: nsys export --type sqlite {}", report.display());
        return refused(reason);
    }
    let wanted: Vec<&str> = WANTED.iter().map(|(name, _)| *name).collect();
    refused(format!("a folder without a profile: looked for {}", wanted.join(", ")))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |source| Error::Io { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() && depth > 1 {
            collect(&entry.path(), depth - 1, files)?;
        } else if !kind.is_dir() {
            files.push(entry.path());
        }
    }
    Ok(())
}
