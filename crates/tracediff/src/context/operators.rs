//! The host operator and the Python stack of every kernel.

use super::launches::{GraphLaunches, Launches, NO_LAUNCH};
use crate::columns::{Columns, HostOperator, Kernel};
use crate::frames::{Around, Chains, NO_STACK, StackId, Stacks, frames_at_launches};
use crate::id::Id;
use crate::names::{NO_NAME, NameId, Names};
use crate::rows::KernelRows;
use crate::summary::summary;
use perfdb_trace::id_index::IdIndex;

/// What launched the kernels of a trace.
#[derive(Debug)]
pub(crate) struct Operators {
    /// By number of the kernel; empty where no kernel has any.
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

    /// That of a kernel, among those of all kernels.
    #[inline]
    pub(crate) fn of(all: &[KernelOperator], kernel: usize) -> KernelOperator {
        all.get(kernel).copied().unwrap_or(KernelOperator::NONE)
    }
}

/// How the operator that launched a kernel is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The External id of the kernel or its launch.
    ByExternalId,
    /// The innermost operator around the launch, where ids name operators that were not running.
    ByNesting,
}

/// Finds the host operator of every kernel, of which `launch_of` has the launches.
pub(crate) fn find(
    kernels: &KernelRows,
    columns: &Columns,
    launches: &Launches<'_>,
    launch_of: &[u32],
    decision: Decision,
) -> Operators {
    if columns.operators.is_empty() {
        return Operators { of_kernels: Vec::new(), stacks: Stacks::default() };
    }
    let nested = match decision {
        Decision::ByExternalId => None,
        Decision::ByNesting => Some(by_nesting(columns, launches)),
    };
    let spans = columns.operators.spans();
    let operators = IdIndex::last(spans.iter().zip(0..).map(|(operator, at)| (operator.id, at)));
    let host_operator = |id| operators.get(id).map(|at| spans.at(at as usize).name);
    let operator_of = |(kernel, launch): (Kernel, &u32)| {
        let found = (*launch != NO_LAUNCH).then_some(*launch);
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
    let of_kernels = kernels.iter().zip(launch_of).map(operator_of).collect();
    Operators { of_kernels, stacks: Stacks::default() }
}

impl Operators {
    /// Finds the stack of every kernel; summaries of stacks become names. The stack of kernels that a graph launched is that of the
    /// replay, which stands for none of them.
    pub(crate) fn find_stacks(
        &mut self,
        columns: &Columns,
        launches: &Launches<'_>,
        launch_of: &[u32],
        names: &mut Names,
    ) {
        if columns.frames.is_empty() && columns.lone_frames.is_empty() {
            return;
        }
        self.of_kernels.resize(launch_of.len(), KernelOperator::NONE);
        if columns.frames.is_empty() {
            find_innermost(self, columns, launches, launch_of);
        } else {
            find_stacks(self, columns, launches, launch_of, names);
        }
    }
}

/// The innermost frame around the launch of each kernel, as a stack of its own.
fn find_innermost(operators: &mut Operators, columns: &Columns, launches: &Launches<'_>, launch_of: &[u32]) {
    let Operators { of_kernels, stacks } = operators;
    let mut stack_of = vec![NO_STACK; launches.count()];
    let around = |at: u32| Around::from(columns.lone_frames.at(at as usize));
    let (count, wanted) = (columns.lone_frames.len(), launches.used(launch_of));
    for (launch, frame) in frames_at_launches(count, around, |number| launches.place(number), wanted) {
        stack_of[launch as usize] = stacks.push(NO_STACK, columns.lone_frames.at(frame as usize).name);
    }
    for (kernel, launch) in of_kernels.iter_mut().zip(launch_of).filter(|(_, launch)| **launch != NO_LAUNCH) {
        kernel.stack = stack_of[*launch as usize];
    }
}

/// The innermost operator around each launch on its thread, by number of the launch.
fn by_nesting(columns: &Columns, launches: &Launches<'_>) -> Vec<NameId> {
    let operator = |at: u32| columns.operators.spans().at(at as usize);
    let is_timed = |at: &u32| operator(*at).start != HostOperator::NEVER && operator(*at).id.is_there();
    let timed: Vec<u32> = (0..columns.operators.len() as u32).filter(is_timed).collect();
    let around = |at: u32| Around { id: Id::MISSING, ..operator(timed[at as usize]).into() };
    let count = launches.count();
    let wanted: Vec<u32> = (0..count as u32).collect();
    let mut names = vec![NO_NAME; count];
    for (launch, frame) in frames_at_launches(timed.len(), around, |number| launches.place(number), wanted) {
        names[launch as usize] = operator(timed[frame as usize]).name;
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
    let wanted = launches.used(launch_of);
    let mut stack_of = vec![NO_STACK; launches.count()];
    let mut chains = Chains::new(&columns.frames);
    let around = |at: u32| Around::from(&columns.frames[at as usize]);
    for (launch, frame) in frames_at_launches(columns.frames.len(), around, |number| launches.place(number), wanted) {
        stack_of[launch as usize] = chains.stack(frame, &mut operators.stacks);
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

/// Summaries of stacks, made once per stack.
struct Summaries {
    names: Vec<NameId>,
    graph_launches: GraphLaunches,
}

impl Summaries {
    fn new(stacks: &Stacks) -> Summaries {
        Summaries { names: vec![NO_NAME; stacks.len()], graph_launches: GraphLaunches::default() }
    }

    fn of(&mut self, stack: StackId, launch: NameId, stacks: &Stacks, names: &mut Names) -> NameId {
        if self.graph_launches.has(launch, names) {
            return NO_NAME;
        }
        let known = &mut self.names[stack as usize];
        if *known == NO_NAME
            && let Some((text, false)) = summary(stacks.inwards_out(stack).map(|name| names.get(name)))
        {
            *known = names.text(&text);
        }
        *known
    }
}
