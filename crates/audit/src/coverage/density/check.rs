//! The check of a database: its tables, then its conditions.

use super::axes::unused_and_missing;
use super::buckets::Bucket;
use super::finding::{Finding, Kind};
use super::gates;
use super::inputs::Inputs;
use super::judgeable::{Judgeable, tables};
use super::questions::judge;
use super::ranges::Declaration;
use super::repair::repair;
use super::report::{Counts, Report};
use super::rows::duration;
use super::spacing::Hole;
use crate::coverage::Error;
use perfdb_store::directory::tables_in;
use perfdb_store::table::{ReadOptions, Table};
use std::collections::BTreeSet;
use std::path::Path;

/// Checks a database.
///
/// # Errors
/// When a table, or the database that it is compared with, cannot be read.
pub fn check(inputs: &Inputs) -> Result<Report, Error> {
    let tables = tables(&inputs.directory, &inputs.rules)?;
    let mut report = Report {
        findings: Vec::new(),
        unmet: unmet(&tables, inputs),
        gates: Vec::new(),
        questions: Vec::new(),
        repairs: Vec::new(),
        counts: Counts { tables: tables.len(), ..Counts::default() },
        signatures: (gates::signatures(&inputs.directory)?, None),
    };
    for table in &tables {
        report.counts.foreign += table.placed.foreign;
        density(table, inputs, &mut report);
        not_measured(table, inputs, &mut report);
    }
    for path in tables_in(&inputs.directory)? {
        let is_known = tables.iter().any(|table| table.placed.table.path() == path);
        if !is_known {
            unknown_not_measured(&path, &mut report)?;
        }
    }
    report.findings.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    gates::generator(&tables, inputs, &mut report);
    let (unused, missing) = unused_and_missing(&inputs.rules, &inputs.standard);
    let of_rules = |kind, axis, text: &str| Finding {
        gate: 1,
        kind,
        file: None,
        line: None,
        axis,
        bucket: Vec::new(),
        hole: None,
        text: text.to_owned(),
        fails: true,
    };
    report.findings.extend(unused.into_iter().map(|axis| of_rules(Kind::UnusedRule, axis, "no table is judged by it")));
    let without = "the generator makes it, and no rule says how densely";
    report.findings.extend(missing.into_iter().map(|axis| of_rules(Kind::AxisWithoutRule, axis, without)));
    if let Some(workloads) = &inputs.workloads {
        report.questions = judge(inputs, workloads, &mut report.findings)?;
    }
    gates::accuracy(&tables, inputs, &mut report)?;
    report.gates = gates::verdicts(inputs, &report);
    Ok(report)
}

/// Declarations that no bucket fits: a name that is misspelt, or a table that is not there.
fn unmet(tables: &[Judgeable<'_>], inputs: &Inputs) -> Vec<String> {
    let is_met = |declared: &Declaration| {
        tables.iter().filter(|table| table.kernel_type == declared.kernel).any(|table| {
            let names = table.kernel.axes();
            let is_own = |bucket: &&Bucket| names[bucket.axis] == declared.axis;
            let has_rule = table.kernel.rule(&declared.axis, &inputs.standard).is_some();
            let mut own = table.buckets.iter().filter(is_own);
            has_rule && own.any(|bucket| declared.fits(&bucket.key.axes, &bucket.key.rest))
        })
    };
    let declared = inputs.ranges.iter().flatten().enumerate();
    declared
        .filter(|(_, declared)| !is_met(declared))
        .map(|(at, Declaration { kernel, axis, .. })| {
            format!("[{at}]: no rows of {kernel} along an axis {axis} fit; nothing is asked of them")
        })
        .collect()
}

/// The part of an axis that is asked for in a bucket; `None` where it is of one value, or there is none.
fn part(bucket: &Bucket, axis: &str, kernel_type: &str, range: [i64; 2], inputs: &Inputs) -> Option<[i64; 2]> {
    if let Some(ranges) = &inputs.ranges {
        let fits = |declared: &&Declaration| {
            declared.kernel == kernel_type && declared.axis == axis && declared.fits(&bucket.key.axes, &bucket.key.rest)
        };
        let declared = ranges.iter().find(fits)?;
        return Some([declared.range[0].max(range[0]), declared.range[1].min(range[1])]);
    }
    let mut inside = bucket.measured.range(range[0]..=range[1]).map(|(value, _)| *value);
    let first = inside.next()?;
    if inputs.full_range {
        return Some(range);
    }
    // One value tells nothing about those between.
    Some([first, inside.next_back()?])
}

fn density(table: &Judgeable<'_>, inputs: &Inputs, report: &mut Report) {
    let names = table.kernel.axes();
    for (axis, name) in names.iter().enumerate() {
        let Some(rule) = table.kernel.rule(name, &inputs.standard) else { continue };
        let own = || table.buckets.iter().filter(move |bucket| bucket.axis == axis);
        let range = rule.range.unwrap_or([i64::MIN, i64::MAX]);
        if rule.is_of_values_only() {
            let values: BTreeSet<i64> = own().flat_map(|bucket| bucket.measured.keys().copied()).collect();
            if let Some(first) = own().next().filter(|_| !values.is_empty()) {
                report.counts.asked += 1;
                report.counts.values += values.len();
                let holes = rule.holes(range, &values);
                push(holes, table, first, name, report);
            }
            continue;
        }
        for bucket in own() {
            match part(bucket, name, &table.kernel_type, range, inputs) {
                Some(part) => {
                    let values: BTreeSet<i64> = bucket.measured.keys().copied().collect();
                    report.counts.asked += 1;
                    report.counts.values += values.range(part[0]..=part[1]).count();
                    push(rule.holes(part, &values), table, bucket, name, report);
                }
                None => report.counts.single += usize::from(bucket.measured.len() == 1),
            }
        }
    }
}

fn push(holes: Vec<Hole>, table: &Judgeable<'_>, bucket: &Bucket, axis: &str, report: &mut Report) {
    for hole in holes {
        let text = match hole {
            Hole::End(value) => format!("{value}, an end of the range, is not measured"),
            Hole::Required(value) => format!("{value} is not measured"),
            Hole::TooWide { from, to, limit, repair } => {
                format!("{from} to {to} is more than {limit}; measure {repair}")
            }
        };
        let key = &bucket.key;
        let axes = key.axes.iter().map(|(name, value)| (name.clone(), value.to_string()));
        let rest = key.rest.iter().filter(|(_, text)| !text.is_empty()).cloned();
        report.findings.push(Finding {
            gate: 2,
            kind: Kind::of(hole),
            file: Some(table.placed.table.path().to_owned()),
            line: Some(bucket.first.1),
            axis: axis.to_owned(),
            bucket: axes.chain(rest).collect(),
            hole: Some(hole),
            text,
            fails: true,
        });
        if let Some(repair) = repair(table, bucket, hole.repair())
            && !report.repairs.contains(&repair)
        {
            report.repairs.push(repair);
        }
    }
}

/// Rows without a duration; those at a required value, or inside a declared range, make the condition fail.
fn not_measured(table: &Judgeable<'_>, inputs: &Inputs, report: &mut Report) {
    let names = table.kernel.axes();
    for row in table.placed.rows.iter().filter(|row| row.measured.is_none()) {
        let axes: Vec<(String, i64)> =
            names.iter().zip(&row.values).filter_map(|(name, value)| Some(((*name).to_owned(), (*value)?))).collect();
        let is_required = axes.iter().any(|(name, value)| {
            table.kernel.rule(name, &inputs.standard).is_some_and(|rule| rule.required.contains(value))
        });
        let is_declared = inputs.ranges.iter().flatten().any(|declared| {
            let own = axes.iter().find(|(name, _)| *name == declared.axis);
            declared.kernel == table.kernel_type
                && own.is_some_and(|(_, value)| (declared.range[0]..=declared.range[1]).contains(value))
                && declared.fits(&axes, &row.rest)
        });
        let text = axes.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ");
        report.findings.push(Finding {
            gate: 7,
            kind: Kind::NotMeasured,
            file: Some(table.placed.table.path().to_owned()),
            line: Some(row.line),
            axis: text,
            bucket: Vec::new(),
            hole: None,
            text: "the row has no valid duration".to_owned(),
            fails: is_required || is_declared,
        });
    }
}

fn unknown_not_measured(path: &Path, report: &mut Report) -> Result<(), Error> {
    let table = Table::read(path, &ReadOptions::database())?;
    for row in table.rows().filter(|row| duration(*row).is_none()) {
        report.findings.push(Finding {
            gate: 7,
            kind: Kind::NotMeasured,
            file: Some(path.to_owned()),
            line: row.line(),
            axis: "row".to_owned(),
            bucket: Vec::new(),
            hole: None,
            text: "the row has no valid duration".to_owned(),
            fails: false,
        });
    }
    Ok(())
}
