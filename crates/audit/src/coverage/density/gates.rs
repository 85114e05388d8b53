//! The nine conditions.

use super::axes::{Kernel, MESSAGE_BYTES, grid_of};
use super::finding::{Finding, Kind, Verdict, finding};
use super::hold_out::{Figures, errors};
use super::inputs::Inputs;
use super::judgeable::{Judgeable, tables};
use super::report::Report;
use super::rows::duration;
use crate::coverage::Error;
use perfdb_grid::grids;
use perfdb_grid::rules::{Pattern, RuleFile};
use perfdb_store::columns::{
    COMMUNICATION_DURATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_SHAPES,
    OUTPUT_TYPES,
};
use perfdb_store::directory::tables_in;
use perfdb_store::registry::is_collective;
use perfdb_store::slots::{normal_shape, split};
use perfdb_store::table::{ReadOptions, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// How many conditions there are.
const GATES: u8 = 9;
/// A database may have this many times the signatures of the one in use now.
const MOST_SIGNATURES: usize = 8;

/// Whether the generator's own values, and those of benches of collectives, are dense enough; and measured where that is declared.
pub(super) fn generator(tables: &[Judgeable<'_>], inputs: &Inputs, report: &mut Report) {
    for name in grids::names() {
        let Some(rule) = inputs.standard.grid(name) else { continue };
        let values: BTreeSet<i64> = values(grids::named(name).unwrap_or_default());
        let whole = rule.range.unwrap_or([i64::MIN, i64::MAX]);
        for hole in rule.holes(whole, &values) {
            let text = format!("the grid that the generator makes lacks {}", hole.repair());
            report.findings.push(Finding { hole: Some(hole), ..finding(8, Kind::GeneratorDisagrees, name, text) });
        }
    }
    for (pattern, variable, rule) in of_patterns(&inputs.rules, inputs) {
        let Some(Pattern::Template(template)) = inputs.rules.pattern(&pattern) else { continue };
        let values = values(template.grid(&variable).unwrap_or_default());
        let whole = rule.range.unwrap_or([i64::MIN, i64::MAX]);
        for hole in rule.holes(whole, &values) {
            let text = format!("the values that the generator makes lack {}", hole.repair());
            let axis = format!("{pattern}.{variable}");
            report.findings.push(Finding { hole: Some(hole), ..finding(8, Kind::GeneratorDisagrees, axis, text) });
        }
    }
    let of_messages = inputs.message_sizes.as_ref().zip(inputs.standard.communication_axis(MESSAGE_BYTES));
    report.findings.extend(of_messages.into_iter().flat_map(|(sizes, rule)| sizes.findings(rule)));
    for declared in inputs.ranges.iter().flatten() {
        for table in tables.iter().filter(|table| table.kernel_type == declared.kernel) {
            let Kernel::Template { template, .. } = &table.kernel else { continue };
            let Some(grid) = template.grid(&declared.axis) else { continue };
            let names = table.kernel.axes();
            let buckets = table.buckets.iter().filter(|bucket| names[bucket.axis] == declared.axis);
            for bucket in buckets.filter(|bucket| declared.fits(&bucket.key.axes, &bucket.key.rest)) {
                let inside =
                    values(grid).into_iter().filter(|value| (declared.range[0]..=declared.range[1]).contains(value));
                for value in inside.filter(|value| !bucket.measured.contains_key(value)) {
                    report.findings.push(Finding {
                        file: Some(table.placed.table.path().to_owned()),
                        line: Some(bucket.first.1),
                        ..finding(
                            8,
                            Kind::GeneratorDisagrees,
                            &*declared.axis,
                            format!("the generator makes {value}, which is not measured"),
                        )
                    });
                }
            }
        }
    }
}

/// The axes of templates that have a rule of their own for a list of values of their own.
fn of_patterns<'i>(rules: &RuleFile, inputs: &'i Inputs) -> Vec<(String, String, &'i super::Rule)> {
    let mut all = Vec::new();
    for (name, pattern) in rules.patterns() {
        let Pattern::Template(template) = pattern else { continue };
        for variable in template.variables() {
            let rule = inputs.standard.template_axis(name, variable);
            if let Some(rule) = rule.filter(|_| grid_of(template, variable).is_none()) {
                all.push((name.to_owned(), variable.clone(), rule));
            }
        }
    }
    all
}

fn values(grid: &[i128]) -> BTreeSet<i64> {
    grid.iter().filter_map(|value| i64::try_from(*value).ok()).collect()
}

/// How many distinct cases a database has: kernel type, shapes, types, formats, runtime values and the column of the duration.
pub(super) fn signatures(directory: &Path) -> Result<usize, Error> {
    let mut all: BTreeSet<Vec<String>> = BTreeSet::new();
    for path in tables_in(directory)? {
        let table = Table::read(&path, &ReadOptions::database())?;
        let kernel = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_collective = is_collective(&kernel);
        let counts = |name: &str| {
            let of_case =
                [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, OUTPUT_FORMATS, EP_SIZE];
            let of_message = name != COMMUNICATION_DURATION && name != "bandwidth_gbps";
            of_case.contains(&name) || name.starts_with("Runtime ") || is_collective && of_message
        };
        let columns: Vec<usize> = (0..table.columns().len()).filter(|at| counts(&table.columns()[*at])).collect();
        for row in table.rows() {
            let cell = |at: &usize| {
                let slots: Vec<String> =
                    split(row.cell(*at)).into_iter().map(|slot| normal_shape(slot).into_owned()).collect();
                slots.join(";")
            };
            let mut signature: Vec<String> = columns.iter().map(cell).collect();
            signature.push(kernel.clone());
            signature.push(duration(row).map(|(_, column)| column).unwrap_or_default());
            all.insert(signature);
        }
    }
    Ok(all.len())
}

/// Compares errors and signatures with the database in use now.
pub(super) fn accuracy(own: &[Judgeable<'_>], inputs: &Inputs, report: &mut Report) -> Result<(), Error> {
    let Some(baseline) = &inputs.baseline else { return Ok(()) };
    let before = errors(&tables(baseline, &inputs.rules)?);
    let now = errors(own);
    let of = |errors: &BTreeMap<_, f64>, other: &BTreeMap<_, f64>| {
        Figures::of(errors.iter().filter(|(point, _)| other.contains_key(*point)).map(|(_, error)| *error).collect())
    };
    if let (Some(now), Some(before)) = (of(&now, &before), of(&before, &now)) {
        let larger = now.larger_than(&before).into_iter();
        report.findings.extend(larger.map(|text| finding(5, Kind::LessAccurate, "rows left out", text)));
    }
    let count = signatures(baseline)?;
    report.signatures.1 = Some(count);
    let own = report.signatures.0;
    if own > MOST_SIGNATURES * count {
        let text = format!("{own}, more than {MOST_SIGNATURES} times the {count} of the database in use now");
        report.findings.push(finding(9, Kind::TooManySignatures, "signatures", text));
    }
    Ok(())
}

/// What the conditions come to.
pub(super) fn verdicts(inputs: &Inputs, report: &Report) -> Vec<Verdict> {
    let verdict = |gate: u8| {
        let failed = report.findings.iter().filter(|finding| finding.gate == gate && finding.fails).count();
        let missing = match gate {
            3 | 4 | 6 if inputs.workloads.is_none() => Some("no manifest"),
            5 | 9 if inputs.baseline.is_none() => Some("no baseline database"),
            3 if !report.questions.iter().any(|one| one.is_critical) => Some("no critical query"),
            2 if report.counts.asked == 0 => Some("no bucket of two values"),
            _ => None,
        };
        match (missing, failed) {
            (Some(missing), _) => Verdict::NotJudged(missing),
            (None, 0) => Verdict::Passed,
            (None, failed) => Verdict::Failed(failed),
        }
    };
    (1..=GATES).map(verdict).collect()
}
