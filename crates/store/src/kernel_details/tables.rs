//! From groups to tables.

use super::attention::is_attention;
use super::groups::Group;
use super::texts::Texts;
use crate::columns::{RUNTIME, parsed_schema};
use crate::directory::check_table_name;
use crate::error::Error;
use crate::kernel::file_stem;
use crate::table::{LineEnd, Written, push_csv_row};
use bitcode::{Decode, Encode};
use indexmap::IndexMap;
use perfdb_pycompat::format::fixed;
use smallvec::SmallVec;
use std::io::{self, Write};
use std::path::Path;

/// A table without its rows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub(super) struct Outline {
    /// File name without `.csv`.
    pub(super) stem: String,
    /// The kernel types in it, in order of appearance; more than one if their names coincide as file names.
    pub(super) kernel_types: Vec<String>,
    pub(super) rows: usize,
    pub(super) samples: usize,
    pub(super) mixed_groups: usize,
}

/// One table to write, with its rows in memory.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct NewTable {
    pub(super) outline: Outline,
    pub(super) content: Vec<u8>,
}

/// The tables of some groups. Their rows are made when they are written, so that they are never all in memory.
#[derive(Debug)]
pub(super) struct Tables {
    texts: Texts,
    groups: Vec<Group>,
    /// Names of all tables, those that are not wanted too, in order of first appearance.
    pub(super) stems: Vec<String>,
    /// Those that are wanted.
    pub(super) outlines: Vec<Outline>,
    /// The groups of each, by their number.
    rows: Vec<Vec<u32>>,
}

/// Bytes of a table that are made before they are written.
const PIECE_BYTES: usize = 1 << 20;

impl Tables {
    /// One table per file name for which `is_wanted`, in order of first appearance. Groups without a kernel type are dropped.
    pub(super) fn of(
        profile: &Path,
        texts: Texts,
        groups: Vec<Group>,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Tables, Error> {
        let mut by_type: IndexMap<_, Vec<u32>> = IndexMap::new();
        for (number, group) in (0..).zip(&groups).filter(|(_, group)| group.count > 0) {
            by_type.entry(texts.get(group.kernel_type)).or_default().push(number);
        }
        let mut by_stem: IndexMap<String, (Vec<String>, Vec<u32>)> = IndexMap::new();
        for (kernel_type, mut numbers) in by_type {
            if let Some(stem) = file_stem(kernel_type) {
                check_table_name(profile, kernel_type, &stem)?;
                let (kernel_types, all) = by_stem.entry(stem).or_default();
                kernel_types.push(kernel_type.to_owned());
                all.append(&mut numbers);
            }
        }
        let stems = by_stem.keys().cloned().collect();
        let wanted = by_stem.into_iter().filter(|(stem, _)| is_wanted(stem));
        let outline = |(stem, (kernel_types, rows)): (String, (Vec<String>, Vec<u32>))| {
            let of_table = || rows.iter().map(|number| &groups[*number as usize]);
            let (samples, mixed_groups) =
                (of_table().map(|group| group.count).sum(), of_table().filter(|group| group.is_mixed).count());
            (Outline { stem, kernel_types, rows: rows.len(), samples, mixed_groups }, rows)
        };
        let (outlines, rows) = wanted.map(outline).unzip();
        Ok(Tables { texts, groups, stems, outlines, rows })
    }

    /// Writes the table of this number among the outlines.
    pub(super) fn write(&self, table: usize, out: &mut dyn Write) -> io::Result<()> {
        let with_runtime = is_attention(&self.outlines[table].stem);
        let mut columns = parsed_schema();
        if with_runtime {
            columns.extend(RUNTIME.map(str::to_owned));
        }
        let line_end = Written::PLAIN.line_end;
        let mut piece = Vec::new();
        push_csv_row(&mut piece, columns.iter().map(String::as_str), line_end);
        for number in &self.rows[table] {
            self.push_group(&mut piece, &self.groups[*number as usize], with_runtime, line_end);
            if piece.len() >= PIECE_BYTES {
                out.write_all(&piece)?;
                piece.clear();
            }
        }
        out.write_all(&piece)
    }

    /// All tables with their rows.
    pub(super) fn in_memory(self) -> io::Result<Vec<NewTable>> {
        let new_table = |(number, outline): (usize, &Outline)| {
            let mut content = Vec::new();
            self.write(number, &mut content)?;
            Ok(NewTable { outline: outline.clone(), content })
        };
        self.outlines.iter().enumerate().map(new_table).collect()
    }

    fn push_group(&self, out: &mut Vec<u8>, group: &Group, with_runtime: bool, line_end: LineEnd) {
        let sums = group.sums.all();
        let statistics = Statistics::of(group.samples.clone(), sums[0], group.sum_of_squares);
        let count = group.samples.len() as f64;
        let metrics = sums[1..].iter().map(|sum| sum / count);
        let numbers = [statistics.mean, statistics.median, statistics.deviation].into_iter().chain(metrics);
        let numbers: Vec<String> = numbers.map(|value| fixed(if value.is_finite() { value } else { 0.0 }, 6)).collect();
        let runtime = group.runtime.as_ref().map(|runtime| runtime.cells()).unwrap_or_default();
        let runtime = runtime.into_iter().take(if with_runtime { RUNTIME.len() } else { 0 });
        let base = group.base.iter().map(|cell| self.texts.get(*cell));
        push_csv_row(out, base.chain(numbers.iter().map(String::as_str)).chain(runtime), line_end);
    }
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
    /// Of at least one sample.
    fn of(mut samples: SmallVec<[f64; 2]>, sum: f64, sum_of_squares: f64) -> Self {
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
        Statistics::of(samples.into(), sum, squares)
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
