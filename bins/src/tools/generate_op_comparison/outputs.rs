//! The files that a comparison writes: all or none.

use super::TOOL;
use super::arguments::{Arguments, Language};
use crate::provenance::provenance;
use crate::table_file::TableFile;
use crate::{Failure, print_note};
use perfdb_compare::Semantics;
use perfdb_compare::m6::{self, SourceFilter};
use perfdb_compare::operators::OpRow;
use perfdb_compare::scenario::Scenario;
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_report::m6::Report;
use perfdb_report::operators::{StatusLanguage, csv, json_in};
use perfdb_report::pages::operators_page;
use perfdb_report::tables;
use std::error::Error;
use std::path::{Path, PathBuf};

/// A file of M6 that a scenario names, staged.
pub(super) struct ComputedM6 {
    scenario: String,
    file: Staged,
}

/// The M6 file of a scenario that lacks it: where it belongs and its text.
pub(super) fn missing_m6(scenario: &mut Scenario) -> Option<(PathBuf, String)> {
    let source_filter = SourceFilter::default();
    let options = m6::Options { source_filter: source_filter.clone(), semantics: Semantics::Corrected };
    let (path, m6) = scenario.compute_missing_m6(&options)?;
    let (tc_trace, prof_trace) = (scenario.tc_trace.to_string_lossy(), scenario.trace_csv.to_string_lossy());
    let report = Report { m6, tc_trace: &tc_trace, prof_trace: &prof_trace, source_filter: &source_filter };
    Some((path, report.json()))
}

/// Stages the M6 file of a scenario.
pub(super) fn stage_m6(scenario: &Scenario, path: &Path, text: &str) -> Result<ComputedM6, Failure> {
    let file = Staged::with(path, text.as_bytes(), Parents::Create)?;
    Ok(ComputedM6 { scenario: scenario.name.clone(), file })
}

/// Writes the JSON, the page and the CSV if they were asked for, and the files of M6 that were computed.
pub(super) fn write(
    arguments: &Arguments,
    scenarios: &[Scenario],
    compared: &[(String, Vec<OpRow>)],
    computed: Vec<ComputedM6>,
    parquet: Option<TableFile>,
) -> Result<(), Box<dyn Error>> {
    let rows = || compared.iter().map(|(name, rows)| (name.as_str(), rows.as_slice()));
    let language = match arguments.lang {
        Some(Language::En) => StatusLanguage::English,
        _ => StatusLanguage::Original,
    };
    let json = json_in(rows(), language);
    let mut files = vec![Staged::with(&arguments.output, json.as_bytes(), Parents::Create)?];
    if let Some(path) = &arguments.html {
        let sides = |scenario: &'_ Scenario| {
            [("predicted", scenario.tc_trace.clone()), ("measured", scenario.trace_csv.clone())]
        };
        let inputs: Vec<_> = scenarios.iter().flat_map(sides).collect();
        let provenance = provenance(TOOL.name, inputs.iter().map(|(role, path)| (*role, path.as_path())));
        files.push(Staged::with(path, operators_page(compared, provenance).to_html()?.as_bytes(), Parents::Create)?);
    }
    if let Some(path) = &arguments.csv {
        files.push(Staged::with(path, csv(rows()).as_bytes(), Parents::Create)?);
    }
    if let Some(file) = parquet {
        files.push(file.stage(tables::operators(rows()))?);
    }
    let mut notes = Vec::new();
    for ComputedM6 { scenario, file } in computed {
        notes.push(format!("M6 of {scenario} computed and written to {}", file.path().display()));
        files.push(file);
    }
    commit(files)?;
    notes.iter().for_each(|note| print_note(note));
    Ok(())
}
