//! Operators, stacks and shapes of the kernels of replayed graphs, from a trace of the capture.
//!
//! A replay is one call on the host, so nothing there says what its kernels work for. While the graph was captured, each of them was
//! launched by its operator, in the order in which they run: the two sequences are joined by position.

mod choice;
mod similarity;

use indexmap::IndexMap;
use perfdb_files::parallel::AtOnce;
use rustc_hash::FxHashMap;

use super::calls::{self, Calls, Given, NO_CALL};
use super::launches::{GraphLaunches, Launches, NO_LAUNCH};
use super::operators::{self, Decision, KernelOperator, Operators};
use crate::columns::{Columns, Kernel, LaunchSize};
use crate::copies::GpuCopy;
use crate::frames::{NO_STACK, StackId};
use crate::names::{NO_NAME, NameId, Names};
use crate::one_trace::shapes::{self, NO_OPERATOR, Shaped, ShapedRow};
use crate::rows::KernelRows;
use crate::time::Picoseconds;
use choice::{Choice, choose};
use similarity::{Capture, Fit, Played, Step, captures, fits};

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
    /// Replays of which several captures say different things.
    pub(crate) ambiguous: u64,
}

impl Joined {
    /// Says how many replays get no shapes because captures disagree.
    pub(crate) fn note(self) -> Option<String> {
        let Joined { ambiguous, replays, .. } = self;
        (ambiguous > 0).then(|| {
            format!(
                "{ambiguous} of {replays} replays of graphs get no shapes: several captured graphs fit, or one of another batch; \
                 record the capture of the batch sizes that are replayed"
            )
        })
    }
}

/// What is joined: the kernels of a trace with their launches, and what is known of them.
pub(crate) struct Replays<'a> {
    pub(crate) kernels: &'a KernelRows,
    pub(crate) copies: &'a [GpuCopy],
    pub(crate) launches: &'a Launches<'a>,
    /// Beside the kernels.
    pub(crate) launch_of: &'a [u32],
    /// By place in the file.
    pub(crate) sizes: &'a FxHashMap<u32, LaunchSize>,
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
    let replayed = graphs(replays, names);
    let mut joined = Joined {
        replays: replayed.len() as u64,
        kernels: replayed.iter().flatten().filter(|(step, ..)| step.is_some()).count() as u64,
        ..Joined::default()
    };
    let mut kinds: IndexMap<Played, Vec<Fit>> = IndexMap::new();
    let played = |replay: &[PlayedStep]| replay.iter().map(|(step, size, _)| (*step, *size)).collect::<Played>();
    let mut kind_of = Vec::with_capacity(replayed.len());
    for replay in &replayed {
        let entry = kinds.entry(played(replay));
        kind_of.push(entry.index());
        entry.or_insert_with_key(|played| fits(played, &captures));
    }
    if kinds.values().all(Vec::is_empty) {
        return (joined, CapturedShapes::default());
    }
    let mut found = of_launches(&captures, capture, with_stacks, &mut capture_names);
    let kinds: Vec<(&Played, &[Fit])> = kinds.iter().map(|(played, fits)| (played, fits.as_slice())).collect();
    let choices = choose(&kinds, &found);
    let mut pairs: Vec<Pair> = Vec::new();
    let mut ambiguous: Vec<u32> = Vec::new();
    for ((replay, kind), number) in replayed.iter().zip(kind_of).zip(1..) {
        let choice = &choices[kind];
        joined.ambiguous += u64::from(choice.is_ambiguous());
        if choice.is_ambiguous() {
            ambiguous.extend(replay.iter().filter(|(step, ..)| step.is_some()).map(|(.., kernel)| *kernel));
        }
        let Choice::Joined { places, has_shapes } = choice else { continue };
        joined.joined += 1;
        let pair = |(((step, _, kernel), launch), has_shapes): ((&PlayedStep, &Option<u32>), &bool)| {
            step.and(Some(Pair { kernel: *kernel, launch: (*launch)?, replay: number, has_shapes: *has_shapes }))
        };
        pairs.extend(replay.iter().zip(places).zip(has_shapes).filter_map(pair));
    }
    joined.joined_kernels = pairs.len() as u64;
    let kernels = replays.kernels.len();
    let shapes = CapturedShapes::of(&mut found, &pairs, &ambiguous, &capture_names, names, kernels);
    found.take(&pairs, &capture_names, names, operators, calls, kernels);
    (joined, shapes)
}

/// Operators with shapes of the kernels of replays.
#[derive(Debug, Default)]
pub(crate) struct CapturedShapes {
    /// Per kernel its call, or [`NO_OPERATOR`]; empty where nothing was joined.
    of_kernels: Vec<u32>,
    row_of: Vec<u32>,
    rows: Vec<ShapedRow>,
    /// Per kernel, whether several captures say different things of its replay; empty where none is like that.
    is_ambiguous: Vec<bool>,
}

impl CapturedShapes {
    fn of(
        found: &mut OfLaunches,
        pairs: &[Pair],
        ambiguous: &[u32],
        from: &Names,
        names: &mut Names,
        kernels: usize,
    ) -> CapturedShapes {
        let mut is_ambiguous = Vec::new();
        if !ambiguous.is_empty() {
            is_ambiguous = vec![false; kernels];
            ambiguous.iter().for_each(|kernel| is_ambiguous[*kernel as usize] = true);
        }
        let Shaped { of_kernels: of_launches, row_of, mut rows, .. } = std::mem::take(&mut found.shaped);
        if rows.is_empty() {
            return CapturedShapes { is_ambiguous, ..CapturedShapes::default() };
        }
        for row in &mut rows {
            row.name = names.text(from.get(row.name));
        }
        let mut shapes =
            CapturedShapes { of_kernels: vec![NO_OPERATOR; kernels], row_of: Vec::new(), rows, is_ambiguous };
        // Every replay calls again what was captured once.
        let mut known: FxHashMap<(u64, u32), u32> = FxHashMap::default();
        for pair in pairs.iter().filter(|pair| pair.has_shapes) {
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
        shaped.is_ambiguous = self.is_ambiguous;
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
    /// Whether it is known which shapes the launch worked on.
    has_shapes: bool,
}

/// A step of a replay, its size, and the number of the kernel.
type PlayedStep = (Step, Option<LaunchSize>, u32);

/// Steps of each replay in order of time.
fn graphs(replays: &Replays<'_>, names: &Names) -> Vec<Vec<PlayedStep>> {
    let mut graphs = GraphLaunches::default();
    let mut launched: Vec<(u32, Picoseconds, PlayedStep)> = Vec::new();
    let mut add = |launch: u32, start: Picoseconds, step: PlayedStep| {
        if launch != NO_LAUNCH && graphs.has(replays.launches.get(launch).name, names) {
            launched.push((launch, start, step));
        }
    };
    for ((kernel, launch), at) in replays.kernels.iter().zip(replays.launch_of).zip(0..) {
        add(*launch, kernel.start, (Some(kernel.name), replays.sizes.get(&kernel.index).copied(), at));
    }
    for (copy, at) in replays.copies.iter().zip(0..) {
        add(replays.launches.number(copy.correlation).unwrap_or(NO_LAUNCH), copy.start, (None, None, at));
    }
    launched.sort_by_key(|(launch, start, _)| (*launch, *start));
    let graphs = launched.chunk_by(|one, other| one.0 == other.0);
    graphs.map(|steps| steps.iter().map(|(_, _, step)| *step).collect()).collect()
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
    let launches = Launches::new(capture, AtOnce::NEVER);
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
    let mut operators = operators::find(&kernels, capture, &launches, &launch_of, decision);
    if with_stacks {
        operators.find_stacks(capture, &launches, &launch_of, names);
    }
    let shaped = shapes::find(capture, &launches, &launch_of);
    OfLaunches { numbers: launch_of.into_iter().zip(0..).collect(), operators, calls, shaped }
}

impl OfLaunches {
    /// Operator, its shapes and the call of a captured launch, by numbers; equal where the operator and its arguments are.
    fn what(&self, launch: u32) -> (u32, u32, u32) {
        let at = self.numbers[&launch] as usize;
        let call = self.calls.of(at);
        let shape = call.map_or(NO_CALL, |call| self.calls.shape_of[call as usize]);
        (KernelOperator::of(&self.operators.of_kernels, at).operator, self.row(at).unwrap_or(NO_OPERATOR), shape)
    }

    /// The dimensions of the tensors of a captured launch as they stand in the file; empty where they do not.
    fn dims(&self, launch: u32) -> &str {
        let at = self.numbers[&launch] as usize;
        let of_call = || match &self.calls.shapes[self.calls.shape_of[self.calls.of(at)? as usize] as usize].given {
            Given::Lists { dims, .. } => Some(dims.as_str()),
            Given::Message { .. } | Given::Batches(_) => None,
        };
        let of_row = self.row(at).map(|row| self.shaped.rows[row as usize].dims.as_str());
        of_row.filter(|dims| !dims.is_empty()).or_else(of_call).unwrap_or_default()
    }

    /// The number of the operator with shapes around a launch.
    fn row(&self, at: usize) -> Option<u32> {
        let call = self.shaped.of_kernels.get(at).copied().filter(|call| *call != NO_OPERATOR)?;
        self.shaped.row_of.get(call as usize).copied()
    }

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
        operators.of_kernels.resize(kernels, KernelOperator::NONE);
        for pair in pairs {
            let of = KernelOperator::of(&self.operators.of_kernels, self.numbers[&pair.launch] as usize);
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
        for pair in pairs.iter().filter(|pair| pair.has_shapes) {
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
