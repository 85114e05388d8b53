//! Whether the runs of both sides do the same work: what differs is said before any verdict.

use std::collections::BTreeMap;

use super::chosen::{Chosen, LeftOutStep};
use super::run::{RowKind, Run, SHAPES};
use crate::workload::{KNOWN, LEAST_SHARED};

/// Part of the time of operators of which shapes differ, from which on it is said.
const SAID: f64 = 0.05;
/// Part by which numbers of kernels per step differ, from which on it is said.
const KERNELS: f64 = 0.05;
/// Part of the steps of a run that other runs have no like of, from which on the runs are of different workloads.
const MOST_LEFT_OUT: f64 = 0.5;
/// Operators that are named.
const NAMED: usize = 2;

/// What differs in the work of both sides.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Why times say nothing about each other.
    pub(crate) different: Option<String>,
    /// What differs besides.
    pub(crate) differences: Vec<String>,
}

/// Compares the work of both sides.
pub(crate) fn work(sides: [&[Run]; 2], chosen: &Chosen) -> Work {
    let mut work = Work { different: steps(sides, chosen), differences: Vec::new() };
    let shapes = Shapes::new(sides);
    let apart = [0, 1].map(|side| shapes.alone(side));
    if apart.iter().all(|apart| apart.is_known && 1.0 - apart.part < LEAST_SHARED) {
        let parts = apart.each_ref().map(|apart| 100.0 * (1.0 - apart.part));
        work.different.get_or_insert(format!(
            "operators of both sides have equal shapes for {:.0} % of their time before and {:.0} % after (another model, batch or length)",
            parts[0], parts[1]
        ));
    } else {
        for (apart, side) in apart.iter().zip(["before", "after"]).filter(|(apart, _)| apart.part >= SAID) {
            let shown = apart.names.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
            let more = apart.names.len().saturating_sub(NAMED);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let percent = 100.0 * apart.part;
            work.differences
                .push(format!("shapes {side} alone, {percent:.0} % of the time of their operators: {shown}{more}"));
        }
    }
    work.differences.extend(mix(sides));
    work.differences.extend(kernels(sides));
    work.differences.extend(devices(sides));
    work
}

/// Why the steps of both sides cannot be compared.
fn steps(sides: [&[Run]; 2], chosen: &Chosen) -> Option<String> {
    let all = || sides.into_iter().flatten();
    let first = all().next()?;
    if let Some(other) = all().find(|run| run.per != first.per) {
        return Some(format!("{} has {}, {} has {}", first.path, per(first), other.path, per(other)));
    }
    let lacks = |left: &&LeftOutStep| left.why == "not in every run";
    let most = all().map(|run| {
        let left = chosen.left_out.iter().filter(lacks).filter(|left| left.path == run.path).count();
        (left as f64 / run.steps.len() as f64, run)
    });
    let (part, run) = most.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (chosen.kinds.is_empty() || part > MOST_LEFT_OUT)
        .then(|| format!("{:.0} % of the steps of {} are of a phase that another run lacks", 100.0 * part, run.path))
}

fn per(run: &Run) -> &'static str {
    match run.per {
        crate::steps::Basis::Whole => "no steps",
        crate::steps::Basis::Step => "profiler steps",
        crate::steps::Basis::Pass => "forward passes",
    }
}

/// Times of operators by shape, summed over the runs of each side.
struct Shapes<'a> {
    by_name: BTreeMap<&'a str, ByName>,
    /// Of both sides.
    compute: [f64; 2],
}

#[derive(Default)]
struct ByName {
    time: [f64; 2],
    /// Runs of each side that have it.
    runs: [usize; 2],
}

/// What one side alone has.
struct Alone {
    /// Whether shapes are known for enough of the time to say so.
    is_known: bool,
    /// Part of the time of the operators that both have.
    part: f64,
    /// Most time first.
    names: Vec<String>,
}

impl<'a> Shapes<'a> {
    fn new(sides: [&'a [Run]; 2]) -> Shapes<'a> {
        let mut found = Shapes { by_name: BTreeMap::new(), compute: [0.0; 2] };
        for (side, runs) in sides.into_iter().enumerate() {
            for row in runs.iter().flat_map(|run| &run.rows) {
                let sum = row.ms.iter().sum::<f64>();
                match row.kind {
                    RowKind::Class => found.compute[side] += sum,
                    RowKind::Operator => {
                        let known = found.by_name.entry(&row.name).or_default();
                        known.time[side] += sum;
                        known.runs[side] += 1;
                    }
                    RowKind::Elapsed | RowKind::Part => {}
                }
            }
        }
        found
    }

    /// The shapes that every run of a side has and none of the other: of operators that both sides call.
    fn alone(&self, side: usize) -> Alone {
        let mut operators: BTreeMap<&str, [bool; 2]> = BTreeMap::new();
        for (name, found) in &self.by_name {
            let there = operators.entry(operator_of(name)).or_default();
            (0..2).for_each(|side| there[side] |= found.runs[side] > 0);
        }
        let both = |name: &str| operators.get(operator_of(name)) == Some(&[true; 2]);
        let shared: Vec<(&&str, &ByName)> = self.by_name.iter().filter(|(name, _)| both(name)).collect();
        let all: f64 = shared.iter().map(|(_, found)| found.time[side]).sum();
        let mut alone: Vec<(f64, &str)> = shared
            .iter()
            .filter(|(_, found)| found.runs[side] > 0 && found.runs[1 - side] == 0)
            .map(|(name, found)| (found.time[side], **name))
            .collect();
        alone.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let part = if all > 0.0 { alone.iter().map(|(time, _)| time).sum::<f64>() / all } else { 0.0 };
        Alone {
            is_known: all >= KNOWN * self.compute[side],
            part,
            names: alone.into_iter().map(|(_, name)| name.to_owned()).collect(),
        }
    }
}

fn operator_of(name: &str) -> &str {
    name.split(SHAPES).next().unwrap_or_default()
}

/// The phases of both sides, where the parts of the steps that they have differ by more than those of the runs of one side do.
fn mix(sides: [&[Run]; 2]) -> Option<String> {
    let mut phases: Vec<_> = sides.into_iter().flatten().flat_map(|run| &run.steps).map(|step| step.phase).collect();
    phases.sort_unstable();
    phases.dedup();
    let parts = |phase, side: usize| -> Vec<f64> {
        let of_run = |run: &Run| {
            let there = run.steps.iter().filter(|step| step.phase == phase).count();
            100.0 * there as f64 / run.steps.len() as f64
        };
        sides[side].iter().map(of_run).collect()
    };
    let differ = phases.into_iter().filter_map(|phase| {
        let parts = [parts(phase, 0), parts(phase, 1)];
        let name = phase.map_or("other", crate::steps::Phase::name);
        let means = parts.each_ref().map(|parts| mean(parts));
        (are_apart(&parts) && (means[1] - means[0]).abs() >= 5.0)
            .then(|| format!("{name} {:.0} % before, {:.0} % after", means[0], means[1]))
    });
    let differ: Vec<String> = differ.collect();
    (!differ.is_empty())
        .then(|| format!("mix of steps: {}; steps of a phase are compared with their like", differ.join(", ")))
}

/// Kernels per step, where they differ by more than those of the runs of one side do.
fn kernels(sides: [&[Run]; 2]) -> Option<String> {
    let per_step = sides.map(|runs| {
        runs.iter()
            .map(|run| run.steps.iter().map(|step| step.kernels).sum::<f64>() / run.steps.len() as f64)
            .collect::<Vec<_>>()
    });
    let means = per_step.each_ref().map(|values| mean(values));
    let differ = (means[1] - means[0]).abs() > KERNELS * means[0].min(means[1]);
    (are_apart(&per_step) && differ).then(|| format!("kernels per step: {:.0} before, {:.0} after", means[0], means[1]))
}

fn devices(sides: [&[Run]; 2]) -> Option<String> {
    let [first, second] = sides.map(|runs| {
        let mut names: Vec<&str> = runs.iter().map(|run| run.device.as_str()).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names
    });
    (!first.is_empty() && !second.is_empty() && first != second)
        .then(|| format!("devices: {} before, {} after", first.join(", "), second.join(", ")))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Whether all values of one side are above all of the other.
fn are_apart([first, second]: &[Vec<f64>; 2]) -> bool {
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most(first) < least(second) || most(second) < least(first)
}
