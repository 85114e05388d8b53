//! How a database answers workloads: tables for people, JSON and CSV for programs.

use crate::layout::{Cell, Column, Layout, Table, more};
use perfdb_audit::coverage::{
    AnswerSource, Asked, Audit, KernelAudit, Question, Share, Shares, Suggestion, Suggestions, WorkloadAudit,
};
use perfdb_files::escape::{one_line, spreadsheet_text};
use perfdb_pycompat::csv_text::push_row;
use perfdb_pycompat::format::fixed;
use perfdb_query::{Hidden, Score};
use serde_json::{Value, json};

/// The tables: shares of each workload, then the `worst` kernels, then the `worst` calls of each workload that no rows answer.
pub fn text(audit: &Audit, worst: usize, layout: Layout) -> String {
    let mut out = layout.wrapped(&verdict(audit), 0) + "\n\n";
    out += &shares_table(&audit.workloads, layout);
    for workload in &audit.workloads {
        out += &remarks(workload, layout);
    }
    let doubtful = || audit.kernels.iter().filter(|kernel| kernel.doubtful_calls() > 0);
    if doubtful().next().is_some() && worst > 0 {
        out += "\nkernels by the time without an exact match\n";
        out += &kernel_table(&doubtful().take(worst).collect::<Vec<_>>(), layout);
        out += &more(doubtful().count(), worst, "kernels");
    }
    for workload in &audit.workloads {
        out += &unanswered(workload, worst, layout);
    }
    out
}

/// Kernels that the verdict names at most.
const MOST_NAMED: usize = 3;

/// One sentence for all workloads together: what is exact, of which calls no time is known, and which kernel is worst.
pub fn verdict(audit: &Audit) -> String {
    let sum = |share: &dyn Fn(&Shares) -> Share| {
        audit.workloads.iter().map(|workload| share(&workload.shares)).fold(Share::default(), |sum, one| Share {
            calls: sum.calls.saturating_add(one.calls),
            time_us: sum.time_us + one.time_us,
        })
    };
    let (total, exact) = (sum(&Shares::total), sum(&|shares| shares.of(AnswerSource::Exact)));
    if total.calls == 0 {
        return "no call costs anything".to_owned();
    }
    let of_calls = percent(exact.calls as f64 / total.calls as f64);
    let mut said = vec![if total.time_us > 0.0 {
        format!("{} of known time exact, {of_calls} of calls", percent(exact.time_us / total.time_us))
    } else {
        format!("{of_calls} of calls exact")
    }];
    let unknown: u64 = audit.workloads.iter().map(|workload| workload.shares.without_time).sum();
    if unknown > 0 {
        let mut kernels: Vec<&KernelAudit> =
            audit.kernels.iter().filter(|kernel| kernel.shares.without_time > 0).collect();
        kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.shares.without_time));
        let names: Vec<String> = kernels.iter().take(MOST_NAMED).map(|one| one_line(&one.kernel_type)).collect();
        let all = if kernels.len() == 1 { "all " } else { "" };
        let rest = kernels.len().saturating_sub(MOST_NAMED);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let calls = if unknown == 1 { "call" } else { "calls" };
        said.push(format!("{unknown} {calls} of unknown time ({all}{}{rest})", names.join(", ")));
    }
    if let Some(worst) = audit.kernels.first().filter(|kernel| kernel.doubtful_us() > 0.0) {
        said.push(format!("worst: {}, {} not exact", one_line(&worst.kernel_type), time(worst.doubtful_us())));
    }
    said.join("; ")
}

fn shares_table(workloads: &[WorkloadAudit], layout: Layout) -> String {
    let mut table = Table::new([
        Column::name("workload"),
        Column::number("").at_least(5).gap(1),
        Column::number("total").at_least(10).optional(1),
        Column::number("exact").at_least(7),
        Column::bar().optional(5),
        Column::number("padded").at_least(7).optional(2),
        Column::number("interpolated").at_least(12).optional(3),
        Column::number("beyond").at_least(7),
        Column::number("partial").at_least(7).optional(4),
        Column::number("missing").at_least(7),
    ]);
    for workload in workloads {
        let shares = &workload.shares;
        let mut push = |name: &str, unit: &str, total: String, part: &dyn Fn(AnswerSource) -> Option<f64>| {
            let mut cells: Vec<Cell> = vec![name.into(), unit.into(), total.into()];
            for source in AnswerSource::ALL {
                let part = part(source);
                cells.push(part.map_or("-".to_owned(), percent).into());
                if source == AnswerSource::Exact {
                    cells.push(part.map_or("".into(), Cell::part));
                }
            }
            table.push(cells);
        };
        push(&workload.name, "calls", shares.total().calls.to_string(), &|source| Some(shares.of_calls(source)));
        push("", "time", known_time(shares), &|source| shares.has_time().then(|| shares.of_time(source)));
    }
    table.text(layout)
}

fn percent(share: f64) -> String {
    // What is not all is never shown as all, what is not nothing never as nothing.
    let tenths = (share * 1000.0).clamp(if share > 0.0 { 1.0 } else { 0.0 }, if share < 1.0 { 999.0 } else { 1000.0 });
    format!("{} %", fixed(tenths / 10.0, 1))
}

/// The known time of calls.
fn known_time(shares: &Shares) -> String {
    let total = shares.total();
    if total.calls > 0 && !shares.has_time() { "unknown".to_owned() } else { time(total.time_us) }
}

/// A duration in the unit in which it is read best.
fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", fixed(us / 1e6, 3)),
        us if us >= 1e3 => format!("{} ms", fixed(us / 1e3, 2)),
        us => format!("{} µs", fixed(us, 1)),
    }
}

fn remarks(workload: &WorkloadAudit, layout: Layout) -> String {
    let mut said = Vec::new();
    if workload.free_calls > 0 {
        said.push(format!("{} more calls cost nothing", workload.free_calls));
    }
    if !workload.by_axes.is_empty() {
        let total = workload.shares.total().calls as f64;
        let axes: Vec<String> = workload
            .by_axes
            .iter()
            .map(|(axes, share)| format!("{} {}", axes_text(axes), percent(share.calls as f64 / total)))
            .collect();
        said.push(format!("interpolated by {}", axes.join(", ")));
    }
    if workload.shares.without_time > 0 {
        said.push(format!("of {} calls without an answer nothing tells the time", workload.shares.without_time));
    }
    if said.is_empty() {
        String::new()
    } else {
        layout.wrapped(&format!("{}: {}", one_line(&workload.name), said.join("; ")), 0) + "\n"
    }
}

fn axes_text(axes: &[&str]) -> String {
    if axes.is_empty() { "parts".to_owned() } else { axes.join("+") }
}

fn kernel_table(kernels: &[&KernelAudit], layout: Layout) -> String {
    let mut table = Table::new([
        Column::name("kernel"),
        Column::number("calls").at_least(8).optional(1),
        Column::number("time").at_least(10),
        Column::number("exact").at_least(7),
        Column::number("padded").at_least(7).optional(5),
        Column::number("interpolated").at_least(7).optional(6),
        Column::number("beyond").at_least(7),
        Column::number("partial").at_least(7).optional(4),
        Column::number("missing").at_least(7),
        Column::number("rows").at_least(5).optional(2),
        Column::number("median").at_least(7).optional(3),
        Column::number("p90").at_least(7),
        Column::name("worst left out").optional(7),
    ]);
    for kernel in kernels {
        let total = kernel.shares.total();
        let scores = kernel.trust.iter().flat_map(|trust| &trust.scores);
        let single = scores.clone().find(|score| score.hidden == Hidden::Row);
        let worst = scores.filter(|score| score.hidden != Hidden::Row).max_by(|a, b| a.p90.total_cmp(&b.p90));
        let or_none = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".to_owned()));
        let [exact, padded, interpolated, beyond, partial, missing] =
            AnswerSource::ALL.map(|source| Cell::from(percent(kernel.shares.of_calls(source))));
        table.push([
            Cell::from(kernel.kernel_type.as_str()),
            total.calls.to_string().into(),
            known_time(&kernel.shares).into(),
            exact,
            padded,
            interpolated,
            beyond,
            partial,
            missing,
            or_none(kernel.trust.as_ref().map(|trust| trust.rows.to_string())),
            or_none(single.map(|score| error(score.median))),
            or_none(single.map(|score| error(score.p90))),
            or_none(worst.map(|score| format!("{} {}", score.hidden, error(score.p90)))),
        ]);
    }
    table.text(layout)
}

/// An error as a percentage, which may be far above 100.
fn error(share: f64) -> String {
    format!("{} %", fixed(share * 100.0, 1))
}

/// The calls of a workload that no rows answer, those that take longest first.
fn unanswered(workload: &WorkloadAudit, worst: usize, layout: Layout) -> String {
    let mut asked: Vec<&Asked> =
        workload.asked.iter().filter(|one| one.finding.source >= AnswerSource::Beyond).collect();
    if asked.is_empty() || worst == 0 {
        return String::new();
    }
    let whole_us = |one: &Asked| one.duration_us().unwrap_or(0.0) * one.question.calls as f64;
    asked.sort_by(|a, b| whole_us(b).total_cmp(&whole_us(a)).then(b.question.calls.cmp(&a.question.calls)));
    let mut out = format!("\n{}: calls that no rows answer\n", one_line(&workload.name));
    for one in asked.iter().take(worst) {
        let time = one.duration_us().map_or("unknown time".to_owned(), |us| time(us * one.question.calls as f64));
        let why = one.finding.reason.as_ref().map(|reason| format!(": {}", why(reason)));
        let (source, name) = (one.finding.source, call(&one.question));
        let calls = one.question.calls;
        let line = format!("{source} {name}, {calls} × ({time}){}", why.unwrap_or_default());
        out += &format!("  {}\n", layout.wrapped(&line, 2));
    }
    out + &more(asked.len(), worst, "calls")
}

/// A reason in words. What it is about stays: the kernels, or what follows the code, which is in the JSON.
fn why((code, words): &(String, &'static str)) -> String {
    let is_code =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    let about = match code.split_once(':') {
        Some((_, about)) => about.to_owned(),
        None if is_code(code) => return (*words).to_owned(),
        None => {
            let mut kernels: Vec<&str> = code.split(',').collect();
            let mut seen = std::collections::HashSet::new();
            kernels.retain(|kernel| seen.insert(*kernel));
            kernels.join(", ")
        }
    };
    format!("{words} ({})", one_line(&about))
}

/// The name of a call with its shapes and data types.
fn call(question: &Question) -> String {
    let (name, shapes) = (one_line(&question.name), question.input_shapes());
    let types = question.input_types();
    let mut distinct: Vec<&str> = types.split(';').collect();
    distinct.dedup();
    // One type is named once.
    let types = if distinct.len() == 1 { distinct[0] } else { &types };
    if shapes.is_empty() { name } else { format!("{name} {shapes} {types}") }
}

/// The rows to measure next, then what no row can be suggested for.
pub fn suggestions_text(suggestions: &Suggestions, layout: Layout) -> String {
    let mut out = "\nrows to measure next\n".to_owned();
    let rows = &suggestions.rows;
    let mut table = Table::new([
        Column::name("kernel"),
        Column::number("now").at_least(12),
        Column::number("sigma").at_least(7),
        Column::number("calls").at_least(7),
        Column::name("inputs"),
    ]);
    for row in rows {
        table.push([
            Cell::from(row.kernel_type.as_str()),
            row.source.name().into(),
            row.sigma.map_or("unknown".to_owned(), |sigma| error(sigma.exp_m1())).into(),
            row.calls.to_string().into(),
            row.inputs.as_str().into(),
        ]);
    }
    if !rows.is_empty() {
        out += &table.text(layout);
    }
    if rows.is_empty() {
        out += "none\n";
    }
    if suggestions.further > 0 {
        out += &format!("… and {} more could be suggested\n", suggestions.further);
    }
    if suggestions.waiting > 0 {
        out += &format!("{} more are in their tables and wait for their durations\n", suggestions.waiting);
    }
    for one in &suggestions.without {
        out += &format!("no row for {}, {} calls: {}\n", one_line(&one.name), one.calls, one.reason);
    }
    out
}

/// All figures as JSON; `suggestions` and the value of a check of `density` where they were asked for.
///
/// # Errors
/// When a number is beyond what JSON writers take, which no database causes.
pub fn document(
    audit: &Audit,
    suggestions: Option<&Suggestions>,
    density: Option<Value>,
) -> Result<String, serde_json::Error> {
    let mut document = json!({
        "format_version": 1,
        "workloads": audit.workloads.iter().map(workload_value).collect::<Vec<_>>(),
        "kernels": audit.kernels.iter().map(kernel_value).collect::<Vec<_>>(),
    });
    if let Some(suggestions) = suggestions {
        document["suggestions"] = suggestions_value(suggestions);
    }
    if let Some(density) = density {
        document["density"] = density;
    }
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn suggestions_value(suggestions: &Suggestions) -> Value {
    let row = |row: &Suggestion| {
        let cells: serde_json::Map<String, Value> =
            row.cells.iter().map(|(name, cell)| (name.clone(), Value::from(cell.as_str()))).collect();
        json!({
            "kernel_type": row.kernel_type,
            "file": row.path.to_string_lossy(),
            "inputs": row.inputs,
            "standing": row.source.name(),
            "sigma": row.sigma,
            "disagreement": row.disagreement,
            "calls": row.calls,
            "time_us": row.time_us,
            "cells": cells,
        })
    };
    let without = suggestions.without.iter();
    let without = without.map(|one| json!({"name": one.name, "calls": one.calls, "reason": one.reason}));
    json!({
        "rows": suggestions.rows.iter().map(row).collect::<Vec<_>>(),
        "waiting": suggestions.waiting,
        "further": suggestions.further,
        "without": without.collect::<Vec<_>>(),
    })
}

fn share_value(share: Share) -> Value {
    json!({"calls": share.calls, "time_us": share.time_us})
}

fn shares_value(shares: &Shares) -> Value {
    AnswerSource::ALL.into_iter().map(|source| (source.name().to_owned(), share_value(shares.of(source)))).collect()
}

fn workload_value(workload: &WorkloadAudit) -> Value {
    let axes = |(axes, share): &(Vec<&'static str>, Share)| json!({"axes": axes, "calls": share.calls, "time_us": share.time_us});
    json!({
        "name": workload.name,
        "calls": workload.shares.total().calls,
        "time_us": workload.shares.total().time_us,
        "free_calls": workload.free_calls,
        "calls_without_time": workload.shares.without_time,
        "shares": shares_value(&workload.shares),
        "interpolated_by": workload.by_axes.iter().map(axes).collect::<Vec<_>>(),
        "questions": workload.asked.iter().map(asked_value).collect::<Vec<_>>(),
    })
}

fn asked_value(one: &Asked) -> Value {
    let finding = &one.finding;
    let kernel = |(kernel, duration_us, source): &(String, f64, AnswerSource)| json!({"kernel_type": kernel, "duration_us": duration_us, "standing": source.name()});
    json!({
        "place": one.question.place,
        "name": one.question.name,
        "calls": one.question.calls,
        "critical": one.question.is_critical,
        "standing": finding.source.name(),
        "axes": finding.axes,
        "duration_us": one.duration_us(),
        "interval_us": finding.interval_us,
        "query": one.question.query.to_json(),
        "kernels": finding.kernels.iter().map(kernel).collect::<Vec<_>>(),
        "reason": finding.reason.as_ref().map(|(code, _)| code),
        "rows": finding.rows.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn kernel_value(kernel: &KernelAudit) -> Value {
    let score = |score: &Score| {
        let (left_out, axis) = match score.hidden {
            Hidden::Row => ("row", None),
            Hidden::Axis(name) => ("axis", Some(name)),
            Hidden::Configuration => ("configuration", None),
        };
        json!({
            "left_out": left_out,
            "axis": axis,
            "asked": score.asked,
            "median_error": score.median,
            "p90_error": score.p90,
            "held": score.held,
        })
    };
    let scores = kernel.trust.as_ref().map(|trust| trust.scores.iter().map(score).collect::<Vec<_>>());
    json!({
        "kernel_type": kernel.kernel_type,
        "calls": kernel.shares.total().calls,
        "time_us": kernel.shares.total().time_us,
        "shares": shares_value(&kernel.shares),
        "rows": kernel.trust.as_ref().map(|trust| trust.rows),
        "scores": scores.unwrap_or_default(),
    })
}

const HEADER: [&str; 17] = [
    "workload",
    "place",
    "name",
    "kernel_type",
    "critical",
    "standing",
    "axes",
    "calls",
    "duration_us",
    "low_us",
    "high_us",
    "time_us",
    "reason",
    "rows",
    "input_shapes",
    "input_types",
    "query",
];

/// One line per question. Texts that a spreadsheet would compute have an apostrophe in front.
pub fn csv(audit: &Audit) -> String {
    let mut out = String::new();
    push_row(&mut out, HEADER, "\n");
    for workload in &audit.workloads {
        for one in &workload.asked {
            let finding = &one.finding;
            let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
            let kernels: Vec<&str> = finding.kernels.iter().map(|(kernel, ..)| kernel.as_str()).collect();
            let rows: Vec<String> = finding.rows.iter().map(ToString::to_string).collect();
            let text = |text: &str| spreadsheet_text(text).into_owned();
            let cells = [
                text(&workload.name),
                one.question.place.to_string(),
                text(&one.question.name),
                text(&kernels.join(";")),
                one.question.is_critical.to_string(),
                finding.source.name().to_owned(),
                finding.axes.join("+"),
                one.question.calls.to_string(),
                number(one.duration_us()),
                number(finding.interval_us.map(|interval| interval[0])),
                number(finding.interval_us.map(|interval| interval[1])),
                number(one.duration_us().map(|us| us * one.question.calls as f64)),
                text(finding.reason.as_ref().map_or("", |(code, _)| code)),
                text(&rows.join(";")),
                text(&one.question.input_shapes()),
                text(&one.question.input_types()),
                text(&one.question.query.to_json().to_string()),
            ];
            push_row(&mut out, cells.iter().map(String::as_str), "\n");
        }
    }
    out
}
