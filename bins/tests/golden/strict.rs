//! Whether what tools write as JSON is JSON: RFC 8259 has neither `Infinity` nor `NaN`, and many readers stop at them.

use serde_json::{Deserializer, Value};
use std::fs;
use std::io;
use std::path::Path;

/// Files that hold a number which is none: case, file, and why it stays.
const EXCEPTIONS: [(&str, &str, &str); 1] = [(
    "generate-op-comparison/mapping-nested-corrected",
    "op.json",
    "a drop-in file: its original writes `Infinity` for the error of an operator that was predicted and not measured",
)];

/// What is called JSON, or looks like it, and cannot be read as such: on stdout, and in files that were written below `work`, a copy of
/// the folder of the case.
pub(crate) fn faults(case: &str, work: &Path, folder: &Path, stdout: &[u8]) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    if [&b"{"[..], b"[\n", b"[{"].iter().any(|begin| stdout.trim_ascii_start().starts_with(begin)) {
        found.extend(fault(stdout).map(|error| format!("stdout is not JSON: {error}")));
    }
    files(case, work, folder, Path::new(""), &mut found)?;
    Ok(found)
}

fn files(case: &str, work: &Path, folder: &Path, below: &Path, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(work.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files(case, work, folder, &path, found)?;
        }
        let is_json = path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl");
        if !kind.is_file() || !is_json {
            continue;
        }
        let text = fs::read(entry.path())?;
        // What was there before may be as damaged as the case wants it.
        if fs::read(folder.join(&path)).is_ok_and(|before| before == text) {
            continue;
        }
        let name = path.display().to_string();
        let is_exception = EXCEPTIONS.iter().any(|(of, file, _)| (*of, *file) == (case, name.as_str()));
        match fault(&text) {
            Some(error) if !is_exception => found.push(format!("{name} is not JSON: {error}")),
            None if is_exception => found.push(format!("{name} is JSON: it needs no exception")),
            _ => {}
        }
    }
    Ok(())
}

/// The first thing that cannot be read, of one document or several.
fn fault(text: &[u8]) -> Option<serde_json::Error> {
    Deserializer::from_slice(text).into_iter::<Value>().find_map(Result::err)
}
