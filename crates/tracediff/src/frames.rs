//! Python stacks: the innermost frame around each launch, and the chain of its callers.

use rustc_hash::FxHashMap;

use crate::columns::Frame;
use crate::id::Id;
use crate::names::{NameId, Names};
use crate::time::Picoseconds;
use perfdb_trace::id_index::IdIndex;
use perfdb_trace::packed::Span;

/// Number of a stack in a [`Stacks`] table.
pub(crate) type StackId = u32;

pub(crate) const NO_STACK: StackId = StackId::MAX;

/// Names of a stack at most.
pub(crate) const MAX_DEPTH: usize = 50;

/// Distinct stacks as a tree: equal stacks have equal numbers.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    nodes: Vec<Node>,
    numbers: FxHashMap<(StackId, NameId), StackId>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    caller: StackId,
    name: NameId,
    depth: u32,
}

impl Stacks {
    /// The stack of `caller` with one more name inside.
    pub(crate) fn push(&mut self, caller: StackId, name: NameId) -> StackId {
        let next = self.nodes.len() as StackId;
        let number = *self.numbers.entry((caller, name)).or_insert(next);
        if number == next {
            let depth = 1 + self.depth(caller) as u32;
            self.nodes.push(Node { caller, name, depth });
        }
        number
    }

    /// How many stacks there are; numbers are below.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The names from the innermost outwards.
    pub(crate) fn inwards_out(&self, stack: StackId) -> impl Iterator<Item = NameId> + '_ {
        let mut next = self.nodes.get(stack as usize);
        std::iter::from_fn(move || {
            let node = next?;
            next = self.nodes.get(node.caller as usize);
            Some(node.name)
        })
    }

    /// The texts of a stack, outermost first.
    pub(crate) fn texts(&self, stack: StackId, names: &Names) -> Vec<String> {
        let mut texts: Vec<String> = self.inwards_out(stack).map(|name| names.get(name).to_owned()).collect();
        texts.reverse();
        texts
    }

    fn depth(&self, stack: StackId) -> usize {
        self.nodes.get(stack as usize).map_or(0, |node| node.depth as usize)
    }
}

/// Follows Python parent ids from frames to stacks.
pub(crate) struct Chains<'a> {
    frames: &'a [Frame],
    by_id: IdIndex,
    /// Per frame: its stack, once known.
    known: Vec<StackId>,
    /// Per frame: whether `known` is its whole chain, so that frames inside it can build on it.
    whole: Vec<bool>,
    path: Vec<u32>,
}

impl<'a> Chains<'a> {
    pub(crate) fn new(frames: &'a [Frame]) -> Chains<'a> {
        Chains {
            frames,
            // Of equal ids the last frame.
            by_id: IdIndex::last(frames.iter().zip(0..).map(|(frame, at)| (frame.id, at))),
            known: vec![NO_STACK; frames.len()],
            whole: vec![false; frames.len()],
            path: Vec::with_capacity(MAX_DEPTH),
        }
    }

    /// The stack of a frame: at most [`MAX_DEPTH`] names, ended by a repeated or unknown id.
    pub(crate) fn stack(&mut self, frame: u32, stacks: &mut Stacks) -> StackId {
        if self.known[frame as usize] != NO_STACK {
            return self.known[frame as usize];
        }
        self.path.clear();
        let mut base = NO_STACK;
        let mut repeated = false;
        let mut next = Some(frame);
        while let Some(at) = next {
            if self.whole[at as usize] {
                base = self.known[at as usize];
                break;
            }
            let id = self.frames[at as usize].id;
            repeated = id.is_there() && self.path.iter().any(|known| self.frames[*known as usize].id == id);
            if repeated || self.path.len() == MAX_DEPTH {
                break;
            }
            self.path.push(at);
            next = self.caller(at);
        }
        let cut = next.is_some() && base == NO_STACK && !repeated;
        if !repeated && !cut && self.path.len() + stacks.depth(base) <= MAX_DEPTH {
            for &at in self.path.iter().rev() {
                base = stacks.push(base, self.frames[at as usize].name);
                self.known[at as usize] = base;
                self.whole[at as usize] = true;
            }
            return base;
        }
        let mut names: Vec<NameId> = self.path.iter().map(|at| self.frames[*at as usize].name).collect();
        names.extend(stacks.inwards_out(base).take(MAX_DEPTH - names.len()));
        let stack = names.iter().rev().fold(NO_STACK, |stack, name| stacks.push(stack, *name));
        self.known[frame as usize] = stack;
        stack
    }

    /// The last frame with the id of a frame, if that has one.
    pub(crate) fn last_of_same_id(&self, frame: u32) -> Option<u32> {
        let id = self.frames[frame as usize].id;
        if id.is_there() { self.by_id.get(id) } else { None }
    }

    fn caller(&self, frame: u32) -> Option<u32> {
        let frame = &self.frames[frame as usize];
        if frame.id.is_there() && frame.parent.is_there() { self.by_id.get(frame.parent) } else { None }
    }
}

/// What runs on a thread of the host around launches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around {
    pub(crate) thread: u32,
    pub(crate) start: Picoseconds,
    pub(crate) duration: Picoseconds,
    /// Its Python id.
    pub(crate) id: Id,
}

impl From<&Frame> for Around {
    fn from(frame: &Frame) -> Around {
        Around { thread: frame.thread, start: frame.start, duration: frame.duration, id: frame.id }
    }
}

impl From<Span> for Around {
    fn from(span: Span) -> Around {
        let Span { start, duration, id, thread, .. } = span;
        Around { thread, start, duration, id }
    }
}

/// A frame that has begun.
#[derive(Clone, Copy)]
struct Begun {
    number: u32,
    thread: u32,
    end: Picoseconds,
}

/// For each launch of `wanted`, the one of `count` frames around it: the one with the greatest start on its thread that covers the
/// launch; the shorter, then the larger Python id on ties. Frames are asked for by their number, launches too: thread and start.
///
/// One sweep per thread: frames are on a pile in order of preference, and one that has ended when it comes to the top
/// will cover no later launch either.
pub(crate) fn frames_at_launches(
    count: usize,
    frame: impl Fn(u32) -> Around,
    launch: impl Fn(u32) -> (u32, Picoseconds),
    wanted: Vec<u32>,
) -> Vec<(u32, u32)> {
    let mut queries = wanted;
    if !queries.is_sorted_by_key(|at| launch(*at)) {
        queries.sort_by_key(|at| launch(*at));
    }
    let by_thread = on_launching_threads(count, &frame, queries.iter().map(|at| launch(*at).0));
    let mut found = Vec::with_capacity(queries.len());
    let mut numbers = by_thread.into_iter();
    let mut begin = || {
        numbers.next().map(|number| {
            let Around { thread, start, duration, .. } = frame(number);
            (start, Begun { number, thread, end: start + duration })
        })
    };
    let mut coming = begin();
    let mut pile: Vec<Begun> = Vec::new();
    for query in queries {
        let (thread, time) = launch(query);
        let covers = |frame: &Begun| frame.thread == thread && time <= frame.end;
        while let Some((start, next)) = coming
            && (next.thread, start) <= (thread, time)
        {
            // What has ended already covers no later launch either.
            if covers(&next) {
                pile.push(next);
            }
            coming = begin();
        }
        while let Some(top) = pile.last() {
            if covers(top) {
                found.push((query, top.number));
                break;
            }
            pile.pop();
        }
    }
    found
}

/// The frames on threads that launch, by thread and in order of preference.
fn on_launching_threads(count: usize, frame: impl Fn(u32) -> Around, threads: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut launching: Vec<bool> = Vec::new();
    for thread in threads.map(|thread| thread as usize) {
        if thread >= launching.len() {
            launching.resize(thread + 1, false);
        }
        launching[thread] = true;
    }
    let key = |frame: &Around| {
        let id = if frame.id.is_there() { frame.id } else { Id::negative(0) };
        (frame.thread, frame.start, std::cmp::Reverse(frame.duration), id)
    };
    let mut by_thread: Vec<u32> = Vec::with_capacity(count);
    let (mut last, mut is_sorted) = (None, true);
    for at in 0..count as u32 {
        let frame = frame(at);
        if launching.get(frame.thread as usize) == Some(&true) {
            let this = Some(key(&frame));
            is_sorted = is_sorted && last <= this;
            last = this;
            by_thread.push(at);
        }
    }
    if !is_sorted {
        by_thread.sort_by_key(|at| key(&frame(*at)));
    }
    by_thread
}
