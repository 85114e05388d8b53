//! The passes of a profile: a list for people, and one for programs.

use perfdb_compare::cut::{Cut, CutMethod, Pass};
use perfdb_pycompat::format::{fixed, pad_left};
use serde::Serialize;

/// The list: a line per pass.
pub fn list(cut: &Cut) -> String {
    let line = |cells: [&str; 6], phase: &str| {
        let widths = [4, 9, 8, 12, 12, 6];
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| pad_left(cell, width)).collect();
        format!("{} {phase}\n", cells.join(" "))
    };
    let count = cut.passes().len();
    let passes = if count == 1 { "pass" } else { "passes" };
    let mut out = match cut.method() {
        CutMethod::OnePass => format!("{count} {passes}: nothing repeats in this file\n"),
        method => format!("{count} {passes}, found by {}\n", method.text()),
    };
    out += &line(["pass", "first row", "kernels", "us", "elapsed us", "layers"], "phase");
    for (at, pass) in cut.passes().iter().enumerate() {
        let phase = format!("{}{}", pass.phase.name(), if pass.partial { " (partial)" } else { "" });
        let us = |ps: i128| fixed(ps as f64 / 1e6, 1);
        let cells = [
            (at + 1).to_string(),
            pass.first_row.to_string(),
            pass.kernels.to_string(),
            us(pass.kernel_ps),
            us(pass.elapsed_ps),
            pass.layers.to_string(),
        ];
        out += &line(cells.each_ref().map(String::as_str), &phase);
    }
    out
}

#[derive(Serialize)]
struct Document<'c> {
    format_version: u32,
    method: CutMethod,
    passes: Vec<Numbered<'c>>,
}

#[derive(Serialize)]
struct Numbered<'c> {
    pass: usize,
    #[serde(flatten)]
    numbers: &'c Pass,
}

/// The same as JSON, times in picoseconds.
///
/// # Errors
/// When a number is beyond what JSON writers take, which no profile causes.
pub fn document(cut: &Cut) -> Result<String, serde_json::Error> {
    let passes = cut.passes().iter().enumerate().map(|(at, numbers)| Numbered { pass: at + 1, numbers }).collect();
    let document = Document { format_version: 1, method: cut.method(), passes };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
