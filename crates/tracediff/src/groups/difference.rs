//! What makes up the difference of each group: more or fewer calls, slower or faster ones, and why.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Groups;
use super::assign::Group;
use crate::elapsed::counted::Counted;
use crate::family::Family;
use crate::names::NameId;
use crate::structure::{Role, facts};
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;

/// Kernels of both traces that do the same work. Times are per pass and device, in ms; differences are of trace 2 less trace 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupRow {
    /// Name: where the work stands, and its family.
    pub group: String,
    /// Family of the work.
    pub family: &'static str,
    /// Calls of the operation in trace 1, over all passes that are compared. A call can be several kernels.
    pub trace1_calls: u64,
    /// Calls of the operation in trace 2, over all passes that are compared.
    pub trace2_calls: u64,
    /// Kernels of trace 1.
    pub trace1_kernels: u64,
    /// Kernels of trace 2.
    pub trace2_kernels: u64,
    /// Time in trace 1.
    pub trace1_ms: f64,
    /// Time in trace 2.
    pub trace2_ms: f64,
    /// Calls per pass and device in trace 1.
    pub trace1_calls_per_pass: f64,
    /// Calls per pass and device in trace 2.
    pub trace2_calls_per_pass: f64,
    /// Difference: the sum of calls, time per call and what one trace alone has.
    pub difference_ms: f64,
    /// More or fewer calls.
    pub calls_ms: f64,
    /// Slower or faster calls: the sum of the next two.
    pub per_call_ms: f64,
    /// Of that, kernels that do the work itself.
    pub core_ms: f64,
    /// Of that, kernels around it: reductions, combines, fills, casts, routing.
    pub helper_ms: f64,
    /// All of it where one trace alone has the group.
    pub one_sided_ms: f64,
    /// Why the times differ.
    pub reason: String,
    /// Kernels of trace 1, those with most time first; at most eight.
    pub trace1_names: Vec<String>,
    /// Kernels of trace 2, those with most time first; at most eight.
    pub trace2_names: Vec<String>,
}

/// Names of kernels that are listed.
const NAMED: usize = 8;

/// Kernels of a group in one trace.
#[derive(Debug, Clone, Default)]
struct Side {
    calls: u64,
    kernels: u64,
    time: Picoseconds,
    core: Picoseconds,
    by_name: BTreeMap<NameId, Picoseconds>,
    /// Families and roles of the kernels.
    kinds: Vec<(Family, Role)>,
}

pub(super) fn rows(groups: &Groups, traces: [&Trace; 2], counted: &[Counted; 2], divisors: [f64; 2]) -> Vec<GroupRow> {
    let all = groups.assignment.groups();
    let sides = [0, 1].map(|side| sums(groups, traces[side], side, &counted[side]));
    let [first, second] = &sides;
    let mut rows: Vec<(Picoseconds, GroupRow)> = all
        .iter()
        .zip(first.iter().zip(second))
        .filter(|(_, (one, other))| one.kernels + other.kernels > 0)
        .map(|(group, (one, other))| row(group, [one, other], traces, divisors))
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.group.cmp(&b.1.group)));
    rows.into_iter().map(|(_, row)| row).collect()
}

fn sums(groups: &Groups, trace: &Trace, side: usize, counted: &Counted) -> Vec<Side> {
    let facts = facts(&trace.groups, &trace.operations, &trace.names);
    let families: Vec<Family> = groups.assignment.groups().iter().map(|group| group.family).collect();
    let mut sides = vec![Side::default(); families.len()];
    for (at, (kernel, time)) in trace.kernels.iter().zip(trace.working_times()).enumerate() {
        if !counted.lets(kernel, &trace.contexts[at]) {
            continue;
        }
        let group = groups.of_kernels[side][at] as usize;
        let Some(side) = sides.get_mut(group) else { continue };
        let kind = facts[trace.contexts[at].group as usize];
        side.kernels += 1;
        side.time += time;
        if kind == (families[group], Role::Core) {
            side.core += time;
        }
        *side.by_name.entry(kernel.name).or_default() += time;
        if !side.kinds.contains(&kind) {
            side.kinds.push(kind);
        }
    }
    if let Some(structure) = &trace.structure {
        for sequence in &structure.sequences {
            let main = sequence.blocks.iter().map(|block| (&sequence.kernels, block));
            for (kernels, block) in main.chain(sequence.side_blocks.iter().map(|block| (&sequence.side_kernels, block)))
            {
                let kernel = kernels[block.kernels.start] as usize;
                if counted.lets(trace.kernels.at(kernel), &trace.contexts[kernel])
                    && let Some(side) = sides.get_mut(groups.of_kernels[side][kernel] as usize)
                {
                    side.calls += 1;
                }
            }
        }
    }
    sides
}

fn row(group: &Group, sides: [&Side; 2], traces: [&Trace; 2], divisors: [f64; 2]) -> (Picoseconds, GroupRow) {
    let passes = divisors.map(|divisor| divisor as i128);
    let per_pass = |side: usize, time: Picoseconds| divided(time, passes[side]);
    let difference = per_pass(1, sides[1].time) - per_pass(0, sides[0].time);
    let one_sided = sides.iter().any(|side| side.calls == 0);
    let calls = if one_sided { 0 } else { calls_part(sides, passes) };
    let per_call = if one_sided { 0 } else { difference - calls };
    let core = if one_sided { 0 } else { core_part(sides, passes, per_call) };
    let reason = if one_sided {
        format!("only in trace {}", if sides[0].calls > 0 { 1 } else { 2 })
    } else {
        let means = sides.map(|side| side.time as f64 / side.calls as f64);
        format!("{}, {}", kind_of_difference(group, sides, traces), faster_or_slower(means))
    };
    let names = |side: usize| {
        let mut names: Vec<(&NameId, &Picoseconds)> = sides[side].by_name.iter().collect();
        names.sort_by(|a, b| b.1.cmp(a.1).then_with(|| traces[side].name(*a.0).cmp(traces[side].name(*b.0))));
        names.into_iter().take(NAMED).map(|(name, _)| traces[side].name(*name).to_owned()).collect()
    };
    let row = GroupRow {
        group: group.name.clone(),
        family: group.family.label(),
        trace1_calls: sides[0].calls,
        trace2_calls: sides[1].calls,
        trace1_kernels: sides[0].kernels,
        trace2_kernels: sides[1].kernels,
        trace1_ms: milliseconds(per_pass(0, sides[0].time)),
        trace2_ms: milliseconds(per_pass(1, sides[1].time)),
        trace1_calls_per_pass: sides[0].calls as f64 / divisors[0],
        trace2_calls_per_pass: sides[1].calls as f64 / divisors[1],
        difference_ms: milliseconds(difference),
        calls_ms: milliseconds(calls),
        per_call_ms: milliseconds(per_call),
        core_ms: milliseconds(core),
        helper_ms: milliseconds(per_call - core),
        one_sided_ms: milliseconds(if one_sided { difference } else { 0 }),
        reason,
        trace1_names: names(0),
        trace2_names: names(1),
    };
    (difference.abs(), row)
}

/// `(n2/N2 − n1/N1)·(t1/n1 + t2/n2)/2` in whole picoseconds, with n calls of a time t in N passes.
fn calls_part([first, second]: [&Side; 2], passes: [i128; 2]) -> Picoseconds {
    let (n1, n2) = (i128::from(first.calls), i128::from(second.calls));
    let more = n2 * passes[0] - n1 * passes[1];
    if more == 0 {
        return 0;
    }
    let exact = || {
        let times = first.time.checked_mul(n2)?.checked_add(second.time.checked_mul(n1)?)?;
        let whole = passes[0].checked_mul(passes[1])?.checked_mul(2)?.checked_mul(n1)?.checked_mul(n2)?;
        Some(divided(more.checked_mul(times)?, whole))
    };
    exact().unwrap_or_else(|| {
        // Beyond 10^38 a double is as good: the other part takes what is left.
        let mean = |side: &Side| side.time as f64 / side.calls as f64;
        (more as f64 / (passes[0] * passes[1]) as f64 * (mean(first) + mean(second)) / 2.0) as i128
    })
}

/// The part of the time per call that the work itself makes: `(c2/n2 − c1/n1)·(n1/N1 + n2/N2)/2`.
fn core_part([first, second]: [&Side; 2], passes: [i128; 2], per_call: Picoseconds) -> Picoseconds {
    if first.core == first.time && second.core == second.time {
        return per_call;
    }
    let mean = |side: &Side| side.core as f64 / side.calls as f64;
    let calls = first.calls as f64 / passes[0] as f64 + second.calls as f64 / passes[1] as f64;
    ((mean(second) - mean(first)) * calls / 2.0).round() as Picoseconds
}

/// Quotient rounded half away from zero, so that signs mirror.
fn divided(numerator: i128, divisor: i128) -> i128 {
    let half = divisor / 2;
    if numerator < 0 { -((-numerator + half) / divisor) } else { (numerator + half) / divisor }
}

/// What is different about the kernels of both sides.
fn kind_of_difference(group: &Group, sides: [&Side; 2], traces: [&Trace; 2]) -> String {
    if let Some(side) = group.swallowed_by {
        return format!("activation inside the GEMM on side {}", side + 1);
    }
    let same_names =
        sides[0].by_name.keys().map(|name| traces[0].name(*name)).collect::<std::collections::BTreeSet<_>>()
            == sides[1].by_name.keys().map(|name| traces[1].name(*name)).collect();
    let per_call = sides.map(|side| side.kernels as f64 / side.calls as f64);
    if (per_call[0] - per_call[1]).abs() > 1e-9 {
        let (fewer, more) = if per_call[0] < per_call[1] { (0, 1) } else { (1, 0) };
        let extra: Vec<(Family, Role)> =
            sides[more].kinds.iter().filter(|kind| !sides[fewer].kinds.contains(kind)).copied().collect();
        let has = |role: Role| extra.iter().any(|(_, extra)| *extra == role);
        let is_copy = |kind: &(Family, Role)| matches!(kind.0, Family::Copy | Family::Elementwise);
        let kind = if has(Role::SplitReduce) {
            "split-K"
        } else if has(Role::Combine) {
            "combine"
        } else if !extra.is_empty() && extra.iter().all(is_copy) {
            "extra copy"
        } else if !extra.is_empty() {
            "unfused"
        } else {
            "more kernels"
        };
        return format!("{kind} on side {}", more + 1);
    }
    if same_names { "same kernel" } else { "other kernel" }.to_owned()
}

fn faster_or_slower([first, second]: [f64; 2]) -> &'static str {
    const SAME: f64 = 0.01;
    match second / first {
        ratio if ratio > 1.0 + SAME => "slower",
        ratio if ratio < 1.0 - SAME => "faster",
        _ => "same",
    }
}

/// The reason of a row of a strip.
pub(super) fn strip_reason(group: &Group, traces: [&Trace; 2], kernels: &[Vec<u32>; 2], times: [u64; 2]) -> String {
    if kernels[0].is_empty() || kernels[1].is_empty() {
        return format!("only in trace {}", if kernels[1].is_empty() { 1 } else { 2 });
    }
    let side = |side: usize| {
        let trace = traces[side];
        let mut found = Side { calls: 1, kernels: kernels[side].len() as u64, ..Side::default() };
        for at in &kernels[side] {
            let context = trace.contexts[*at as usize].group as usize;
            let group = trace.groups[context];
            let class = trace.operations[group.operation as usize].as_str();
            let kind = (Family::of(class), Role::of(trace.name(group.name), class));
            if !found.kinds.contains(&kind) {
                found.kinds.push(kind);
            }
            found.by_name.insert(group.name, 0);
        }
        found
    };
    let (first, second) = (side(0), side(1));
    let kind = kind_of_difference(group, [&first, &second], traces);
    format!("{kind}, {}", faster_or_slower(times.map(|time| time as f64)))
}
