//! The operations of a comparison as the rows of its tables, in any form.

use perfdb_tracediff::{Comparison, Confidence, OperationRow, Status, UnmatchedOperation, Verdict};

use super::confidence::of_operation;

/// An operation of both traces or of one. Infinite ratios are infinite; of two values the first is trace 1's.
pub(crate) struct Operation<'d> {
    pub(crate) name: &'d str,
    pub(crate) counts: [u64; 2],
    pub(crate) averages_us: [Option<f64>; 2],
    pub(crate) totals_ms: [f64; 2],
    /// Trace 2 by trace 1, as are the next two.
    pub(crate) ratio: f64,
    pub(crate) average_ratio: Option<f64>,
    pub(crate) difference_ms: f64,
    pub(crate) status: Status,
    pub(crate) kernels: [Option<&'d str>; 2],
    pub(crate) host_operators: [Option<&'d str>; 2],
    pub(crate) phases: &'d [&'static str],
    /// The confidence of the difference, where it was wanted and both traces have the operation.
    pub(crate) verdict: Option<&'d Verdict>,
}

impl<'d> Operation<'d> {
    /// The operations, those of one trace last.
    pub(crate) fn all(comparison: &'d Comparison, confidence: Option<&'d Confidence>) -> Vec<Operation<'d>> {
        let verdict = |row: &OperationRow| of_operation(confidence?, &row.operation);
        let matched =
            comparison.operations.iter().map(|row| Operation { verdict: verdict(row), ..Operation::matched(row) });
        matched.chain(comparison.unmatched_operations.iter().map(Operation::unmatched)).collect()
    }

    /// Where the true ratio lies, if somebody can say.
    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        self.verdict?.interval
    }

    fn matched(row: &'d OperationRow) -> Operation<'d> {
        Operation {
            name: &row.operation,
            counts: [row.trace1_count, row.trace2_count],
            averages_us: [Some(row.trace1_avg_us), Some(row.trace2_avg_us)],
            totals_ms: [row.trace1_total_ms, row.trace2_total_ms],
            ratio: row.trace2_over_trace1.unwrap_or(f64::INFINITY),
            average_ratio: Some(row.avg_trace2_over_trace1.unwrap_or(f64::INFINITY)),
            difference_ms: row.difference_ms,
            status: row.status,
            kernels: [Some(&row.trace1_kernel), Some(&row.trace2_kernel)],
            host_operators: [row.trace1_cpu_op.as_deref(), row.trace2_cpu_op.as_deref()],
            phases: &row.phases,
            verdict: None,
        }
    }

    /// No ratio of it is finite and none of its averages is known.
    fn unmatched(row: &'d UnmatchedOperation) -> Operation<'d> {
        fn one<T>(is_first: bool, value: T, other: T) -> [T; 2] {
            if is_first { [value, other] } else { [other, value] }
        }
        let is_first = row.trace == 1;
        Operation {
            name: &row.operation,
            counts: one(is_first, row.count, 0),
            averages_us: one(is_first, Some(row.avg_us), None),
            totals_ms: one(is_first, row.total_ms, 0.0),
            ratio: if is_first { 0.0 } else { f64::INFINITY },
            average_ratio: None,
            difference_ms: if is_first { -row.total_ms } else { row.total_ms },
            status: if is_first { Status::Trace1Only } else { Status::Trace2Only },
            kernels: one(is_first, Some(&row.kernel), None),
            host_operators: one(is_first, row.cpu_op.as_deref(), None),
            phases: &row.phases,
            verdict: None,
        }
    }
}
