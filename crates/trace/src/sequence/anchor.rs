//! How well a sequence is cut at each of its tokens.

use crate::sequence::fingerprint::Fingerprint;
use rustc_hash::FxHashMap;

/// Fewest occurrences of a token that can be cut at.
const FEWEST: usize = 3;

/// A token to cut at, and what that costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The token.
    pub token: u32,
    /// Kernels of the distinct segments, number of segments, and kernels before the first, added: the less, the better the
    /// sequence is described by what stands between two occurrences.
    pub cost: usize,
    /// Number of occurrences.
    pub count: usize,
    /// Position of the first one.
    pub first: usize,
    /// Whether some segment occurs at least twice.
    pub repeats: bool,
}

/// Every token that occurs at least three times, in order of first occurrence.
///
/// `kinds` are the symbols whose multisets make segments equal, `tokens` what may be cut at, one per kernel (`None`: not
/// here). A segment goes from one occurrence to the next, the last one to the end.
///
/// ```
/// use perfdb_trace::sequence::anchors;
///
/// let kinds = [7, 0, 1, 2, 0, 1, 2, 0, 2, 1];
/// let tokens = kinds.map(Some);
/// let best = anchors(&tokens, &kinds).into_iter().min_by_key(|anchor| anchor.cost).unwrap();
/// assert_eq!((best.token, best.cost, best.repeats), (0, 3 + 3 + 1, true));
/// ```
pub fn anchors(tokens: &[Option<u32>], kinds: &[u32]) -> Vec<Anchor> {
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    let mut counts: Vec<(u32, u32)> = Vec::new();
    for token in tokens.iter().flatten() {
        let number = *numbers.entry(*token).or_insert_with(|| {
            counts.push((*token, 0));
            counts.len() as u32 - 1
        });
        counts[number as usize].1 += 1;
    }
    // The positions of each token one after the other.
    let mut ends: Vec<u32> = Vec::with_capacity(counts.len());
    let mut total = 0;
    for (_, count) in &counts {
        ends.push(total);
        total += count;
    }
    let mut positions = vec![0u32; total as usize];
    for (at, token) in tokens.iter().enumerate() {
        if let Some(number) = token.and_then(|token| numbers.get(&token)) {
            let end = &mut ends[*number as usize];
            positions[*end as usize] = at as u32;
            *end += 1;
        }
    }
    drop(numbers);
    let mut prefix = Vec::with_capacity(kinds.len() + 1);
    let mut sum = Fingerprint::default();
    prefix.push(sum);
    for &kind in kinds {
        sum.add(kind);
        prefix.push(sum);
    }
    let mut segments = Vec::new();
    let mut found = Vec::new();
    for (&(token, count), &end) in counts.iter().zip(&ends) {
        if (count as usize) < FEWEST {
            continue;
        }
        let positions = &positions[(end - count) as usize..end as usize];
        segments.clear();
        let next = positions[1..].iter().map(|&at| at as usize).chain([kinds.len()]);
        segments.extend(positions.iter().zip(next).map(|(&from, to)| prefix[to].minus(prefix[from as usize])));
        segments.sort_unstable();
        segments.dedup();
        let distinct: usize = segments.iter().map(|segment| segment.kernels()).sum();
        let (count, first) = (count as usize, positions[0] as usize);
        found.push(Anchor { token, cost: distinct + count + first, count, first, repeats: segments.len() < count });
    }
    found
}

/// The token that cuts two sequences at the least cost of both; on ties the one that comes first in the second.
pub fn common_anchor(one: &[Anchor], other: &[Anchor]) -> Option<u32> {
    let costs: FxHashMap<u32, usize> = one.iter().map(|anchor| (anchor.token, anchor.cost)).collect();
    let common = other.iter().filter_map(|anchor| Some((costs.get(&anchor.token)? + anchor.cost, anchor)));
    common.min_by_key(|(cost, anchor)| (*cost, anchor.first)).map(|(_, anchor)| anchor.token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_and_absent_tokens_are_no_anchors() {
        let kinds = [1, 2, 1, 2, 1];
        let tokens = [None, Some(2), Some(1), Some(2), Some(1)];
        assert!(anchors(&tokens, &kinds).is_empty());
        assert!(anchors(&[], &[]).is_empty());
    }

    #[test]
    fn swapped_kernels_are_the_same_segment() {
        let kinds = [0, 1, 2, 0, 2, 1, 0, 1, 3];
        let tokens = kinds.map(|kind| (kind == 0).then_some(kind));
        let anchor = anchors(&tokens, &kinds)[0];
        assert_eq!((anchor.cost, anchor.count, anchor.repeats), (6 + 3, 3, true));
    }

    #[test]
    fn both_sequences_decide() {
        let (one, other) = ([0, 1, 0, 1, 0, 1], [5, 1, 0, 1, 0, 1, 0]);
        let cost = |kinds: &[u32]| anchors(&kinds.iter().map(|&kind| Some(kind)).collect::<Vec<_>>(), kinds);
        assert_eq!(common_anchor(&cost(&one), &cost(&other)), Some(1), "5 + 6 against 6 + 8");
        assert_eq!(common_anchor(&cost(&one), &cost(&[7, 7, 7])), None);
    }
}
