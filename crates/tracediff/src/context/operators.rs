//! The host operator and the Python stack of every kernel.

use rustc_hash::FxHashMap;

use super::launches::Launches;
use crate::columns::{Columns, Frame, HostOperator, Kernel, Launch};
use crate::frames::{Chains, NO_STACK, StackId, Stacks, frames_at_launches};
use crate::id::Id;
use crate::id_index::IdIndex;
use crate::names::{NO_NAME, NameId, Names};
use crate::summary::{GRAPH, summary};

/// No launch.
const NO_LAUNCH: u32 = u32::MAX;

/// What launched the kernels of a trace.
#[derive(Debug)]
pub(crate) struct Operators {
    pub(crate) of_kernels: Vec<KernelOperator>,
    /// The distinct stacks.
    pub(crate) stacks: Stacks,
}

/// Host operator and stack of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelOperator {
    /// Host operator or summary of the stack, if any.
    pub(crate) operator: NameId,
    /// Python stack, if any.
    pub(crate) stack: StackId,
    /// Whether `operator` comes from a `cpu_op` event.
    pub(crate) has_host_operator: bool,
}

impl KernelOperator {
    /// Neither operator nor stack.
    pub(crate) const NONE: KernelOperator =
        KernelOperator { operator: NO_NAME, stack: NO_STACK, has_host_operator: false };
}

/// How the operator that launched a kernel is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The External id of the kernel or its launch.
    ByExternalId,
    /// The innermost operator around the launch, where ids name operators that were not running.
    ByNesting,
}

/// Finds operator and stack of every kernel; summaries of stacks become names.
pub(crate) fn find(
    kernels: &[Kernel],
    columns: &Columns,
    launches: &Launches<'_>,
    decision: Decision,
    with_stacks: bool,
    names: &mut Names,
) -> Operators {
    let nested = match decision {
        Decision::ByExternalId => None,
        Decision::ByNesting => Some(by_nesting(columns, launches)),
    };
    let operators = IdIndex::last(columns.operators.iter().zip(0..).map(|(operator, at)| (operator.external, at)));
    let host_operator = |id| operators.get(id).map(|at| columns.operators[at as usize].name);
    let mut launch_of = Vec::with_capacity(kernels.len());
    // Kernels of a graph share one launch and follow each other.
    let mut last = (Id::MISSING, None);
    let operator_of = |kernel: &Kernel| {
        if last.0 != kernel.correlation {
            last = (kernel.correlation, launches.number(kernel.correlation));
        }
        let found = last.1;
        launch_of.push(found.unwrap_or(NO_LAUNCH));
        let name = match &nested {
            Some(nested) => {
                found.and_then(|number| nested.get(number as usize).copied()).filter(|name| *name != NO_NAME)
            }
            None => {
                let own = host_operator(kernel.external);
                own.or_else(|| found.and_then(|number| host_operator(launches.get(number).external)))
            }
        };
        KernelOperator { operator: name.unwrap_or(NO_NAME), has_host_operator: name.is_some(), ..KernelOperator::NONE }
    };
    let of_kernels = kernels.iter().map(operator_of).collect();
    let mut found = Operators { of_kernels, stacks: Stacks::default() };
    if with_stacks && !columns.frames.is_empty() {
        find_stacks(&mut found, columns, launches, &launch_of, names);
    }
    found
}

/// The innermost operator around each launch on its thread, by number of the launch.
fn by_nesting(columns: &Columns, launches: &Launches<'_>) -> Vec<NameId> {
    let frame = |operator: &HostOperator| {
        Some(Frame {
            start: operator.start?,
            duration: operator.duration,
            id: Id::MISSING,
            parent: Id::MISSING,
            name: operator.name,
            thread: operator.thread,
        })
    };
    let frames: Vec<Frame> = columns.operators.iter().filter_map(frame).collect();
    let count = columns.launches.len() + columns.flows.len();
    let all: Vec<Launch> = (0..count as u32).map(|number| *launches.get(number)).collect();
    let wanted: Vec<u32> = (0..count as u32).collect();
    let mut names = vec![NO_NAME; count];
    for (launch, frame) in frames_at_launches(&frames, &all, &wanted) {
        names[launch as usize] = frames[frame as usize].name;
    }
    names
}

fn find_stacks(
    operators: &mut Operators,
    columns: &Columns,
    launches: &Launches<'_>,
    launch_of: &[u32],
    names: &mut Names,
) {
    let count = columns.launches.len() + columns.flows.len();
    let mut used = vec![false; count];
    for launch in launch_of.iter().filter(|launch| **launch != NO_LAUNCH) {
        used[*launch as usize] = true;
    }
    let wanted: Vec<u32> = (0..count as u32).filter(|launch| used[*launch as usize]).collect();
    let wanted_launches: Vec<_> = wanted.iter().map(|number| *launches.get(*number)).collect();
    let queries: Vec<u32> = (0..wanted.len() as u32).collect();
    let mut stack_of = vec![NO_STACK; count];
    let mut chains = Chains::new(&columns.frames);
    for (query, frame) in frames_at_launches(&columns.frames, &wanted_launches, &queries) {
        stack_of[wanted[query as usize] as usize] = chains.stack(frame, &mut operators.stacks);
    }
    let Operators { of_kernels, stacks } = operators;
    let mut summaries = Summaries::new(stacks);
    for (kernel, launch) in of_kernels.iter_mut().zip(launch_of).filter(|(_, launch)| **launch != NO_LAUNCH) {
        kernel.stack = stack_of[*launch as usize];
        if kernel.stack != NO_STACK && kernel.operator == NO_NAME {
            kernel.operator = summaries.of(kernel.stack, launches.get(*launch).name, stacks, names);
        }
    }
}

/// Summaries of stacks, made once per stack and kind of launch.
struct Summaries {
    names: Vec<[NameId; 2]>,
    graph_launches: FxHashMap<NameId, bool>,
}

impl Summaries {
    fn new(stacks: &Stacks) -> Summaries {
        Summaries { names: vec![[NO_NAME; 2]; stacks.len()], graph_launches: FxHashMap::default() }
    }

    fn of(&mut self, stack: StackId, launch: NameId, stacks: &Stacks, names: &mut Names) -> NameId {
        let by_graph = *self.graph_launches.entry(launch).or_insert_with(|| names.get(launch).contains("GraphLaunch"));
        let known = &mut self.names[stack as usize][usize::from(by_graph)];
        if *known == NO_NAME
            && let Some((mut text, in_graph)) = summary(stacks.inwards_out(stack).map(|name| names.get(name)))
        {
            if by_graph || in_graph {
                text.push_str(GRAPH);
            }
            *known = names.text(&text);
        }
        *known
    }
}
