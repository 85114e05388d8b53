//! Sums per kernel type (and shape), collectives counted once per group.

use super::policy::{Addition, Counting, DurationForm, GroupDuration, GroupKey, GroupingPolicy, NotANumberStart};
use indexmap::{Equivalent, IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The cells of a row of a forward-pass CSV that count.
#[derive(Debug, Clone, Copy)]
pub struct Kernel<'a> {
    /// The kernel type, trimmed and not empty.
    pub kernel_type: &'a str,
    /// The shape key; empty where shapes do not count.
    pub shape_key: &'a str,
    /// Start in microseconds; only looked at for collectives and for [`DurationForm::EndMinusStart`].
    pub start_us: f64,
    /// Duration in microseconds.
    pub duration_us: f64,
}

/// Time and count of one kernel type (and shape).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// Sum of the durations in microseconds.
    pub total_us: f64,
    /// Number of kernels.
    pub count: u64,
}

/// A collective has no place in time: its start is infinite, or not a number where that is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a collective needs a finite start")]
pub struct NoGroup;

/// Kernel type and shape key.
pub(super) type RowKey = (Box<str>, Box<str>);

/// The same, borrowed.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct RowKeyRef<'a>(pub(super) &'a str, pub(super) &'a str);

impl Equivalent<RowKey> for RowKeyRef<'_> {
    fn equivalent(&self, (kernel_type, shape_key): &RowKey) -> bool {
        self.0 == &**kernel_type && self.1 == &**shape_key
    }
}

/// The sums over the kernels of a forward pass. Durations are added in the order in which kernels come, as doubles.
#[derive(Debug, Clone)]
pub struct KernelTotals {
    policy: GroupingPolicy,
    rows: IndexMap<RowKey, Total, FxBuildHasher>,
    /// The row of the kernel before.
    last: u32,
    /// What came behind each row when it was last met. Layers repeat, so mostly it comes again.
    following: Vec<u32>,
    /// The types of collectives.
    collectives: IndexSet<Box<str>, FxBuildHasher>,
    groups: FxHashMap<(u64, u32), u32>,
    group_durations: Vec<(u32, f64)>,
    compute_us: f64,
    collective_us: f64,
}

impl KernelTotals {
    /// Empty sums.
    pub fn new(policy: GroupingPolicy) -> KernelTotals {
        KernelTotals {
            policy,
            rows: IndexMap::default(),
            last: 0,
            following: Vec::new(),
            collectives: IndexSet::default(),
            groups: FxHashMap::default(),
            group_durations: Vec::new(),
            compute_us: 0.0,
            collective_us: 0.0,
        }
    }

    /// Counts one kernel. AICPU rows are left out.
    ///
    /// # Errors
    /// When a collective's start gives no group.
    pub fn add(&mut self, kernel: Kernel<'_>) -> Result<(), NoGroup> {
        match self.policy.counting_of(kernel.kernel_type) {
            Counting::LeftOut => Ok(()),
            counting => self.add_of(counting, kernel).map(drop),
        }
    }

    /// Counts one kernel that is not left out; gives the position of its row.
    pub(super) fn add_of(&mut self, counting: Counting, kernel: Kernel<'_>) -> Result<u32, NoGroup> {
        let duration_us = match self.policy.duration_form {
            DurationForm::AsWritten => kernel.duration_us,
            DurationForm::EndMinusStart => (kernel.start_us + kernel.duration_us) - kernel.start_us,
        };
        if counting == Counting::Other {
            let (row, total) = self.row_mut(kernel);
            total.total_us += duration_us;
            total.count += 1;
            self.compute_us += duration_us;
            return Ok(row);
        }
        let start = self.group_start(kernel.start_us)?;
        let (row, _) = self.row_mut(kernel);
        let group = match self.policy.group_key {
            GroupKey::StartTypeAndShape => row,
            GroupKey::StartAndType => intern(&mut self.collectives, kernel.kernel_type),
        };
        self.add_to_group((start, group), row, duration_us);
        Ok(row)
    }

    /// The whole part of the start as bits; `-0.0` becomes `0.0`.
    fn group_start(&self, start_us: f64) -> Result<u64, NoGroup> {
        let start = match self.policy.not_a_number_start {
            NotANumberStart::Zero if start_us.is_nan() => 0.0,
            _ if start_us.is_finite() => start_us.trunc() + 0.0,
            _ => return Err(NoGroup),
        };
        Ok(start.to_bits())
    }

    fn add_to_group(&mut self, key: (u64, u32), row: u32, duration_us: f64) {
        let next = self.group_durations.len() as u32;
        let group = *self.groups.entry(key).or_insert(next);
        let first = group == next;
        if first {
            let longest_us = match self.policy.group_duration {
                GroupDuration::Largest => duration_us,
                GroupDuration::LargestOrZero if duration_us > 0.0 => duration_us,
                GroupDuration::LargestOrZero => 0.0,
            };
            self.group_durations.push((row, longest_us));
            self.add_increase(row, longest_us, 1);
            return;
        }
        let Some((_, longest_us)) = self.group_durations.get_mut(group as usize) else { return };
        if duration_us > *longest_us {
            let increase = duration_us - *longest_us;
            *longest_us = duration_us;
            self.add_increase(row, increase, 0);
        }
    }

    fn add_increase(&mut self, row: u32, increase_us: f64, count: u64) {
        if self.policy.addition == Addition::AtOnce {
            self.collective_us += increase_us;
            if let Some((_, total)) = self.rows.get_index_mut(row as usize) {
                total.total_us += increase_us;
                total.count += count;
            }
        }
    }

    fn row_mut(&mut self, kernel: Kernel<'_>) -> (u32, &mut Total) {
        let key = RowKeyRef(kernel.kernel_type, kernel.shape_key);
        let expected = self.following.get(self.last as usize).copied();
        let row = match expected.and_then(|row| self.rows.get_index(row as usize).map(|(known, _)| (row, known))) {
            Some((row, known)) if key.equivalent(known) => row,
            _ => self.find_row(key),
        };
        self.last = row;
        (row, &mut self.rows[row as usize])
    }

    /// A row that is not the expected one; new ones are put in.
    fn find_row(&mut self, key: RowKeyRef<'_>) -> u32 {
        let row = match self.rows.get_index_of(&key) {
            Some(row) => row,
            None => self.rows.insert_full((key.0.into(), key.1.into()), Total::default()).0,
        } as u32;
        self.following.resize(self.rows.len(), 0);
        if let Some(following) = self.following.get_mut(self.last as usize) {
            *following = row;
        }
        row
    }

    /// Sum over everything but collectives, in microseconds, in the order of the file.
    pub fn compute_us(&self) -> f64 {
        self.compute_us
    }

    /// Sum over the collectives in microseconds. Only kept for [`Addition::AtOnce`].
    pub fn collective_us(&self) -> f64 {
        self.collective_us
    }

    /// The kernel types of the rows, by position.
    pub(super) fn kernel_types(&self) -> impl Iterator<Item = &str> {
        self.rows.keys().map(|(kernel_type, _)| &**kernel_type)
    }

    /// The sums by kernel type and shape key, in order of first appearance.
    pub fn into_rows(mut self) -> IndexMap<(Box<str>, Box<str>), Total, FxBuildHasher> {
        if self.policy.addition == Addition::AfterOtherRows {
            for (row, longest_us) in std::mem::take(&mut self.group_durations) {
                if let Some((_, total)) = self.rows.get_index_mut(row as usize) {
                    total.total_us += longest_us;
                    total.count += 1;
                }
            }
        }
        self.rows
    }
}

/// The position of a text in a set of texts, put in if new.
fn intern(texts: &mut IndexSet<Box<str>, FxBuildHasher>, text: &str) -> u32 {
    match texts.get_index_of(text) {
        Some(at) => at as u32,
        None => texts.insert_full(text.into()).0 as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Semantics;

    fn totals(policy: GroupingPolicy, kernels: &[(&str, &str, f64, f64)]) -> Result<KernelTotals, NoGroup> {
        let mut totals = KernelTotals::new(policy);
        for &(kernel_type, shape_key, start_us, duration_us) in kernels {
            totals.add(Kernel { kernel_type, shape_key, start_us, duration_us })?;
        }
        Ok(totals)
    }

    fn rows(policy: GroupingPolicy, kernels: &[(&str, &str, f64, f64)]) -> Vec<(String, String, f64, u64)> {
        let rows = totals(policy, kernels).unwrap().into_rows();
        rows.into_iter()
            .map(|((name, shape), total)| (name.into(), shape.into(), total.total_us, total.count))
            .collect()
    }

    const M6: GroupingPolicy = GroupingPolicy::m6(Semantics::Corrected);
    const OPERATORS: GroupingPolicy = GroupingPolicy::operators(Semantics::Upstream);
    const SHAPES: GroupingPolicy = GroupingPolicy::shapes(Semantics::Upstream);

    #[test]
    fn starts_within_one_microsecond_are_one_collective() {
        let kernels = [
            ("hcom_a", "", 10.1, 3.0),
            ("hcom_a", "", 10.9, 5.0),
            ("hcom_a", "", 11.0, 1.0),
            ("hcom_b", "", 10.1, 2.0),
        ];
        assert_eq!(totals(M6, &kernels).unwrap().collective_us(), 8.0);
        let expected = [("hcom_a".to_owned(), String::new(), 6.0, 2), ("hcom_b".to_owned(), String::new(), 2.0, 1)];
        assert_eq!(rows(OPERATORS, &kernels), expected);
    }

    #[test]
    fn starts_are_cut_towards_zero() {
        let kernels = [("hcom_a", "", -0.5, 3.0), ("hcom_a", "", 0.5, 5.0)];
        for policy in [M6, OPERATORS, SHAPES] {
            assert_eq!(rows(policy, &kernels), [("hcom_a".to_owned(), String::new(), 5.0, 1)]);
        }
    }

    #[test]
    fn shapes_divide_groups_per_shape_only() {
        let kernels = [("hcom_a", "1", 5.0, 3.0), ("hcom_a", "2", 5.0, 4.0)];
        assert_eq!(rows(SHAPES, &kernels).len(), 2);
        let without = [("hcom_a", "", 5.0, 3.0), ("hcom_a", "", 5.0, 4.0)];
        assert_eq!(rows(OPERATORS, &without), [("hcom_a".to_owned(), String::new(), 4.0, 1)]);
    }

    #[test]
    fn negative_durations_of_collectives() {
        let kernels = [("hcom_a", "", 5.0, -3.0)];
        assert_eq!(totals(M6, &kernels).unwrap().collective_us(), -3.0);
        assert_eq!(rows(OPERATORS, &kernels)[0].2, 0.0);
        assert_eq!(rows(SHAPES, &kernels)[0].2, 0.0);
    }

    #[test]
    fn durations_that_are_not_numbers() {
        let first = [("hcom_a", "", 5.0, f64::NAN), ("hcom_a", "", 5.0, 4.0)];
        assert!(totals(M6, &first).unwrap().collective_us().is_nan());
        assert_eq!(rows(OPERATORS, &first)[0].2, 4.0);
        let later = [("hcom_a", "", 5.0, 4.0), ("hcom_a", "", 5.0, f64::NAN)];
        assert_eq!(totals(M6, &later).unwrap().collective_us(), 4.0);
    }

    #[test]
    fn starts_without_a_group() {
        for start in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(totals(M6, &[("hcom_a", "", start, 1.0)]).unwrap_err(), NoGroup);
            assert_eq!(totals(SHAPES, &[("hcom_a", "", start, 1.0)]).unwrap_err(), NoGroup);
            assert_eq!(totals(OPERATORS, &[("hcom_a", "", start, 1.0)]).is_ok(), start.is_nan());
            assert!(totals(M6, &[("Add", "", start, 1.0)]).is_ok());
        }
        let nan = [("hcom_a", "", f64::NAN, 1.0), ("hcom_a", "", 0.3, 2.0)];
        assert_eq!(rows(OPERATORS, &nan)[0].3, 1, "not a number is group 0");
    }

    #[test]
    fn epoch_starts_round_durations_of_m6_to_quarters() {
        let start = 1742968801234567.123;
        let upstream = totals(GroupingPolicy::m6(Semantics::Upstream), &[("Add", "", start, 7.3)]).unwrap();
        assert_eq!(upstream.compute_us(), 7.25);
        assert_eq!(totals(M6, &[("Add", "", start, 7.3)]).unwrap().compute_us(), 7.3);
    }

    #[test]
    fn collectives_are_added_behind_the_others() {
        // 1e16 swallows the 1.0 that is added behind it, so the order shows.
        let kernels = [("hcom_a", "", 1.0, 1.0), ("hcom_a", "", 2.0, 1e16), ("hcom_a", "", 1.0, 2.0)];
        assert_eq!(rows(OPERATORS, &kernels)[0].2, 2.0 + 1e16);
        assert_eq!(totals(M6, &kernels).unwrap().collective_us(), 1.0 + 1e16 + 1.0);
    }
}
