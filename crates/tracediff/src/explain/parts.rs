//! The difference of two traces, split into parts that sum to it exactly.
//!
//! Every family of operations has its difference of own time, which is what its groups differ by, and what ran at the same time
//! as something else. Per group, with n calls of a mean time t: `n2·t2 − n1·t1 = (n2 − n1)·(t1 + t2)/2 + (t2 − t1)·(n1 + n2)/2`,
//! more or fewer calls and slower or faster ones. What is not computation comes from the parts of elapsed time. All numbers
//! are per pass, in whole picoseconds.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::elapsed::{ElapsedReport, WaterfallKind};
use crate::family::Family;
use crate::groups::GroupRow;
use crate::steps::Basis;
use crate::time::{Picoseconds, milliseconds};

/// What the difference of two traces consists of: trace 2 less trace 1, per pass, in ms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// What the times are divided by.
    pub basis: Basis,
    /// Elapsed time of trace 1.
    pub trace1_elapsed_ms: f64,
    /// Elapsed time of trace 2.
    pub trace2_elapsed_ms: f64,
    /// Their difference: the sum of all parts.
    pub elapsed_ms: f64,
    /// The parts over all families.
    pub parts: Parts,
    /// The parts in percent of the elapsed time of trace 1; `None` if that is 0.
    pub shares_percent: Option<Parts>,
    /// Per family, by |difference| descending, then name. Their differences, exposed copies, host late and device idle sum to
    /// `elapsed_ms`.
    pub families: Vec<FamilyDifference>,
}

/// Parts of a difference, in ms (or in percent).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Parts {
    /// More or fewer calls.
    pub calls: f64,
    /// Slower or faster calls of as many kernels.
    pub speed: f64,
    /// Calls that take more or fewer kernels.
    pub fusion: f64,
    /// Work that one trace alone has.
    pub one_sided: f64,
    /// Kernels that run while others do, or outside of the compared passes.
    pub overlap: f64,
    /// Copies with no kernel beside them.
    pub exposed_copies: f64,
    /// Nothing runs because the host launched late.
    pub host_late: f64,
    /// Nothing runs for another reason.
    pub device_idle: f64,
}

impl Parts {
    /// Names and values, in order.
    pub fn named(&self) -> [(&'static str, f64); 8] {
        [
            ("calls", self.calls),
            ("speed", self.speed),
            ("fusion", self.fusion),
            ("one_sided", self.one_sided),
            ("overlap", self.overlap),
            ("exposed_copies", self.exposed_copies),
            ("host_late", self.host_late),
            ("device_idle", self.device_idle),
        ]
    }

    fn from_array(
        [calls, speed, fusion, one_sided, overlap, exposed_copies, host_late, device_idle]: [f64; 8],
    ) -> Parts {
        Parts { calls, speed, fusion, one_sided, overlap, exposed_copies, host_late, device_idle }
    }
}

/// What the difference of one family consists of, ms per pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyDifference {
    /// Family.
    pub family: String,
    /// Own time in trace 1; of what communicates, the time with no computation beside it.
    pub trace1_ms: f64,
    /// The same in trace 2.
    pub trace2_ms: f64,
    /// Their difference: the sum of the parts.
    pub difference_ms: f64,
    /// More or fewer calls.
    pub calls_ms: f64,
    /// Slower or faster calls.
    pub speed_ms: f64,
    /// Calls that take more or fewer kernels.
    pub fusion_ms: f64,
    /// Only one trace has it.
    pub one_sided_ms: f64,
    /// Kernels that run while others do, or outside of the compared passes.
    pub overlap_ms: f64,
}

/// Calls, speed, fusion, one-sided, overlap.
type Split = [Picoseconds; 5];

pub(super) fn difference(groups: &[GroupRow], report: &ElapsedReport) -> Difference {
    let mut splits: BTreeMap<&str, Split> = BTreeMap::new();
    for group in groups {
        let split = splits.entry(group.family).or_default();
        split[0] += picoseconds(group.calls_ms);
        let same_kernels = group.trace1_kernels * group.trace2_calls == group.trace2_kernels * group.trace1_calls;
        split[if same_kernels { 1 } else { 2 }] += picoseconds(group.per_call_ms);
        split[3] += picoseconds(group.one_sided_ms);
    }
    let mut times: BTreeMap<&str, [Picoseconds; 2]> = splits.keys().map(|family| (*family, [0, 0])).collect();
    let mut rest = [0; 3];
    for row in &report.waterfall {
        let both = [picoseconds(row.trace1_ms), picoseconds(row.trace2_ms)];
        match (row.kind, row.row.as_str()) {
            (WaterfallKind::Family, family) => _ = times.insert(family, both),
            (WaterfallKind::Part, "exposed communication") => {
                times.insert(Family::Communication.label(), both);
            }
            (WaterfallKind::Part, "exposed copies") => rest[0] = both[1] - both[0],
            (WaterfallKind::Part, "host late") => rest[1] = both[1] - both[0],
            (WaterfallKind::Part, _) => rest[2] += both[1] - both[0],
        }
    }
    let mut all: Split = [0; 5];
    let mut families: Vec<(Picoseconds, FamilyDifference)> = Vec::new();
    for (family, [first, second]) in times {
        let mut split = splits.get(family).copied().unwrap_or_default();
        split[4] = second - first - split.iter().sum::<Picoseconds>();
        all.iter_mut().zip(split).for_each(|(all, part)| *all += part);
        let [calls_ms, speed_ms, fusion_ms, one_sided_ms, overlap_ms] = split.map(milliseconds);
        let row = FamilyDifference {
            family: family.to_owned(),
            trace1_ms: milliseconds(first),
            trace2_ms: milliseconds(second),
            difference_ms: milliseconds(second - first),
            calls_ms,
            speed_ms,
            fusion_ms,
            one_sided_ms,
            overlap_ms,
        };
        families.push(((second - first).abs(), row));
    }
    // Stable: names are in order already.
    families.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let whole = [&report.elapsed.trace1, &report.elapsed.trace2].map(|trace| picoseconds(trace.per_pass_ms));
    let elapsed = whole[1] - whole[0];
    // Every row was rounded to a picosecond; what that lost is idle time.
    rest[2] = elapsed - all.iter().chain(&rest[..2]).sum::<Picoseconds>();
    let [calls, speed, fusion, one_sided, overlap] = all;
    let parts = [calls, speed, fusion, one_sided, overlap, rest[0], rest[1], rest[2]];
    let percent = |part: Picoseconds| 100.0 * part as f64 / whole[0] as f64;
    Difference {
        basis: report.elapsed.basis,
        trace1_elapsed_ms: milliseconds(whole[0]),
        trace2_elapsed_ms: milliseconds(whole[1]),
        elapsed_ms: milliseconds(elapsed),
        parts: Parts::from_array(parts.map(milliseconds)),
        shares_percent: (whole[0] > 0).then(|| Parts::from_array(parts.map(percent))),
        families: families.into_iter().map(|(_, row)| row).collect(),
    }
}

fn picoseconds(ms: f64) -> Picoseconds {
    (ms * 1e9).round() as Picoseconds
}
