//! How groups of one kernel type on one side each are matched: from what is certain to what is likely.

use super::call::Book;
use super::family::{is_collective, plain_family};
use super::group::{Group, Join, Unjoined};
use super::quotient::{Passes, within};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Calls of a collective of unknown size may be this many times more or fewer.
const COLLECTIVE_FACTOR: i128 = 3;

/// The same for joins by little evidence.
const LIKELY_FACTOR: i128 = 2;

impl Unjoined {
    /// Lets the groups of each kernel type meet.
    pub(super) fn join(&mut self, book: &Book, passes: Passes) {
        let mut by_type: FxHashMap<Box<str>, Vec<usize>> = FxHashMap::default();
        for (at, group) in self.groups.iter().enumerate() {
            if !group.is_on_both_sides() {
                by_type.entry(group.kernel_type.clone()).or_default().push(at);
            }
        }
        let mut types: Vec<(Box<str>, Vec<usize>)> = by_type.into_iter().collect();
        types.sort_unstable();
        for (kernel_type, groups) in types {
            let mut joiner = Joiner { unjoined: self, book, passes, groups };
            if is_collective(&kernel_type) {
                joiner.collectives();
            } else {
                joiner.kernels(plain_family(&kernel_type) == Some("gemm"));
            }
        }
    }
}

/// The groups of one kernel type.
struct Joiner<'u, 'b> {
    unjoined: &'u mut Unjoined,
    book: &'b Book,
    passes: Passes,
    groups: Vec<usize>,
}

impl Joiner<'_, '_> {
    fn group(&self, at: usize) -> &Group {
        &self.unjoined.groups[at]
    }

    /// What is on the predicted side alone, in order of first appearance.
    fn predicted_only(&self) -> Vec<usize> {
        let alone = |at: &&usize| self.group(**at).is_predicted() && !self.group(**at).is_measured();
        self.groups.iter().filter(alone).copied().collect()
    }

    /// What is on the measured side alone, most time first.
    fn measured_only(&self) -> Vec<usize> {
        let alone = |at: &&usize| self.group(**at).is_measured() && !self.group(**at).is_predicted();
        let mut groups: Vec<usize> = self.groups.iter().filter(alone).copied().collect();
        groups.sort_by(|&a, &b| {
            let (a, b) = (self.group(a), self.group(b));
            b.measured.sum_ps.cmp(&a.measured.sum_ps).then_with(|| a.shape.cmp(&b.shape))
        });
        groups
    }

    fn predicted_calls(&self, at: usize) -> i128 {
        i128::from(self.group(at).predicted.calls) * self.passes.unit()
    }

    fn measured_calls(&self, at: usize) -> i128 {
        self.passes.measured_calls(self.group(at).measured.calls)
    }

    /// The measured side does not say how large messages are: predicted sizes, most time first, until their calls are
    /// there.
    fn collectives(&mut self) {
        for measured in self.measured_only() {
            if !self.group(measured).shape.is_empty() {
                continue;
            }
            let mut sizes = self.predicted_only();
            sizes.sort_by(|&a, &b| {
                let (a, b) = (self.group(a), self.group(b));
                b.predicted.sum_ps.cmp(&a.predicted.sum_ps).then_with(|| a.shape.cmp(&b.shape))
            });
            let calls = self.measured_calls(measured);
            let mut taken_calls = 0;
            let mut taken = 0;
            while taken < sizes.len() && taken_calls < calls {
                taken_calls += self.predicted_calls(sizes[taken]);
                taken += 1;
            }
            sizes.truncate(taken);
            if !within(taken_calls, calls, COLLECTIVE_FACTOR) {
                continue;
            }
            let shapes: Vec<&str> = sizes.iter().map(|&size| self.group(size).shape.as_str()).collect();
            let shape = shapes.join(" + ");
            sizes.iter().for_each(|&size| self.unjoined.merge(measured, size, Join::Collective));
            self.unjoined.groups[measured].shape = shape;
        }
    }

    fn kernels(&mut self, are_products: bool) {
        if are_products {
            self.by_equal_key(Join::Gemm, |group| group.operands.as_ref()?.gemm_key());
        }
        self.by_equal_key(Join::AttentionQuery, |group| group.attention.map(|key| key.query_tokens));
        self.by_prefix();
        self.by_simulated_shapes(|group| group.operands.as_ref()?.tokens());
        self.by_simulated_shapes(|_| Some(0));
        self.by_type();
    }

    /// Every measured group takes all predicted ones with its key.
    fn by_equal_key<K: Eq + Hash>(&mut self, join: Join, key: impl Fn(&Group) -> Option<K>) {
        let mut predicted: FxHashMap<K, Vec<usize>> = FxHashMap::default();
        for at in self.predicted_only() {
            if let Some(key) = key(self.group(at)) {
                predicted.entry(key).or_default().push(at);
            }
        }
        for measured in self.measured_only() {
            let Some(key) = key(self.group(measured)) else { continue };
            for at in predicted.remove(&key).unwrap_or_default() {
                self.unjoined.merge(measured, at, join);
            }
        }
    }

    /// The operands of one side begin with those of the other: most operands in common, then most time, then text.
    fn by_prefix(&mut self) {
        let text = |joiner: &Self, at: usize| joiner.group(at).operands.as_ref().map(|operands| operands.text());
        let mut predicted: Vec<(usize, String)> = Vec::new();
        for at in self.predicted_only() {
            predicted.extend(text(self, at).map(|text| (at, text)));
        }
        // The best candidate stands last.
        predicted.sort_by(|(a, _), (b, _)| {
            let (a, b) = (self.group(*a), self.group(*b));
            a.predicted.sum_ps.cmp(&b.predicted.sum_ps).then_with(|| a.shape.cmp(&b.shape))
        });
        let mut whole: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        let mut begun: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (at, text) in &predicted {
            whole.entry(text).or_default().push(*at);
            beginnings(text).for_each(|beginning| begun.entry(beginning).or_default().push(*at));
        }
        for measured in self.measured_only() {
            let Some(text) = text(self, measured) else { continue };
            // First those that have all of its operands, then the longest of which it has all.
            let mut found = self.last_alone(begun.get_mut(text.as_str()));
            let mut shorter: Vec<&str> = beginnings(&text).collect();
            while let (None, Some(beginning)) = (found, shorter.pop()) {
                found = self.last_alone(whole.get_mut(beginning));
            }
            if let Some(at) = found {
                self.unjoined.merge(measured, at, Join::Prefix);
            }
        }
    }

    /// The last of the groups that has not been merged yet.
    fn last_alone(&self, groups: Option<&mut Vec<usize>>) -> Option<usize> {
        let groups = groups?;
        while let Some(&at) = groups.last() {
            if self.unjoined.merged[at].is_none() {
                return Some(at);
            }
            groups.pop();
        }
        None
    }

    /// Predicted groups that know the operator's shapes only, where both sides have just one group of a key.
    fn by_simulated_shapes(&mut self, key: impl Fn(&Group) -> Option<i64>) {
        let mut predicted: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
        for at in self.predicted_only() {
            let group = self.group(at);
            let prediction = group.predicted.first.and_then(|first| self.book.signatures[first as usize].prediction());
            let is_simulated = prediction.is_some_and(|prediction| prediction.is_simulated);
            if let (true, None, Some(key)) = (is_simulated, &group.attention, key(group)) {
                predicted.entry(key).or_default().push(at);
            }
        }
        let mut measured: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
        let groups = self.measured_only();
        for &at in &groups {
            if let Some(key) = key(self.group(at)) {
                measured.entry(key).or_default().push(at);
            }
        }
        for at in groups {
            let Some(key) = key(self.group(at)) else { continue };
            if let (Some(&[one]), Some([_])) =
                (predicted.get(&key).map(Vec::as_slice), measured.get(&key).map(Vec::as_slice))
                && within(self.predicted_calls(one), self.measured_calls(at), LIKELY_FACTOR)
            {
                self.unjoined.merge(at, one, Join::Simulated);
            }
        }
    }

    /// One predicted group without shape against everything measured that is left.
    fn by_type(&mut self) {
        let (predicted, measured) = (self.predicted_only(), self.measured_only());
        let ([one], [_, ..]) = (predicted.as_slice(), measured.as_slice()) else { return };
        let calls: i128 = measured.iter().map(|&at| self.measured_calls(at)).sum();
        if !self.group(*one).shape.is_empty() || !within(self.predicted_calls(*one), calls, LIKELY_FACTOR) {
            return;
        }
        let largest = measured.iter().copied().max_by_key(|&at| {
            let group = self.group(at);
            (group.measured.sum_ps, group.shape.clone())
        });
        let Some(largest) = largest else { return };
        for &at in measured.iter().filter(|&&at| at != largest) {
            self.unjoined.merge(largest, at, Join::Type);
        }
        self.unjoined.merge(largest, *one, Join::Type);
        if measured.len() > 1 {
            self.unjoined.groups[largest].shape += &format!(" and {} more", measured.len() - 1);
        }
    }
}

/// The texts of the first operand, of the first two, and so on to all of them.
fn beginnings(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(';').map(|(at, _)| &text[..at]).chain([text])
}
