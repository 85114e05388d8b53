//! How many of a table's rows have to be measured, where one rule or another chooses them.

use crate::row::Row;
use perfdb_model::predict::{ColumnSet, Columns, Model, Point, Rows, configuration, plan};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// Shares of the rows that are measured.
pub(crate) const SHARES: [f64; 8] = [0.05, 0.10, 0.15, 0.20, 0.25, 0.33, 0.40, 0.50];
/// How much worse than that of the full grid an error may be.
const ENOUGH: f64 = 1.25;
/// How often rows are drawn at random.
pub(crate) const DRAWS: usize = 3;

/// A slice of a table.
pub(crate) struct Slice {
    pub(crate) points: Vec<(Point, f64)>,
    size: usize,
}

/// The 90th percentile of the errors of rows that are not measured, by the share that is.
#[derive(Debug)]
pub(crate) struct Curve {
    pub(crate) nine_of_ten: [f64; SHARES.len()],
    /// That of the full grid, each row predicted from all others.
    pub(crate) full: f64,
}

impl Curve {
    /// The share of rows from which on errors are at most a quarter larger than those of the full grid; on the line between two shares.
    /// More than half: 0.5 and above is not looked at.
    pub(crate) fn enough(&self) -> Option<f64> {
        let wanted = ENOUGH * self.full;
        let at = self.nine_of_ten.iter().position(|error| *error <= wanted)?;
        let Some(before) = at.checked_sub(1) else { return Some(SHARES[0]) };
        let (above, below) = (self.nine_of_ten[before], self.nine_of_ten[at]);
        Some(SHARES[before] + (SHARES[at] - SHARES[before]) * (above - wanted) / (above - below))
    }
}

impl Slice {
    /// The slice with most points of a table; of more than `most_rows` a part that does not depend on the order of rows.
    pub(crate) fn largest(
        path: &Path,
        family: ColumnSet,
        group: &[&str],
        time: (&str, f64),
        constants: &serde_json::Value,
        most_rows: usize,
    ) -> Result<Slice, Box<dyn Error>> {
        let mut reader = csv::Reader::from_path(path)?;
        let names = reader.headers()?.clone();
        let mut slices: BTreeMap<Vec<String>, BTreeMap<u64, (Point, f64)>> = BTreeMap::new();
        for cells in reader.records() {
            let row = Row { names: &names, cells: cells?, constants };
            let point = family.point(&row).ok_or("a row lacks a column")?;
            let time_us = row.number(time.0).ok_or("a row without a time")? * time.1;
            if time_us > 0.0 {
                let key = group.iter().map(|column| row.text(column).unwrap_or_default().to_owned()).collect();
                slices.entry(key).or_default().insert(configuration(&point.axes), (point, time_us));
            }
        }
        let largest = slices.into_values().max_by_key(BTreeMap::len).ok_or("no rows")?;
        Ok(Slice { points: largest.into_values().take(most_rows).collect(), size: family.size() })
    }

    fn rows(&self, known: &[usize]) -> Rows {
        let mut rows = Rows::new(self.points[0].0.axes.len());
        for at in known {
            let (point, time_us) = &self.points[*at];
            rows.push(*at as u32, point, *time_us, None);
        }
        rows
    }

    fn model(&self, known: &[usize]) -> Result<Model, &'static str> {
        Model::build(vec![self.rows(known)], Some(self.size)).ok_or("no model")
    }

    /// How many rows this share of them is.
    pub(crate) fn count(&self, share: f64) -> usize {
        ((share * self.points.len() as f64).round() as usize).max(8)
    }

    /// The 90th percentile of the errors of the full grid, each row predicted from all others.
    pub(crate) fn full(&self) -> Result<f64, &'static str> {
        let all: Vec<usize> = (0..self.points.len()).collect();
        Ok(nine_of_ten(self.model(&all)?.residuals(0).map(|residual| residual.error().abs()).collect()))
    }

    /// The 90th percentile of the errors of all others.
    pub(crate) fn error(&self, known: &[usize]) -> Result<f64, &'static str> {
        let model = self.model(known)?;
        let mut is_known = vec![false; self.points.len()];
        known.iter().for_each(|at| is_known[*at] = true);
        let mut errors = Vec::new();
        for ((point, time_us), _) in self.points.iter().zip(&is_known).filter(|(_, is_known)| !**is_known) {
            let answer = model.predict(0, point).ok_or("no answer")?;
            errors.push((answer.duration_us / time_us).ln().abs());
        }
        Ok(nine_of_ten(errors))
    }

    fn curve(&self, mut measured: impl FnMut(usize) -> Vec<usize>) -> Result<Curve, &'static str> {
        let full = self.full()?;
        let mut nine_of_ten = [0.0; SHARES.len()];
        for (error, share) in nine_of_ten.iter_mut().zip(SHARES) {
            *error = self.error(&measured(self.count(share)))?;
        }
        Ok(Curve { nine_of_ten, full })
    }

    /// Measures more rows, batch after batch, as the rule chooses them, until there are so many.
    pub(crate) fn plan(&self, known: &mut Vec<usize>, count: usize) {
        while known.len() < count {
            let open: Vec<usize> = (0..self.points.len()).filter(|at| !known.contains(at)).collect();
            let points: Vec<Point> = open.iter().map(|at| self.points[*at].0.clone()).collect();
            let tenth = (self.points.len().div_ceil(10)).max(8);
            let batch = if known.len() < tenth { tenth - known.len() } else { plan::batch(known.len()) };
            let wanted = batch.min(count - known.len());
            let chosen = plan::next(&self.rows(known), &points, Some(self.size), wanted);
            known.extend(chosen.into_iter().map(|at| open[at]));
        }
    }

    /// So many rows at random.
    pub(crate) fn draw(&self, seed: usize, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        order.sort_by_key(|at| configuration(&[*at as f64, seed as f64 + 0.5]));
        order.truncate(count);
        order
    }

    /// With rows as the rule chooses them.
    pub(crate) fn planned(&self) -> Result<Curve, &'static str> {
        let mut known: Vec<usize> = Vec::new();
        self.curve(|count| {
            self.plan(&mut known, count);
            known.clone()
        })
    }

    /// With rows at random: the mean of some draws.
    pub(crate) fn drawn(&self) -> Result<Curve, &'static str> {
        let draw = |seed: usize| self.curve(|count| self.draw(seed, count));
        let mut mean = draw(0)?;
        for seed in 1..DRAWS {
            let other = draw(seed)?;
            mean.nine_of_ten.iter_mut().zip(other.nine_of_ten).for_each(|(sum, error)| *sum += error);
        }
        mean.nine_of_ten.iter_mut().for_each(|sum| *sum /= DRAWS as f64);
        Ok(mean)
    }
}

fn nine_of_ten(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    let position = 0.9 * errors.len().saturating_sub(1) as f64;
    let (below, above) = (errors[position.floor() as usize], errors[position.ceil() as usize]);
    below + position.fract() * (above - below)
}

/// The tables of a folder of measured ones, of each at most so many rows.
pub(crate) fn measured_tables(data: &Path, most_rows: usize) -> Result<Vec<(String, Slice)>, Box<dyn Error>> {
    let all: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(data.join("tables.json"))?)?;
    let mut slices = Vec::new();
    for table in all.as_array().into_iter().flatten() {
        let text = |key: &str| table[key].as_str().unwrap_or_default();
        let path = data.join(text("file"));
        if !path.is_file() {
            continue;
        }
        let family = ColumnSet::named(text("family")).ok_or("unknown family")?;
        let group: Vec<&str> =
            table["group"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
        let time = (text("time_column"), if text("time_column").ends_with("_ms") { 1000.0 } else { 1.0 });
        let slice = Slice::largest(&path, family, &group, time, &table["constants"], most_rows)?;
        if slice.points.len() >= 60 {
            slices.push((text("table").to_owned(), slice));
        }
    }
    Ok(slices)
}
