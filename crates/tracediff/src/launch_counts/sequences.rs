//! What stands before what, by time.

use super::Side;
use super::types::{OTHER, TYPES, Type};

/// Most frequent type of some kernels, first seen on ties; `Other` of none.
pub(crate) fn most_frequent_type(side: &Side<'_>, kernels: &[u32]) -> Type {
    most_frequent(kernels.iter().map(|kernel| side.types[*kernel as usize]), |_| true).map_or(OTHER, |(kind, _)| kind)
}

/// Most frequent type among those wanted, first seen on ties, and how often it occurs.
pub(crate) fn most_frequent(types: impl Iterator<Item = Type>, wanted: impl Fn(Type) -> bool) -> Option<(Type, u64)> {
    let mut counts = [0_u64; TYPES.len()];
    let mut seen: Vec<Type> = Vec::new();
    for kind in types.filter(|kind| wanted(*kind)) {
        if counts[kind as usize] == 0 {
            seen.push(kind);
        }
        counts[kind as usize] += 1;
    }
    let most = seen.iter().map(|kind| counts[*kind as usize]).max()?;
    seen.into_iter().find(|kind| counts[*kind as usize] == most).map(|kind| (kind, most))
}

/// The type that stands most often before a type, and how often.
pub(crate) fn predecessor(side: &Side<'_>, kernels: &[u32], kind: Type) -> Option<(Type, u64)> {
    let pairs = kernels.windows(2).map(|pair| [pair[0], pair[1]].map(|kernel| side.types[kernel as usize]));
    most_frequent(pairs.filter(|pair| pair[1] == kind).map(|pair| pair[0]), |_| true)
}

/// Lengths of the runs of equal types, per type.
pub(crate) fn runs(side: &Side<'_>) -> Vec<Vec<u64>> {
    let mut runs: Vec<Vec<u64>> = vec![Vec::new(); TYPES.len()];
    let mut last = None;
    for kernel in &side.by_time {
        let kind = side.types[*kernel as usize];
        let of_kind = &mut runs[kind as usize];
        match of_kind.last_mut() {
            Some(length) if last == Some(kind) => *length += 1,
            _ => of_kind.push(1),
        }
        last = Some(kind);
    }
    runs
}
