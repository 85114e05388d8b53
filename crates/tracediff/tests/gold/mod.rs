//! Real traces with tables of another tool.

use std::path::{Path, PathBuf};

/// Each trace with the folder of its tables; nothing where they are not there.
pub(crate) fn traces() -> Option<Vec<(PathBuf, PathBuf)>> {
    let data = std::env::var_os("PERFDB_GOLDEN_DATA").map(PathBuf::from);
    let data = data.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    let gold = data.join("gpu-traces/gold");
    if !gold.is_dir() {
        eprintln!("skipped: real traces with reference tables are not there (PERFDB_GOLDEN_DATA)");
        return None;
    }
    let of_pair = |folder: PathBuf| {
        [1, 2].map(|number| (folder.join(format!("trace{number}.json")), folder.join(format!("reference{number}"))))
    };
    let pairs = folders(&gold.join("comparative")).into_iter().flat_map(of_pair);
    let single = folders(&gold.join("operators")).into_iter().map(|folder| (folder.join("trace.json"), folder));
    Some(pairs.chain(single).collect())
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect()
}
