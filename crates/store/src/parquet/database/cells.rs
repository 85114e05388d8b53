//! Cells of a table as typed columns, and back.

use crate::numeric::{ColumnKind, integer, is_counted, real};
use perfdb_files::tables::{Kind, Values};
use perfdb_pycompat::float::repr;

/// What the cells of a column are.
pub(super) fn kind<'c>(name: &str, cells: impl Iterator<Item = &'c str>) -> Kind {
    cells.fold(ColumnKind::new(name), ColumnKind::with).kind()
}

/// The cells of a column of this kind.
pub(super) fn values<'c>(kind: Kind, cells: impl Iterator<Item = &'c str>) -> Values {
    match kind {
        Kind::Integer => Values::Integer(cells.map(integer).collect()),
        Kind::Real => Values::Real(cells.map(real).collect()),
        _ => Values::Text(cells.map(|cell| Some(cell.to_owned())).collect()),
    }
}

/// Whether a cell of a file is what was written for this text.
pub(super) fn is_same(values: &Values, row: usize, text: &str) -> bool {
    match values {
        Values::Text(cells) => cells[row].as_deref().unwrap_or_default() == text,
        Values::Integer(cells) => match cells[row] {
            Some(own) => integer(text) == Some(own) || real(text) == Some(own as f64),
            None => text.trim().is_empty(),
        },
        Values::Real(cells) => match cells[row].filter(|own| !own.is_nan()) {
            Some(own) => real(text) == Some(own),
            None => text.trim().is_empty(),
        },
        Values::Truth(cells) => match cells[row] {
            Some(own) => text.eq_ignore_ascii_case(if own { "true" } else { "false" }),
            None => text.is_empty(),
        },
    }
}

/// The text of a cell. Whole numbers that an engine keeps as doubles, because some are missing, are written as whole ones where
/// `as_whole` says so.
pub(super) fn text(values: &Values, row: usize, as_whole: bool) -> String {
    match values {
        Values::Text(cells) => cells[row].clone().unwrap_or_default(),
        Values::Integer(cells) => cells[row].map(|own| own.to_string()).unwrap_or_default(),
        Values::Real(cells) => match cells[row].filter(|own| !own.is_nan()) {
            Some(own) if as_whole && own.fract() == 0.0 && own.abs() < 1e15 => format!("{own:.0}"),
            Some(own) => repr(own),
            None => String::new(),
        },
        Values::Truth(cells) => cells[row].map(|own| own.to_string()).unwrap_or_default(),
    }
}

/// Whether a column of doubles has whole numbers only, and none of a unit that is not counted.
pub(super) fn is_whole(name: &str, values: &Values) -> bool {
    matches!(values, Values::Real(cells) if is_counted(name) && cells.iter().flatten().all(|own| own.is_nan() || own.fract() == 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_the_same_as_numbers() {
        let reals = Values::Real(vec![Some(16.0), Some(5.25), None, Some(f64::NAN)]);
        assert!(
            is_same(&reals, 0, "16")
                && is_same(&reals, 1, " 5.250")
                && is_same(&reals, 2, "")
                && is_same(&reals, 3, "")
        );
        assert!(!is_same(&reals, 0, "17") && !is_same(&reals, 0, "") && !is_same(&reals, 2, "0"));
        assert_eq!([text(&reals, 0, true), text(&reals, 0, false), text(&reals, 3, true)], ["16", "16.0", ""]);
        let integers = Values::Integer(vec![Some(16)]);
        assert!(is_same(&integers, 0, "16.0") && is_same(&integers, 0, "016") && !is_same(&integers, 0, "x"));
    }
}
