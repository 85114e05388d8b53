//! Host operators and Python stacks as 0.1.33 finds them: by the kernel's own External id, else by the frames around the
//! first kernel of each name, on whatever thread.

use rustc_hash::FxHashMap;

use crate::columns::Columns;
use crate::frames::{Chains, NO_STACK};
use crate::id::Id;
use crate::id_index::IdIndex;
use crate::names::{NO_NAME, NameId};
use crate::summary::GRAPH;
use crate::trace::Trace;

/// How far the search looks back at most.
const LOOK_BACK: usize = 999;

/// An entry that ended this many microseconds ago ends the search.
const TOO_OLD_US: f64 = 1e6;

/// Fills in operators and stacks.
pub(crate) fn place(trace: &mut Trace, columns: &Columns, with_stacks: bool) {
    let operators = IdIndex::last(columns.operators.iter().zip(0..).map(|(operator, at)| (operator.external, at)));
    let search = with_stacks.then(|| Search::new(columns, trace));
    let mut chains = Chains::new(&columns.frames);
    let mut by_name: FxHashMap<NameId, NameId> = FxHashMap::default();
    for at in 0..trace.kernels.len() {
        let kernel = trace.kernels[at];
        if let Some(operator) = operators.get(kernel.external) {
            trace.places[at].operator = columns.operators[operator as usize].name;
            trace.places[at].has_host_operator = true;
            continue;
        }
        let Some(search) = &search else { continue };
        if let Some(known) = by_name.get(&kernel.name) {
            trace.places[at].operator = *known;
            continue;
        }
        let mut operator = NO_NAME;
        if let Some(frame) = search.frame_at(trace.doubles[at].start) {
            // Without an id a frame stands for itself, and is no stack.
            let stack = match chains.last_of_same_id(frame) {
                Some(frame) => chains.stack(frame, &mut trace.stacks),
                None => NO_STACK,
            };
            trace.places[at].stack = stack;
            let names: Vec<&str> = trace.stacks.inwards_out(stack).map(|name| trace.names.get(name)).collect();
            let text =
                summary(&names).unwrap_or_else(|| trace.names.get(columns.frames[frame as usize].name).to_owned());
            operator = trace.names.text(&text);
            trace.places[at].operator = operator;
        }
        by_name.insert(kernel.name, operator);
    }
}

/// The frames of all threads in the order in which the search walks them.
struct Search<'a> {
    columns: &'a Columns,
    /// Per interned name, its place in byte order.
    name_rank: Vec<u32>,
    order: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(columns: &'a Columns, trace: &Trace) -> Search<'a> {
        let mut by_text: Vec<NameId> = (0..trace.names.len() as NameId).collect();
        by_text.sort_by_key(|name| trace.names.get(*name));
        let mut name_rank = vec![0; by_text.len()];
        for (name, rank) in by_text.into_iter().zip(0..) {
            name_rank[name as usize] = rank;
        }
        let mut order: Vec<u32> = (0..columns.frames.len() as u32).collect();
        order.sort_by(|a, b| {
            let (a, b) = (*a as usize, *b as usize);
            let (first, second) = (&columns.frame_doubles[a], &columns.frame_doubles[b]);
            let end = |at: usize| columns.frame_doubles[at].start + columns.frame_doubles[at].duration;
            first
                .start
                .total_cmp(&second.start)
                .then(end(a).total_cmp(&end(b)))
                .then(first.duration.total_cmp(&second.duration))
                .then(rank(columns.frames[a].id).cmp(&rank(columns.frames[b].id)))
                .then_with(|| {
                    name_rank[columns.frames[a].name as usize].cmp(&name_rank[columns.frames[b].name as usize])
                })
        });
        Search { columns, name_rank, order }
    }

    /// The frame of a time: entry 0 is never looked at, as in the original.
    fn frame_at(&self, time: f64) -> Option<u32> {
        let start = |at: u32| self.columns.frame_doubles[at as usize].start;
        let behind = self.order.partition_point(|at| start(*at) <= time);
        let mut best: Option<u32> = None;
        for &at in self.order.get(1..behind)?.iter().rev().take(LOOK_BACK) {
            let times = &self.columns.frame_doubles[at as usize];
            let end = times.start + times.duration;
            if time <= end && best.is_none_or(|best| self.is_before(at, best)) {
                best = Some(at);
            }
            if time - end > TOO_OLD_US {
                break;
            }
        }
        best
    }

    fn name_rank(&self, frame: usize) -> u32 {
        self.name_rank[self.columns.frames[frame].name as usize]
    }

    /// By duration, id, name.
    fn is_before(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        self.columns.frame_doubles[a]
            .duration
            .total_cmp(&self.columns.frame_doubles[b].duration)
            .then(rank(self.columns.frames[a].id).cmp(&rank(self.columns.frames[b].id)))
            .then_with(|| self.name_rank(a).cmp(&self.name_rank(b)))
            .is_lt()
    }
}

/// A missing id first.
fn rank(id: Id) -> Option<Id> {
    id.is_there().then_some(id)
}

/// The innermost name of the model, cut, if there is one. `names` from the innermost outwards.
fn summary(names: &[&str]) -> Option<String> {
    let keyed = names.iter().find(|name| {
        let lower = name.to_lowercase();
        ["vllm/", "model", "<eval_with_key>"].iter().any(|key| lower.contains(key))
    });
    let name = keyed?;
    let graph = names.iter().any(|name| name.contains("torch/cuda/graphs"));
    let longest = if graph { 45 } else { 53 };
    let cut = match name.rsplit_once('/') {
        Some((_, last)) if name.chars().count() > longest => format!("vllm/...{last}"),
        _ => (*name).to_owned(),
    };
    Some(if graph { cut + GRAPH } else { cut })
}
