//! What changed between two databases, and what merging did: texts for people, JSON and CSV for programs.

mod csv;
mod headline;
mod json;
mod listing;
mod merge;
mod text;

pub(crate) use csv::other_metadata;
pub use csv::{csv_header, csv_rows};
pub use headline::headline;
pub use json::{closing, opening, table};
pub use listing::{Listed, Listing};
pub use merge::{conflict_csv, merge_document, merge_text};
pub use text::text;

use crate::layout::Layout;
use perfdb_audit::versions::Place;
use perfdb_audit::versions::diff::Diff;
use perfdb_audit::versions::workload::WorkloadDiff;
use perfdb_files::escape::{excerpt, one_line};
use perfdb_pycompat::format::fixed;

/// Two databases and what was found between them.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'c> {
    /// The first database.
    pub a: &'c Place,
    /// The second database.
    pub b: &'c Place,
    /// What was found.
    pub diff: &'c Diff,
    /// What it does to forward passes.
    pub workloads: &'c [WorkloadDiff],
    /// Up to this part more or less a duration is the same.
    pub tolerance: f64,
}

/// A case in a text: whole where a layout shortens lines itself or is to show all, else its beginning.
fn case_text(case: &str, layout: Layout) -> String {
    if layout.is_whole || layout.columns.is_some() { one_line(case) } else { excerpt(case) }
}

/// How much a ratio is above or below 1: `+4.2 %`.
pub(crate) fn change(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    let text = percents(percent, 1);
    match text.as_str() {
        "-0.0" | "0.0" => "0.0 %".to_owned(),
        _ if percent > 0.0 => format!("+{text} %"),
        _ => format!("{text} %"),
    }
}

/// A number of percents with this many digits behind the point; of one that no two kernels differ by, its size.
pub fn percents(percent: f64, digits: usize) -> String {
    match percent.abs() {
        far if far < 1e6 => fixed(percent, digits),
        far if far < f64::INFINITY => format!("{percent:.1e}"),
        _ => format!("over {:.0e}", f64::MAX),
    }
}

/// The same in words: `4.2 % slower`.
pub(crate) fn change_in_words(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0).abs();
    let text = percents(percent, if percent < 10.0 { 1 } else { 0 });
    match (text.as_str(), ratio > 1.0) {
        ("0.0", _) => "equally fast".to_owned(),
        (_, true) => format!("{text} % slower"),
        (_, false) => format!("{text} % faster"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_a_sign_or_a_word() {
        assert_eq!([change(1.042), change(0.9), change(0.9999)], ["+4.2 %", "-10.0 %", "0.0 %"]);
        let words = [1.042, 0.88, 1.0001].map(change_in_words);
        assert_eq!(words, ["4.2 % slower", "12 % faster", "equally fast"]);
        let absurd = [2e299, f64::INFINITY].map(change_in_words);
        assert_eq!(absurd, ["2.0e301 % slower", "over 2e308 % slower"]);
    }
}
