//! Sums per operation, kernel name and layer of one trace: what both the comparison and the explanation start from.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::context::OUTSIDE;
use crate::elapsed::counted::Counted;
use crate::frames::{NO_STACK, StackId};
use crate::names::{NO_NAME, NameId};
use crate::steps::{Phase, PhaseFilter};
use crate::time::Picoseconds;
use crate::trace::Trace;

/// Number and summed duration of some kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) time: Picoseconds,
}

impl Sum {
    pub(crate) fn add(&mut self, time: Picoseconds) {
        self.count += 1;
        self.time += time;
    }

    pub(crate) fn merge(&mut self, other: Sum) {
        self.count += other.count;
        self.time += other.time;
    }
}

/// One operation of one trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct OperationTotals {
    pub(crate) sum: Sum,
    /// The kernels in the passes that are compared, without the time in which they waited for the one before them.
    pub(crate) in_passes: Sum,
    pub(crate) kernels: FxHashMap<NameId, Sum>,
    pub(crate) operators: FxHashMap<NameId, u64>,
    /// Distinct stacks with the first kernel of each, in file order, up to the limit.
    pub(crate) stacks: Vec<(usize, StackId)>,
    /// Number of the first kernel.
    pub(crate) first_kernel: usize,
    /// By `Phase as usize`.
    pub(crate) phases: [bool; 3],
}

/// Sums over the kernels of a trace that a phase filter lets through.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) sum: Sum,
    /// By number of the operation; empty ones have no kernels.
    pub(crate) operations: Vec<OperationTotals>,
    /// By layer.
    pub(crate) layers: Vec<Sum>,
}

/// Sums of a trace. Stacks are gathered up to `stack_limit` per operation (`None`: all).
pub(crate) fn totals(trace: &Trace, filter: PhaseFilter, counted: &Counted, stack_limit: Option<usize>) -> Totals {
    let mut in_passes = vec![Sum::default(); trace.groups.len()];
    let mut groups = vec![Sum::default(); trace.groups.len()];
    let mut phases = vec![[false; 3]; trace.groups.len()];
    let mut first = vec![usize::MAX; trace.groups.len()];
    let mut operators: FxHashMap<(u32, NameId), u64> = FxHashMap::default();
    // Neighbours in the file mostly share their operator; counted in runs.
    let mut run: ((u32, NameId), u64) = ((u32::MAX, NO_NAME), 0);
    let mut layers: Vec<Sum> = vec![Sum::default(); trace.layers as usize];
    let mut stacks = StackLists::new(trace, stack_limit);
    for (at, (kernel, context)) in trace.kernels.iter().zip(&trace.contexts).enumerate() {
        if !filter.lets(context.phase) {
            continue;
        }
        let group = context.group as usize;
        groups[group].add(kernel.duration);
        if counted.lets(kernel, context) {
            in_passes[group].add(kernel.duration);
        }
        first[group] = first[group].min(at);
        if let Some(phase) = context.phase {
            phases[group][phase as usize] = true;
        }
        if context.operator != NO_NAME {
            let key = (trace.groups[group].operation, context.operator);
            if run.0 != key {
                flush(&mut operators, run);
                run = (key, 0);
            }
            run.1 += 1;
        }
        if context.layer != OUTSIDE {
            layers[context.layer as usize].add(kernel.duration);
        }
        if context.stack != NO_STACK {
            stacks.add(trace.groups[group].operation, at, context.stack);
        }
    }
    flush(&mut operators, run);
    let mut totals =
        Totals { operations: vec![OperationTotals::default(); trace.operations.len()], layers, ..Totals::default() };
    for (stacks, totals) in stacks.lists.into_iter().zip(&mut totals.operations) {
        totals.stacks = stacks;
        totals.first_kernel = usize::MAX;
    }
    let sums = groups.into_iter().zip(in_passes);
    for ((group, (sum, in_passes)), (phases, first)) in trace.groups.iter().zip(sums).zip(phases.into_iter().zip(first))
    {
        totals.sum.merge(sum);
        let operation = &mut totals.operations[group.operation as usize];
        operation.sum.merge(sum);
        operation.in_passes.merge(in_passes);
        if sum.count > 0 {
            operation.kernels.entry(group.name).or_default().merge(sum);
        }
        operation.first_kernel = operation.first_kernel.min(first);
        for (all, one) in operation.phases.iter_mut().zip(phases) {
            *all |= one;
        }
    }
    for (at, wait) in &trace.corrections.waiting {
        if counted.lets(trace.kernels.at(*at as usize), &trace.contexts[*at as usize]) {
            totals.operations[trace.operation(*at as usize) as usize].in_passes.time -= wait;
        }
    }
    // Every entry goes to its own place: the order of the map does not show.
    #[expect(clippy::iter_over_hash_type, reason = "the entries go to places of their own")]
    for ((operation, operator), count) in operators {
        totals.operations[operation as usize].operators.insert(operator, count);
    }
    totals
}

fn flush(operators: &mut FxHashMap<(u32, NameId), u64>, (key, count): ((u32, NameId), u64)) {
    if count > 0 {
        *operators.entry(key).or_default() += count;
    }
}

/// Distinct stacks per operation, in file order.
struct StackLists {
    limit: usize,
    lists: Vec<Vec<(usize, StackId)>>,
    last: Vec<StackId>,
    seen: FxHashSet<(u32, StackId)>,
}

impl StackLists {
    fn new(trace: &Trace, limit: Option<usize>) -> StackLists {
        StackLists {
            limit: limit.unwrap_or(usize::MAX),
            lists: vec![Vec::new(); trace.operations.len()],
            last: vec![NO_STACK; trace.operations.len()],
            seen: FxHashSet::default(),
        }
    }

    fn add(&mut self, operation: u32, kernel: usize, stack: StackId) {
        let list = &mut self.lists[operation as usize];
        let last = &mut self.last[operation as usize];
        if list.len() < self.limit && *last != stack && self.seen.insert((operation, stack)) {
            list.push((kernel, stack));
        }
        *last = stack;
    }
}

impl OperationTotals {
    /// The kernel with most time, the smallest name on ties.
    pub(crate) fn longest_kernel<'a>(&self, trace: &'a Trace) -> &'a str {
        let longest = self.kernels.iter().max_by(|(a, first), (b, second)| {
            first.time.cmp(&second.time).then_with(|| trace.name(**b).cmp(trace.name(**a)))
        });
        longest.map_or("", |(name, _)| trace.name(*name))
    }

    /// The most frequent operator on the host, the smallest text on ties.
    pub(crate) fn most_frequent_operator(&self, trace: &Trace) -> Option<String> {
        let most = self
            .operators
            .iter()
            .max_by(|(a, first), (b, second)| first.cmp(second).then_with(|| trace.name(**b).cmp(trace.name(**a))));
        most.map(|(operator, _)| trace.name(*operator).to_owned())
    }
}

/// Names of the phases, in order, or `all` when there is none.
pub(crate) fn phase_names(phases: [bool; 3]) -> Vec<&'static str> {
    let names: Vec<&str> =
        Phase::ALL.iter().filter(|phase| phases[**phase as usize]).map(|phase| phase.name()).collect();
    if names.is_empty() { vec!["all"] } else { names }
}
