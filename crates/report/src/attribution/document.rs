//! The explanation as JSON; see `docs/schemas/explain-prediction.json`.

use super::NamedExplanation;
use super::actions::{Action, actions};
use perfdb_compare::attribution::{Explanation, Row};
use serde::Serialize;

const FORMAT_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'e> {
    format_version: u32,
    #[serde(flatten)]
    explanation: &'e Explanation,
    todo: Vec<ToDo>,
}

#[derive(Serialize)]
struct ScenarioDocument<'e> {
    name: &'e str,
    #[serde(flatten)]
    explanation: &'e Explanation,
    todo: Vec<ToDo>,
}

#[derive(Serialize)]
struct Scenarios<'e> {
    format_version: u32,
    scenarios: Vec<ScenarioDocument<'e>>,
}

#[derive(Serialize)]
struct ToDo {
    worth_ps: i128,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<CaseRow>,
}

/// A row as tables have it.
#[derive(Serialize)]
struct CaseRow {
    kernel_type: String,
    #[serde(rename = "Input Shapes")]
    input_shapes: Box<str>,
    #[serde(rename = "Input Data Types")]
    input_types: Box<str>,
    #[serde(rename = "Input Formats")]
    input_formats: Box<str>,
    #[serde(rename = "Output Shapes")]
    output_shapes: Box<str>,
    #[serde(rename = "Output Data Types")]
    output_types: Box<str>,
    #[serde(rename = "Output Formats")]
    output_formats: Box<str>,
}

fn case_row((kernel_type, row): (String, Row)) -> CaseRow {
    let Row { input_shapes, input_types, input_formats, output_shapes, output_types, output_formats } = row;
    CaseRow { kernel_type, input_shapes, input_types, input_formats, output_shapes, output_types, output_formats }
}

fn to_do(explanation: &Explanation) -> Vec<ToDo> {
    let entry = |Action { worth_ps, text, measure }| ToDo { worth_ps, text, row: measure.map(case_row) };
    actions(explanation).into_iter().map(entry).collect()
}

/// The document of one pair of files.
///
/// # Errors
/// When a number is beyond what JSON writers take, which no file of a real pass causes.
pub fn document(explanation: &Explanation) -> Result<String, serde_json::Error> {
    let document = Document { format_version: FORMAT_VERSION, explanation, todo: to_do(explanation) };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// The document of several scenarios.
///
/// # Errors
/// As [`document`].
pub fn scenarios_document(explanations: &[NamedExplanation]) -> Result<String, serde_json::Error> {
    let mut scenarios = Vec::with_capacity(explanations.len());
    for NamedExplanation { name, explanation } in explanations {
        scenarios.push(ScenarioDocument { name, explanation, todo: to_do(explanation) });
    }
    Ok(serde_json::to_string_pretty(&Scenarios { format_version: FORMAT_VERSION, scenarios })? + "\n")
}
