//! How much the measured calls of a kernel vary: what a difference has to be beyond to be one.

use super::policy::{Counting, GroupingPolicy};
use super::read::read_profile_rows;
use super::totals::{RowKey, RowKeyRef};
use crate::error::Error;
use indexmap::IndexMap;
use perfdb_trace::sequence::nearest_rank;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::path::Path;

/// Calls of one kernel type and shape from which on a spread means something.
pub(crate) const FEWEST_CALLS: usize = 5;

/// Where measured time lies when all calls are as quick, or as slow, as a tenth of their kind: times over the measured time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativeSpread {
    /// With every call at its P10; at most 1 unless few slow calls make most of the time.
    pub low: f64,
    /// With every call at its P90.
    pub high: f64,
}

impl RelativeSpread {
    /// Whether a predicted time over the measured one can't be told from it.
    pub fn contains(&self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }

    /// Both ends less the measured time, in percent of it.
    pub fn percent(&self) -> [f64; 2] {
        [self.low, self.high].map(|ratio| (ratio - 1.0) * 100.0)
    }
}

/// The spreads of a profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MeasuredSpread {
    kernel_types: FxHashMap<Box<str>, RelativeSpread>,
    whole: Option<RelativeSpread>,
}

impl MeasuredSpread {
    /// Reads a profile. Calls of one kernel type and one cell of shapes are of a kind; kinds with fewer than five calls do not
    /// vary, where known. A pipe can't be read again: unknown.
    ///
    /// # Errors
    /// When the file can't be read or holds what can't be used.
    pub(crate) fn read(profile: &Path, policy: GroupingPolicy) -> Result<MeasuredSpread, Error> {
        if !std::fs::metadata(profile).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(MeasuredSpread::default());
        }
        let mut calls = Calls::default();
        read_profile_rows(profile, policy, |row| {
            let start_us = (row.counting == Counting::Collective).then_some(row.start_us);
            Ok(calls.add(row.kernel_type, row.written_shapes(), start_us, row.duration_us))
        })?;
        Ok(calls.spread())
    }

    /// That of a kernel type; `None` where no shape of it has five calls.
    pub(crate) fn of(&self, kernel_type: &str) -> Option<RelativeSpread> {
        self.kernel_types.get(kernel_type).copied()
    }

    /// That of all kernels together.
    pub(crate) fn whole(&self) -> Option<RelativeSpread> {
        self.whole
    }
}

/// The durations of a profile's calls by kind.
#[derive(Debug, Default)]
struct Calls {
    kinds: IndexMap<RowKey, Vec<f64>, FxBuildHasher>,
    /// Where the call of each collective is that is listed more than once, by whole microsecond and kind.
    collectives: FxHashMap<(u64, u32), usize>,
}

impl Calls {
    fn add(&mut self, kernel_type: &str, shapes: &str, collective_start_us: Option<f64>, duration_us: f64) -> u32 {
        let (kind, durations_us) = match self.kinds.get_full_mut(&RowKeyRef(kernel_type, shapes)) {
            Some((kind, _, durations_us)) => (kind, durations_us),
            None => {
                let (kind, _) = self.kinds.insert_full((kernel_type.into(), shapes.into()), Vec::new());
                (kind, &mut self.kinds[kind])
            }
        };
        let kind = kind as u32;
        if let Some(start_us) = collective_start_us {
            let next = durations_us.len();
            let at = *self.collectives.entry(((start_us.trunc() + 0.0).to_bits(), kind)).or_insert(next);
            if let Some(listed_us) = durations_us.get_mut(at) {
                *listed_us = listed_us.max(duration_us);
                return kind;
            }
        }
        durations_us.push(duration_us);
        kind
    }

    fn spread(self) -> MeasuredSpread {
        let (mut whole, mut by_type) = (Sums::default(), IndexMap::<Box<str>, Sums, FxBuildHasher>::default());
        for ((kernel_type, _), mut durations_us) in self.kinds {
            durations_us.sort_by(f64::total_cmp);
            let kind = Sums::of(&durations_us);
            whole.add(kind);
            by_type.entry(kernel_type).or_default().add(kind);
        }
        let known = |(kernel_type, sums): (Box<str>, Sums)| Some((kernel_type, sums.spread()?));
        MeasuredSpread { kernel_types: by_type.into_iter().filter_map(known).collect(), whole: whole.spread() }
    }
}

/// Sums of calls in microseconds: as measured, at P10 and at P90.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    measured_us: f64,
    low_us: f64,
    high_us: f64,
    varies: bool,
}

impl Sums {
    fn of(sorted_us: &[f64]) -> Sums {
        let measured_us = sorted_us.iter().fold(0.0, |sum, us| sum + us);
        let all_at = |percent| nearest_rank(sorted_us, percent).map(|us: f64| us * sorted_us.len() as f64);
        match (all_at(10), all_at(90)) {
            (Some(low_us), Some(high_us)) if sorted_us.len() >= FEWEST_CALLS => {
                Sums { measured_us, low_us, high_us, varies: true }
            }
            _ => Sums { measured_us, low_us: measured_us, high_us: measured_us, varies: false },
        }
    }

    fn add(&mut self, other: Sums) {
        self.measured_us += other.measured_us;
        self.low_us += other.low_us;
        self.high_us += other.high_us;
        self.varies |= other.varies;
    }

    fn spread(self) -> Option<RelativeSpread> {
        let is_known = self.varies && self.measured_us > 0.0;
        is_known.then(|| RelativeSpread { low: self.low_us / self.measured_us, high: self.high_us / self.measured_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(calls: &[(&str, &str, f64)]) -> MeasuredSpread {
        let mut durations = Calls::default();
        for &(kernel_type, shapes, duration_us) in calls {
            durations.add(kernel_type, shapes, None, duration_us);
        }
        durations.spread()
    }

    #[test]
    fn every_call_counts_at_the_tenth_and_the_ninetieth_percentile_of_its_shape() {
        let calls: Vec<(&str, &str, f64)> = (1..=10)
            .flat_map(|step| [("A", "1", 90.0 + 2.0 * f64::from(step)), ("A", "2", 1000.0), ("B", "1", 7.0)])
            .collect();
        let found = spread(&calls);
        let total = 10.0 * 101.0 + 10_000.0;
        let of_a = found.of("A").unwrap();
        assert_eq!((of_a.low, of_a.high), ((920.0 + 10_000.0) / total, (1080.0 + 10_000.0) / total));
        assert_eq!(found.of("B").map(|spread| spread.percent()), Some([0.0, 0.0]));
        assert_eq!(found.of("C"), None);
        assert!(found.whole().is_some_and(|whole| whole.low > of_a.low && whole.high < of_a.high));
    }

    #[test]
    fn few_calls_say_nothing() {
        let calls = [("A", "1", 1.0), ("A", "1", 9.0), ("A", "1", 9.0), ("A", "1", 9.0), ("A", "2", 1.0)];
        assert_eq!(spread(&calls), MeasuredSpread::default());
        assert_eq!(spread(&[("A", "1", f64::NAN); 6]).of("A"), None);
        assert_eq!(spread(&[]).whole(), None);
    }

    #[test]
    fn a_collective_that_is_listed_twice_is_one_call() {
        let mut calls = Calls::default();
        for at in 0..5 {
            let start_us = f64::from(at) * 10.0;
            calls.add("hcom_a", "", Some(start_us + 0.2), 4.0);
            calls.add("hcom_a", "", Some(start_us + 0.7), 5.0);
        }
        let found = calls.spread().of("hcom_a").unwrap();
        assert_eq!(found, RelativeSpread { low: 1.0, high: 1.0 });
    }
}
