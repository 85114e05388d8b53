//! Samples of each case as rows of tables.

use std::collections::{BTreeMap, BTreeSet};

use perfdb_store::columns;
use perfdb_store::duration::text;
use perfdb_store::registry::TableType;

use super::calls::Worked;
use super::case::{Case, Row};
use crate::time::{Picoseconds, microseconds};
use crate::trace::Trace;

/// A table of a database.
#[derive(Debug, Clone, Default)]
pub struct MeasuredTable {
    /// What it holds.
    pub kind: TableType,
    /// Its columns.
    pub header: Vec<String>,
    /// Cells of its rows.
    pub rows: Vec<Vec<String>>,
    /// Calls behind all rows.
    pub calls: u64,
    /// Sum of their kernels' durations.
    pub total_us: f64,
}

/// Calls of one case.
#[derive(Debug, Default)]
pub(super) struct Samples {
    durations_us: Vec<f64>,
    runs: BTreeSet<usize>,
    /// Time by kernel.
    kernels: BTreeMap<String, Picoseconds>,
}

/// Behind the median: mean, deviation and spread over the calls, how many calls and runs there were, and the kernels, longest time first. Their
/// names begin so that no tool takes them for a part of what a row is.
const MORE: [&str; 7] = [
    columns::PROFILED_DURATION,
    columns::PROFILED[2],
    "Profiling P10 Duration(us)",
    "Profiling P90 Duration(us)",
    "Profiling Calls",
    "Profiling Runs",
    "Profiling Kernels",
];

/// Kernels that a row names.
const KERNELS: usize = 3;

impl Samples {
    pub(super) fn add(&mut self, run: usize, trace: &Trace, kernels: &[Worked]) {
        self.durations_us.push(microseconds(kernels.iter().map(|(_, time)| time).sum()));
        self.runs.insert(run);
        for (work, time) in kernels {
            let name = work.name(trace);
            match self.kernels.get_mut(name) {
                Some(sum) => *sum += time,
                None => {
                    self.kernels.insert(name.to_owned(), *time);
                }
            }
        }
    }

    /// The median.
    fn duration_us(&self) -> f64 {
        quantile(&self.durations_us, 0.5)
    }

    fn more(&self) -> [String; 7] {
        let count = self.durations_us.len() as f64;
        let mean = self.durations_us.iter().sum::<f64>() / count;
        let squares: f64 = self.durations_us.iter().map(|us| (us - mean) * (us - mean)).sum();
        let deviation = if count > 1.0 { text((squares / (count - 1.0)).sqrt()) } else { String::new() };
        let mut kernels: Vec<(&String, &Picoseconds)> = self.kernels.iter().collect();
        kernels.sort_by(|one, other| other.1.cmp(one.1).then_with(|| one.0.cmp(other.0)));
        let kernels: Vec<&str> = kernels.iter().take(KERNELS).map(|(name, _)| name.as_str()).collect();
        [
            text(mean),
            deviation,
            text(quantile(&self.durations_us, 0.1)),
            text(quantile(&self.durations_us, 0.9)),
            self.durations_us.len().to_string(),
            self.runs.len().to_string(),
            kernels.join(" | "),
        ]
    }
}

/// Tables of the cases, rows by shape.
pub(super) fn of(samples: BTreeMap<Case, Samples>) -> BTreeMap<String, MeasuredTable> {
    let mut tables: BTreeMap<String, MeasuredTable> = BTreeMap::new();
    for (case, mut samples) in samples {
        samples.durations_us.sort_by(f64::total_cmp);
        let us = samples.duration_us();
        if !perfdb_store::duration::is_valid(us) {
            continue;
        }
        let table = tables.entry(case.table.clone()).or_insert_with(|| MeasuredTable {
            kind: TableType { class: case.class, layout: case.layout, ..TableType::default() },
            header: header(&case.row),
            ..MeasuredTable::default()
        });
        if table.kind.source.is_none() {
            table.kind.source = case.source.map(str::to_owned);
        }
        table.calls += samples.durations_us.len() as u64;
        table.total_us += samples.durations_us.iter().sum::<f64>();
        table.rows.push(cells(&case.row, us, &samples));
    }
    tables
}

fn header(row: &Row) -> Vec<String> {
    let more = |columns: &[&str]| columns.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    match row {
        Row::Compute { .. } => {
            let [inputs, outputs] = [
                [columns::INPUT_SHAPES, columns::INPUT_TYPES, columns::INPUT_FORMATS],
                [columns::OUTPUT_SHAPES, columns::OUTPUT_TYPES, columns::OUTPUT_FORMATS],
            ];
            [more(&inputs), more(&outputs), more(&[columns::MEASURED_DURATION]), more(&MORE)].concat()
        }
        // Tables of collectives have no other columns than their own.
        Row::Collective { .. } => more(&columns::COMMUNICATION),
    }
}

fn cells(row: &Row, us: f64, samples: &Samples) -> Vec<String> {
    match row {
        Row::Compute { inputs, output } => {
            let shape = |shape: &[u64]| shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let joined = |cells: Vec<String>| cells.join(";");
            let (output_shape, output_type, output_format) = match output {
                Some((dimensions, dtype)) => (shape(dimensions), (*dtype).to_owned(), "ND".to_owned()),
                None => (String::new(), String::new(), String::new()),
            };
            let own = [
                joined(inputs.iter().map(|(dimensions, _)| shape(dimensions)).collect()),
                joined(inputs.iter().map(|(_, dtype)| (*dtype).to_owned()).collect()),
                joined(inputs.iter().map(|_| "ND".to_owned()).collect()),
                output_shape,
                output_type,
                output_format,
                text(us),
            ];
            own.into_iter().chain(samples.more()).collect()
        }
        Row::Collective { bytes, ranks, dtype } => {
            let gigabytes = *bytes as f64 / us / 1e3;
            vec![
                bytes.to_string(),
                ranks.to_string(),
                dtype.clone(),
                "0".to_owned(),
                text(us),
                ((gigabytes * 100.0).round() / 100.0).to_string(),
            ]
        }
    }
}

/// A quantile between the two samples around it, as numpy has it.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_are_those_of_numpy() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.1, 0.5, 0.9].map(|share| quantile(&sorted, share)), [1.3, 3.0, 6.800000000000001]);
        assert_eq!(quantile(&[5.0], 0.9), 5.0);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
