//! Operations that do each other's work: what one trace runs under the name of one, the other runs under that of another.

use std::collections::BTreeMap;

use crate::elapsed::counted::Counted;
use crate::groups::Groups;
use crate::time::Picoseconds;
use crate::trace::Trace;

/// Part of an operation's time from which on its work stands elsewhere in the other trace.
const SHARE: f64 = 0.005;

/// Operations whose work stands in others in one of the traces.
#[derive(Debug, Default)]
pub(crate) struct SameWork {
    others: BTreeMap<String, Vec<String>>,
}

impl SameWork {
    /// The operations that a verdict on this one has to be about, too; in order.
    pub(crate) fn others(&self, operation: &str) -> &[String] {
        self.others.get(operation).map_or(&[], Vec::as_slice)
    }
}

/// Times by operation, of both traces.
type Times<'a> = BTreeMap<&'a str, [Picoseconds; 2]>;

/// Finds groups of the same work in which an operation of one trace takes the place of one of the other trace.
pub(crate) fn same_work(groups: &Groups, traces: [&Trace; 2], counted: &[Counted; 2]) -> SameWork {
    let mut by_group: Vec<Times<'_>> = vec![Times::new(); groups.names.len()];
    let mut all = Times::new();
    for (side, trace) in traces.into_iter().enumerate() {
        for (at, (kernel, context)) in trace.kernels.iter().zip(&trace.contexts).enumerate() {
            if !counted[side].lets(kernel, context) {
                continue;
            }
            let operation = trace.operations[trace.groups[context.group as usize].operation as usize].as_str();
            all.entry(operation).or_default()[side] += kernel.duration;
            if let Some(times) = by_group.get_mut(groups.of_kernels[side][at] as usize) {
                times.entry(operation).or_default()[side] += kernel.duration;
            }
        }
    }
    let mut moved: BTreeMap<(&str, &str), [Picoseconds; 2]> = BTreeMap::new();
    for times in &by_group {
        let of_one = |side: usize| times.iter().filter(move |(_, times)| times[side] > 0 && times[1 - side] == 0);
        for (first, here) in of_one(0) {
            for (second, there) in of_one(1) {
                let sums = moved.entry((first, second)).or_default();
                sums[0] += here[0];
                sums[1] += there[1];
            }
        }
        // A class of two works in one, `MoE GEMM+SwiGLU`: the other trace runs them apart, even where it runs more of one of them.
        for (fused, one) in of_one(0).chain(of_one(1)) {
            let runs_in_both = |times: &[Picoseconds; 2]| times[0] > 0 && times[1] > 0;
            for (part, _) in times.iter().filter(|(name, times)| is_part(name, fused) && runs_in_both(times)) {
                let side = usize::from(one[0] == 0);
                let names = if side == 0 { (*fused, *part) } else { (*part, *fused) };
                moved.entry(names).or_default()[side] += one[side];
            }
        }
    }
    let is_much = |operation: &str, side: usize, time: Picoseconds| {
        let whole = all.get(operation).map_or(0, |times| times[0].max(times[1]));
        (time as f64) > SHARE * whole as f64 && all.get(operation).is_some_and(|times| times[side] > 0)
    };
    let linked =
        moved.iter().filter(|((first, second), sums)| is_much(first, 0, sums[0]) || is_much(second, 1, sums[1]));
    joined(linked.map(|(names, _)| *names))
}

/// Whether a class is one of those that a fused class does at once.
fn is_part(name: &str, fused: &str) -> bool {
    fused.contains('+') && fused.split('+').any(|part| part == name)
}

/// Operations that are linked, directly or through others.
fn joined<'a>(links: impl Iterator<Item = (&'a str, &'a str)>) -> SameWork {
    let mut sets: Vec<Vec<&str>> = Vec::new();
    for (first, second) in links {
        let (touched, mut rest): (Vec<_>, Vec<_>) =
            sets.into_iter().partition(|set| set.contains(&first) || set.contains(&second));
        let mut merged: Vec<&str> = touched.into_iter().flatten().chain([first, second]).collect();
        merged.sort_unstable();
        merged.dedup();
        rest.push(merged);
        sets = rest;
    }
    let mut work = SameWork::default();
    for set in &sets {
        for operation in set {
            let others = set.iter().filter(|other| *other != operation).map(|other| (*other).to_owned());
            work.others.insert((*operation).to_owned(), others.collect());
        }
    }
    work
}

#[cfg(test)]
mod tests {
    use super::{is_part, joined};

    #[test]
    fn fused_classes_have_parts() {
        assert!(is_part("MoE GEMM", "MoE GEMM+SwiGLU") && is_part("SwiGLU", "MoE GEMM+SwiGLU"));
        assert!(!is_part("MoE GEMM", "MoE GEMM") && !is_part("GEMM", "MoE GEMM+SwiGLU"));
    }

    #[test]
    fn links_join_through_others() {
        let work = joined([("GEMM", "Other"), ("Norm", "Copy"), ("Other", "MoE")].into_iter());
        assert_eq!(work.others("GEMM"), ["MoE", "Other"]);
        assert_eq!(work.others("Copy"), ["Norm"]);
        assert!(work.others("Sort").is_empty());
    }
}
