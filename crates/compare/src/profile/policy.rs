//! How kernels are read, grouped and added: one policy per tool, its fields the rows of the table of differences.
//!
//! Profilers list a collective twice, once on stream `N/A` and once on a hardware stream, with (nearly) equal start and
//! duration. Rows with an equal group key are taken for one kernel.

use super::cells::{CellRule, CellRules};
use crate::Semantics;
use perfdb_store::registry::is_collective;

/// What an `hcom_…AicpuKernel` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstTest {
    /// The ending is tested first: an AICPU row, left out.
    Aicpu,
    /// The beginning is tested first: a collective.
    Collective,
}

/// What makes two rows of collectives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKey {
    /// Whole part of the start, and type.
    StartAndType,
    /// Whole part of the start, type and shape key.
    StartTypeAndShape,
}

/// The duration of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupDuration {
    /// The largest duration of its rows; may be negative. A first one that is not a number stays.
    Largest,
    /// The largest duration of its rows, at least 0.
    LargestOrZero,
}

/// Which duration of a row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurationForm {
    /// (start + duration) − start, rounded by the spacing of doubles around the start.
    EndMinusStart,
    /// As the file has it.
    AsWritten,
}

/// When the durations of groups are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addition {
    /// At once: the first duration, then the increase whenever a larger one comes.
    AtOnce,
    /// After all other rows, groups in order of first appearance.
    AfterOtherRows,
}

/// Which rows need a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadStart {
    /// Every row with a type, AICPU rows too.
    EveryRow,
    /// Every row that is kept.
    KeptRows,
    /// Collectives only.
    Collectives,
}

/// Which rows need a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadDuration {
    /// Every row with a type, AICPU rows too.
    EveryRow,
    /// Every row that is kept.
    KeptRows,
}

/// A collective whose start is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotANumberStart {
    /// An error.
    Error,
    /// Starts at 0.
    Zero,
}

/// What becomes of a byte-order mark at the start of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrderMark {
    /// It is removed.
    Removed,
    /// It is part of the first column's name.
    PartOfFirstName,
}

/// The policy of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupingPolicy {
    /// Which test decides about an `hcom_…AicpuKernel`.
    pub first_test: FirstTest,
    /// What makes rows of collectives one kernel.
    pub group_key: GroupKey,
    /// The duration of such a kernel.
    pub group_duration: GroupDuration,
    /// Which duration of a row counts.
    pub duration_form: DurationForm,
    /// When collectives are added.
    pub addition: Addition,
    /// What becomes of a byte-order mark.
    pub byte_order_mark: ByteOrderMark,
    /// Whether a needed column that is missing is an error, or reads as 0.
    pub columns_required: bool,
    /// Which rows need a duration.
    pub read_duration: ReadDuration,
    /// Which rows need a start.
    pub read_start: ReadStart,
    /// Faults of a duration.
    pub duration_rules: CellRules,
    /// Faults of a start.
    pub start_rules: CellRules,
    /// A collective whose start is `nan`. An infinite start is an error everywhere.
    pub not_a_number_start: NotANumberStart,
    /// What a type that the record is too short for means.
    pub absent_type: CellRule,
}

impl GroupingPolicy {
    /// compute-m6.
    pub const fn m6(semantics: Semantics) -> GroupingPolicy {
        let rules = CellRules {
            absent: CellRule::Zero,
            empty: CellRule::Zero,
            whitespace: CellRule::SkipRecord,
            malformed: CellRule::SkipRecord,
        };
        GroupingPolicy {
            first_test: FirstTest::Aicpu,
            group_key: GroupKey::StartAndType,
            group_duration: GroupDuration::Largest,
            duration_form: match semantics {
                Semantics::Upstream => DurationForm::EndMinusStart,
                Semantics::Corrected => DurationForm::AsWritten,
            },
            addition: Addition::AtOnce,
            byte_order_mark: ByteOrderMark::Removed,
            columns_required: matches!(semantics, Semantics::Corrected),
            read_duration: ReadDuration::EveryRow,
            read_start: ReadStart::EveryRow,
            duration_rules: rules,
            start_rules: rules,
            not_a_number_start: NotANumberStart::Error,
            absent_type: CellRule::SkipRecord,
        }
    }

    /// generate-op-comparison.
    pub const fn operators(semantics: Semantics) -> GroupingPolicy {
        GroupingPolicy {
            first_test: FirstTest::Collective,
            group_key: GroupKey::StartAndType,
            group_duration: GroupDuration::LargestOrZero,
            duration_form: DurationForm::AsWritten,
            addition: Addition::AfterOtherRows,
            byte_order_mark: match semantics {
                Semantics::Upstream => ByteOrderMark::PartOfFirstName,
                Semantics::Corrected => ByteOrderMark::Removed,
            },
            columns_required: matches!(semantics, Semantics::Corrected),
            read_duration: ReadDuration::EveryRow,
            read_start: ReadStart::Collectives,
            duration_rules: CellRules {
                absent: CellRule::Error,
                empty: CellRule::Error,
                whitespace: CellRule::Error,
                malformed: CellRule::Error,
            },
            start_rules: CellRules {
                absent: CellRule::Error,
                empty: CellRule::Zero,
                whitespace: CellRule::Zero,
                malformed: CellRule::Zero,
            },
            not_a_number_start: NotANumberStart::Zero,
            absent_type: CellRule::Error,
        }
    }

    /// generate-per-shape-comparison.
    pub const fn shapes(semantics: Semantics) -> GroupingPolicy {
        let rules = CellRules {
            absent: CellRule::Zero,
            empty: CellRule::Zero,
            whitespace: CellRule::Error,
            malformed: CellRule::Error,
        };
        GroupingPolicy {
            first_test: FirstTest::Aicpu,
            group_key: GroupKey::StartTypeAndShape,
            group_duration: GroupDuration::LargestOrZero,
            duration_form: DurationForm::AsWritten,
            addition: Addition::AfterOtherRows,
            byte_order_mark: ByteOrderMark::Removed,
            columns_required: matches!(semantics, Semantics::Corrected),
            read_duration: ReadDuration::KeptRows,
            read_start: ReadStart::KeptRows,
            duration_rules: rules,
            start_rules: rules,
            not_a_number_start: NotANumberStart::Error,
            absent_type: CellRule::SkipRecord,
        }
    }

    /// How kernels of this (trimmed) type are counted.
    pub(crate) fn counting_of(&self, kernel_type: &str) -> Counting {
        let collective = is_collective(kernel_type);
        let aicpu = kernel_type.ends_with("AicpuKernel");
        match self.first_test {
            FirstTest::Aicpu if aicpu => Counting::LeftOut,
            FirstTest::Collective if aicpu && !collective => Counting::LeftOut,
            _ if collective => Counting::Collective,
            _ => Counting::Other,
        }
    }
}

/// How kernels of a type are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counting {
    /// An AICPU row.
    LeftOut,
    /// Counted once per group.
    Collective,
    /// Counted row by row.
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collective_on_the_aicpu() {
        let name = "hcom_allReduce_AicpuKernel";
        assert_eq!(GroupingPolicy::m6(Semantics::Upstream).counting_of(name), Counting::LeftOut);
        assert_eq!(GroupingPolicy::shapes(Semantics::Upstream).counting_of(name), Counting::LeftOut);
        assert_eq!(GroupingPolicy::operators(Semantics::Upstream).counting_of(name), Counting::Collective);
    }

    #[test]
    fn tests_are_case_sensitive() {
        for policy in [GroupingPolicy::m6(Semantics::Upstream), GroupingPolicy::operators(Semantics::Upstream)] {
            assert_eq!(policy.counting_of("HCOM_x"), Counting::Other);
            assert_eq!(policy.counting_of("allgatherAicpukernel"), Counting::Other);
            assert_eq!(policy.counting_of("AicpuKernel"), Counting::LeftOut);
        }
    }
}
