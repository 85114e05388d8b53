//! The tables of a database that density is asked of.

use super::axes::Kernel;
use super::buckets::{Bucket, buckets};
use super::rows::{PlacedTable, read};
use crate::coverage::Error;
use perfdb_grid::rules::RuleFile;
use perfdb_store::directory::tables_in;
use std::path::Path;

/// A table of a database with its buckets.
pub(super) struct Judgeable<'r> {
    pub(super) kernel_type: String,
    pub(super) kernel: Kernel<'r>,
    pub(super) placed: PlacedTable,
    pub(super) buckets: Vec<Bucket>,
}

/// The tables of a database that a rule knows, by name.
pub(super) fn tables<'r>(directory: &Path, rules: &'r RuleFile) -> Result<Vec<Judgeable<'r>>, Error> {
    let mut all = Vec::new();
    for path in tables_in(directory)? {
        let kernel_type = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let Some(kernel) = Kernel::of(&kernel_type, rules) else { continue };
        let placed = read(&path, &kernel)?;
        let buckets = buckets(&kernel, &placed);
        all.push(Judgeable { kernel_type, kernel, placed, buckets });
    }
    Ok(all)
}
