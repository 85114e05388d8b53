//! What pages say about where they come from.

use perfdb_page::{Input, Provenance};
use std::path::Path;

/// A page of a tool that read `inputs`, each a role and a file or folder.
pub(crate) fn provenance<'p>(tool: &str, inputs: impl IntoIterator<Item = (&'p str, &'p Path)>) -> Provenance {
    let input = |(role, path): (&str, &Path)| Input {
        role: role.to_owned(),
        path: path.to_string_lossy().into_owned(),
        size_bytes: std::fs::metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len()),
    };
    Provenance {
        tool: tool.to_owned(),
        version: env!("PERFDB_VERSION").to_owned(),
        inputs: inputs.into_iter().map(input).collect(),
    }
}
