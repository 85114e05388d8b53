//! What is wrong with a trace.

use super::counted;
use crate::page::number::{grouped, micros, percent};
use crate::page::{
    Block, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Table, Trust, TrustLevel,
};
use perfdb_doctor::{Entry, Finding, Report, Trust as TraceTrust};

/// The page of a report.
pub fn doctor_page(report: &Report, provenance: Provenance) -> Page {
    let findings: Vec<&Finding> = report.findings.iter().chain(&report.notes).collect();
    let kernel_time_us = report.kernel_time as f64 / 1e6;
    let mut blocks = Vec::new();
    blocks.extend(touched(&report.findings, kernel_time_us).map(Block::Chart));
    if !findings.is_empty() {
        blocks.push(Block::Table(table(&findings)));
    }
    blocks.push(Block::Table(certificate(report)));
    let errors = report.findings.iter().filter(|finding| finding.severity == perfdb_doctor::Severity::Error).count();
    let part = Part {
        verdict: verdict(report),
        trust: Some(trust(report)),
        figures: vec![
            KeyFigure::new("Kind", report.kind.name()),
            KeyFigure::new("Kernel time", micros(kernel_time_us)),
            KeyFigure::new("Errors", grouped(errors as f64, 0)).note("figures are wrong"),
            KeyFigure::new("Warnings", grouped((report.findings.len() - errors) as f64, 0))
                .note("take figures with care"),
            KeyFigure::new("Notes", grouped(report.notes.len() as f64, 0)).note("count for nothing"),
        ],
        blocks,
        ..Part::default()
    };
    Page { title: "What is wrong with this trace".to_owned(), parts: vec![part], provenance }
}

fn verdict(report: &Report) -> String {
    let Some(first) = report.findings.iter().find(|finding| !finding.ignored) else {
        return "Nothing is wrong with this file.".to_owned();
    };
    let found = counted(report.findings.len(), "finding", "findings");
    let share = first.share.map_or_else(String::new, |share| format!(" ({} of the time)", percent(100.0 * share)));
    format!("{found}; the heaviest: {}{share}.", first.code.effect())
}

fn trust(report: &Report) -> Trust {
    let level = match report.trust {
        TraceTrust::High => TrustLevel::High,
        TraceTrust::Medium => TrustLevel::Limited,
        TraceTrust::Low => TrustLevel::Low,
    };
    let reasons: Vec<&str> = report.trust_reasons.iter().map(|code| code.name()).collect();
    let broken = report.certificate.broken();
    let mut reason = if reasons.is_empty() { "nothing was found".to_owned() } else { reasons.join(", ") };
    reason += if broken.is_empty() { "; all sums add up" } else { "; sums do not add up" };
    Trust { level, reason }
}

/// What the findings touch of the kernel time.
fn touched(findings: &[Finding], kernel_time_us: f64) -> Option<crate::page::Chart> {
    let shares: Vec<(&str, f64)> = findings
        .iter()
        .filter_map(|finding| Some((finding.code.name(), finding.share.filter(|share| *share > 0.0)?)))
        .collect();
    if shares.is_empty() || kernel_time_us <= 0.0 {
        return None;
    }
    let bar = |(name, share): &(&'static str, f64)| StackedBar {
        name,
        values: vec![share.min(1.0) * kernel_time_us, (1.0 - share.min(1.0)) * kernel_time_us],
    };
    let bars = shares.iter().map(bar).collect();
    let parts = vec!["touched", "not touched"];
    Some(
        StackedBars { parts, bars, unit: "µs" }
            .chart("Kernel time that each finding touches")
            .width(crate::page::ChartWidth::Whole),
    )
}

fn table(findings: &[&Finding]) -> Table {
    let evidence = |finding: &&Finding| -> String {
        let said = finding.evidence.as_map().iter().map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key} {text}"),
            None => format!("{key} {value}"),
        });
        said.collect::<Vec<String>>().join("; ")
    };
    let share = |finding: &&Finding| finding.share.map_or(f64::NAN, |share| 100.0 * share);
    Table::new(
        "findings",
        "Findings",
        vec![
            Column::text("Severity", findings.iter().map(|finding| finding.severity.name())),
            Column::text("Code", findings.iter().map(|finding| finding.code.name())),
            Column::share_percent("Share", findings.iter().map(share)),
            Column::text("What it means", findings.iter().map(|finding| finding.code.effect())).whole_text(),
            Column::text("Evidence", findings.iter().map(evidence)).whole_text(),
            Column::text("A repair would", findings.iter().map(|finding| finding.repair().unwrap_or_default())),
            Column::text("Ignored", findings.iter().map(|finding| if finding.ignored { "yes" } else { "" })).hidden(),
        ],
    )
    .note("Codes are explained in the guide to check-trace.")
}

fn certificate(report: &Report) -> Table {
    let entries = report.certificate.entries();
    let value = |entry: &Entry| match entry {
        Entry::Count(count) => grouped(*count as f64, 0),
        Entry::Time(time) => format!("{} µs", grouped(*time as f64 / 1e6, 3)),
        Entry::Holds(true) => "adds up".to_owned(),
        Entry::Holds(false) => "DOES NOT ADD UP".to_owned(),
    };
    Table::new(
        "certificate",
        "Sums that were checked",
        vec![
            Column::text(
                "What",
                entries.iter().map(|(key, _)| key.trim_end_matches("_us").replace("_le_", " ≤ ").replace('_', " ")),
            ),
            Column::text("Value", entries.iter().map(|(_, entry)| value(entry))),
        ],
    )
}
