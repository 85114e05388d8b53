//! Tables that a version takes from another one: `reuse.yaml` beside the tables.

use crate::parquet::error::Error;
use perfdb_files::paths::parent_of;
use perfdb_files::walk::walk;
use perfdb_pycompat::yaml::{self, Node};
use std::path::{Path, PathBuf};

/// What stands in for a table that a version does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reuse {
    /// Where the table would stand.
    pub(super) place: PathBuf,
    /// The table of the other version.
    pub(super) donor: PathBuf,
}

/// Versions of versions that are followed.
const MOST_STEPS: usize = 8;

/// All reused tables below a folder, and those whose donor is not there.
pub(super) fn reused_below(folder: &Path) -> Result<(Vec<Reuse>, Vec<String>), Error> {
    let mut files = Vec::new();
    walk(
        folder,
        |_| true,
        |entry| {
            if entry.name == "reuse.yaml" && !entry.is_folder {
                files.push(folder.join(entry.below));
            }
        },
    )?;
    files.sort();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for file in &files {
        let own = parent_of(file);
        for (table, version) in entries(file)? {
            if table_at(&own, &table).is_some() {
                continue;
            }
            match donor(&own, &table, &version, MOST_STEPS)? {
                Some(donor) => found.push(Reuse { place: own.join(format!("{table}.parquet")), donor }),
                None => missing.push(format!("{}: {table} of {version}", file.display())),
            }
        }
    }
    Ok((found, missing))
}

/// A table in a folder, in either form.
fn table_at(folder: &Path, table: &str) -> Option<PathBuf> {
    ["parquet", "txt"].map(|ending| folder.join(format!("{table}.{ending}"))).into_iter().find(|path| path.is_file())
}

/// The table of another version, or that which the other version takes itself.
fn donor(folder: &Path, table: &str, version: &str, steps: usize) -> Result<Option<PathBuf>, Error> {
    let other = parent_of(folder).join(version);
    if let Some(found) = table_at(&other, table) {
        return Ok(Some(found));
    }
    let file = other.join("reuse.yaml");
    if steps == 0 || !file.is_file() {
        return Ok(None);
    }
    match entries(&file)?.into_iter().find(|(own, _)| own == table) {
        Some((_, next)) => donor(&other, table, &next, steps - 1),
        None => Ok(None),
    }
}

/// Tables and the versions that they come from.
fn entries(file: &Path) -> Result<Vec<(String, String)>, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| Error::unfit(file, error.to_string()))?;
    let root = yaml::parse(&text).map_err(|error| Error::unfit(file, error.to_string()))?;
    let list = root.as_map().and_then(|map| map.get("reuse")).and_then(Node::as_list).unwrap_or_default();
    let entry = |node: &Node| {
        let map = node.as_map()?;
        // Versions such as 0.24 are numbers to YAML.
        let text = |key: &str| map.get(key).map(|node| node.as_text().map_or_else(|| plain(node), str::to_owned));
        Some((text("table")?, text("from_version")?))
    };
    list.iter()
        .map(|node| entry(node).ok_or_else(|| Error::unfit(file, "an entry lacks table or from_version")))
        .collect()
}

fn plain(node: &Node) -> String {
    match node {
        Node::Integer(number) => number.to_string(),
        Node::Float(number) => format!("{number:?}"),
        _ => String::new(),
    }
}
