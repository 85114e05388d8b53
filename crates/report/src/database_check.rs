//! What is wrong with a database: paragraphs for people, JSON for programs.

use crate::layout::{Layout, Tone};
use perfdb_files::escape::{excerpt, one_line, shown};
use perfdb_store::lint::{Checked, Finding, Kind};
use perfdb_store::provenance::{FILE_NAME, Record, Run};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

/// How many findings of a kind people read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown<'h> {
    /// A paragraph for each kind, with its first findings.
    OfKind {
        /// How many of them.
        limit: usize,
        /// What shows the others.
        hint: &'h str,
    },
    /// A line for each finding.
    All,
}

/// Runs that are shown, the last ones.
const RUNS_SHOWN: usize = 5;

/// The findings, where the durations come from if there is a `record` of that, and how much was looked at.
pub fn text(
    checked: &Checked,
    findings: &[&Finding],
    record: Option<&Record>,
    shown: Shown<'_>,
    layout: Layout,
) -> String {
    let found = match findings.len() {
        0 if checked.tables == 0 => "FAILED: no tables; no findings".to_owned(),
        0 => "passed: no findings".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let verdict = format!("{found} in {} tables, {} rows\n", checked.tables, checked.rows);
    let record = layout.wrapped_lines(&record.map(record_text).unwrap_or_default());
    let whole = |listed: &str| format!("{verdict}{listed}{record}");
    match shown {
        Shown::All => {
            let lines = findings.iter().map(|finding| layout.wrapped_lines(&(one_line(&finding.to_string()) + "\n")));
            whole(&lines.collect::<String>())
        }
        Shown::OfKind { limit, hint } => {
            crate::screen::fitting(KINDS_SHOWN, 3, |kinds| whole(&by_kind(findings, kinds, limit, hint, layout)))
        }
    }
}

/// Kinds of findings that are shown, where there is room for them.
const KINDS_SHOWN: usize = 12;

/// A paragraph for each kind of findings, the worst first: how many, and the first ones.
fn by_kind(findings: &[&Finding], most_kinds: usize, limit: usize, hint: &str, layout: Layout) -> String {
    let mut kinds: Vec<(Kind, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        match kinds.iter_mut().find(|(kind, _)| *kind == finding.kind) {
            Some((_, of_kind)) => of_kind.push(finding),
            None => kinds.push((finding.kind, vec![finding])),
        }
    }
    // A file that no tool can use costs more than any number of cells.
    let is_cell = |kind: Kind| kind != Kind::Unreadable;
    kinds.sort_by_key(|(kind, of_kind)| (kind.severity(), is_cell(*kind), Reverse(of_kind.len()), *kind));
    let mut text = String::new();
    let left_out = kinds.len().saturating_sub(most_kinds);
    for (kind, of_kind) in kinds.into_iter().take(most_kinds) {
        let mut files: Vec<&Path> = of_kind.iter().map(|finding| finding.file.as_path()).collect();
        files.dedup();
        let place = match files.as_slice() {
            [file] => shown(file),
            files => format!("{} files", files.len()),
        };
        let severity = kind.severity();
        let said = layout.wrapped(&format!("{} {} in {place}", of_kind.len(), kind.name()), severity.name().len() + 2);
        text.push_str(&format!("{}: {said}\n", layout.toned(severity.name(), Tone::of_severity(severity))));
        for finding in of_kind.iter().take(limit) {
            text.push_str(&format!("  {}\n", layout.wrapped(&one_line(&finding.to_string()), 2)));
        }
        if of_kind.len() > limit {
            text.push_str(&format!("  and {} more ({hint})\n", of_kind.len() - limit));
        }
    }
    if left_out > 0 {
        text.push_str(&format!("and {left_out} more kinds of findings ({hint})\n"));
    }
    text
}

fn record_text(record: &Record) -> String {
    let versions = &record.versions;
    let named =
        [("", &record.device), ("vLLM ", &versions.vllm), ("PyTorch ", &versions.torch), ("CANN ", &versions.cann)];
    let known: Vec<String> =
        named.iter().filter_map(|(name, value)| Some(format!("{name}{}", one_line(value.as_deref()?)))).collect();
    let what = if known.is_empty() { "device and versions are unknown".to_owned() } else { known.join(", ") };
    let mut text = format!("{FILE_NAME}: {what}\n");
    let runs = record.runs();
    if runs.len() > RUNS_SHOWN {
        text.push_str(&format!("  {} earlier runs\n", runs.len() - RUNS_SHOWN));
    }
    runs[runs.len().saturating_sub(RUNS_SHOWN)..].iter().for_each(|run| text.push_str(&run_text(run)));
    text
}

fn run_text(run: &Run) -> String {
    let by = run.by.as_ref().map(|name| format!(" by {}", excerpt(name))).unwrap_or_default();
    let from = if run.from.is_empty() { String::new() } else { format!(" from {}", excerpt(&run.from.join(", "))) };
    let settings: Vec<String> = run.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let settings = if settings.is_empty() { String::new() } else { format!(" ({})", excerpt(&settings.join(", "))) };
    format!(
        "  {} {}{by}{from}: {}{settings}\n",
        one_line(&run.date),
        one_line(&run.tool),
        excerpt(&run.types.join(", "))
    )
}

/// The findings for programs.
#[derive(Debug, Serialize)]
pub struct Summary<'s> {
    format_version: u32,
    database: String,
    tables: usize,
    rows: usize,
    counts: BTreeMap<&'static str, usize>,
    findings: Vec<FindingSummary>,
    provenance: Option<&'s Record>,
}

#[derive(Debug, Serialize)]
struct FindingSummary {
    kind: &'static str,
    severity: &'static str,
    file: String,
    line: Option<u64>,
    message: String,
    ignored: bool,
}

impl<'s> Summary<'s> {
    /// All findings; `is_ignored` is true for those that do not count.
    pub fn new(
        database: &Path,
        checked: &Checked,
        provenance: Option<&'s Record>,
        is_ignored: impl Fn(&Finding) -> bool,
    ) -> Summary<'s> {
        let mut counts = BTreeMap::new();
        for finding in &checked.findings {
            *counts.entry(finding.kind.name()).or_insert(0) += 1;
        }
        let summary = |finding: &Finding| FindingSummary {
            kind: finding.kind.name(),
            severity: finding.kind.severity().name(),
            file: finding.file.to_string_lossy().into_owned(),
            line: finding.line,
            message: finding.message.clone(),
            ignored: is_ignored(finding),
        };
        Summary {
            format_version: 1,
            database: database.to_string_lossy().into_owned(),
            tables: checked.tables,
            rows: checked.rows,
            counts,
            findings: checked.findings.iter().map(summary).collect(),
            provenance,
        }
    }
}
