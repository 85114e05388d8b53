//! Words, numbers and names as all parts of the text report write them.

use perfdb_files::escape::for_terminal;
use perfdb_pycompat::format::fixed;
use perfdb_tracediff::Basis;

use crate::layout::{Column, Layout};

/// Characters of an operation's name, and of a kernel's beside it, in a report that goes into a file.
pub(super) const OPERATION: usize = 25;
pub(super) const KERNEL: usize = 60;

/// Adds a part of the report that has names but no colours.
pub(crate) fn escaped(out: &mut String, layout: Layout, write: impl FnOnce(&mut String)) {
    let mut part = String::new();
    write(&mut part);
    out.push_str(&layout.wrapped_lines(&for_terminal(&part)));
}

/// ` per forward pass`, ` per step` or nothing.
pub(super) fn per(basis: Basis) -> &'static str {
    match basis {
        Basis::Pass => " per forward pass",
        Basis::Step => " per step",
        Basis::Whole => "",
    }
}

/// `part` of `whole`; nothing of nothing.
pub(super) fn part(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The names of operations: in a report that goes into a file they are cut.
pub(super) fn operation_column() -> Column {
    Column::name("operation").at_least(26)
}

/// A number of things.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A ratio with three decimals; `inf` if there is none.
pub(super) fn ratio(ratio: Option<f64>) -> String {
    fixed(ratio.unwrap_or(f64::INFINITY), 3)
}

/// A number as C's `%g` writes it: six significant digits, no trailing zeros.
pub(super) fn general(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return fixed(number, 0);
    }
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..6).contains(&power) {
        return trimmed(&fixed(number, (5 - power) as usize));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), power.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_c_writes_them() {
        for (number, expected) in [
            (5.0, "5"),
            (1.25, "1.25"),
            (0.0, "0"),
            (0.1, "0.1"),
            (123456.0, "123456"),
            (1234567.0, "1.23457e+06"),
            (999999.5, "1e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(general(number), expected);
        }
    }
}
