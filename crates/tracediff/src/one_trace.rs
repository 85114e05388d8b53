//! One trace alone: where the time of its steps goes.
//!
//! Every reader that fills [`Columns`](crate::columns::Columns) feeds it: steps, parts, lead and classes are those of the
//! comparison of two traces.

mod advice;
mod cut;
pub(crate) mod facts;
mod grounds;
mod kinds;
mod layers;
mod operators;
mod own;
mod result;
pub(crate) mod shapes;
mod sums;
mod tracks;

use perfdb_model::roofline::Devices;

use crate::classify::CUDA_GRAPH;
use crate::context::passes::Boundaries;
use crate::elapsed::PartsMs;
use crate::elapsed::timeline::{TimeParts, Timeline, Window};
use crate::error::Error;
use crate::one_trace::facts::Facts;
use crate::steps::PhaseFilter;
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;
use crate::trust;
use sums::Sums;

pub use advice::Advice;
pub use cut::piece;
pub use kinds::{KindOfStep, kinds, listed};
pub use result::{
    ClassRow, CollectiveRow, CopyCount, Idle, KernelRow, LayerFamily, LayersRow, LeadRow, OneTrace, OperatorRow,
    StepRow,
};

pub use tracks::{DeviceTracks, Slice, tracks};

/// Which steps are looked at.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Steps of this phase alone.
    pub phase: PhaseFilter,
    /// Rows of `steps` of the whole report; nothing for all.
    pub rows: Option<Vec<usize>>,
    /// How many names of kernels are listed; all where nothing is said.
    pub top: Option<usize>,
    /// Peaks of devices that count before those that are known.
    pub devices: Devices,
}

/// Where the time of the steps of a trace goes, which was loaded to be looked at [alone](crate::LoadOptions::alone).
///
/// # Errors
/// When no step has the phase that is asked for, or the trace was loaded for something else.
pub fn explain(trace: &Trace, selection: &Selection) -> Result<OneTrace, Error> {
    let (Some(timeline), Some(facts)) = (&trace.timeline, &trace.facts) else {
        return Err(Error::NoKernels { path: trace.path.clone() });
    };
    trace.require_phase(selection.phase)?;
    let view = View::new(timeline, facts, selection);
    let sums = Sums::new(trace, facts, &view);
    let mut parts = TimeParts::default();
    let (mut unknown, mut busy) = (0, 0);
    for number in &view.chosen {
        let window = &timeline.windows[*number];
        parts.add(&window.parts);
        unknown += window.unknown_launch;
        busy += busy_of(&window.parts);
    }
    let elapsed = parts.total();
    let step_count = if trace.boundaries == Boundaries::Whole { 0 } else { view.step_count() };
    let devices = view.devices();
    let report = trace.report.as_ref();
    let operators = operators::rows(trace, facts, &view, &selection.devices, &sums);
    let mut one = OneTrace {
        format_version: 1,
        file: trace.path.display().to_string(),
        kind: facts.kind,
        device: trace.device.name.clone(),
        trust: report.map_or("high", |report| report.trust.name()),
        trust_reasons: report
            .map(|report| report.trust_reasons.iter().map(|code| code.name()).collect())
            .unwrap_or_default(),
        verdict: String::new(),
        next: Vec::new(),
        boundaries: trace.boundaries,
        step_count,
        devices,
        elapsed_ms: milliseconds(elapsed),
        busy_ms: milliseconds(busy),
        parts_ms: PartsMs::of(&parts, 1.0),
        unknown_launch_ms: milliseconds(unknown),
        per_step_ms: milliseconds(elapsed) / (step_count.max(1) * devices) as f64,
        steps: view.chosen.iter().map(|number| step(trace, facts, timeline, *number, &sums)).collect(),
        lead: LeadRow {
            kernels: trace.lead.kernels,
            copies: trace.lead.copies,
            kernel_ms: milliseconds(trace.lead.time),
            elapsed_ms: milliseconds(view.lead(timeline)),
        },
        unlaunched: Idle {
            kernels: facts.unlaunched.kernels,
            copies: facts.unlaunched.copies,
            kernel_ms: milliseconds(facts.unlaunched.time),
        },
        graph_collapsed_ms: milliseconds(facts.graphs),
        kernel_count: sums.kernels.count,
        kernel_ms: milliseconds(sums.kernels.time),
        distinct_names: sums.names.len() as u64,
        copies: CopyCount { count: sums.copies.count, total_ms: milliseconds(sums.copies.time) },
        classes: sums.classes(facts),
        top_kernels: sums.top_kernels(trace, selection.top),
        without_operator_ms: milliseconds(operators.without),
        operators: operators.rows,
        layers: layers::of(trace, &view, &sums),
        found_passes: trace.found_passes.clone(),
        truncated: None,
        times_not_trusted: report.map(trust::times_not_trusted).unwrap_or_default(),
    };
    let collapsed = one.classes.iter().find(|row| row.class == CUDA_GRAPH);
    one.graph_collapsed_ms = collapsed.map_or(0.0, |row| row.total_ms);
    one.next = advice::next(&one, &grounds::of(trace, facts, &view, operators.small_part_of_roof));
    one.verdict = kinds::verdict(&one);
    Ok(one)
}

fn busy_of(parts: &TimeParts) -> Picoseconds {
    parts.compute + parts.exposed_communication + parts.exposed_copies
}

fn step(trace: &Trace, facts: &Facts, timeline: &Timeline, number: usize, sums: &Sums) -> StepRow {
    let window = &timeline.windows[number];
    let host = window.pass.and_then(|pass| facts.steps.get(pass as usize));
    let launched = host.filter(|_| trace.boundaries == Boundaries::Launch);
    let first_launch = window.pass.and_then(|pass| facts.first_launch.get(&(window.device, pass)));
    StepRow {
        name: host.map(|step| step.name.clone()),
        device: timeline.devices.get(window.device as usize).cloned().unwrap_or_default(),
        phase: window.phase.map(|phase| phase.name()),
        elapsed_ms: milliseconds(window.length()),
        busy_ms: milliseconds(busy_of(&window.parts)),
        kernels: sums.of_windows[number].0,
        copies: sums.of_windows[number].1,
        parts_ms: PartsMs::of(&window.parts, 1.0),
        host_ms: launched.map(|step| milliseconds(step.end - step.start)),
        first_launch_after_ms: launched.and_then(|step| Some(milliseconds(first_launch? - step.start))),
        first_kernel_after_ms: launched.map(|step| milliseconds(window.start - step.start)),
    }
}

/// The windows that are looked at, and where each lies.
pub(crate) struct View<'a> {
    timeline: &'a Timeline,
    facts: &'a Facts,
    /// Numbers of windows, by device and time.
    chosen: Vec<usize>,
    is_chosen: Vec<bool>,
    has_passes: Vec<bool>,
}

impl<'a> View<'a> {
    fn new(timeline: &'a Timeline, facts: &'a Facts, selection: &Selection) -> View<'a> {
        let windows = &timeline.windows;
        let mut has_passes = vec![false; timeline.devices.len()];
        for window in windows.iter().filter(|window| window.pass.is_some()) {
            has_passes[window.device as usize] = true;
        }
        let counts = |window: &Window| window.pass.is_some() || !has_passes[window.device as usize];
        let mut chosen: Vec<usize> = (0..windows.len()).filter(|number| counts(&windows[*number])).collect();
        chosen.sort_by_key(|number| (&timeline.devices[windows[*number].device as usize], windows[*number].start));
        chosen.retain(|number| selection.phase.lets(windows[*number].phase));
        if let Some(rows) = &selection.rows {
            chosen = rows.iter().filter_map(|row| chosen.get(*row).copied()).collect();
        }
        let mut is_chosen = vec![false; windows.len()];
        chosen.iter().for_each(|number| is_chosen[*number] = true);
        View { timeline, facts, chosen, is_chosen, has_passes }
    }

    /// The number of the chosen window that a kernel lies in.
    fn of_kernel(&self, kernel: usize) -> Option<usize> {
        self.chosen_window(*self.facts.window_of.get(kernel)?)
    }

    /// A number of a window, where that is chosen.
    fn chosen_window(&self, number: u32) -> Option<usize> {
        let number = number as usize;
        self.is_chosen.get(number).copied().unwrap_or(false).then_some(number)
    }

    fn step_count(&self) -> u64 {
        let mut counts = vec![0_u64; self.has_passes.len()];
        for window in self.chosen.iter().map(|number| &self.timeline.windows[*number]) {
            counts[window.device as usize] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    fn devices(&self) -> u64 {
        let mut devices: Vec<u32> = self.chosen.iter().map(|number| self.timeline.windows[*number].device).collect();
        devices.sort_unstable();
        devices.dedup();
        devices.len().max(1) as u64
    }

    /// Whether a window can be looked at: one of a step, or of a device without steps.
    fn counts(&self, window: &Window) -> bool {
        window.pass.is_some() || !self.has_passes[window.device as usize]
    }

    /// How many windows are looked at.
    fn count(&self) -> usize {
        self.chosen.len()
    }

    /// Whether all windows that can be looked at are.
    fn is_all(&self) -> bool {
        self.count() == self.timeline.windows.iter().filter(|window| self.counts(window)).count()
    }

    fn lead(&self, timeline: &Timeline) -> Picoseconds {
        // The first window of a device is the lead where it is of no pass; those behind a cut are none.
        let first = timeline.windows.chunk_by(|a, b| a.device == b.device).filter_map(|windows| windows.first());
        let lead = first.filter(|window| window.pass.is_none() && self.has_passes[window.device as usize]);
        lead.map(Window::length).sum()
    }
}
