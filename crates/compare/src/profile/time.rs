//! Times as sums and as the order of kernels need them, from one reading of a cell.

use super::cells::{Cell, CellFault, CellRules};
use crate::picoseconds::{of_decimal_us, parse_us};
use perfdb_pycompat::number::Decimal;

/// A start or a duration.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Time {
    /// In microseconds, as Python reads it.
    pub(super) us: f64,
    /// In picoseconds; `None` where the cell holds no finite number.
    pub(super) ps: Option<i128>,
}

impl Time {
    /// Reads a cell under rules about its faults; `None` for one whose record does not count.
    #[inline]
    pub(super) fn read(cell: Option<&str>, rules: &CellRules) -> Result<Option<Time>, CellFault> {
        match Time::plain(cell.unwrap_or_default()) {
            Some(time) => Ok(Some(time)),
            None => Time::unusual(cell, rules),
        }
    }

    #[inline]
    fn plain(text: &str) -> Option<Time> {
        let decimal = Decimal::parse(text)?;
        Some(Time { us: decimal.to_float()?, ps: Some(of_decimal_us(decimal)?) })
    }

    #[cold]
    fn unusual(cell: Option<&str>, rules: &CellRules) -> Result<Option<Time>, CellFault> {
        match rules.read(cell) {
            Cell::Number(us) => Ok(Some(Time { us, ps: cell.and_then(parse_us) })),
            Cell::SkipRecord => Ok(None),
            Cell::Fault(fault) => Err(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Semantics;
    use crate::profile::GroupingPolicy;

    #[test]
    fn both_forms_come_from_one_cell() {
        let rules = GroupingPolicy::m6(Semantics::Upstream).duration_rules;
        let read = |cell: Option<&str>| Time::read(cell, &rules).unwrap();
        for (text, us, ps) in [
            ("12.5", 12.5, Some(12_500_000)),
            ("12.5\t", 12.5, Some(12_500_000)),
            (" 1e1", 10.0, Some(10_000_000)),
            ("0.0000025", 0.0000025, Some(2)),
            ("-3", -3.0, Some(-3_000_000)),
            ("inf", f64::INFINITY, None),
        ] {
            assert_eq!(read(Some(text)), Some(Time { us, ps }), "{text}");
        }
        assert_eq!([read(None), read(Some(""))], [Some(Time::default()); 2]);
        assert_eq!(read(Some("x")), None);
    }
}
