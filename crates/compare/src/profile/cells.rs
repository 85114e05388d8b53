//! Number cells and their faults.

use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;

/// What a faulty cell means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellRule {
    /// It reads as 0.
    Zero,
    /// The record does not count.
    SkipRecord,
    /// The file is refused.
    Error,
}

/// What the faults of a number cell mean. A column that is not in the header at all reads as 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellRules {
    /// The record is too short.
    pub absent: CellRule,
    /// Nothing stands in the cell.
    pub empty: CellRule,
    /// Only whitespace stands in the cell.
    pub whitespace: CellRule,
    /// Something else than a number stands in the cell.
    pub malformed: CellRule,
}

/// What a number cell came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    SkipRecord,
    Fault(CellFault),
}

/// Why a number cell is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellFault {
    Absent,
    Empty,
    Malformed,
}

impl CellRules {
    /// Reads a cell; `None` is an absent one.
    pub(crate) fn read(&self, cell: Option<&str>) -> Cell {
        let (rule, fault) = match cell {
            None => (self.absent, CellFault::Absent),
            Some("") => (self.empty, CellFault::Empty),
            Some(text) => match parse_float(text) {
                Some(number) => return Cell::Number(number),
                None if trim(text).is_empty() => (self.whitespace, CellFault::Empty),
                None => (self.malformed, CellFault::Malformed),
            },
        };
        match rule {
            CellRule::Zero => Cell::Number(0.0),
            CellRule::SkipRecord => Cell::SkipRecord,
            CellRule::Error => Cell::Fault(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Semantics;
    use crate::profile::GroupingPolicy;

    const CELLS: [Option<&str>; 5] = [None, Some(""), Some(" \t"), Some("1,5"), Some("0x10")];

    fn all(rules: CellRules) -> Vec<Cell> {
        CELLS.iter().map(|cell| rules.read(*cell)).collect()
    }

    #[test]
    fn m6_reads_gaps_as_zero_and_skips_what_is_no_number() {
        let policy = GroupingPolicy::m6(Semantics::Upstream);
        let expected = [Cell::Number(0.0), Cell::Number(0.0), Cell::SkipRecord, Cell::SkipRecord, Cell::SkipRecord];
        assert_eq!(all(policy.duration_rules), expected);
        assert_eq!(all(policy.start_rules), expected);
    }

    #[test]
    fn per_operator_every_fault_of_a_duration_is_an_error() {
        use CellFault::{Absent, Empty, Malformed};
        let policy = GroupingPolicy::operators(Semantics::Upstream);
        assert_eq!(all(policy.duration_rules), [Absent, Empty, Empty, Malformed, Malformed].map(Cell::Fault));
        let zero = Cell::Number(0.0);
        assert_eq!(all(policy.start_rules), [Cell::Fault(Absent), zero, zero, zero, zero]);
    }

    #[test]
    fn per_shape_gaps_are_zero_and_the_rest_is_an_error() {
        use CellFault::{Empty, Malformed};
        let policy = GroupingPolicy::shapes(Semantics::Upstream);
        let zero = Cell::Number(0.0);
        let expected = [zero, zero, Cell::Fault(Empty), Cell::Fault(Malformed), Cell::Fault(Malformed)];
        assert_eq!(all(policy.duration_rules), expected);
        assert_eq!(all(policy.start_rules), expected);
    }

    #[test]
    fn start_times_of_profilers_end_in_a_tab() {
        let rules = GroupingPolicy::operators(Semantics::Upstream).start_rules;
        assert_eq!(rules.read(Some("1742968801234567.123\t")), Cell::Number(1742968801234567.123));
    }
}
