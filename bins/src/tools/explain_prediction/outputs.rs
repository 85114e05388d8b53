//! The files that explain-prediction writes: all or none.

use super::arguments::Arguments;
use crate::measure_folder::{self, RowsToMeasure};
use crate::provenance::provenance;
use crate::table_file::TableFile;
use crate::{Failure, print_note};
use perfdb_compare::attribution::{BothSides, Explanation};
use perfdb_compare::scenario::Scenario;
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_report::attribution::{
    MeasureTable, NamedExplanation, document, page, rows_to_measure, scenarios_document, write_csv,
};
use perfdb_report::tables;
use perfdb_store::kernel::file_stem;
use perfdb_trace::timeline::{Target, Timeline};
use std::path::Path;

/// Stages both sides as one trace.
pub(super) fn stage_trace(path: &Path, explanation: &Explanation, sides: BothSides<'_>) -> Result<Staged, Failure> {
    let failure = |error| Failure::from(perfdb_files::Error::io(path, error));
    let target = Target::of_name(path, Staged::create(path, Parents::MustExist)?);
    let sides = sides.side_by_side();
    let names = sides.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut timeline = Timeline::new(target, &names, "predicted - measured (us)").map_err(failure)?;
    sides.windows(explanation, |window| timeline.add(window)).map_err(failure)?;
    timeline.finish().and_then(Target::finish).map_err(failure)
}

/// Writes what was asked for, beside what is staged.
pub(super) fn write(
    arguments: &Arguments,
    scenarios: &[Scenario],
    explanations: &[NamedExplanation],
    trace: Option<Staged>,
    parquet: Option<TableFile>,
) -> Result<(), Failure> {
    let mut files: Vec<Staged> = trace.into_iter().collect();
    if let Some(path) = &arguments.json {
        let json = match (&arguments.scenarios, explanations) {
            (None, [one]) => document(&one.explanation)?,
            _ => scenarios_document(explanations)?,
        };
        files.push(Staged::with(path, json.as_bytes(), Parents::MustExist)?);
    }
    if let Some(path) = &arguments.csv {
        let mut csv = Vec::new();
        write_csv(explanations, &mut csv)?;
        files.push(Staged::with(path, &csv, Parents::MustExist)?);
    }
    if let Some(file) = parquet {
        files.push(file.stage(tables::contributions(explanations))?);
    }
    if let Some(path) = &arguments.html {
        let page = page(explanations, provenance(super::TOOL.name, inputs_of(arguments, scenarios)));
        files.push(Staged::with(path, page.to_html()?.as_bytes(), Parents::MustExist)?);
    }
    let Some(folder) = &arguments.measure_dir else { return Ok(commit(files)?) };
    let table = |table: MeasureTable| {
        let name = file_stem(&table.kernel_type)? + ".csv";
        Some((table.rows, RowsToMeasure { name, csv: table.text.into_bytes() }))
    };
    let (counts, tables): (Vec<usize>, Vec<RowsToMeasure>) =
        rows_to_measure(explanations).into_iter().filter_map(table).unzip();
    let rows = measure_folder::write(super::TOOL.name, folder, &tables, files)?;
    let known = match counts.iter().sum::<usize>() - rows {
        0 => String::new(),
        known => format!("; {known} were there already"),
    };
    print_note(&format!("{rows} rows to measure written to {}{known}", folder.display()));
    Ok(())
}

/// What a page says that it comes from.
fn inputs_of<'a>(arguments: &'a Arguments, scenarios: &'a [Scenario]) -> impl Iterator<Item = (&'a str, &'a Path)> {
    let sides = |scenario: &'a Scenario| {
        [("predicted", scenario.tc_trace.as_path()), ("measured", scenario.trace_csv.as_path())]
    };
    let data_dir = arguments.data_dir.as_deref().map(|folder| ("operator mapping of", folder));
    scenarios.iter().flat_map(sides).chain(data_dir)
}
