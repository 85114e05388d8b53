//! What the default report shows: one screen, and a line about what it leaves out.

use perfdb_tracediff::Overview;

use super::text::{TextOptions, layers_are_certain};
use super::wording::counted;
use crate::layout::Layout;

/// Rows of operations that are shown, where there is room for them.
pub(super) const OPERATIONS: usize = 10;
pub(super) const FEWEST_OPERATIONS: usize = 3;

/// The parts that are not shown, each with the flag that shows it.
pub(super) fn left_out(found: &Overview<'_>, options: &TextOptions, layout: Layout) -> String {
    let comparison = found.comparison;
    let kernels = comparison.metadata.trace1_kernels + comparison.metadata.trace2_kernels;
    let layers = if layers_are_certain(found.details.elapsed.as_ref()) {
        counted(comparison.layers.len() as u64, "layer", "layers")
    } else {
        "stretches that repeat".to_owned()
    };
    let parts = [
        (!options.kernels, counted(kernels, "kernel", "kernels"), " (--kernels)"),
        (!options.layers && !comparison.layers.is_empty(), layers, " (--layers)"),
        (!options.shapes && found.details.roofline.is_some(), "what limits each operator".to_owned(), " (--shapes)"),
        (
            !comparison.unknown_kernels.is_empty(),
            counted(comparison.unknown_kernels.len() as u64, "unknown kernel", "unknown kernels"),
            "",
        ),
    ];
    let named: Vec<String> = parts
        .into_iter()
        .filter(|(is_left_out, text, _)| *is_left_out && !text.starts_with("0 "))
        .map(|(_, text, flag)| text + flag)
        .collect();
    let list = if named.is_empty() { String::new() } else { format!("{}; ", named.join(", ")) };
    layout.wrapped_lines(&format!("\nNot shown: {list}--all shows everything, -o FILE.html or .json keeps it\n"))
}
