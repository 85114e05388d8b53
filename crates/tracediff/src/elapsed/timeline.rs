//! What each device of a trace did at every instant: windows of time, split exactly into parts.

use rustc_hash::FxHashMap;

use super::events::{Events, kinds};
use crate::context::OUTSIDE;
use crate::context::launches::NO_LAUNCH;
use crate::context::passes::KernelPass;
use crate::copies::CopyKind;
use crate::device::CutWindows;
use crate::names::{NO_NAME, NameId};
use crate::steps::{Basis, Phase};
use crate::time::Picoseconds;
use crate::trace::Trace;

/// The windows of a trace, by device and time.
#[derive(Debug)]
pub(crate) struct Timeline {
    pub(crate) windows: Vec<Window>,
    /// Families of operations; own times of windows stand in their order.
    pub(crate) families: Vec<String>,
    /// Ids of the devices as they stand in the trace.
    pub(crate) devices: Vec<String>,
    pub(crate) basis: Basis,
    /// Passes that lack kernels, ascending.
    pub(crate) incomplete: Vec<u32>,
    /// What each device did, in the order of time, where it is wanted.
    pub(crate) pieces: Vec<Piece>,
}

/// Time in which a device did one thing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    pub(crate) device: u32,
    pub(crate) part: Part,
    pub(crate) start: Picoseconds,
    pub(crate) end: Picoseconds,
}

/// One of the parts of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Compute,
    ExposedCommunication,
    ExposedCopies,
    HostLate,
    DeviceIdle,
}

/// A forward pass on a device, or what is before the first or behind the window of a cut trace. Windows of a device follow each other without gaps.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    pub(crate) device: u32,
    /// Number of the pass; none before the first and behind the window of a cut trace.
    pub(crate) pass: Option<u32>,
    pub(crate) phase: Option<Phase>,
    pub(crate) start: Picoseconds,
    pub(crate) end: Picoseconds,
    pub(crate) parts: TimeParts,
    /// Part of the idle time that ends with an event whose launch is not known.
    pub(crate) unknown_launch: Picoseconds,
    /// Part of the late time of the host after the last event of the pass.
    pub(crate) late_behind: Picoseconds,
    /// Late time of the host by the name of what ended last before it.
    pub(crate) late_after: FxHashMap<NameId, Picoseconds>,
    /// Own time per family; adds up to the compute part.
    pub(crate) own: Vec<Picoseconds>,
    /// By kind.
    pub(crate) copies: [CopySum; CopyKind::ALL.len()],
    /// A gap that is more than half of the window, although what ends it had been launched before half of it was over.
    pub(crate) large_gap: Option<Gap>,
}

/// The kernels after which the devices of some windows wait for the host, longest in all first.
pub(crate) fn late_after<'t, 'w>(
    trace: &'t Trace,
    windows: impl Iterator<Item = &'w Window>,
) -> Vec<(&'t str, Picoseconds)> {
    let mut late: FxHashMap<NameId, Picoseconds> = FxHashMap::default();
    windows.flat_map(|window| &window.late_after).for_each(|(name, time)| *late.entry(*name).or_default() += time);
    let named = late.into_iter().filter(|(name, _)| *name != NO_NAME);
    let mut named: Vec<(&str, Picoseconds)> = named.map(|(name, time)| (trace.name(name), time)).collect();
    named.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    named
}

/// Time without anything on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) length: Picoseconds,
    /// Name of the kernel that ends it.
    pub(crate) name: NameId,
    /// From the end of its launch to its start.
    pub(crate) launched_before: Picoseconds,
}

impl Window {
    pub(crate) fn length(&self) -> Picoseconds {
        self.end - self.start
    }
}

/// What a GPU did in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TimeParts {
    pub(crate) compute: Picoseconds,
    pub(crate) exposed_communication: Picoseconds,
    pub(crate) exposed_copies: Picoseconds,
    pub(crate) host_late: Picoseconds,
    pub(crate) device_idle: Picoseconds,
}

impl TimeParts {
    pub(crate) fn add(&mut self, other: &TimeParts) {
        self.compute += other.compute;
        self.exposed_communication += other.exposed_communication;
        self.exposed_copies += other.exposed_copies;
        self.host_late += other.host_late;
        self.device_idle += other.device_idle;
    }

    /// All of the time.
    pub(crate) fn total(&self) -> Picoseconds {
        self.compute + self.exposed_communication + self.exposed_copies + self.host_late + self.device_idle
    }
}

/// Copies of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CopySum {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) total: Picoseconds,
    pub(crate) exposed: Picoseconds,
}

impl CopySum {
    pub(crate) fn add(&mut self, other: &CopySum) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.total += other.total;
        self.exposed += other.exposed;
    }
}

/// Something on the GPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activity {
    pub(crate) start: Picoseconds,
    pub(crate) end: Picoseconds,
    pub(crate) device: u32,
    pub(crate) pass: KernelPass,
    pub(crate) kind: ActivityKind,
    /// Number of the call that launched it, or [`NO_LAUNCH`].
    pub(crate) launch: u32,
    /// Name of a kernel; copies have none here.
    pub(crate) name: NameId,
    /// Whether it belongs to the lead: in no count.
    pub(crate) is_lead: bool,
}

/// What it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ActivityKind {
    /// A kernel that does not communicate, of a family.
    Compute(u32),
    /// A kernel that communicates.
    Communication,
    /// A copy or a set.
    Copy { kind: CopyKind, bytes: u64 },
}

impl Timeline {
    pub(crate) fn new(events: &Events<'_>, devices: Vec<String>, basis: Basis, cut: &[CutWindows]) -> Timeline {
        let mut families: Vec<String> = Vec::new();
        let kinds = events.kernels.each_ref().map(|set| kinds(&set.classes.operations, &mut families));
        let ends = |device: usize| cut.get(device).map_or_else(Vec::new, |windows| windows.ends().collect());
        let (mut all, mut pieces) = (Vec::new(), events.pieces.then(Vec::new));
        for (device, order) in events.by_device(devices.len()).into_iter().enumerate() {
            let activities = order.iter().map(|number| events.activity(*number, &kinds));
            let launch_end = |launch| (launch != NO_LAUNCH).then(|| events.launches.end(launch));
            all.extend(split(activities, families.len(), &ends(device), launch_end, pieces.as_mut()));
        }
        let pieces = pieces.unwrap_or_default();
        Timeline { windows: all, families, devices, basis, incomplete: events.incomplete.clone(), pieces }
    }
}

/// The windows of one device, of what it did by start; those of a cut trace also end at `ends`. What the device did joins
/// `pieces`. `launch_end` says when a launch had ended; it is asked where the device stood still.
pub(crate) fn split(
    activities: impl Iterator<Item = Activity> + Clone,
    families: usize,
    ends: &[Picoseconds],
    launch_end: impl Fn(u32) -> Option<Picoseconds>,
    mut pieces: Option<&mut Vec<Piece>>,
) -> Vec<Window> {
    let mut windows = windows(activities.clone(), families, ends);
    let Some(end_of_all) = windows.last().map(|last| last.end) else { return windows };
    let mut sweep = Sweep::default();
    let mut owner = Owner::default();
    let mut activities = activities.peekable();
    let mut begin_together = |group: &mut Vec<Activity>| {
        group.clear();
        let Some(first) = activities.next() else { return };
        group.push(first);
        while let Some(activity) = activities.next_if(|activity| activity.start == first.start) {
            group.push(activity);
        }
    };
    let (mut group, mut next) = (Vec::new(), Vec::new());
    begin_together(&mut group);
    let mut at = 0;
    while let Some(first) = group.first() {
        let (start, device) = (first.start, first.device);
        while windows.get(at + 1).is_some_and(|next| next.start <= start) {
            at += 1;
        }
        group.iter().for_each(|activity| owner.begin(activity, &mut windows[at..]));
        let window = &mut windows[at];
        group.iter().for_each(|activity| sweep.begin(activity, window));
        begin_together(&mut next);
        let end = next.first().map_or(end_of_all, |next| next.start);
        let parts = sweep.split(start, end, &next, &launch_end, window);
        if let Some(pieces) = &mut pieces {
            note(pieces, device, start, parts);
        }
        std::mem::swap(&mut group, &mut next);
    }
    windows
}

/// Windows of no content yet: what lies before the first pass, then each pass from its first event to that of the next.
fn windows(activities: impl Iterator<Item = Activity> + Clone, families: usize, ends: &[Picoseconds]) -> Vec<Window> {
    let Some(first) = activities.clone().next() else { return Vec::new() };
    let mut starts: Vec<(Picoseconds, u32, Option<Phase>)> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut end = first.end;
    for activity in activities {
        end = end.max(activity.end);
        let KernelPass { pass, phase } = activity.pass;
        // Neighbours mostly share their pass.
        if pass != OUTSIDE && starts.last().is_none_or(|last| last.1 != pass) && seen.insert(pass) {
            starts.push((activity.start, pass, phase));
        }
    }
    if !starts.is_empty() {
        starts.extend(ends.iter().filter(|end| **end > first.start).map(|end| (*end, OUTSIDE, None)));
    }
    starts.sort_by_key(|(start, pass, _)| (*start, *pass));
    // Where a pass begins, no empty window does.
    starts.dedup_by(|later, earlier| later.1 == OUTSIDE && later.0 == earlier.0);
    starts.retain(|(start, pass, _)| *pass != OUTSIDE || *start < end);
    let window = |pass, phase, start, end| Window {
        device: first.device,
        pass,
        phase,
        start,
        end,
        parts: TimeParts::default(),
        unknown_launch: 0,
        late_behind: 0,
        late_after: FxHashMap::default(),
        own: vec![0; families],
        copies: Default::default(),
        large_gap: None,
    };
    let mut windows = Vec::with_capacity(starts.len() + 1);
    let first_pass = starts.first().map_or(end, |(start, _, _)| *start);
    if first_pass > first.start || starts.is_empty() {
        windows.push(window(None, None, first.start, first_pass));
    }
    for (at, (start, pass, phase)) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(end, |(next, _, _)| *next);
        windows.push(window((*pass != OUTSIDE).then_some(*pass), *phase, *start, end));
    }
    windows
}

/// Gives each instant of computation to the kernel that started first.
struct Owner {
    until: Picoseconds,
}

impl Default for Owner {
    fn default() -> Self {
        Owner { until: Picoseconds::MIN }
    }
}

impl Owner {
    /// Takes what begins, by start; `windows` are those from its start on.
    fn begin(&mut self, activity: &Activity, windows: &mut [Window]) {
        let ActivityKind::Compute(family) = activity.kind else { return };
        let mut from = activity.start.max(self.until);
        if activity.end <= from {
            return;
        }
        self.until = activity.end;
        for window in windows {
            let to = window.end.min(activity.end);
            window.own[family as usize] += (to - from).max(0);
            from = from.max(to);
            if from == activity.end {
                break;
            }
        }
    }
}

/// What has begun and not ended, on the way through the time of a device.
struct Sweep {
    compute_until: Picoseconds,
    communication_until: Picoseconds,
    copies_until: Picoseconds,
    /// Copies by start: end and kind.
    copies: Vec<(Picoseconds, CopyKind)>,
    /// What ends last, and when.
    last: (Picoseconds, NameId),
}

impl Default for Sweep {
    fn default() -> Self {
        let never = Picoseconds::MIN;
        Sweep {
            compute_until: never,
            communication_until: never,
            copies_until: never,
            copies: Vec::new(),
            last: (never, NO_NAME),
        }
    }
}

impl Sweep {
    fn begin(&mut self, activity: &Activity, window: &mut Window) {
        let until = match activity.kind {
            ActivityKind::Compute(_) => &mut self.compute_until,
            ActivityKind::Communication => &mut self.communication_until,
            ActivityKind::Copy { kind, bytes } => {
                let duration = activity.end - activity.start;
                if !activity.is_lead {
                    window.copies[kind as usize].add(&CopySum { count: 1, bytes, total: duration, exposed: 0 });
                }
                self.copies.push((activity.end, kind));
                &mut self.copies_until
            }
        };
        *until = activity.end.max(*until);
        if activity.end > self.last.0 {
            self.last = (activity.end, activity.name);
        }
    }

    /// Splits the time up to the next start of an event; `next` are the events that start there.
    fn split(
        &mut self,
        start: Picoseconds,
        end: Picoseconds,
        next: &[Activity],
        launch_end: impl Fn(u32) -> Option<Picoseconds>,
        window: &mut Window,
    ) -> TimeParts {
        let compute = self.compute_until.clamp(start, end);
        let communication = self.communication_until.clamp(compute, end);
        let copies = self.copies_until.clamp(communication, end);
        let mut at = communication;
        for (until, kind) in &self.copies {
            let until = (*until).clamp(at, end);
            window.copies[*kind as usize].exposed += until - at;
            at = until;
        }
        self.copies.retain(|(until, _)| *until > end);
        let busy = TimeParts {
            compute: compute - start,
            exposed_communication: communication - compute,
            exposed_copies: copies - communication,
            ..TimeParts::default()
        };
        let gap = end - copies;
        if gap == 0 {
            window.parts.add(&busy);
            return busy;
        }
        let launch_ends = || next.iter().filter_map(|activity| Some((activity, launch_end(activity.launch)?)));
        let launched = launch_ends().map(|(_, end)| end).min();
        let late = launched.map_or(0, |launched| (launched.min(end) - copies).max(0));
        let parts = TimeParts { host_late: late, device_idle: gap - late, ..busy };
        window.parts.add(&parts);
        if end == window.end {
            window.late_behind += late;
        }
        if late > 0 {
            *window.late_after.entry(self.last.1).or_default() += late;
        }
        if launched.is_none() {
            window.unknown_launch += gap;
        }
        if 2 * gap > window.length()
            && let Some((activity, launched)) = launch_ends().find(|(_, launched)| *launched <= copies + gap / 2)
        {
            let launched_before = activity.start - launched;
            window.large_gap = Some(Gap { length: gap, name: activity.name, launched_before });
        }
        parts
    }
}

/// Adds what a device did from `start` on, part after part; the same part goes on.
fn note(pieces: &mut Vec<Piece>, device: u32, start: Picoseconds, parts: TimeParts) {
    let mut from = start;
    for (part, length) in [
        (Part::Compute, parts.compute),
        (Part::ExposedCommunication, parts.exposed_communication),
        (Part::ExposedCopies, parts.exposed_copies),
        (Part::HostLate, parts.host_late),
        (Part::DeviceIdle, parts.device_idle),
    ] {
        if length == 0 {
            continue;
        }
        let end = from + length;
        match pieces.last_mut() {
            Some(last) if (last.device, last.part, last.end) == (device, part, from) => last.end = end,
            _ => pieces.push(Piece { device, part, start: from, end }),
        }
        from = end;
    }
}

#[cfg(test)]
mod tests;
