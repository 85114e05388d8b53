//! The forward pass and the phase of every kernel.
//!
//! A step owns what was launched within it: a kernel may run long after the step that launched it has ended on the host.
//! A kernel or copy without a launch says nothing about the step that caused it, so it is owned by none. What runs before
//! the first owned event of a device, and what a stream still ran through from before its first launched event, is the
//! [lead](Found::is_lead) of the trace.

use std::ops::Range;

use perfdb_files::parallel::AtOnce;
use perfdb_model::workload::BatchLengths;
use regex::Regex;
use serde::Serialize;

use super::OUTSIDE;
use super::launches::{Launches, NO_LAUNCH};
use crate::columns::{Columns, Kernel, Launch};
use crate::copies::GpuCopy;
use crate::corrections::Corrections;
use crate::device::CutWindows;
use crate::id::Id;
use crate::rows::KernelRows;
use crate::steps::{Basis, Phase, Steps, Window};
use crate::time::Picoseconds;
use perfdb_trace::profile::{RowSteps, StepBasis};

/// What separates the steps of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundaries {
    /// Annotations on the host own what was launched within them.
    Launch,
    /// No kernel has a launch: annotations on the device.
    DeviceAnnotation,
    /// No kernel has a launch: annotations on the host, by the time at which a kernel starts.
    Time,
    /// Nobody annotated passes: what the device does again and again.
    Repetition,
    /// A column of the table names the step of each kernel.
    Column,
    /// Pauses between equally many rows of a table.
    Gap,
    /// Nothing: the whole trace is one step.
    Whole,
}

/// The forward passes of a trace.
#[derive(Debug)]
pub(crate) struct Passes {
    pub(crate) of_kernels: Vec<KernelPass>,
    /// How many passes have kernels.
    pub(crate) count: u64,
    /// Whether steps were annotated with phases.
    pub(crate) has_steps: bool,
}

/// The pass and phase of a kernel or a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelPass {
    /// Number of the pass, or [`OUTSIDE`].
    pub(crate) pass: u32,
    pub(crate) phase: Option<Phase>,
}

impl KernelPass {
    const OUTSIDE: KernelPass = KernelPass { pass: OUTSIDE, phase: None };
}

/// Kernels and copies of a trace with their passes.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) kernels: Vec<KernelPass>,
    pub(crate) copies: Vec<KernelPass>,
    /// Per kernel the number of its launch, or [`NO_LAUNCH`].
    pub(crate) launch_of: Vec<u32>,
    /// Likewise per copy.
    pub(crate) launch_of_copies: Vec<u32>,
    /// Per kernel, whether it belongs to the lead; empty where none does.
    pub(crate) is_lead: Vec<bool>,
    /// Likewise per copy.
    pub(crate) is_lead_copy: Vec<bool>,
}

impl Found {
    /// Takes what a cut trace holds behind its windows out of all passes.
    pub(crate) fn leave_out(&mut self, kernels: &KernelRows, copies: &[GpuCopy], cut: &[CutWindows]) {
        let is_left_out = |device: u32, start| cut.get(device as usize).is_some_and(|windows| windows.leave_out(start));
        for (kernel, pass) in kernels.iter().zip(&mut self.kernels) {
            if is_left_out(kernel.device, kernel.start) {
                *pass = KernelPass::OUTSIDE;
            }
        }
        for (copy, pass) in copies.iter().zip(&mut self.copies) {
            if is_left_out(copy.device, copy.start) {
                *pass = KernelPass::OUTSIDE;
            }
        }
    }
}

/// Tells the passes of a trace apart.
pub(crate) struct PassFinder<'a> {
    steps: Steps,
    boundaries: Boundaries,
    launches: &'a Launches<'a>,
    /// Steps that the rows of a table belong to.
    rows: Option<&'a RowSteps>,
}

/// A kernel or a copy, where its pass depends on it.
#[derive(Clone, Copy)]
struct Event {
    start: Picoseconds,
    correlation: Id,
    device: u32,
    stream: u32,
    /// [`Kernel::index`] of a kernel.
    index: Option<u32>,
}

impl From<Kernel> for Event {
    fn from(kernel: Kernel) -> Event {
        let Kernel { start, correlation, device, stream, index, .. } = kernel;
        Event { start, correlation, device, stream, index: Some(index) }
    }
}

impl From<&GpuCopy> for Event {
    fn from(copy: &GpuCopy) -> Event {
        let GpuCopy { start, correlation, device, stream, .. } = *copy;
        Event { start, correlation, device, stream, index: None }
    }
}

/// Kernels, and copies behind them, by number: a chain of both is slower to go through.
#[derive(Clone, Copy)]
struct Events<'a> {
    kernels: &'a KernelRows,
    copies: &'a [GpuCopy],
}

impl<'a> Events<'a> {
    fn count(&self) -> usize {
        self.kernels.len() + self.copies.len()
    }

    #[inline(always)]
    fn at(&self, number: usize) -> Event {
        match number.checked_sub(self.kernels.len()) {
            None => self.kernels.at(number).into(),
            Some(copy) => (&self.copies[copy]).into(),
        }
    }

    #[inline(always)]
    fn iter(self) -> impl Iterator<Item = Event> + Clone + use<'a> {
        (0..self.count()).map(move |number| self.at(number))
    }
}

impl<'a> PassFinder<'a> {
    /// By annotations whose names match `pattern`, or where there is none, by those that are known to be steps.
    pub(crate) fn new(
        columns: &'a Columns,
        kernels: &KernelRows,
        launches: &'a Launches<'a>,
        pattern: Option<&Regex>,
    ) -> PassFinder<'a> {
        let found = |annotations| match pattern {
            Some(pattern) => Steps::matching(annotations, pattern),
            None => Steps::new(annotations),
        };
        if let Some(rows) = &columns.row_steps {
            let boundaries = match rows.basis {
                StepBasis::Column => Boundaries::Column,
                StepBasis::Pause => Boundaries::Gap,
            };
            return PassFinder { steps: steps_of_rows(rows, kernels), boundaries, launches, rows: Some(rows) };
        }
        let launched = kernels.iter().any(|kernel| launches.number(kernel.correlation).is_some());
        let on_device = || found(&columns.device_annotations);
        let (steps, boundaries) = if launched {
            (found(&columns.annotations), Boundaries::Launch)
        } else if columns.written_by.is_some() {
            // Clocks of host and device are not known to agree where nothing links them.
            (Steps::new(&[]), Boundaries::Whole)
        } else {
            match on_device() {
                steps if steps.windows.is_empty() => (found(&columns.annotations), Boundaries::Time),
                // The profiler gives a kernel to its innermost annotation: windows that few kernels start in are no steps.
                steps if covers_half(&steps, kernels) => (steps, Boundaries::DeviceAnnotation),
                _ => (Steps::new(&[]), Boundaries::Whole),
            }
        };
        let mut finder = PassFinder { steps, boundaries, launches, rows: None };
        let owns = |event: Event| finder.owner(event).is_some();
        if !kernels.iter().map(Event::from).any(owns) {
            finder.steps = Steps::new(&[]);
            finder.boundaries = Boundaries::Whole;
        }
        finder
    }

    /// What the steps are.
    pub(crate) fn basis(&self) -> Basis {
        self.steps.basis
    }

    /// What separates them.
    pub(crate) fn boundaries(&self) -> Boundaries {
        self.boundaries
    }

    /// Start and end of each step.
    pub(crate) fn step_times(&self) -> impl Iterator<Item = (Picoseconds, Picoseconds)> + '_ {
        self.steps.windows.iter().map(|window| (window.start, window.end))
    }

    /// The lengths of the sequences of each pass, where its step tells them.
    pub(crate) fn lengths(&self) -> Vec<Option<BatchLengths>> {
        self.steps.windows.iter().map(|window| window.lengths).collect()
    }

    /// Passes that lack kernels, ascending: those of marked kernels, and those of launches without kernels.
    pub(crate) fn incomplete(&self, passes: &Passes, corrections: &Corrections) -> Vec<u32> {
        let marked = corrections.incomplete.iter().filter_map(|kernel| passes.of_kernels.get(*kernel as usize));
        let mut found: Vec<u32> = marked.map(|kernel| kernel.pass).filter(|pass| *pass != OUTSIDE).collect();
        for (start, end) in &corrections.lost {
            let meets = |window: &Window| window.end >= *start && window.start <= *end;
            found.extend(self.steps.windows.iter().zip(0..).filter(|(window, _)| meets(window)).map(|(_, at)| at));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The passes of the kernels that remain.
    pub(crate) fn passes(&self, of_kernels: Vec<KernelPass>) -> Passes {
        let mut used = vec![false; self.steps.windows.len()];
        for kernel in &of_kernels {
            if let Some(used) = used.get_mut(kernel.pass as usize) {
                *used = true;
            }
        }
        let count = if used.is_empty() { 1 } else { used.iter().filter(|used| **used).count() as u64 };
        Passes { of_kernels, count, has_steps: self.steps.recognised }
    }

    /// Pass and phase of every kernel and copy, and the lead.
    pub(crate) fn find(&self, kernels: &KernelRows, copies: &[GpuCopy], at_once: AtOnce) -> Found {
        let events = Events { kernels, copies };
        let count = events.count();
        let owners = at_once.halves(count, |numbers| self.owners(events, numbers));
        let (owners, mut launches): (Vec<Option<u32>>, Vec<u32>) = owners.into_iter().unzip();
        let (mut passes, mut is_lead) = if self.steps.windows.is_empty() {
            (vec![KernelPass { pass: 0, phase: None }; count], Vec::new())
        } else {
            self.owned(events, &owners, &launches, at_once)
        };
        let copies = passes.split_off(kernels.len());
        let launch_of_copies = launches.split_off(kernels.len());
        let is_lead_copy = is_lead.split_off(kernels.len().min(is_lead.len()));
        Found { kernels: passes, copies, launch_of: launches, launch_of_copies, is_lead, is_lead_copy }
    }

    /// The step that owns each of some events, and the number of its launch.
    fn owners(&self, events: Events<'_>, numbers: Range<usize>) -> Vec<(Option<u32>, u32)> {
        let by_launch = self.boundaries == Boundaries::Launch;
        // Neighbours in the file mostly share their launch, and what is launched once has one owner.
        let mut last = None;
        let owner_and_launch = |number| {
            let event = events.at(number);
            let same = last.filter(|(correlation, _, _)| *correlation == event.correlation);
            let launch = same.map_or_else(|| self.launches.number(event.correlation), |(_, launch, _)| launch);
            let owner = match same {
                Some((_, _, owner)) if by_launch => owner,
                _ => self.owner_of(&event, launch.map(|number| self.launches.get(number))),
            };
            last = Some((event.correlation, launch, owner));
            (owner, launch.unwrap_or(NO_LAUNCH))
        };
        numbers.map(owner_and_launch).collect()
    }

    /// The pass of each event, and whether it belongs to the lead; the second is empty where none does.
    fn owned(
        &self,
        events: Events<'_>,
        owners: &[Option<u32>],
        launches: &[u32],
        at_once: AtOnce,
    ) -> (Vec<KernelPass>, Vec<bool>) {
        let windows = DeviceWindows::new(events, owners);
        let by_launch = self.boundaries == Boundaries::Launch;
        let by_window = by_launch || self.rows.is_some();
        let is_lead = windows.leads(events, by_launch.then_some(launches));
        let pass = |at: usize| {
            let window = match owners[at] {
                Some(window) => Some(window),
                None if launches[at] != NO_LAUNCH || is_lead[at] => None,
                // Its launch is not known: it belongs to the window that it lies in.
                None if by_window => {
                    let event = events.at(at);
                    windows.at(event.device, event.start)
                }
                None => None,
            };
            window.map_or(KernelPass::OUTSIDE, |pass| KernelPass { pass, phase: self.phase(pass) })
        };
        let passes = at_once.halves(events.count(), |numbers| numbers.map(pass).collect());
        (passes, if is_lead.contains(&true) { is_lead } else { Vec::new() })
    }

    fn phase(&self, pass: u32) -> Option<Phase> {
        self.steps.windows.get(pass as usize).and_then(|window| window.phase)
    }

    fn owner(&self, event: Event) -> Option<u32> {
        self.owner_of(&event, self.launches.with(event.correlation))
    }

    /// The step that owns an event with that launch.
    fn owner_of(&self, event: &Event, launch: Option<Launch>) -> Option<u32> {
        if let Some(rows) = self.rows {
            return rows.of_kernels.get(event.index? as usize).copied().flatten();
        }
        let (process, time) = match self.boundaries {
            Boundaries::Launch => (self.launches.process(launch?), launch?.start),
            _ => (None, event.start),
        };
        self.steps.at(process, time).map(|window| window as u32)
    }
}

/// From the first to the last row of each step.
fn steps_of_rows(rows: &RowSteps, kernels: &KernelRows) -> Steps {
    let mut spans: Vec<Option<(Picoseconds, Picoseconds)>> = vec![None; rows.names.len()];
    for kernel in kernels.iter() {
        let Some(step) = rows.of_kernels.get(kernel.index as usize).copied().flatten() else { continue };
        let Some(span) = spans.get_mut(step as usize) else { continue };
        let (start, end) = span.unwrap_or((kernel.start, kernel.end()));
        *span = Some((start.min(kernel.start), end.max(kernel.end())));
    }
    Steps::of_spans(spans.into_iter().map(Option::unwrap_or_default))
}

/// Whether at least half of the kernel time starts in steps.
fn covers_half(steps: &Steps, kernels: &KernelRows) -> bool {
    let inside = kernels.iter().filter(|kernel| steps.at(None, kernel.start).is_some());
    let inside: Picoseconds = inside.map(|kernel| kernel.duration).sum();
    let all: Picoseconds = kernels.iter().map(|kernel| kernel.duration).sum();
    2 * inside >= all
}

/// Where the windows of steps begin on each device.
struct DeviceWindows {
    /// By device: start and number of the step, by start.
    starts: Vec<Vec<(Picoseconds, u32)>>,
}

impl DeviceWindows {
    /// From the first event that each step owns.
    fn new(events: Events<'_>, owners: &[Option<u32>]) -> DeviceWindows {
        let devices = events.iter().map(|event| event.device as usize + 1).max().unwrap_or(0);
        let mut first: Vec<std::collections::BTreeMap<u32, Picoseconds>> = vec![Default::default(); devices];
        // Neighbours mostly share their owner and follow each other in time.
        let mut last = None;
        for (event, owner) in events.iter().zip(owners) {
            let Some(owner) = owner else { continue };
            if last
                .is_some_and(|(device, known, start)| (device, known) == (event.device, *owner) && start <= event.start)
            {
                continue;
            }
            let start = first[event.device as usize].entry(*owner).or_insert(event.start);
            *start = event.start.min(*start);
            last = Some((event.device, *owner, *start));
        }
        let sorted = |first: std::collections::BTreeMap<u32, Picoseconds>| {
            let mut starts: Vec<(Picoseconds, u32)> = first.into_iter().map(|(step, start)| (start, step)).collect();
            starts.sort_unstable();
            starts
        };
        DeviceWindows { starts: first.into_iter().map(sorted).collect() }
    }

    /// The step in whose window a time lies.
    fn at(&self, device: u32, time: Picoseconds) -> Option<u32> {
        let starts = &self.starts[device as usize];
        let behind = starts.partition_point(|(start, _)| *start <= time);
        behind.checked_sub(1).map(|at| starts[at].1)
    }

    /// Which events belong to the lead. `launched` says which have a launch, where launches own them.
    fn leads(&self, events: Events<'_>, launches: Option<&[u32]>) -> Vec<bool> {
        let streams = events.iter().map(|event| event.stream as usize + 1).max().unwrap_or(0);
        let mut first_launched = vec![None::<Picoseconds>; streams];
        for (event, _) in events.iter().zip(launches.unwrap_or_default()).filter(|(_, launch)| **launch != NO_LAUNCH) {
            let first = &mut first_launched[event.stream as usize];
            *first = Some(first.map_or(event.start, |first| first.min(event.start)));
        }
        let is_lead = |(at, event): (usize, Event)| {
            let Some((start, _)) = self.starts[event.device as usize].first() else { return false };
            let before = || first_launched[event.stream as usize].is_none_or(|first| event.start < first);
            event.start < *start || launches.is_some_and(|launches| launches[at] == NO_LAUNCH) && before()
        };
        events.iter().enumerate().map(is_lead).collect()
    }
}
