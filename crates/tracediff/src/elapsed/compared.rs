//! The windows of a trace that are compared, and what follows from them alone.

use std::collections::{BTreeMap, BTreeSet};

use super::result::{ColdStart, CopyTotal, DeviceElapsed, LargeGap, PartsMs, PhasePasses, TraceElapsed, WindowElapsed};
use super::timeline::{CopySum, TimeParts, Timeline, Window, late_after};
use crate::copies::CopyKind;
use crate::steps::{Basis, Phase, PhaseFilter};
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;
use crate::trust;

/// The passes of the device that has most: in a profile of several processes each has its own, on its own device.
fn passes_of(windows: &[&Window]) -> u64 {
    let mut passes: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for window in windows {
        passes.entry(window.device).or_default().extend(window.pass);
    }
    passes.values().map(BTreeSet::len).max().unwrap_or(0) as u64
}

/// The windows of a trace that are compared.
pub(crate) struct Compared<'a> {
    pub(crate) timeline: &'a Timeline,
    /// What both traces have.
    pub(crate) basis: Basis,
    pub(crate) windows: Vec<&'a Window>,
    pub(crate) parts: TimeParts,
    pub(crate) passes: u64,
    /// Passes that lack kernels and are not in the windows.
    pub(crate) left_out: u64,
    pub(crate) devices: usize,
}

impl<'a> Compared<'a> {
    pub(super) fn new(timeline: &'a Timeline, basis: Basis, phase: PhaseFilter) -> Compared<'a> {
        // What lies before the first pass of a device is in no sum.
        let has_passes =
            |device: u32| timeline.windows.iter().any(|window| window.device == device && window.pass.is_some());
        let is_compared = |window: &&Window| {
            let counts = window.pass.is_some() || basis == Basis::Whole && !has_passes(window.device);
            counts && phase.lets(window.phase)
        };
        let all: Vec<&Window> = timeline.windows.iter().filter(is_compared).collect();
        let is_whole =
            |window: &Window| window.pass.is_none_or(|pass| timeline.incomplete.binary_search(&pass).is_err());
        let mut windows = all.clone();
        if basis != Basis::Whole && all.iter().any(|window| is_whole(window)) {
            windows.retain(|window| is_whole(window));
        }
        let left_out = passes_of(&all) - passes_of(&windows);
        let mut parts = TimeParts::default();
        windows.iter().for_each(|window| parts.add(&window.parts));
        let passes = if basis == Basis::Whole { 1 } else { passes_of(&windows).max(1) };
        let mut devices: Vec<u32> = windows.iter().map(|window| window.device).collect();
        devices.sort_unstable();
        devices.dedup();
        Compared { timeline, basis, windows, parts, passes, left_out, devices: devices.len().max(1) }
    }

    /// By what sums are divided to get the time per pass.
    pub(crate) fn per_pass(&self) -> f64 {
        (self.passes as usize * self.devices) as f64
    }

    pub(super) fn result(&self, trace: &Trace) -> TraceElapsed {
        let devices = self.devices as f64;
        let elapsed = self.parts.total();
        let first = self.timeline.windows.iter().map(|window| window.start).min().unwrap_or(0);
        let windows = self.timeline.windows.chunk_by(|a, b| a.device == b.device);
        let lead = windows.filter_map(|windows| windows.first()).filter(|window| window.pass.is_none());
        let unknown: Picoseconds = self.windows.iter().map(|window| window.unknown_launch).sum();
        TraceElapsed {
            elapsed_ms: milliseconds(elapsed) / devices,
            passes: self.passes,
            per_pass_ms: milliseconds(elapsed) / self.per_pass(),
            layers_per_pass: trace.layer_count.map(|count| count.layers),
            layer_runs_per_pass: trace.layer_count.map(|count| count.runs),
            left_out_passes: self.left_out,
            not_trusted: trace.report.as_ref().map(trust::times_not_trusted).unwrap_or_default(),
            parts_ms: PartsMs::of(&self.parts, devices),
            median_pass_ms: self.median_pass_ms(),
            boundaries: trace.boundaries,
            found_passes: trace.found_passes.clone(),
            phases: self.phases(),
            lead_ms: milliseconds(lead.map(Window::length).sum()) / devices,
            lead_kernels: trace.lead.kernels,
            lead_kernel_ms: milliseconds(trace.lead.time),
            unknown_launch_ms: milliseconds(unknown) / devices,
            between_passes_ms: milliseconds(self.windows.iter().map(|window| window.late_behind).sum()) / devices,
            cold_start: ColdStart::of(trace),
            copies: self.copies(),
            devices: self.by_device(),
            large_gaps: self.large_gaps(trace),
            windows: self.windows.iter().map(|window| self.window(window, first)).collect(),
        }
    }

    /// The middle one of the times of the passes.
    pub(super) fn median_pass_ms(&self) -> Option<f64> {
        let times = self.times(|_| true);
        (times.len() >= 3).then(|| self.median(times)).flatten()
    }

    /// The kernel after which the device waits for the host longest, and how long in all.
    pub(super) fn late_after<'t>(&self, trace: &'t Trace) -> Option<(&'t str, Picoseconds)> {
        late_after(trace, self.windows.iter().copied()).first().copied()
    }

    /// The passes of each phase, where there are several.
    fn phases(&self) -> Vec<PhasePasses> {
        let of = |phase: &Phase| {
            let times = self.times(|window| window.phase == Some(*phase));
            let passes = times.len() as u64;
            Some(PhasePasses { phase: phase.name(), passes, median_pass_ms: self.median(times)? })
        };
        let found: Vec<PhasePasses> = Phase::ALL.iter().filter_map(of).collect();
        if found.len() > 1 { found } else { Vec::new() }
    }

    /// Times of some passes in ms, each the mean over its devices.
    fn times(&self, counts: impl Fn(&Window) -> bool) -> Vec<f64> {
        let mut by_pass: BTreeMap<u32, (Picoseconds, u32)> = BTreeMap::new();
        for window in self.windows.iter().filter(|window| counts(window)) {
            let Some(pass) = window.pass else { continue };
            let (time, devices) = by_pass.entry(pass).or_default();
            *time += window.length();
            *devices += 1;
        }
        by_pass.into_values().map(|(time, devices)| milliseconds(time) / f64::from(devices)).collect()
    }

    fn median(&self, mut times: Vec<f64>) -> Option<f64> {
        times.sort_unstable_by(f64::total_cmp);
        let middle = times.len() / 2;
        match times.len() {
            0 => None,
            count if count % 2 == 0 => Some((times[middle - 1] + times[middle]) / 2.0),
            _ => Some(times[middle]),
        }
    }

    fn large_gaps(&self, trace: &Trace) -> Vec<LargeGap> {
        let gap = |window: &&Window| {
            let gap = window.large_gap?;
            Some(LargeGap {
                pass: window.pass,
                device: self.device(window.device),
                gap_ms: milliseconds(gap.length),
                kernel: trace.name(gap.name).to_owned(),
                launched_before_ms: milliseconds(gap.launched_before),
            })
        };
        self.windows.iter().filter_map(gap).collect()
    }

    pub(super) fn copies(&self) -> Vec<CopyTotal> {
        let mut sums = [CopySum::default(); CopyKind::ALL.len()];
        for window in &self.windows {
            sums.iter_mut().zip(&window.copies).for_each(|(sum, copies)| sum.add(copies));
        }
        let there = CopyKind::ALL.into_iter().zip(sums).filter(|(_, sum)| sum.count > 0);
        there
            .map(|(kind, sum)| {
                let total_ms = milliseconds(sum.total);
                let known = sum.bytes > 0 && sum.total > 0;
                CopyTotal {
                    kind: kind.name(),
                    count: sum.count,
                    bytes: sum.bytes,
                    total_ms,
                    exposed_ms: milliseconds(sum.exposed),
                    gb_per_s: known.then(|| sum.bytes as f64 / (total_ms * 1e6)),
                }
            })
            .collect()
    }

    fn by_device(&self) -> Vec<DeviceElapsed> {
        let mut found: Vec<(u32, TimeParts)> = Vec::new();
        for window in &self.windows {
            match found.iter_mut().find(|(device, _)| *device == window.device) {
                Some((_, parts)) => parts.add(&window.parts),
                None => found.push((window.device, window.parts)),
            }
        }
        found
            .into_iter()
            .map(|(device, parts)| DeviceElapsed {
                device: self.device(device),
                elapsed_ms: milliseconds(parts.total()),
                parts_ms: PartsMs::of(&parts, 1.0),
            })
            .collect()
    }

    fn window(&self, window: &Window, first: Picoseconds) -> WindowElapsed {
        WindowElapsed {
            pass: window.pass,
            device: self.device(window.device),
            phase: window.phase.map(|phase| phase.name()),
            start_ms: milliseconds(window.start - first),
            elapsed_ms: milliseconds(window.length()),
            parts_ms: PartsMs::of(&window.parts, 1.0),
        }
    }

    fn device(&self, device: u32) -> String {
        self.timeline.devices.get(device as usize).cloned().unwrap_or_default()
    }
}

/// The windows of both traces that are compared; nothing under rules that have no timeline.
pub(crate) fn compared<'a>(first: &'a Trace, second: &'a Trace, phase: PhaseFilter) -> Option<[Compared<'a>; 2]> {
    let timelines = [first.timeline.as_ref()?, second.timeline.as_ref()?];
    let basis = timelines[0].basis.min(timelines[1].basis);
    Some(timelines.map(|timeline| Compared::new(timeline, basis, phase)))
}

/// Elapsed time of one trace.
pub(crate) fn of_one(trace: &Trace) -> Option<TraceElapsed> {
    let timeline = trace.timeline.as_ref()?;
    Some(Compared::new(timeline, timeline.basis, PhaseFilter::All).result(trace))
}

/// The windows of one trace.
pub(crate) fn of_windows(trace: &Trace, phase: PhaseFilter) -> Option<Compared<'_>> {
    let timeline = trace.timeline.as_ref()?;
    Some(Compared::new(timeline, timeline.basis, phase))
}

/// By what sums over the [`Counted`](super::Counted) kernels of a trace are divided to get the time per pass and device.
pub(crate) fn divisors(first: &Trace, second: &Trace, phase: PhaseFilter) -> [f64; 2] {
    let Some(compared) = compared(first, second, phase) else { return [1.0; 2] };
    compared.map(|compared| compared.per_pass())
}
