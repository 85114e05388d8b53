//! What pages say about where they come from.

use perfdb_report::page::Provenance;
use std::path::Path;

/// A page of a tool that read `inputs`, each a role and a file or folder.
pub(crate) fn provenance<'p>(tool: &str, inputs: impl IntoIterator<Item = (&'p str, &'p Path)>) -> Provenance {
    Provenance::of(tool, env!("PERFDB_VERSION"), inputs)
}
