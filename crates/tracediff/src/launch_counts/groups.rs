//! Large correlation groups (mostly graph replays), and which ones of two traces belong together.

use rustc_hash::FxHashMap;

use super::types::{TYPES, Type};
use super::{Counts, Side};
use crate::id::Id;
use crate::launch_counts::sequences::most_frequent_type;

/// Kernels of one correlation id.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) correlation: Id,
    /// Kernels by time.
    pub(crate) kernels: Vec<u32>,
    pub(crate) counts: Counts,
    signature: Signature,
}

/// What groups that belong together have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Signature {
    /// Number of kernels, rounded down to tens.
    size: i64,
    attention: bool,
    product: bool,
    /// The first one in the file on ties.
    most_frequent: Type,
}

/// The groups with at least `min_size` kernels, in order of appearance in the file.
pub(crate) fn large_groups(side: &Side<'_>, min_size: usize) -> Vec<Group> {
    let mut groups: FxHashMap<Id, Vec<u32>> = FxHashMap::default();
    for kernel in &side.by_time {
        let correlation = side.trace.kernels.at(*kernel as usize).correlation;
        if correlation.is_there() {
            groups.entry(correlation).or_default().push(*kernel);
        }
    }
    let words = |words: &[&str]| -> Vec<bool> {
        let contains = |name: &str| words.iter().any(|word| name.contains(word));
        crate::name_marks::name_marks(&side.trace.names, contains)
    };
    let (attention, product) = (words(&["attention", "fmha"]), words(&["cijk", "nvjet", "gemm"]));
    let mut large: Vec<Group> = groups
        .into_iter()
        .filter(|(_, kernels)| kernels.len() >= min_size)
        .map(|(correlation, kernels)| {
            let any = |names: &[bool]| {
                kernels.iter().any(|kernel| names[side.trace.kernels.at(*kernel as usize).name as usize])
            };
            // A kernel's number is its place in the file.
            let mut in_file = kernels.clone();
            in_file.sort_unstable();
            let signature = Signature {
                size: (kernels.len() / 10 * 10) as i64,
                attention: any(&attention),
                product: any(&product),
                most_frequent: most_frequent_type(side, &in_file),
            };
            Group { correlation, counts: side.counts_of(&kernels), signature, kernels }
        })
        .collect();
    large.sort_by_key(|group| group.kernels.iter().min().copied());
    large
}

/// Groups that belong together, by size of the first descending, file order on ties.
pub(crate) fn matches(groups: &[Vec<Group>; 2]) -> Vec<[&Group; 2]> {
    let mut by_signature: FxHashMap<Signature, Vec<usize>> = FxHashMap::default();
    for (at, group) in groups[1].iter().enumerate() {
        by_signature.entry(group.signature).or_default().push(at);
    }
    let mut used = vec![false; groups[1].len()];
    let mut order: Vec<&Group> = groups[0].iter().collect();
    order.sort_by_key(|group| std::cmp::Reverse(group.kernels.len()));
    let mut matches = Vec::new();
    for group in order {
        let unused = |size: i64| {
            let signature = Signature { size, ..group.signature };
            by_signature.get(&signature).into_iter().flatten().copied().filter(|at| !used[*at])
        };
        let size = group.signature.size;
        let mut candidates: Vec<usize> = unused(size).collect();
        if candidates.is_empty() {
            candidates = unused(size - 10).chain(unused(size + 10)).collect();
        }
        let kernels = group.kernels.len() as f64;
        let best = candidates
            .into_iter()
            .filter(|at| (kernels / 1.25..=kernels * 1.25).contains(&(groups[1][*at].kernels.len() as f64)))
            .min_by_key(|at| distance(group, &groups[1][*at]));
        if let Some(at) = best {
            used[at] = true;
            matches.push([group, &groups[1][at]]);
        }
    }
    matches
}

/// Difference of sizes less ten per shared type.
fn distance(first: &Group, second: &Group) -> i64 {
    let shared = (0..TYPES.len()).filter(|at| first.counts[*at].count > 0 && second.counts[*at].count > 0).count();
    (first.kernels.len() as i64 - second.kernels.len() as i64).abs() - 10 * shared as i64
}
