//! Which calls of different ranks are the same collective.

use std::collections::BTreeMap;

use crate::ranks::rank::Rank;
use crate::ranks::statistics::median;

/// A collective of several ranks: the position of each rank among the ranks, and of its call among its calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) members: Vec<(usize, usize)>,
}

/// The collectives of two ranks and more. Calls of one kind in one process group run in the same order on all of its ranks,
/// so the *n*-th of one rank is the *n*-th of another; where one has recorded fewer, they are that stretch of the others
/// whose ends are nearest.
pub(crate) fn matches(ranks: &[Rank]) -> Vec<Match> {
    let mut lists: BTreeMap<(&str, &str), BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for (rank, found) in ranks.iter().enumerate() {
        for (at, call) in found.calls.iter().enumerate() {
            lists.entry((&call.group, &call.kind)).or_default().entry(rank).or_default().push(at);
        }
    }
    let mut matches = Vec::new();
    for members in lists.values().filter(|members| members.len() > 1) {
        // The longest list, the first of several.
        let Some((reference, longest)) = members.iter().max_by_key(|(rank, list)| (list.len(), usize::MAX - **rank))
        else {
            continue;
        };
        let mut found = vec![Match { members: Vec::new() }; longest.len()];
        for (rank, list) in members {
            let end = |rank: usize, at: usize| ranks[rank].calls[at].end;
            let distance = |shift: usize| {
                let pairs = list.iter().zip(&longest[shift..]);
                median(pairs.map(|(at, other)| (end(*rank, *at) - end(*reference, *other)).abs() as f64).collect())
            };
            let shifts = 0..=longest.len() - list.len();
            let shift = shifts.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(0);
            for (place, at) in found[shift..].iter_mut().zip(list) {
                place.members.push((*rank, *at));
            }
        }
        matches.extend(found.into_iter().filter(|found| found.members.len() > 1));
    }
    matches
}
