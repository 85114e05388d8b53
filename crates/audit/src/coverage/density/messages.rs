//! The message sizes that benches of collectives measure by themselves: one list for all numbers of nodes, as dense as the rule asks.

use super::axes::MESSAGE_BYTES;
use super::finding::{Finding, Kind, finding};
use super::spacing::Rule;
use std::collections::BTreeSet;

/// The sizes in bytes that collectives are measured with unless other ones are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageSizes {
    /// Those of a collection on one node.
    pub one_node: Vec<u64>,
    /// Those of a collection over several nodes.
    pub several_nodes: Vec<u64>,
    /// Those of a single bench.
    pub single_bench: Vec<u64>,
}

impl MessageSizes {
    /// Where the lists differ, reach beyond the range of the rule, or leave holes in it.
    pub(super) fn findings(&self, rule: &Rule) -> Vec<Finding> {
        let [one, several, single] = [&self.one_node, &self.several_nodes, &self.single_bench].map(|sizes| set(sizes));
        let mut findings = Vec::new();
        let mut found = |text: String| findings.push(finding(8, Kind::GeneratorDisagrees, MESSAGE_BYTES, text));
        for (own, place, other) in [(&one, "on one node", &several), (&several, "over several nodes", &one)] {
            for size in own.difference(other) {
                found(format!("a collection {place} measures {size}, the other one does not"));
            }
        }
        for size in single.difference(&one) {
            found(format!("a single bench measures {size}, a collection on one node does not"));
        }
        let range = rule.range.unwrap_or([i64::MIN, i64::MAX]);
        for size in one.union(&several).filter(|size| !(range[0]..=range[1]).contains(*size)) {
            found(format!("a collection measures {size}, outside of {} to {}", range[0], range[1]));
        }
        let places = [("on one node", &one), ("over several nodes", &several)];
        // Equal lists have the same holes.
        for (place, sizes) in places.into_iter().take(if one == several { 1 } else { 2 }) {
            for hole in rule.holes(range, sizes) {
                let text = format!("a collection {place} lacks {}", hole.repair());
                let hole = Some(hole);
                findings.push(Finding { hole, ..finding(8, Kind::GeneratorDisagrees, MESSAGE_BYTES, text) });
            }
        }
        findings
    }
}

fn set(sizes: &[u64]) -> BTreeSet<i64> {
    sizes.iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::density::Standard;

    fn texts(change: impl FnOnce(&mut MessageSizes)) -> Vec<String> {
        let all: Vec<u64> = (7..=29).map(|power| 1 << power).collect();
        let mut sizes =
            MessageSizes { one_node: all.clone(), several_nodes: all.clone(), single_bench: all[3..].to_vec() };
        change(&mut sizes);
        let standard = Standard::v1();
        let rule = standard.communication_axis(MESSAGE_BYTES).expect("a rule");
        sizes.findings(rule).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn powers_of_two_from_end_to_end_are_dense_enough() {
        assert_eq!(texts(|_| ()), [""; 0]);
    }

    #[test]
    fn lists_have_to_be_equal() {
        let less = texts(|sizes| {
            sizes.several_nodes.remove(4);
        });
        assert_eq!(
            less,
            [
                "a collection on one node measures 2048, the other one does not",
                "a collection over several nodes lacks 2048"
            ]
        );
        let single = texts(|sizes| sizes.single_bench.push(1000));
        assert_eq!(single, ["a single bench measures 1000, a collection on one node does not"]);
    }

    #[test]
    fn a_hole_of_both_lists_is_told_once() {
        let both = texts(|sizes| {
            sizes.one_node.remove(0);
            sizes.several_nodes.remove(0);
        });
        assert_eq!(both, ["a collection on one node lacks 128"]);
        let beyond = texts(|sizes| {
            sizes.one_node.push(1 << 30);
            sizes.several_nodes.push(1 << 30);
        });
        assert_eq!(beyond, ["a collection measures 1073741824, outside of 128 to 536870912"]);
    }
}
