//! From groups to tables.

use super::attention::is_attention;
use super::groups::Group;
use crate::columns::{RUNTIME, parsed_schema};
use crate::directory::check_table_name;
use crate::error::Error;
use crate::kernel::file_stem;
use crate::table::{LineEnd, Written, push_csv_row};
use bitcode::{Decode, Encode};
use indexmap::IndexMap;
use perfdb_pycompat::format::fixed;
use std::path::Path;

/// One table to write.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct NewTable {
    /// File name without `.csv`.
    pub(super) stem: String,
    /// The kernel types in it, in order of appearance; more than one if their names coincide as file names.
    pub(super) kernel_types: Vec<String>,
    pub(super) rows: usize,
    pub(super) samples: usize,
    pub(super) mixed_groups: usize,
    pub(super) content: Vec<u8>,
}

/// Makes one table per file name for which `is_wanted`, in order of first appearance, and gives all file names. Groups without
/// a kernel type are dropped.
pub(super) fn make(
    profile: &Path,
    groups: Vec<Group>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<(Vec<String>, Vec<NewTable>), Error> {
    let mut by_type: IndexMap<String, Vec<Group>> = IndexMap::new();
    for group in groups.into_iter().filter(|group| group.count > 0) {
        by_type.entry(group.kernel_type.clone()).or_default().push(group);
    }
    let mut by_stem: IndexMap<String, (Vec<String>, Vec<Group>)> = IndexMap::new();
    for (kernel_type, mut groups) in by_type {
        if let Some(stem) = file_stem(&kernel_type) {
            check_table_name(profile, &kernel_type, &stem)?;
            let (kernel_types, all) = by_stem.entry(stem).or_default();
            kernel_types.push(kernel_type);
            all.append(&mut groups);
        }
    }
    let stems = by_stem.keys().cloned().collect();
    let wanted = by_stem.into_iter().filter(|(stem, _)| is_wanted(stem));
    Ok((stems, wanted.map(|(stem, (kernel_types, groups))| table(stem, kernel_types, groups)).collect()))
}

fn table(stem: String, kernel_types: Vec<String>, groups: Vec<Group>) -> NewTable {
    let with_runtime = is_attention(&stem);
    let mut columns = parsed_schema();
    if with_runtime {
        columns.extend(RUNTIME.map(str::to_owned));
    }
    let mut content = Vec::new();
    let written = Written::PLAIN;
    push_csv_row(&mut content, columns.iter().map(String::as_str), written.line_end);
    let mut table =
        NewTable { stem, kernel_types, rows: groups.len(), samples: 0, mixed_groups: 0, content: Vec::new() };
    for group in groups {
        table.samples += group.samples.len();
        table.mixed_groups += usize::from(group.is_mixed);
        push_group(&mut content, group, with_runtime, written.line_end);
    }
    table.content = content;
    table
}

fn push_group(out: &mut Vec<u8>, mut group: Group, with_runtime: bool, line_end: LineEnd) {
    let statistics = Statistics::of(&mut group.samples, group.sums[0], group.sum_of_squares);
    let count = group.samples.len() as f64;
    let metrics = group.sums[1..].iter().map(|sum| sum / count);
    let numbers = [statistics.mean, statistics.median, statistics.deviation].into_iter().chain(metrics);
    let numbers: Vec<String> = numbers.map(|value| fixed(if value.is_finite() { value } else { 0.0 }, 6)).collect();
    let runtime = group.runtime.as_ref().map(|runtime| runtime.cells()).unwrap_or_default();
    let runtime = runtime.into_iter().take(if with_runtime { RUNTIME.len() } else { 0 });
    let cells = group.base.iter().map(String::as_str).chain(numbers.iter().map(String::as_str)).chain(runtime);
    push_csv_row(out, cells, line_end);
}

/// The samples of one case in a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Statistics {
    mean: f64,
    median: f64,
    /// √max(0, Σd²/n − mean²): the cancellation for large equal values is part of the format.
    deviation: f64,
}

impl Statistics {
    /// Of at least one sample; sorts them.
    fn of(samples: &mut [f64], sum: f64, sum_of_squares: f64) -> Self {
        samples.sort_unstable_by(f64::total_cmp);
        let count = samples.len() as f64;
        let mean = sum / count;
        let middle = samples.len() / 2;
        let median = match samples.len() % 2 {
            1 => samples[middle],
            _ => (samples[middle - 1] + samples[middle]) / 2.0,
        };
        let variance = sum_of_squares / count - mean * mean;
        Statistics { mean, median, deviation: variance.max(0.0).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(samples: &[f64]) -> Statistics {
        let (sum, squares) = samples.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        Statistics::of(&mut samples.to_vec(), sum, squares)
    }

    #[test]
    fn the_deviation_keeps_its_cancellation() {
        assert_eq!(fixed(statistics(&[1000000.1; 3]).deviation, 6), "0.011049");
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        let statistics = statistics(&[4.0, 1.0, 3.0, 2.0]);
        assert_eq!((statistics.mean, statistics.median), (2.5, 2.5));
        assert_eq!(fixed(statistics.deviation, 6), "1.118034");
    }
}
