//! What is known about kernels stands in the registry of perfdb-store: no other source names one, but tests and the operators that are replayed.

use perfdb_store::registry::{REPLAYABLE, is_collective, parts};
use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where kernels may be named: the registry, the operators that are replayed, and the worlds of tests.
const HOMES: [&str; 3] = ["crates/store/src/registry", "crates/replay/", "crates/harness/"];

/// How the names of collectives begin; that alone is not a name.
const PREFIX: &str = "hcom_";

/// Every line of a source that names a kernel outside of the registry.
pub(crate) fn found(root: &Path) -> Result<Vec<String>, String> {
    let word = Regex::new(r"\w+").map_err(|error| error.to_string())?;
    let text_of_source = Regex::new(r#""(?:[^"\\]|\\.)*""#).map_err(|error| error.to_string())?;
    let names: BTreeSet<&str> =
        REPLAYABLE.into_iter().chain([parts::DISPATCH_FFN_COMBINE]).filter(|name| !is_ordinary(name)).collect();
    let mut files = Vec::new();
    for entry in folder(&root.join("crates"))? {
        collect(&entry.join("src"), &mut files)?;
    }
    files.sort();
    if names.len() < 20 || files.len() < 100 {
        return Err(format!("{} names, {} files: too few to check anything", names.len(), files.len()));
    }
    let mut found = Vec::new();
    for path in files {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if HOMES.iter().any(|home| name.starts_with(home)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let is_source = name.ends_with(".rs");
        let mut is_example = false;
        for (number, line) in (1..).zip(text.lines()) {
            let bare = line.trim_start();
            if is_source && bare == "mod tests {" {
                break;
            }
            let is_comment = is_source && bare.starts_with("//");
            if is_comment && bare.trim_start_matches(['/', '!', ' ']).starts_with("```") {
                is_example = !is_example;
            }
            // Examples of documentation are tests.
            let texts: Vec<&str> = match (is_comment, is_source) {
                (true, _) if is_example => Vec::new(),
                (false, true) => text_of_source.find_iter(line).map(|text| text.as_str()).collect(),
                _ => vec![line],
            };
            let mut words = texts.iter().flat_map(|text| word.find_iter(text)).map(|word| word.as_str());
            let is_kernel = |word: &&str| names.contains(word) || (is_collective(word) && *word != PREFIX);
            if let Some(kernel) = words.find(is_kernel) {
                found.push(format!("{name}:{number}: {kernel} belongs into the registry of perfdb-store"));
            }
        }
    }
    Ok(found)
}

/// Whether a name is also a word of other things: `Add`, `Slice`.
fn is_ordinary(name: &str) -> bool {
    !name.contains('_') && name.chars().filter(char::is_ascii_uppercase).count() < 2
}

fn folder(path: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(|error| error.to_string())).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in folder(path)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_test = ["tests", "snapshots"].contains(&name.as_str()) || name.ends_with("tests.rs");
        if is_test {
            continue;
        }
        if entry.is_dir() {
            collect(&entry, files)?;
        } else if [".rs", ".yaml", ".json", ".toml"].iter().any(|ending| name.ends_with(ending)) {
            files.push(entry);
        }
    }
    Ok(())
}
