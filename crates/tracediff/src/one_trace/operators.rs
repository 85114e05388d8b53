//! The operators of a trace by the shapes of their arguments.

use perfdb_model::roofline::{Bound, Device, Devices};
use perfdb_model::workload::{CallWork, Unit};
use serde_json::Value;

use super::View;
use super::advice::SMALL;
use super::facts::Facts;
use super::result::OperatorRow;
use super::shapes::NO_OPERATOR;
use super::sums::Sums;
use crate::frames::NO_STACK;
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;

/// Rows by total time, and the kernel time that no operator owns.
pub(super) struct Operators {
    pub(super) rows: Vec<OperatorRow>,
    pub(super) without: Picoseconds,
    /// Part of the roof that kernels of small classes reach together, where it is known for most of their time.
    pub(super) small_part_of_roof: Option<f64>,
}

/// What is summed up for a row.
#[derive(Clone, Default)]
struct Row {
    calls: u64,
    kernels: u64,
    time: Picoseconds,
    /// Part of `time` in kernels of small classes.
    small: Picoseconds,
    frame: Option<String>,
    work: Known,
}

/// What the calls of a row must do.
#[derive(Clone, Default)]
enum Known {
    #[default]
    Nothing,
    Works(Vec<CallWork>),
    /// Some of its kernels are of calls that nothing is known of.
    Partly,
}

pub(super) fn rows(trace: &Trace, facts: &Facts, view: &View<'_>, devices: &Devices, sums: &Sums) -> Operators {
    let shaped = &facts.shaped;
    if shaped.rows.is_empty() {
        return Operators { rows: Vec::new(), without: sums.kernels.time, small_part_of_roof: None };
    }
    let mut rows = vec![Row::default(); shaped.rows.len()];
    let mut counted = vec![false; shaped.row_of.len()];
    let mut works = Works::new(trace, facts);
    let is_small: Vec<bool> = trace.operations.iter().map(|class| SMALL.contains(&class.as_str())).collect();
    let (mut all, mut without, mut all_small) = (0, 0, 0);
    for (at, kernel) in trace.kernels.iter().enumerate() {
        if view.of_kernel(at).is_none() {
            continue;
        }
        all += kernel.duration;
        let small = if is_small[trace.operation(at) as usize] { kernel.duration } else { 0 };
        all_small += small;
        let call = shaped.of_kernels.get(at).copied().unwrap_or(NO_OPERATOR);
        if call == NO_OPERATOR {
            without += kernel.duration;
            continue;
        }
        let row = &mut rows[shaped.row_of[call as usize] as usize];
        row.kernels += 1;
        row.time += kernel.duration;
        row.small += small;
        row.calls += u64::from(!std::mem::replace(&mut counted[call as usize], true));
        let stack = trace.contexts[at].stack;
        if row.frame.is_none() && stack != NO_STACK {
            row.frame = trace.stacks.inwards_out(stack).next().map(|name| trace.name(name).to_owned());
        }
        works.add(at, &mut row.work);
    }
    let peaks = devices.recognise(&trace.gpu_inferred());
    let there = shaped.rows.iter().zip(rows).filter(|(_, row)| row.kernels > 0);
    let (mut small, mut small_at_roof) = (0, 0.0);
    let mut rows: Vec<(Picoseconds, OperatorRow)> = there
        .map(|(shape, row)| {
            let roof = Roof::of(&row, peaks);
            if let Some(percent) = roof.percent.filter(|_| row.small == row.time) {
                small += row.time;
                small_at_roof += percent / 100.0 * row.time as f64;
            }
            let shown = OperatorRow {
                operator: trace.name(shape.name).to_owned(),
                shapes: shapes(&shape.dims),
                types: types(&shape.types),
                calls: row.calls,
                kernels: row.kernels,
                total_ms: milliseconds(row.time),
                share: if all > 0 { row.time as f64 / all as f64 } else { 0.0 },
                gflop: roof.gflop,
                mib: roof.mib,
                bound: roof.bound,
                percent_of_roof: roof.percent,
                frame: row.frame,
                dims: shape.dims.clone(),
            };
            (row.time, shown)
        })
        .collect();
    rows.sort_by(|(first, a), (second, b)| {
        second.cmp(first).then_with(|| (&a.operator, &a.shapes).cmp(&(&b.operator, &b.shapes)))
    });
    let small_part_of_roof = (small > 0 && 2 * small >= all_small).then(|| small_at_roof / small as f64);
    Operators { rows: rows.into_iter().map(|(_, row)| row).collect(), without, small_part_of_roof }
}

/// What calls must do; one whose kernels belong to several rows is the work of none.
struct Works<'a> {
    trace: &'a Trace,
    is_split: Vec<bool>,
    counted: Vec<bool>,
}

impl<'a> Works<'a> {
    fn new(trace: &'a Trace, facts: &Facts) -> Works<'a> {
        let count = trace.calls.shape_of.len();
        let mut row_of = vec![None; count];
        let mut is_split = vec![false; count];
        for (at, operator) in facts.shaped.of_kernels.iter().enumerate() {
            let Some(call) = trace.calls.of(at) else { continue };
            let row = facts.shaped.row_of.get(*operator as usize).copied();
            let known = row_of[call as usize].get_or_insert(row);
            is_split[call as usize] |= *known != row;
        }
        Works { trace, is_split, counted: vec![false; count] }
    }

    fn add(&mut self, kernel: usize, known: &mut Known) {
        let calls = &self.trace.calls;
        let call = calls.of(kernel).map(|call| call as usize).filter(|call| !self.is_split[*call]);
        let work = call.and_then(|call| calls.shapes[calls.shape_of[call] as usize].work);
        let (Some(call), Some(work)) = (call, work) else {
            *known = Known::Partly;
            return;
        };
        let is_first = !std::mem::replace(&mut self.counted[call], true);
        match known {
            Known::Partly => {}
            Known::Works(works) if is_first => works.push(work),
            Known::Works(_) => {}
            Known::Nothing => *known = Known::Works(vec![work]),
        }
    }
}

#[derive(Default)]
struct Roof {
    gflop: Option<f64>,
    mib: Option<f64>,
    bound: Option<&'static str>,
    percent: Option<f64>,
}

impl Roof {
    fn of(row: &Row, peaks: Option<&Device>) -> Roof {
        let Known::Works(works) = &row.work else { return Roof::default() };
        let Some(first) = works.first().filter(|first| first.unit != Unit::Link) else { return Roof::default() };
        let same = works.iter().all(|work| work == first);
        let limit = |work: &CallWork| peaks?.limit(work.work, work.precision);
        let limits: Option<Vec<(f64, Bound)>> = works.iter().map(limit).collect();
        let least_us: Option<f64> = limits.as_ref().map(|limits| limits.iter().map(|(time, _)| time).sum());
        let time_us = milliseconds(row.time) * 1e3;
        Roof {
            gflop: same.then_some(first.work.operations / 1e9),
            mib: same.then_some(first.work.bytes / f64::from(1 << 20)),
            bound: limits.as_ref().and_then(|limits| limits.first()).map(|(_, bound)| match bound {
                Bound::Compute => "compute",
                Bound::Memory => "memory",
            }),
            percent: least_us.filter(|_| time_us > 0.0).map(|least| 100.0 * least / time_us),
        }
    }
}

/// `[[2, 3], [3]]` as `2×3, 3`.
fn shapes(dims: &str) -> Option<String> {
    let Value::Array(list) = serde_json::from_str(dims).ok()? else { return None };
    let shown: Vec<String> = list.iter().map(shape).filter(|shape| !shape.is_empty()).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

fn shape(value: &Value) -> String {
    match value {
        Value::Array(list) if list.iter().any(Value::is_array) => {
            let inner: Vec<String> = list.iter().map(shape).collect();
            format!("[{}]", inner.join(", "))
        }
        Value::Array(list) => list.iter().map(shape).collect::<Vec<_>>().join("×"),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// `["c10::BFloat16", "Scalar"]` as `bfloat16`: of tensors, each type once.
fn types(types: &str) -> Option<String> {
    let Value::Array(list) = serde_json::from_str(types).ok()? else { return None };
    let mut found: Vec<String> = Vec::new();
    for text in list.iter().filter_map(Value::as_str) {
        let plain = text.strip_prefix("c10::").unwrap_or(text).to_lowercase();
        if !plain.is_empty()
            && !["scalar", "scalarlist", "genericlist"].contains(&plain.as_str())
            && !found.contains(&plain)
        {
            found.push(plain);
        }
    }
    (!found.is_empty()).then(|| found.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{shapes, types};

    #[test]
    fn shapes_and_types_are_short() {
        assert_eq!(shapes("[[2, 3], [], [[4], [5, 6]]]").as_deref(), Some("2×3, [4, 5×6]"));
        assert_eq!(shapes("[]"), None);
        assert_eq!(types(r#"["c10::BFloat16", "c10::BFloat16", "Scalar", ""]"#).as_deref(), Some("bfloat16"));
    }
}
