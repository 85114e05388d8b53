//! What is kept of a trace that is looked at alone, beside what a comparison needs.

use rustc_hash::FxHashMap;

use super::own::{Span, each_owned};
use super::shapes::Shaped;
use crate::classify::COLLECTIVES;
use crate::columns::{Columns, Kernel};
use crate::context::OUTSIDE;
use crate::context::captures::CapturedShapes;
use crate::context::classes::Classes;
use crate::context::launches::{Launches, NO_LAUNCH};
use crate::context::passes::{Boundaries, KernelPass, PassFinder};
use crate::elapsed::timeline::{Timeline, Window};
use crate::lead::Lead;
use crate::rows::KernelRows;
use crate::time::Picoseconds;
use crate::time_order::{TimeOrder, by_device};
use perfdb_files::parallel::AtOnce;
use perfdb_trace::profile::Mark;

/// A step as it is annotated.
#[derive(Debug, Clone)]
pub(crate) struct HostStep {
    pub(crate) name: String,
    pub(crate) start: Picoseconds,
    pub(crate) end: Picoseconds,
}

/// A copy that is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedCopy {
    /// Number of the window that it starts in, or [`NO_WINDOW`].
    pub(crate) window: u32,
    pub(crate) duration: Picoseconds,
}

/// Kernels and copies of which no launch is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unlaunched {
    pub(crate) kernels: u64,
    pub(crate) copies: u64,
    pub(crate) time: Picoseconds,
}

/// What is kept.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// What kind of file the trace is.
    pub(crate) kind: &'static str,
    /// By number of the pass.
    pub(crate) steps: Vec<HostStep>,
    /// The earliest launch of what a step owns, by device and pass; only where launches own.
    pub(crate) first_launch: FxHashMap<(u32, u32), Picoseconds>,
    /// Names of the classes of `own`.
    pub(crate) classes: Vec<String>,
    /// Own time per class, beside the windows of the timeline.
    pub(crate) own: Vec<Vec<Picoseconds>>,
    /// Per kernel the number of the window that it starts in, or [`NO_WINDOW`].
    pub(crate) window_of: Vec<u32>,
    pub(crate) copies: Vec<CountedCopy>,
    pub(crate) unlaunched: Unlaunched,
    pub(crate) shaped: Shaped,
    /// Whether the file has operators of the host.
    pub(crate) has_operators: bool,
    /// Time of graphs that are one row each.
    pub(crate) graphs: Picoseconds,
    /// Kernels of the general class of collectives, with the kind that the host asked for.
    pub(crate) kinds: Vec<(u32, &'static str)>,
}

/// What facts are found from.
pub(crate) struct Sources<'a> {
    pub(crate) columns: &'a Columns,
    pub(crate) kernels: &'a KernelRows,
    pub(crate) order: &'a TimeOrder,
    pub(crate) passes: &'a [KernelPass],
    pub(crate) classes: &'a Classes,
    pub(crate) lead: &'a Lead,
    pub(crate) lead_classes: &'a Classes,
    pub(crate) copy_passes: &'a [KernelPass],
    pub(crate) launch_of_copies: &'a [u32],
    pub(crate) lead_copies: &'a [bool],
    pub(crate) launches: &'a Launches<'a>,
    pub(crate) launch_of: &'a [u32],
    pub(crate) finder: &'a PassFinder<'a>,
    pub(crate) timeline: &'a Timeline,
}

impl Facts {
    pub(crate) fn new(sources: &Sources<'_>, at_once: AtOnce) -> Facts {
        let ((classes, own), facts) = at_once.both(|| own_times(sources), || Facts::without_own_times(sources));
        Facts { classes, own, ..facts }
    }

    /// With the operators that launched the kernels, and those of the trace of a capture.
    pub(crate) fn with(self, mut shaped: Shaped, captured: Option<CapturedShapes>) -> Facts {
        if let Some(captured) = captured {
            captured.add_to(&mut shaped);
        }
        Facts { shaped, ..self }
    }

    fn without_own_times(sources: &Sources<'_>) -> Facts {
        let mut at = WindowAt::new(sources.timeline);
        Facts {
            kind: sources.columns.written_by.map_or("gpu-trace", perfdb_trace::profile::Kind::name),
            steps: steps(sources),
            first_launch: first_launches(sources),
            classes: Vec::new(),
            own: Vec::new(),
            window_of: sources.kernels.iter().map(|kernel| at.number(kernel.device, kernel.start)).collect(),
            copies: copies(sources, &mut at),
            unlaunched: unlaunched(sources),
            graphs: graphs(sources),
            shaped: Shaped::default(),
            has_operators: !sources.columns.operators.is_empty(),
            kinds: Vec::new(),
        }
    }
}

/// The steps with the names of their annotations.
fn steps(sources: &Sources<'_>) -> Vec<HostStep> {
    if let Some(rows) = &sources.columns.row_steps {
        let times = sources.finder.step_times().zip(&rows.names);
        return times.map(|((start, end), name)| HostStep { name: name.clone(), start, end }).collect();
    }
    let annotations = match sources.finder.boundaries() {
        Boundaries::DeviceAnnotation => &sources.columns.device_annotations,
        _ => &sources.columns.annotations,
    };
    let mut names: FxHashMap<(Picoseconds, Picoseconds), &str> = FxHashMap::default();
    for annotation in annotations {
        names.entry((annotation.start, annotation.start + annotation.duration)).or_insert(&annotation.name);
    }
    let step = |(start, end): (Picoseconds, Picoseconds)| {
        let name = names.get(&(start, end)).copied().unwrap_or_default().to_owned();
        HostStep { name, start, end }
    };
    sources.finder.step_times().map(step).collect()
}

fn graphs(sources: &Sources<'_>) -> Picoseconds {
    let all = sources.kernels.iter().chain(sources.lead.kernels.iter());
    all.filter(|kernel| sources.columns.mark_of(*kernel) == Mark::Graph).map(|kernel| kernel.duration).sum()
}

fn first_launches(sources: &Sources<'_>) -> FxHashMap<(u32, u32), Picoseconds> {
    let mut first: FxHashMap<(u32, u32), Picoseconds> = FxHashMap::default();
    if sources.finder.boundaries() != Boundaries::Launch {
        return first;
    }
    let mut add = |device: u32, pass: &KernelPass, launch: Picoseconds| {
        if pass.pass != OUTSIDE {
            let known = first.entry((device, pass.pass)).or_insert(launch);
            *known = launch.min(*known);
        }
    };
    for ((kernel, pass), launch) in sources.kernels.iter().zip(sources.passes).zip(sources.launch_of) {
        if *launch != NO_LAUNCH {
            add(kernel.device, pass, sources.launches.get(*launch).start);
        }
    }
    for ((copy, pass), launch) in sources.columns.copies.iter().zip(sources.copy_passes).zip(sources.launch_of_copies) {
        if *launch != NO_LAUNCH {
            add(copy.device, pass, sources.launches.get(*launch).start);
        }
    }
    first
}

fn copies(sources: &Sources<'_>, at: &mut WindowAt<'_>) -> Vec<CountedCopy> {
    let is_lead = |at: usize| sources.lead_copies.get(at).copied().unwrap_or(false);
    let all = sources.columns.copies.iter().enumerate().filter(|(at, _)| !is_lead(*at));
    all.map(|(_, copy)| CountedCopy { window: at.number(copy.device, copy.start), duration: copy.duration }).collect()
}

fn unlaunched(sources: &Sources<'_>) -> Unlaunched {
    let mut found = Unlaunched::default();
    let counted = sources.kernels.iter().zip(sources.launch_of).filter(|(_, launch)| **launch == NO_LAUNCH);
    let lead = sources.lead.kernels.iter().zip(&sources.lead.launch_of).filter(|(_, launch)| **launch == NO_LAUNCH);
    for (kernel, _) in counted.chain(lead) {
        found.kernels += 1;
        found.time += kernel.duration;
    }
    found.copies = sources.launch_of_copies.iter().filter(|launch| **launch == NO_LAUNCH).count() as u64;
    found
}

pub(crate) const NO_WINDOW: u32 = u32::MAX;

/// Finds the window that a time lies in. What is asked for mostly follows what was asked for before.
struct WindowAt<'a> {
    windows: &'a [Window],
    last: usize,
}

impl<'a> WindowAt<'a> {
    fn new(timeline: &'a Timeline) -> WindowAt<'a> {
        WindowAt { windows: &timeline.windows, last: 0 }
    }

    /// The number of the last window of a device that begins at that time or before; [`NO_WINDOW`] where none does.
    fn number(&mut self, device: u32, time: Picoseconds) -> u32 {
        let begins = |window: &Window| (window.device, window.start) <= (device, time);
        let here = |at: usize| {
            self.windows.get(at).is_some_and(|window| window.device == device && window.start <= time)
                && !self.windows.get(at + 1).is_some_and(begins)
        };
        let found = [self.last, self.last + 1].into_iter().find(|at| here(*at));
        let found = found.or_else(|| {
            let at = self.windows.partition_point(begins).checked_sub(1)?;
            (self.windows[at].device == device).then_some(at)
        });
        let Some(at) = found else { return NO_WINDOW };
        self.last = at;
        at as u32
    }
}

/// Names of classes, and for each window of the timeline the own time of each.
fn own_times(sources: &Sources<'_>) -> (Vec<String>, Vec<Vec<Picoseconds>>) {
    let mut names = sources.classes.operations.clone();
    let mut number = |name: &String| {
        names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.clone());
            names.len() - 1
        }) as u32
    };
    let of_lead: Vec<u32> = sources.lead_classes.operations.iter().map(&mut number).collect();
    let of_all: Vec<u32> = sources.classes.operations.iter().map(&mut number).collect();
    let communicates: Vec<bool> = names.iter().map(|name| COLLECTIVES.contains(&name.as_str())).collect();
    // Kernels by number, the lead behind the others: they are looked at where they lie.
    let kernel = |number: u32| -> (Kernel, u32) {
        let number = number as usize;
        let (kernel, classes, of_class, at) = match sources.kernels.get(number) {
            Some(kernel) => (kernel, sources.classes, &of_all, number),
            None => {
                let at = number - sources.kernels.len();
                (sources.lead.kernels.at(at), sources.lead_classes, &of_lead, at)
            }
        };
        (kernel, of_class[classes.groups[classes.of_kernels[at] as usize].operation as usize])
    };
    let span = |number: u32| {
        let (kernel, class) = kernel(number);
        let communicates = communicates[class as usize];
        Span { start: kernel.start, end: kernel.end(), class, communicates }
    };
    let count = sources.kernels.len();
    let ordered = sources.order.numbers(count).map(|number| (sources.kernels.at(number).device, number as u32));
    let lead = sources.lead.kernels.iter().map(|kernel| kernel.device).zip(count as u32..);
    let by_start = |number: u32| {
        let (kernel, _) = kernel(number);
        (kernel.start, kernel.index)
    };
    let by_device = by_device(sources.timeline.devices.len(), ordered, lead, by_start);
    let some_communicate = communicates.contains(&true);
    let windows = &sources.timeline.windows;
    let mut at = WindowAt::new(sources.timeline);
    let mut own = vec![vec![0; names.len()]; windows.len()];
    for (device, order) in by_device.iter().enumerate() {
        each_owned(order, span, some_communicate, |piece| {
            let mut from = piece.start;
            let number = at.number(device as u32, piece.start) as usize;
            for (window, own) in windows.iter().zip(&mut own).skip(number) {
                let to = window.end.min(piece.end);
                own[piece.class as usize] += (to - from).max(0);
                from = from.max(to);
                if from >= piece.end {
                    break;
                }
            }
        });
    }
    (names, own)
}
