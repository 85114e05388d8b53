//! Operators, stacks and shapes of the kernels of replayed graphs, from a trace of the capture.
//!
//! A replay is one call on the host, so nothing there says what its kernels work for. While the graph was captured, each of them was
//! launched by its operator, in the order in which they run: the two sequences are joined by position.

use rustc_hash::FxHashMap;

use super::calls::{self, Calls, NO_CALL};
use super::launches::{GraphLaunches, Launches, NO_LAUNCH};
use super::operators::{self, Decision, KernelOperator, Operators};
use crate::columns::{Columns, Kernel};
use crate::copies::GpuCopy;
use crate::frames::{NO_STACK, StackId};
use crate::names::{NO_NAME, NameId, Names};
use crate::one_trace::shapes::{self, NO_OPERATOR, Shaped, ShapedRow};
use crate::rows::KernelRows;
use crate::time::Picoseconds;

/// What became of the graphs of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    /// Replays of graphs.
    pub(crate) replays: u64,
    /// Replays that are like a capture.
    pub(crate) joined: u64,
    /// Kernels of all replays.
    pub(crate) kernels: u64,
    /// Kernels that have the operator of a capture now.
    pub(crate) joined_kernels: u64,
}

/// What is joined: the kernels of a trace with their launches, and what is known of them.
pub(crate) struct Replays<'a> {
    pub(crate) kernels: &'a KernelRows,
    pub(crate) copies: &'a [GpuCopy],
    pub(crate) launches: &'a Launches<'a>,
    /// Beside the kernels.
    pub(crate) launch_of: &'a [u32],
}

impl Replays<'_> {
    /// Per kernel, whether a graph launched it; empty where none did.
    pub(crate) fn kernels_of_graphs(&self, names: &Names) -> Vec<bool> {
        let mut graphs = GraphLaunches::default();
        let is_replayed = |launch: &u32| *launch != NO_LAUNCH && graphs.has(self.launches.get(*launch).name, names);
        let replayed: Vec<bool> = self.launch_of.iter().map(is_replayed).collect();
        if replayed.contains(&true) { replayed } else { Vec::new() }
    }
}

/// One thing in a graph, by the number of its name; copies have the name of none.
type Step = Option<NameId>;

/// Longest stretches without a counterpart that are compared step by step.
const LONGEST_CHANGE: usize = 1000;

/// Of this many steps of a replay with a known name, this many must be those of the capture.
const LIKE: (usize, usize) = (95, 100);

/// Joins each replay to the capture that is like it.
pub(crate) fn join(
    replays: &Replays<'_>,
    capture: &mut Columns,
    with_stacks: bool,
    names: &mut Names,
    operators: &mut Operators,
    calls: &mut Calls,
) -> (Joined, CapturedShapes) {
    let mut capture_names = std::mem::take(&mut capture.names);
    capture_names.finish();
    let captures = captures(capture, &capture_names, names);
    let mut known: FxHashMap<Vec<Step>, Option<Vec<Option<u32>>>> = FxHashMap::default();
    let mut joined = Joined::default();
    let mut pairs: Vec<Pair> = Vec::new();
    for replay in graphs(replays, names) {
        let steps: Vec<Step> = replay.iter().map(|(step, _)| *step).collect();
        let places = known.entry(steps).or_insert_with_key(|steps| best(steps, &captures));
        joined.replays += 1;
        joined.kernels += replay.iter().filter(|(step, _)| step.is_some()).count() as u64;
        if let Some(places) = places {
            joined.joined += 1;
            let number = joined.replays;
            let pair = |((step, kernel), launch): (&(Step, u32), &Option<u32>)| {
                step.and(Some(Pair { kernel: *kernel, launch: (*launch)?, replay: number }))
            };
            pairs.extend(replay.iter().zip(places.iter()).filter_map(pair));
        }
    }
    joined.joined_kernels = pairs.len() as u64;
    let mut shapes = CapturedShapes::default();
    if !pairs.is_empty() {
        let mut found = of_launches(&captures, capture, with_stacks, &mut capture_names);
        shapes = CapturedShapes::of(&mut found, &pairs, &capture_names, names, replays.kernels.len());
        found.take(&pairs, &capture_names, names, operators, calls, replays.kernels.len());
    }
    (joined, shapes)
}

/// Operators with shapes of the kernels of replays.
#[derive(Debug, Default)]
pub(crate) struct CapturedShapes {
    /// Per kernel its call, or [`NO_OPERATOR`]; empty where nothing was joined.
    of_kernels: Vec<u32>,
    row_of: Vec<u32>,
    rows: Vec<ShapedRow>,
}

impl CapturedShapes {
    fn of(found: &mut OfLaunches, pairs: &[Pair], from: &Names, names: &mut Names, kernels: usize) -> CapturedShapes {
        let Shaped { of_kernels: of_launches, row_of, mut rows, .. } = std::mem::take(&mut found.shaped);
        if rows.is_empty() {
            return CapturedShapes::default();
        }
        for row in &mut rows {
            row.name = names.text(from.get(row.name));
        }
        let mut shapes = CapturedShapes { of_kernels: vec![NO_OPERATOR; kernels], row_of: Vec::new(), rows };
        // Every replay calls again what was captured once.
        let mut known: FxHashMap<(u64, u32), u32> = FxHashMap::default();
        for pair in pairs {
            let call = of_launches[found.numbers[&pair.launch] as usize];
            if call == NO_OPERATOR {
                continue;
            }
            let number = *known.entry((pair.replay, call)).or_insert_with(|| {
                shapes.row_of.push(row_of[call as usize]);
                shapes.row_of.len() as u32 - 1
            });
            shapes.of_kernels[pair.kernel as usize] = number;
        }
        shapes
    }

    /// Puts them behind the calls that the trace itself has.
    pub(crate) fn add_to(self, shaped: &mut Shaped) {
        if self.of_kernels.is_empty() {
            return;
        }
        let (calls, rows) = (shaped.row_of.len() as u32, shaped.rows.len() as u32);
        shaped.of_kernels.resize(self.of_kernels.len(), NO_OPERATOR);
        for (own, captured) in shaped.of_kernels.iter_mut().zip(self.of_kernels) {
            if captured != NO_OPERATOR {
                *own = calls + captured;
            }
        }
        shaped.row_of.extend(self.row_of.into_iter().map(|row| rows + row));
        shaped.rows.extend(self.rows);
        shaped.captured_from = Some(calls);
    }
}

/// A kernel of a replay, and its launch in the capture.
#[derive(Debug, Clone, Copy)]
struct Pair {
    kernel: u32,
    launch: u32,
    /// Number of the replay.
    replay: u64,
}

/// A capture: its steps, and the launch of each.
struct Capture {
    steps: Vec<CapturedStep>,
}

/// A step of a capture.
#[derive(Clone, Copy)]
struct CapturedStep {
    launch: u32,
    /// None where the launch does not say which kernel it launches.
    is: Option<Step>,
}

/// What stands between the calls that begin and end captures, thread by thread.
fn captures(capture: &Columns, capture_names: &Names, names: &Names) -> Vec<Capture> {
    let mut order: Vec<u32> = (0..capture.launches.len() as u32).collect();
    order.sort_by_key(|at| {
        let launch = capture.launches.at(*at as usize);
        (launch.thread, launch.start)
    });
    let mut found = Vec::new();
    let mut open: Option<(u32, Capture)> = None;
    for at in order {
        let launch = capture.launches.at(at as usize);
        let name = capture_names.get(launch.name);
        if name.contains("StreamBeginCapture") {
            open = Some((launch.thread, Capture { steps: Vec::new() }));
        } else if name.contains("StreamEndCapture") {
            found.extend(open.take().filter(|(thread, _)| *thread == launch.thread).map(|(_, capture)| capture));
        } else if let Some((thread, capturing)) = &mut open
            && *thread == launch.thread
        {
            let kernel = capture.launched.get(at as usize).copied().unwrap_or(NO_NAME);
            let is = if name.contains("Memcpy") || name.contains("Memset") {
                Some(None)
            } else if !name.contains("Launch") {
                continue;
            } else if kernel == NO_NAME {
                None
            } else {
                // A kernel that the replay never runs has a number that no step of a replay has.
                Some(Some(names.find(capture_names.get(kernel)).unwrap_or(NO_NAME)))
            };
            capturing.steps.push(CapturedStep { launch: at, is });
        }
    }
    found.retain(|capture| !capture.steps.is_empty());
    found
}

/// Steps of each replay in order of time, with the number of the kernel.
fn graphs(replays: &Replays<'_>, names: &Names) -> Vec<Vec<(Step, u32)>> {
    let mut graphs = GraphLaunches::default();
    let mut launched: Vec<(u32, Picoseconds, Step, u32)> = Vec::new();
    let mut add = |launch: u32, start: Picoseconds, step: Step, at: u32| {
        if launch != NO_LAUNCH && graphs.has(replays.launches.get(launch).name, names) {
            launched.push((launch, start, step, at));
        }
    };
    for ((kernel, launch), at) in replays.kernels.iter().zip(replays.launch_of).zip(0..) {
        add(*launch, kernel.start, Some(kernel.name), at);
    }
    for (copy, at) in replays.copies.iter().zip(0..) {
        add(replays.launches.number(copy.correlation).unwrap_or(NO_LAUNCH), copy.start, None, at);
    }
    launched.sort_by_key(|(launch, start, _, _)| (*launch, *start));
    let graphs = launched.chunk_by(|one, other| one.0 == other.0);
    graphs.map(|steps| steps.iter().map(|(_, _, step, at)| (*step, *at)).collect()).collect()
}

/// For each step of a replay its launch in the capture that is most like it; nothing where none is.
fn best(steps: &[Step], captures: &[Capture]) -> Option<Vec<Option<u32>>> {
    let same_size: Vec<&Capture> = captures.iter().filter(|capture| capture.steps.len() == steps.len()).collect();
    let mut best: Option<(usize, Vec<Option<u32>>)> = None;
    let mut consider = |found: Option<(usize, Vec<Option<u32>>)>| {
        if let Some((like, places)) = found
            && best.as_ref().is_none_or(|(most, _)| like > *most)
        {
            best = Some((like, places));
        }
    };
    for capture in &same_size {
        consider(by_position(steps, &capture.steps, same_size.len() == 1));
    }
    for capture in captures.iter().filter(|_| same_size.is_empty()) {
        let difference = capture.steps.len().abs_diff(steps.len());
        if 50 * difference <= steps.len().max(capture.steps.len()) {
            consider(by_common_steps(steps, &capture.steps));
        }
    }
    best.map(|(_, places)| places)
}

fn is_like(like: usize, named: usize) -> bool {
    like * LIKE.1 >= named * LIKE.0
}

/// Joins step to step. Where no launch says which kernel it launches, only the one capture of this size can be meant.
fn by_position(steps: &[Step], captured: &[CapturedStep], is_only_one: bool) -> Option<(usize, Vec<Option<u32>>)> {
    let named = captured.iter().filter(|captured| captured.is.is_some()).count();
    let is_equal = |(step, captured): &(&Step, &CapturedStep)| captured.is == Some(**step);
    let like = steps.iter().zip(captured).filter(is_equal).count();
    let kernels = captured.iter().filter(|captured| captured.is.is_some_and(|is| is.is_some())).count();
    if !is_like(like, named) || (kernels == 0 && !is_only_one) {
        return None;
    }
    let place =
        |(step, captured): (&Step, &CapturedStep)| captured.is.is_none_or(|is| is == *step).then_some(captured.launch);
    Some((like, steps.iter().zip(captured).map(place).collect()))
}

/// Joins the longest sequence of steps that both have.
fn by_common_steps(steps: &[Step], captured: &[CapturedStep]) -> Option<(usize, Vec<Option<u32>>)> {
    let is_equal = |step: &Step, captured: &CapturedStep| captured.is == Some(*step);
    let front = steps.iter().zip(captured).take_while(|(step, captured)| is_equal(step, captured)).count();
    let (rest, captured_rest) = (&steps[front..], &captured[front..]);
    let pairs = rest.iter().rev().zip(captured_rest.iter().rev());
    let back = pairs.take_while(|(step, captured)| is_equal(step, captured)).count();
    let (rest, captured_rest) = (&rest[..rest.len() - back], &captured_rest[..captured_rest.len() - back]);
    if rest.len().max(captured_rest.len()) > LONGEST_CHANGE {
        return None;
    }
    let mut places: Vec<Option<u32>> = captured[..front].iter().map(|captured| Some(captured.launch)).collect();
    places.extend(longest_common(rest, captured_rest));
    places.extend(captured[captured.len() - back..].iter().map(|captured| Some(captured.launch)));
    let like = places.iter().filter(|place| place.is_some()).count();
    is_like(like, steps.len().max(captured.len())).then_some((like, places))
}

/// Longest common subsequence: for each step the launch it is joined to.
fn longest_common(steps: &[Step], captured: &[CapturedStep]) -> Vec<Option<u32>> {
    let width = captured.len() + 1;
    let mut length = vec![0_u16; (steps.len() + 1) * width];
    for (row, step) in steps.iter().enumerate().rev() {
        for (column, captured) in captured.iter().enumerate().rev() {
            length[row * width + column] = if captured.is == Some(*step) {
                length[(row + 1) * width + column + 1] + 1
            } else {
                length[(row + 1) * width + column].max(length[row * width + column + 1])
            };
        }
    }
    let mut column = 0;
    let mut place = |(row, step): (usize, &Step)| {
        while let Some(next) = captured.get(column) {
            if next.is == Some(*step) {
                column += 1;
                return Some(next.launch);
            }
            if length[(row + 1) * width + column] > length[row * width + column + 1] {
                return None;
            }
            column += 1;
        }
        None
    };
    // A step that is in no longest sequence leaves the column where it was.
    steps.iter().enumerate().map(&mut place).collect()
}

/// What is known of launches of the capture.
struct OfLaunches {
    /// Where a launch stands in the others.
    numbers: FxHashMap<u32, u32>,
    operators: Operators,
    calls: Calls,
    /// Empty where no shapes of operators are wanted.
    shaped: Shaped,
}

/// Finds operators, stacks and calls of captured launches as if each were a kernel.
fn of_launches(captures: &[Capture], capture: &Columns, with_stacks: bool, names: &mut Names) -> OfLaunches {
    let launches = Launches::new(capture);
    let launch_of: Vec<u32> = captures.iter().flat_map(|capture| &capture.steps).map(|step| step.launch).collect();
    let kernel = |launch: &u32| {
        let launch = capture.launches.at(*launch as usize);
        Kernel {
            start: launch.start,
            duration: 0,
            correlation: launch.correlation,
            external: launch.external,
            name: launch.name,
            device: 0,
            stream: 0,
            index: 0,
        }
    };
    let kernels: KernelRows = launch_of.iter().map(kernel).collect();
    let calls = calls::find(&kernels, capture, &launches, &launch_of, names);
    let decision = Decision::ByExternalId;
    let operators = operators::find(&kernels, capture, &launches, &launch_of, decision, with_stacks, names);
    let shaped = shapes::find(capture, &launches, &launch_of);
    OfLaunches { numbers: launch_of.into_iter().zip(0..).collect(), operators, calls, shaped }
}

impl OfLaunches {
    /// Puts what was found in place of what was known of the replays.
    fn take(
        self,
        pairs: &[Pair],
        capture_names: &Names,
        names: &mut Names,
        operators: &mut Operators,
        calls: &mut Calls,
        kernels: usize,
    ) {
        let mut stacks: FxHashMap<StackId, StackId> = FxHashMap::default();
        for pair in pairs {
            let of = self.operators.of_kernels[self.numbers[&pair.launch] as usize];
            let stack = *stacks.entry(of.stack).or_insert_with(|| {
                let mut frames: Vec<NameId> = self.operators.stacks.inwards_out(of.stack).collect();
                frames.reverse();
                let texts = frames.into_iter().map(|name| capture_names.get(name));
                texts.fold(NO_STACK, |stack, text| operators.stacks.push(stack, names.text(text)))
            });
            let operator = if of.operator == NO_NAME { NO_NAME } else { names.text(capture_names.get(of.operator)) };
            operators.of_kernels[pair.kernel as usize] =
                KernelOperator { operator, stack, has_host_operator: of.has_host_operator };
        }
        if self.calls.of_kernels.is_empty() {
            return;
        }
        if calls.of_kernels.is_empty() {
            calls.of_kernels = vec![NO_CALL; kernels];
        }
        let first_shape = calls.shapes.len() as u32;
        calls.shapes.extend(self.calls.shapes);
        // Every replay calls anew what was captured once.
        let mut known: FxHashMap<(u64, u32), u32> = FxHashMap::default();
        for pair in pairs {
            let call = self.calls.of_kernels[self.numbers[&pair.launch] as usize];
            if call == NO_CALL {
                continue;
            }
            let number = *known.entry((pair.replay, call)).or_insert_with(|| {
                calls.shape_of.push(first_shape + self.calls.shape_of[call as usize]);
                calls.shape_of.len() as u32 - 1
            });
            calls.of_kernels[pair.kernel as usize] = number;
        }
    }
}
