//! Whether a profile holds several forward passes, told from its first kernels.

use crate::error::Warning;
use crate::ledger::type_without_ending;
use crate::picoseconds::{PS_PER_US, parse_duration_us, parse_us};
use indexmap::IndexSet;
use perfdb_pycompat::text::trim;
use perfdb_sequence::{Kernel, find_passes};
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::path::Path;

/// How many kernels are looked at. A pass of the largest models has some thousands, so a whole one fits several times, and
/// memory does not grow with the file.
const LARGEST_SAMPLE: usize = 1 << 15;

/// The first kernels of a profile.
#[derive(Debug, Default)]
pub(super) struct PassSample {
    /// In file order; the symbol is the position of the type until the passes are looked for.
    kernels: Vec<Kernel>,
    types: IndexSet<Box<str>, FxBuildHasher>,
    steps: FxHashSet<Box<str>>,
    /// The step of the row before; most rows have the same.
    last_step: String,
    /// Whole microsecond and type of the collectives, which profilers list twice.
    collectives: FxHashSet<(i128, u32)>,
    origin_ps: Option<i128>,
    /// Whether kernels have been left out.
    is_full: bool,
}

/// The cells of a row that count.
#[derive(Debug, Clone, Copy)]
pub(super) struct SampleRow<'a> {
    /// The kernel type, trimmed and not empty.
    pub(super) kernel_type: &'a str,
    pub(super) start_us: &'a str,
    pub(super) duration_us: &'a str,
    pub(super) step: &'a str,
}

impl PassSample {
    /// Whether more rows are of use.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        !self.is_full
    }

    /// Takes a row in. One that has no place in time is left out.
    pub(super) fn add(&mut self, row: SampleRow<'_>) {
        let SampleRow { kernel_type, start_us, duration_us, step } = row;
        if kernel_type.ends_with("AicpuKernel") {
            return;
        }
        if self.kernels.len() == LARGEST_SAMPLE {
            self.is_full = true;
            return;
        }
        let (Some(start_ps), Some(duration_ps)) = (parse_us(start_us), parse_duration_us(duration_us)) else { return };
        let origin_ps = *self.origin_ps.get_or_insert(start_ps);
        let relative_ps = i64::try_from(start_ps - origin_ps).ok().filter(|ps| ps.abs() < i64::MAX / 4);
        let Some(relative_ps) = relative_ps else { return };
        let symbol = position(&mut self.types, kernel_type);
        let is_collective = kernel_type.starts_with("hcom_");
        if is_collective && !self.collectives.insert((start_ps / i128::from(PS_PER_US), symbol)) {
            return;
        }
        if step != self.last_step {
            step.clone_into(&mut self.last_step);
            let step = trim(step);
            if !step.is_empty() && step != "N/A" {
                self.steps.insert(step.into());
            }
        }
        self.kernels.push(Kernel { symbol, start_ps: relative_ps, duration_ps: duration_ps.max(0) });
    }

    /// A warning if there are several passes, told apart as [`Cut`](crate::cut::Cut) does.
    pub(super) fn warning(self, path: &Path) -> Option<Warning> {
        let PassSample { mut kernels, types, steps, is_full, .. } = self;
        let passes = if steps.len() > 1 {
            steps.len()
        } else {
            let mut names: IndexSet<&str, FxBuildHasher> = IndexSet::default();
            let symbols: Vec<u32> =
                types.iter().map(|name| names.insert_full(type_without_ending(name)).0 as u32).collect();
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

    const LAYER: [&str; 4] = ["RmsNorm", "MatMulV2", "hcom_allReduce_", "SwiGlu_7"];

    /// Passes of `layers` equal layers with a sampling kernel at the end, collectives listed twice.
    fn sample(passes: usize, layers: usize, step: impl Fn(usize) -> String) -> PassSample {
        let (mut sample, mut now_us) = (PassSample::default(), 1_700_000_000_000_000u64);
        for pass in 0..passes {
            for kernel_type in LAYER.repeat(layers).into_iter().chain(["ArgMaxV2", "checkAicpuKernel"]) {
                for stream in 0..if kernel_type.starts_with("hcom_") { 2 } else { 1 } {
                    let (start_us, step) = (format!("{now_us}.{stream}\t"), step(pass));
                    sample.add(SampleRow { kernel_type, start_us: &start_us, duration_us: "9.5", step: &step });
                }
                now_us += 11;
            }
            now_us += 30;
        }
        sample
    }

    fn passes(sample: PassSample) -> Option<(usize, bool)> {
        match sample.warning(Path::new("p.csv"))? {
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
            sample.add(SampleRow { kernel_type: "Add", start_us, duration_us, step: "1" });
        }
        assert!(sample.kernels.is_empty() && sample.steps.is_empty());
    }
}
