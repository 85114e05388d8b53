//! Whether a profile holds several forward passes, told from its first kernels.

use super::policy::Counting;
use crate::attribution::type_without_ending;
use crate::error::Warning;
use crate::picoseconds::{PS_PER_US, duration_of_ps};
use indexmap::IndexSet;
use perfdb_pycompat::text::trim;
use perfdb_trace::sequence::{Kernel, find_passes};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::path::Path;

/// How many kernels are looked at. A pass of the largest models has some thousands, so a whole one fits several times, and
/// memory does not grow with the file.
const LARGEST_SAMPLE: usize = 1 << 15;

/// The first kernels of a profile.
#[derive(Debug, Default)]
pub(super) struct PassSample {
    /// In file order; the symbol is what the row is a run of until the passes are looked for.
    kernels: Vec<Kernel>,
    steps: FxHashSet<Box<str>>,
    /// The step of the row before as it is written; most rows have the same.
    last_step: String,
    /// The types of collectives, and their whole microseconds with the position of the type: profilers list them twice.
    collective_types: IndexSet<Box<str>, FxBuildHasher>,
    collectives: FxHashSet<(i128, u32)>,
    origin_ps: Option<i128>,
    /// Whether kernels have been left out.
    is_full: bool,
}

/// The cells of a row that count.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleRow<'a> {
    /// Number of what it is a run of: rows of one number have one kernel type.
    pub(super) run_of: u32,
    /// The kernel type, trimmed and not empty.
    pub(super) kernel_type: &'a str,
    /// What the type means to the sums.
    pub(super) counting: Counting,
    /// Start in picoseconds, if it has one.
    pub(super) start_ps: Option<i128>,
    /// Duration in picoseconds, if it has one.
    pub(super) duration_ps: Option<i128>,
    /// The cell of the step as it is written.
    pub(super) step: &'a str,
}

impl PassSample {
    /// Whether more rows are of use.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.is_full
    }

    /// Takes a row in. One that has no place in time is left out.
    #[inline]
    pub(super) fn add(&mut self, row: SampleRow<'_>) {
        let is_collective = row.counting == Counting::Collective;
        if is_collective && row.kernel_type.ends_with("AicpuKernel") {
            return;
        }
        if self.kernels.len() == LARGEST_SAMPLE {
            self.is_full = true;
            return;
        }
        let (Some(start_ps), Some(duration_ps)) = (row.start_ps, row.duration_ps.and_then(duration_of_ps)) else {
            return;
        };
        let origin_ps = match self.origin_ps {
            Some(origin_ps) => origin_ps,
            None => self.begin(start_ps),
        };
        let relative_ps = i64::try_from(start_ps - origin_ps).ok().filter(|ps| ps.unsigned_abs() < 1 << 61);
        let Some(relative_ps) = relative_ps else { return };
        if is_collective && self.is_listed_again(start_ps, row.kernel_type) {
            return;
        }
        if row.step != self.last_step {
            self.take_step(row.step);
        }
        self.kernels.push(Kernel { symbol: row.run_of, start_ps: relative_ps, duration_ps: duration_ps.max(0) });
    }

    /// Takes the first start for the origin. Room is made at once: what stays unused is never touched, and nothing is copied.
    #[cold]
    fn begin(&mut self, origin_ps: i128) -> i128 {
        self.kernels.reserve_exact(LARGEST_SAMPLE);
        *self.origin_ps.insert(origin_ps)
    }

    fn is_listed_again(&mut self, start_ps: i128, kernel_type: &str) -> bool {
        let symbol = position(&mut self.collective_types, kernel_type);
        !self.collectives.insert((start_ps / i128::from(PS_PER_US), symbol))
    }

    #[cold]
    fn take_step(&mut self, step: &str) {
        step.clone_into(&mut self.last_step);
        let step = trim(step.trim_matches('"'));
        if !step.is_empty() && step != "N/A" && !self.steps.contains(step) {
            self.steps.insert(step.into());
        }
    }

    /// A warning if there are several passes, told apart as [`Cut`](crate::cut::Cut) does. `kernel_types` are those of the
    /// numbers of the rows.
    pub(super) fn warning<'t>(self, path: &Path, kernel_types: impl Iterator<Item = &'t str>) -> Option<Warning> {
        let PassSample { mut kernels, steps, is_full, .. } = self;
        let passes = if steps.len() > 1 {
            steps.len()
        } else {
            let mut names: IndexSet<&str, FxBuildHasher> = IndexSet::default();
            let symbols: Vec<u32> =
                kernel_types.map(|name| names.insert_full(type_without_ending(name)).0 as u32).collect();
            kernels.iter_mut().for_each(|kernel| kernel.symbol = symbols[kernel.symbol as usize]);
            if !kernels.is_sorted_by_key(|kernel| kernel.start_ps) {
                kernels.sort_by_key(|kernel| kernel.start_ps);
            }
            find_passes(kernels.as_slice()).starts.len() + 1
        };
        (passes > 1).then(|| Warning::SeveralPasses { path: path.to_owned(), passes, at_least: is_full })
    }
}

/// The position of a name, put in if new.
fn position(names: &mut IndexSet<Box<str>, FxBuildHasher>, name: &str) -> u32 {
    match names.get_index_of(name) {
        Some(at) => at as u32,
        None => names.insert_full(name.into()).0 as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::picoseconds::parse_us;

    const TYPES: [&str; 5] = ["RmsNorm", "MatMulV2", "hcom_allReduce_", "SwiGlu_7", "ArgMaxV2"];
    const LAYER: [u32; 4] = [0, 1, 2, 3];

    fn row<'a>(run_of: u32, start_us: &str, duration_us: &str, step: &'a str) -> SampleRow<'a> {
        let kernel_type = TYPES[run_of as usize];
        let counting = if run_of == 2 { Counting::Collective } else { Counting::Other };
        let (start_ps, duration_ps) = (parse_us(start_us), parse_us(duration_us));
        SampleRow { run_of, kernel_type, counting, start_ps, duration_ps, step }
    }

    /// Passes of `layers` equal layers with a sampling kernel at the end, collectives listed twice.
    fn sample(passes: usize, layers: usize, step: impl Fn(usize) -> String) -> PassSample {
        let (mut sample, mut now_us) = (PassSample::default(), 1_700_000_000_000_000u64);
        for pass in 0..passes {
            for run_of in LAYER.repeat(layers).into_iter().chain([4]) {
                for stream in 0..if run_of == 2 { 2 } else { 1 } {
                    sample.add(row(run_of, &format!("{now_us}.{stream}\t"), "9.5", &step(pass)));
                }
                now_us += 11;
            }
            now_us += 30;
        }
        sample
    }

    fn passes(sample: PassSample) -> Option<(usize, bool)> {
        match sample.warning(Path::new("p.csv"), TYPES.into_iter())? {
            Warning::SeveralPasses { passes, at_least, .. } => Some((passes, at_least)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn passes_are_counted() {
        assert_eq!(passes(sample(1, 8, |_| String::new())), None);
        assert_eq!(passes(sample(3, 8, |_| String::new())), Some((3, false)));
        assert_eq!(passes(sample(2, 1, |pass| pass.to_string())), Some((2, false)), "by their steps");
        assert_eq!(passes(sample(1, 8, |_| "N/A".to_owned())), None);
        assert_eq!(passes(PassSample::default()), None);
    }

    #[test]
    fn memory_is_bounded() {
        let layers = 100;
        let whole = sample(100, layers, |_| String::new());
        assert!(whole.is_full && whole.kernels.len() == LARGEST_SAMPLE);
        let (found, at_least) = passes(whole).unwrap();
        assert!(at_least && found >= LARGEST_SAMPLE / (LAYER.len() * layers + 1), "{found}");
    }

    #[test]
    fn rows_without_a_place_are_left_out() {
        let mut sample = PassSample::default();
        for (start_us, duration_us) in [("", "1"), ("1", "x"), ("nan", "1"), ("1", "inf")] {
            sample.add(row(0, start_us, duration_us, "1"));
        }
        sample.add(SampleRow { kernel_type: "hcom_allReduce_AicpuKernel", ..row(2, "1", "1", "1") });
        assert!(sample.kernels.is_empty() && sample.steps.is_empty());
    }

    #[test]
    fn a_quoted_step_is_the_same_step() {
        let mut sample = PassSample::default();
        for (start_us, step) in [("1", "7"), ("2", "\"7\""), ("3", " 7\t")] {
            sample.add(row(0, start_us, "1", step));
        }
        assert_eq!(sample.steps.len(), 1);
    }
}
