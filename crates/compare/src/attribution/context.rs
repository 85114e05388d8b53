//! Groups in the same kernel context: how an unknown fused kernel meets what it replaces.

use super::Splitter;
use super::call::{Book, Call};
use super::contribution::Cause;
use super::family::is_known;
use super::group::Groups;
use super::pool::Signs;
use rustc_hash::FxHashMap;

/// Most kernels between a call and the firm ones around it, plus one.
const REACH: usize = 5;

/// Most groups of either side that stand for each other.
const MOST: usize = 4;

/// The kernel types before and behind.
type Context = (Option<Box<str>>, Option<Box<str>>);

/// Per group how often its calls stand in a context; `None` counts those far from anything firm.
type Contexts = FxHashMap<(usize, Option<(u32, u32)>), u64>;

/// No firm kernel on this side.
const NOTHING: u32 = u32::MAX;

impl Splitter<'_> {
    /// Groups most of whose calls stand between the same two kernels, one at least of a type that nothing knows.
    pub(super) fn same_context(&mut self, predicted: &[Call], measured: &[Call]) {
        let unknown_left = self
            .groups
            .list
            .iter()
            .any(|group| group.pool.is_none() && !group.is_on_both_sides() && !is_known(&group.family));
        if !unknown_left {
            return;
        }
        let of_predicted = usual_contexts(self.book, &self.groups, predicted);
        let of_measured = usual_contexts(self.book, &self.groups, measured);
        let contexts: Vec<Option<Context>> = self
            .groups
            .list
            .iter()
            .enumerate()
            .map(|(at, group)| {
                let more_predicted = group.n1 > group.n2;
                let usual = match of_predicted.get(&at).filter(|_| more_predicted) {
                    Some(usual) => Some(usual),
                    None => of_measured.get(&at),
                };
                let (before, behind) = (*usual?)?;
                let name = |at: u32| self.groups.list.get(at as usize).map(|group| group.kernel_type.clone());
                Some((name(before), name(behind)))
            })
            .collect();
        let key = |_: &Self, at: usize| {
            let context = contexts[at].clone()?;
            let text = |name: &Option<Box<str>>| name.as_deref().unwrap_or("None").to_owned();
            let label = format!("other_kernel:place:{}:{}", text(&context.0), text(&context.1));
            Some((context, label))
        };
        let rule = |groups: &Groups, signs: &Signs| {
            let unknown = |&at: &usize| !groups.list[at].is_on_both_sides() && !is_known(&groups.list[at].family);
            signs.predicted.len() <= MOST
                && signs.measured.len() <= MOST
                && signs.predicted.iter().chain(&signs.measured).any(unknown)
        };
        self.pools(Cause::OtherKernel, key, rule);
    }
}

/// The context where at least 60 % of a group's calls stand (`None`: there is none), for all groups outside pools.
fn usual_contexts(book: &Book, groups: &Groups, calls: &[Call]) -> FxHashMap<usize, Option<(u32, u32)>> {
    // Kernel types by the first group that has one.
    let mut types: FxHashMap<&str, u32> = FxHashMap::default();
    let type_of: Vec<u32> = groups
        .list
        .iter()
        .enumerate()
        .map(|(at, group)| *types.entry(group.kernel_type.as_ref()).or_insert(at as u32))
        .collect();
    let positions: Vec<u32> = calls.iter().map(|call| groups.position(book, call) as u32).collect();
    let mut behind = vec![(NOTHING, calls.len() as u32); calls.len()];
    let mut next = (NOTHING, calls.len() as u32);
    for at in (0..calls.len()).rev() {
        behind[at] = next;
        let group = positions[at] as usize;
        if groups.list[group].is_firm() {
            next = (type_of[group], at as u32);
        }
    }
    let mut contexts = Contexts::default();
    // Nothing firm yet, one in front of the first.
    let (mut before, mut at_before) = (NOTHING, -1);
    for (at, &position) in positions.iter().enumerate() {
        let group = position as usize;
        if groups.list[group].is_firm() {
            (before, at_before) = (type_of[group], at as i64);
        } else if groups.list[group].pool.is_none() {
            let (after, at_after) = behind[at];
            let near = i64::from(at_after) - at_before <= REACH as i64;
            let context = (near && (before, after) != (NOTHING, NOTHING)).then_some((before, after));
            *contexts.entry((group, context)).or_default() += 1;
        }
    }
    let mut totals: FxHashMap<usize, u64> = FxHashMap::default();
    contexts.iter().for_each(|((group, _), count)| *totals.entry(*group).or_default() += count);
    let mut usual: FxHashMap<usize, Option<(u32, u32)>> = totals.keys().map(|&group| (group, None)).collect();
    // At most one context of a group has so many.
    contexts.into_iter().filter(|((group, _), count)| count * 10 >= 6 * totals[group]).for_each(
        |((group, context), _)| {
            usual.insert(group, context);
        },
    );
    usual
}
