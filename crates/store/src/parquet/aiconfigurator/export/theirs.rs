//! Tables that were imported: their columns are still there.

use super::super::operators::{Operator, file_name_part};
use super::super::sizes::{Sizes, Timing};
use super::super::source::{LATENCY_STD, SourceTable};
use super::{deviation, duration_us, milliseconds};
use crate::parquet::error::Error;
use crate::table::Table;

/// How the names of their columns begin in tables of databases.
pub(in crate::parquet::aiconfigurator) const PREFIX: &str = "aiconfigurator ";

/// What an imported table is there.
pub(super) struct Theirs {
    pub(super) operator: String,
    /// The columns of the half of an exchange that the table is.
    pub(super) half: Option<Timing>,
}

impl Theirs {
    /// The operator of a table, by the name that an import gives its rows; nothing for a table that was not imported.
    pub(super) fn of(name: &str, table: &Table) -> Option<Theirs> {
        let source = columns(table);
        if source.row_count() == 0 {
            return None;
        }
        let mut timings = Timing::of(&source);
        timings.retain(|timing| name.ends_with(&timing.suffix));
        let timing = timings.pop()?;
        let base = name.strip_suffix(&timing.suffix)?;
        let kernel = source.text("kernel_source", 0).map(file_name_part).ok();
        let is_name = |operator: &&str| {
            let of_row = match Operator::of(operator) {
                Operator::Sized => Sizes::name(operator, &source, 0),
                read => read.name(&source, 0),
            };
            let with_kernel =
                |name: &str| format!("{}_{}", name.trim_end_matches('_'), kernel.as_deref().unwrap_or(""));
            of_row.is_ok_and(|name| name == base || kernel.is_some() && with_kernel(&name) == base)
        };
        // Tables of one operator have names that do not begin with it.
        let others = ["mla_bmm"];
        let beginnings = base.match_indices('_').map(|(at, _)| &base[..at]).chain([base]);
        let operator = others.into_iter().chain(beginnings).find(is_name)?.to_owned();
        Some(Theirs { operator, half: (!timing.suffix.is_empty()).then_some(timing) })
    }

    /// The rows with a duration, with the durations of the database.
    pub(super) fn rows(&self, table: &Table) -> Result<SourceTable, Error> {
        let source = columns(table);
        let timings = Timing::of(&source);
        let own = self.half.as_ref().or(timings.first());
        let Some(timing) = own else { return Ok(SourceTable::default()) };
        let kept: Vec<(usize, f64)> =
            (0..table.row_count()).filter_map(|row| Some((row, duration_us(table, row)?))).collect();
        let mut rows = source.with_rows(kept.iter().map(|(row, _)| *row));
        for (at, (row, us)) in kept.iter().enumerate() {
            let before_us = timing.us(&source, *row).ok();
            if before_us == Some(*us) {
                continue;
            }
            match timing.columns() {
                [column] if timing.unit_us() == 1000.0 => rows.set(column, at, milliseconds(*us).to_string()),
                [column] => rows.set(column, at, (us / timing.unit_us()).to_string()),
                several => {
                    let factor = before_us.filter(|before| *before > 0.0).map(|before| us / before);
                    for (number, column) in several.iter().enumerate() {
                        // Without durations to be scaled, all of it stands in the first.
                        let whole = if number == 0 { *us } else { 0.0 };
                        let scaled = factor.and_then(|factor| Some(source.number(column, *row).ok()? * factor));
                        rows.set(column, at, scaled.unwrap_or(whole / timing.unit_us()).to_string());
                    }
                }
            }
        }
        if self.half.is_none() {
            let deviations: Vec<String> = kept.iter().map(|(row, _)| deviation(table, *row)).collect();
            if deviations.iter().any(|cell| !cell.is_empty()) {
                rows.push_column(LATENCY_STD, deviations);
            }
        }
        Ok(rows)
    }
}

fn columns(table: &Table) -> SourceTable {
    let named = table.columns().iter().enumerate().filter_map(|(at, name)| Some((at, name.strip_prefix(PREFIX)?)));
    let cells = |at| table.rows().map(|row| row.cell(at).to_owned()).collect();
    SourceTable::of_columns(table.path(), named.map(|(at, name)| (name.to_owned(), cells(at))).collect())
}
