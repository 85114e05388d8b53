//! Host operators and Python stacks as 0.1.33 finds them: by the kernel's own External id, else by the frames around the
//! first kernel of each name, on any thread.

use rustc_hash::FxHashMap;

use super::times::{Doubles, LegacyTimes};
use crate::columns::{Columns, Frame, Kernel};
use crate::context::operators::{KernelOperator, Operators};
use crate::frames::{Chains, NO_STACK, Stacks};
use crate::id::Id;
use crate::names::{NameId, Names};
use crate::rows::KernelRows;
use crate::summary::GRAPH;
use perfdb_trace::id_index::IdIndex;

/// How far the search looks back at most.
const LOOK_BACK: usize = 999;

/// An entry that ended this many microseconds ago ends the search.
const TOO_OLD_US: f64 = 1e6;

/// Finds operator and stack of every kernel; summaries of stacks become names.
pub(crate) fn find(
    kernels: &KernelRows,
    columns: &Columns,
    times: &LegacyTimes,
    with_stacks: bool,
    names: &mut Names,
) -> Operators {
    let operators = IdIndex::last(columns.operators.spans().iter().zip(0..).map(|(operator, at)| (operator.id, at)));
    let search = with_stacks.then(|| Search::new(&columns.frames, &times.frames, names));
    let mut chains = Chains::new(&columns.frames);
    let mut stacks = Stacks::default();
    let mut by_name: FxHashMap<NameId, NameId> = FxHashMap::default();
    let operator_of = |(kernel, times): (Kernel, &Doubles)| {
        if let Some(operator) = operators.get(kernel.external) {
            let operator = columns.operators.at(operator as usize).name;
            return KernelOperator { operator, has_host_operator: true, ..KernelOperator::NONE };
        }
        let Some(search) = &search else { return KernelOperator::NONE };
        if let Some(known) = by_name.get(&kernel.name) {
            return KernelOperator { operator: *known, ..KernelOperator::NONE };
        }
        let mut found = KernelOperator::NONE;
        if let Some(frame) = search.frame_at(times.start) {
            // Without an id a frame stands for itself, and is no stack.
            found.stack = match chains.last_of_same_id(frame) {
                Some(frame) => chains.stack(frame, &mut stacks),
                None => NO_STACK,
            };
            let texts: Vec<&str> = stacks.inwards_out(found.stack).map(|name| names.get(name)).collect();
            let own = columns.frames[frame as usize].name;
            let text = summary(&texts).unwrap_or_else(|| names.get(own).to_owned());
            found.operator = names.text(&text);
        }
        by_name.insert(kernel.name, found.operator);
        found
    };
    let of_kernels = kernels.iter().zip(&times.kernels).map(operator_of).collect();
    Operators { of_kernels, stacks }
}

/// The frames of all threads in the order in which the search walks them.
struct Search<'a> {
    frames: &'a [Frame],
    times: &'a [Doubles],
    /// Per interned name, its rank in byte order.
    name_rank: Vec<u32>,
    order: Vec<u32>,
}

impl<'a> Search<'a> {
    fn new(frames: &'a [Frame], times: &'a [Doubles], names: &Names) -> Search<'a> {
        let mut by_text: Vec<NameId> = (0..names.len() as NameId).collect();
        by_text.sort_by_key(|name| names.get(*name));
        let mut name_rank = vec![0; by_text.len()];
        for (name, rank) in by_text.into_iter().zip(0..) {
            name_rank[name as usize] = rank;
        }
        let mut order: Vec<u32> = (0..frames.len() as u32).collect();
        order.sort_by(|a, b| {
            let (a, b) = (*a as usize, *b as usize);
            let (first, second) = (&times[a], &times[b]);
            let end = |times: &Doubles| times.start + times.duration;
            first
                .start
                .total_cmp(&second.start)
                .then(end(first).total_cmp(&end(second)))
                .then(first.duration.total_cmp(&second.duration))
                .then(rank(frames[a].id).cmp(&rank(frames[b].id)))
                .then_with(|| name_rank[frames[a].name as usize].cmp(&name_rank[frames[b].name as usize]))
        });
        Search { frames, times, name_rank, order }
    }

    /// The frame of a time: entry 0 is never looked at, as in the original.
    fn frame_at(&self, time: f64) -> Option<u32> {
        let behind = self.order.partition_point(|at| self.times[*at as usize].start <= time);
        let mut best: Option<u32> = None;
        for &at in self.order.get(1..behind)?.iter().rev().take(LOOK_BACK) {
            let times = &self.times[at as usize];
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
        self.name_rank[self.frames[frame].name as usize]
    }

    /// By duration, id, name.
    fn is_before(&self, a: u32, b: u32) -> bool {
        let (a, b) = (a as usize, b as usize);
        let by_duration = self.times[a].duration.total_cmp(&self.times[b].duration);
        by_duration
            .then(rank(self.frames[a].id).cmp(&rank(self.frames[b].id)))
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
