//! The host operator and the Python stack of every kernel.

use rustc_hash::FxHashMap;

use super::launches::Launches;
use crate::columns::Columns;
use crate::frames::{Chains, NO_STACK, StackId, frames_at_launches};
use crate::id_index::IdIndex;
use crate::names::{NO_NAME, NameId};
use crate::summary::{GRAPH, summary};
use crate::trace::Trace;

/// No launch.
const NO_LAUNCH: u32 = u32::MAX;

/// Fills in operators and stacks.
pub(crate) fn place(trace: &mut Trace, columns: &Columns, launches: &Launches<'_>, with_stacks: bool) {
    let operators = IdIndex::last(columns.operators.iter().zip(0..).map(|(operator, at)| (operator.external, at)));
    let host_operator = |id| operators.get(id).map(|at| columns.operators[at as usize].name);
    let mut launch_of = vec![NO_LAUNCH; trace.kernels.len()];
    // Kernels of a graph share one launch and follow each other.
    let mut last = (crate::id::Id::MISSING, None);
    for ((kernel, place), launch) in trace.kernels.iter().zip(&mut trace.places).zip(&mut launch_of) {
        if last.0 != kernel.correlation {
            last = (kernel.correlation, launches.number(kernel.correlation));
        }
        let found = last.1;
        *launch = found.unwrap_or(NO_LAUNCH);
        let own = host_operator(kernel.external);
        let name = own.or_else(|| found.and_then(|number| host_operator(launches.get(number).external)));
        place.operator = name.unwrap_or(NO_NAME);
        place.has_host_operator = name.is_some();
    }
    if with_stacks && !columns.frames.is_empty() {
        place_stacks(trace, columns, launches, &launch_of);
    }
}

fn place_stacks(trace: &mut Trace, columns: &Columns, launches: &Launches<'_>, launch_of: &[u32]) {
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
        stack_of[wanted[query as usize] as usize] = chains.stack(frame, &mut trace.stacks);
    }
    let mut summaries = Summaries::new(trace);
    for (at, launch) in launch_of.iter().enumerate().filter(|(_, launch)| **launch != NO_LAUNCH) {
        let stack = stack_of[*launch as usize];
        trace.places[at].stack = stack;
        if stack != NO_STACK && trace.places[at].operator == NO_NAME {
            trace.places[at].operator = summaries.of(trace, stack, launches.get(*launch).name);
        }
    }
}

/// Summaries of stacks, made once per stack and kind of launch.
struct Summaries {
    names: Vec<[NameId; 2]>,
    graph_launches: FxHashMap<NameId, bool>,
}

impl Summaries {
    fn new(trace: &Trace) -> Summaries {
        Summaries { names: vec![[NO_NAME; 2]; trace.stacks.len()], graph_launches: FxHashMap::default() }
    }

    fn of(&mut self, trace: &mut Trace, stack: StackId, launch: NameId) -> NameId {
        let by_graph =
            *self.graph_launches.entry(launch).or_insert_with(|| trace.names.get(launch).contains("GraphLaunch"));
        let known = &mut self.names[stack as usize][usize::from(by_graph)];
        if *known == NO_NAME
            && let Some((mut text, in_graph)) =
                summary(trace.stacks.inwards_out(stack).map(|name| trace.names.get(name)))
        {
            if by_graph || in_graph {
                text.push_str(GRAPH);
            }
            *known = trace.names.text(&text);
        }
        *known
    }
}
