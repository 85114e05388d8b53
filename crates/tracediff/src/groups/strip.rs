//! Lists of blocks side by side: what each difference costs.

use perfdb_trace::sequence::{Alignment, align};

use crate::family::Family;

/// A block as it is compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    pub(super) family: Family,
    /// Picoseconds.
    pub(super) time: u64,
    /// Numbers of the words of its first kernel's name, ascending.
    pub(super) words: Vec<u32>,
}

/// Weights of blocks are at least this, in millionths of the list.
const LEAST_WEIGHT: u64 = 10_000;

/// Lists longer than this product are not aligned block by block.
pub(super) const LARGEST: usize = 400_000;

/// Aligns two lists. Exchanging them exchanges the result.
pub(super) fn align_items(first: &[Item], second: &[Item]) -> Alignment {
    let key = |items: &[Item]| {
        let families: Vec<Family> = items.iter().map(|item| item.family).collect();
        let times: Vec<u64> = items.iter().map(|item| item.time).collect();
        (items.len(), families, times)
    };
    if key(first) <= key(second) {
        return in_order(first, second);
    }
    let found = in_order(second, first);
    Alignment { cost: found.cost, groups: found.groups.into_iter().map(|(one, other)| (other, one)).collect() }
}

fn in_order(first: &[Item], second: &[Item]) -> Alignment {
    let shares = [shares(first), shares(second)];
    let weight = |side: usize, at: usize| shares[side][at].max(LEAST_WEIGHT);
    let width = second.len();
    let distances: Vec<u16> = first
        .iter()
        .flat_map(|one| second.iter().map(|other| distance(one, other).map_or(u16::MAX, |distance| distance as u16)))
        .collect();
    align(
        [first.len(), second.len()],
        |side, at| 6 * weight(side, at) / 10,
        |one, other| {
            let distance_of = |x: usize, y: usize| match distances[x * width + y] {
                u16::MAX => None,
                distance => Some(u64::from(distance)),
            };
            if one.len() == 1 && other.len() == 1 {
                let (x, y) = (one.start, other.start);
                let distance = distance_of(x, y)?;
                let difference = shares[0][x].abs_diff(shares[1][y]);
                return Some(distance * (weight(0, x) + weight(1, y)) / 2000 + difference / 8);
            }
            // Several on one side: one of them is the work, the others are parts of it or inside the other's kernel.
            let many_first = one.len() > 1;
            let (side, many, single) = if many_first { (0, one, other.start) } else { (1, other, one.start) };
            let items = if many_first { first } else { second };
            let family = if many_first { second[single].family } else { first[single].family };
            let belongs = |at: usize| items[at].family == family || family.absorbs(items[at].family);
            let outside = many.clone().filter(|at| !belongs(*at)).count();
            if outside > 1 {
                return None;
            }
            let weights: u64 = many.clone().map(|at| weight(side, at)).sum();
            let share: u64 = many.clone().map(|at| shares[side][at]).sum();
            let fixed = share.abs_diff(shares[1 - side][single]) / 8 + 10_000 * (many.len() as u64 - 1);
            many.clone()
                .filter(|core| outside == 0 || !belongs(*core))
                .filter_map(|core| {
                    let distance = if many_first { distance_of(core, single) } else { distance_of(single, core) }?;
                    let rest = weights - weight(side, core);
                    Some(distance * (weights + weight(1 - side, single)) / 2000 + 3 * rest / 10 + fixed)
                })
                .min()
        },
    )
}

/// Millionths of the time of the list.
fn shares(items: &[Item]) -> Vec<u64> {
    let whole: u128 = items.iter().map(|item| u128::from(item.time)).sum::<u128>().max(1);
    items.iter().map(|item| (u128::from(item.time) * 1_000_000 / whole) as u64).collect()
}

/// How far two blocks are apart, in thousandths.
fn distance(first: &Item, second: &Item) -> Option<u64> {
    if first.family != second.family || !first.family.is_glue() {
        return first.family.distance(second.family);
    }
    let common = first.words.iter().filter(|word| second.words.binary_search(word).is_ok()).count() as u64;
    let all = (first.words.len() + second.words.len()) as u64 - common;
    Some((200 * common).checked_div(all).map_or(0, |alike| 200 - alike))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Family::{Activation, Attention, Copy, Elementwise, Gemm, Moe, Norm};

    fn items(list: &[(Family, u64)]) -> Vec<Item> {
        list.iter().map(|(family, time)| Item { family: *family, time: *time, words: Vec::new() }).collect()
    }

    #[test]
    fn a_gate_product_does_not_meet_a_down_product() {
        let first = items(&[(Norm, 5), (Gemm, 60), (Activation, 5), (Gemm, 30)]);
        let second = items(&[(Norm, 5), (Gemm, 30), (Gemm, 30), (Activation, 5), (Gemm, 30)]);
        let found = align_items(&first, &second).groups;
        assert_eq!(found, [(0..1, 0..1), (1..2, 1..3), (2..3, 3..4), (3..4, 4..5)]);
    }

    #[test]
    fn an_activation_may_be_inside_the_moe_kernel() {
        let first = items(&[(Norm, 5), (Moe, 80)]);
        let second = items(&[(Norm, 5), (Moe, 60), (Activation, 10)]);
        assert_eq!(align_items(&first, &second).groups, [(0..1, 0..1), (1..2, 1..3)]);
    }

    #[test]
    fn exchange_mirrors() {
        let first = items(&[(Norm, 5), (Copy, 1), (Gemm, 60), (Attention, 20), (Elementwise, 2)]);
        let second = items(&[(Norm, 6), (Gemm, 30), (Gemm, 31), (Attention, 22)]);
        let forward = align_items(&first, &second);
        let backward = align_items(&second, &first);
        assert_eq!(forward.cost, backward.cost);
        let mirrored: Vec<_> = backward.groups.into_iter().map(|(one, other)| (other, one)).collect();
        assert_eq!(forward.groups, mirrored);
    }
}
