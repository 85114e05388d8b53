//! A database made yours: durations of a public one, scaled to the few rows that were measured here.
//!
//! What is estimated is the logarithm of the ratio between a duration here and the public one of the same case. Ratios are pooled in part along
//! a hierarchy: all rows, class of the kernel, table, range of durations by eights and by twos, and range of sizes within it. Each level is
//! drawn to the one above it, the topmost to no change, by as much as the rows below it scatter: empirical Bayes with variances by moments
//! (Efron & Morris, Stein's paradox, 1975; Gelman & Hill, Data Analysis Using Regression and Multilevel Models, 2006, chapter 12). How wide the
//! intervals must be is learned from measured rows that are left out of the fit.

mod case;
mod hierarchy;
mod suggestion;
mod widths;
mod written;

use crate::versions::Error;
use case::{Cases, Place, Rows, rows_of};
use hierarchy::Hierarchy;
use perfdb_store::registry::Registry;
use std::collections::BTreeMap;
use std::path::Path;
use widths::Widths;

pub use suggestion::Suggestion;

/// A public database and what it becomes.
#[derive(Debug)]
pub struct Calibration {
    public: Vec<Rows>,
    hierarchy: Hierarchy,
    widths: Widths,
    /// Durations that were measured here, in microseconds, by place among the public rows.
    measured: BTreeMap<Place, Vec<f64>>,
    /// Figures of each table, by name.
    pub tables: Vec<CalibratedTable>,
    /// Rows measured here that the public database has too.
    pub matched: usize,
    /// Rows measured here that it does not have, by table.
    pub unmatched: BTreeMap<String, usize>,
    /// Tables of collectives, which stay as they are: waiting is a part of their times.
    pub collectives: usize,
}

/// What became of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibratedTable {
    /// The kernel type.
    pub name: String,
    pub rows: usize,
    /// Rows that were measured here.
    pub measured: usize,
    /// Median factor of the other rows.
    pub factor: f64,
    /// Median half of their 90 % intervals, as a factor.
    pub within: f64,
}

/// A duration with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibrated {
    /// In microseconds.
    pub duration_us: f64,
    /// Ends of the 90 % interval.
    pub interval_us: [f64; 2],
    /// The standard deviation of the log-normal distribution that has this interval.
    pub deviation: f64,
}

/// Half of a 90 % interval in standard deviations.
const NINE_OF_TEN: f64 = 1.6449;

/// Scales a public database to the rows of others that were measured here.
///
/// # Errors
/// When a table or a mapping cannot be read, a folder has no tables, or no row of `mine` is of a case of the public one.
pub fn calibrate(public: &Path, mine: &[&Path]) -> Result<Calibration, Error> {
    let registry = |folder: &Path| Registry::of_database(folder).map_err(|error| of_registry(folder, &error));
    let (public_rows, collectives) = rows_of(public, &registry(public)?)?;
    let cases = Cases::new(&public_rows);
    let mut measured: BTreeMap<Place, Vec<f64>> = BTreeMap::new();
    let (mut matched, mut unmatched) = (0, BTreeMap::new());
    for folder in mine {
        for rows in rows_of(folder, &registry(folder)?)?.0 {
            for (at, duration_us) in rows.durations() {
                match cases.find(&public_rows, &rows, at) {
                    Some(place) => {
                        matched += 1;
                        measured.entry(place).or_default().push(duration_us);
                    }
                    None => *unmatched.entry(rows.name.clone()).or_default() += 1,
                }
            }
        }
    }
    if matched == 0 {
        let reason =
            "no row measured here is of a case of the public database; compare both with query-database --list";
        return Err(perfdb_store::Error::input(public, None, reason).into());
    }
    let samples = measured.iter().flat_map(|(place, durations_us)| {
        let rows = &public_rows[place.table];
        let path = rows.path(place.row);
        let public_us = rows.duration_us(place.row);
        durations_us.iter().filter_map(move |us| Some((path.clone()?, (us / public_us?).ln())))
    });
    let samples: Vec<_> = samples.collect();
    let widths = Widths::fit(&samples);
    let mut calibration = Calibration {
        public: public_rows,
        hierarchy: Hierarchy::fit(samples.into_iter()),
        widths,
        measured,
        tables: Vec::new(),
        matched,
        unmatched,
        collectives,
    };
    calibration.tables = (0..calibration.public.len()).map(|table| calibration.figures(table)).collect();
    Ok(calibration)
}

fn of_registry(folder: &Path, error: &perfdb_store::registry::Error) -> Error {
    perfdb_store::Error::input(folder.join("op_mapping.yaml"), None, error.to_string()).into()
}

impl Calibration {
    /// The duration of a public row here: nothing where it has none.
    fn calibrated(&self, table: usize, row: usize) -> Option<Calibrated> {
        let rows = &self.public[table];
        let (public_us, path) = (rows.duration_us(row)?, rows.path(row)?);
        let estimate = self.hierarchy.estimate(&path);
        let duration_us = public_us * estimate.mean.exp();
        let deviation = estimate.deviation() * self.widths.of(&path, estimate.support);
        let half = (NINE_OF_TEN * deviation).exp();
        Some(Calibrated { duration_us, interval_us: [duration_us / half, duration_us * half], deviation })
    }

    fn figures(&self, table: usize) -> CalibratedTable {
        let rows = &self.public[table];
        let is_measured = |row: usize| self.measured.contains_key(&Place { table, row });
        let (mut factors, mut halves) = (Vec::new(), Vec::new());
        for (row, public_us) in rows.durations().filter(|(row, _)| !is_measured(*row)) {
            if let Some(found) = self.calibrated(table, row) {
                factors.push(found.duration_us / public_us);
                halves.push((NINE_OF_TEN * found.deviation).exp());
            }
        }
        let measured = rows.durations().filter(|(row, _)| is_measured(*row)).count();
        let rows_count = rows.durations().count();
        let (factor, within) = (median(&mut factors), median(&mut halves));
        CalibratedTable { name: rows.name.clone(), rows: rows_count, measured, factor, within }
    }

    /// Rows that narrow the intervals of most rows when they are measured, at most this many, the best first.
    pub fn suggestions(&self, count: usize) -> Vec<Suggestion> {
        suggestion::best(&self.public, &self.hierarchy, &self.widths, |table, row| self.calibrated(table, row), count)
    }

    /// Rows of all tables.
    pub fn rows(&self) -> usize {
        self.tables.iter().map(|table| table.rows).sum()
    }
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(1.0)
}
