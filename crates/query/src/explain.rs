//! What was tried on the way to an answer, and the rows that come nearest.

use crate::answer::RowRef;
use crate::database::Reader;
use crate::engine::{Context, Names};
use crate::measured::inputs;
use crate::operands::Operand;
use crate::search::fit;
use crate::shapes::strip;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use std::fmt::Write as _;
use std::sync::Arc;

/// How many rows of a table are named.
const ROWS_PER_TABLE: usize = 3;

/// Everything that was tried, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// One attempt each.
    pub lines: Vec<String>,
}

/// A row that comes near a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The table.
    pub kernel_type: Arc<str>,
    /// File and line.
    pub row: RowRef,
    /// The shapes of its inputs, as in the file.
    pub inputs: String,
    /// Its duration.
    pub duration_us: f64,
    /// Why it does not answer; empty if it does.
    pub difference: String,
    distance: (usize, usize, f64),
}

impl Reader {
    /// The rows that come nearest to a question, in the tables in which its answer is looked for.
    pub fn nearest(&self, query: &crate::Query, count: usize) -> Vec<Nearest> {
        let context = self.context(query);
        let Some(entry) = context.entry else { return Vec::new() };
        let mut all = Vec::new();
        for table in context.tables(&asked(&context, entry)).unwrap_or_default() {
            all.extend(context.nearest_of(entry, table, count));
        }
        all.sort_by(Nearest::order);
        all.truncate(count);
        all
    }
}

impl Nearest {
    fn order(a: &Nearest, b: &Nearest) -> std::cmp::Ordering {
        let key = |nearest: &Nearest| (nearest.distance.0, nearest.distance.1);
        key(a).cmp(&key(b)).then(a.distance.2.total_cmp(&b.distance.2)).then(a.row.line.cmp(&b.row.line))
    }
}

/// The tables that an entry names.
fn asked<'e>(context: &Context<'_>, entry: &'e Entry) -> Names<'e> {
    let mut names = context.names(entry);
    names.extend(entry.sub_kernels.iter().map(String::as_str).filter(|name| !name.starts_with("hcom_")));
    names
}

impl Context<'_> {
    /// Notes what is tried, if anybody wants to know.
    #[inline]
    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        if let Some(explanation) = self.explanation {
            explanation.borrow_mut().lines.push(line());
        }
    }

    /// Notes the entry, its tables, and why their nearest rows do not answer.
    pub(crate) fn explain_tables(&self) {
        let Some(entry) = self.entry else {
            return self.note(|| format!("{}: the operator mapping has no entry", self.query.name()));
        };
        self.note(|| {
            let mut line = format!("{}: class {:?}", self.query.name(), entry.class());
            if let Some(mode) = &entry.query_mode {
                let _ = write!(line, ", query mode {mode}");
            }
            if let Some(count) = entry.tc_input_count {
                let _ = write!(line, ", first {count} inputs");
            }
            line
        });
        for name in asked(self, entry) {
            match self.table(name) {
                Err(miss) => self.note(|| format!("{name}: {miss}")),
                Ok(None) => self.note(|| format!("{name}: no table")),
                Ok(Some(table)) => {
                    self.note(|| format!("{name}: {} rows with a duration", table.iter().count()));
                    for near in self.nearest_of(entry, table, ROWS_PER_TABLE) {
                        self.note(|| match near.difference.is_empty() {
                            true => format!("  {} {} {} us: fits", near.row, near.inputs, near.duration_us),
                            false => {
                                format!("  {} {} {} us: {}", near.row, near.inputs, near.duration_us, near.difference)
                            }
                        });
                    }
                }
            }
        }
        for name in entry.sub_kernels.iter().filter(|name| name.starts_with("hcom_")) {
            self.note(|| match self.collective(name) {
                Ok(Some(table)) if table.has_sizes => format!("{name}: a table of message sizes"),
                Ok(Some(_)) => format!("{name}: a table without message sizes"),
                Ok(None) => format!("{name}: no table"),
                Err(miss) => format!("{name}: {miss}"),
            });
        }
    }

    fn nearest_of(&self, entry: &Entry, table: &KernelRows, count: usize) -> Vec<Nearest> {
        let operands = inputs::operands(self, entry);
        let limit = inputs::input_count(entry);
        let tolerance = table.tolerance(self.rules.is_newest);
        let rearranged = tolerance.arrangement.rearranged(&operands);
        let mut all: Vec<Nearest> = Vec::new();
        for row in table.iter() {
            let given = rearranged
                .as_ref()
                .filter(|new| new.len() == row.inputs().len().min(limit.unwrap_or(usize::MAX)))
                .unwrap_or(&operands);
            let is_fit = fit(self.rules, tolerance, given, row, limit).is_some();
            let (distance, difference) = if is_fit { ((0, 0, 0.0), String::new()) } else { compare(given, row, limit) };
            let near = Nearest {
                kernel_type: table.kernel_type.clone(),
                row: row.reference(),
                inputs: String::new(),
                duration_us: row.duration_us(),
                difference,
                distance,
            };
            if all.len() < count || all.last().is_some_and(|last| Nearest::order(&near, last).is_lt()) {
                let at = all.partition_point(|known| Nearest::order(known, &near).is_lt());
                all.insert(at, Nearest { inputs: shapes(row), ..near });
                all.truncate(count);
            }
        }
        all
    }
}

fn shapes(row: KernelRow<'_>) -> String {
    row.inputs().iter().map(|own| shape(&own)).collect::<Vec<_>>().join(";")
}

fn shape(shape: &[i64]) -> String {
    shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}

/// How far a row is from what is asked for: wrong counts and types, wrong dimensions, by how much; and the first difference in words.
fn compare(operands: &[Operand<'_>], row: KernelRow<'_>, limit: Option<usize>) -> ((usize, usize, f64), String) {
    let limit = limit.unwrap_or(usize::MAX);
    let inputs = row.matrices();
    let count = inputs.len().min(limit);
    if count != operands.len() {
        let difference = format!("{count} inputs, not {}", operands.len());
        return ((100 + count.abs_diff(operands.len()), 0, 0.0), difference);
    }
    let (mut types, mut dimensions, mut size) = (0, 0, 0.0);
    let mut difference = String::new();
    for (at, ((operand, own), own_type)) in operands.iter().zip(inputs).zip(row.input_types()).enumerate() {
        let asked = operand.dtype.unwrap_or("a type that no table knows");
        if operand.dtype != Some(&**own_type) {
            types += 1;
            if difference.is_empty() {
                difference = format!("input {} is {own_type}, not {asked}", at + 1);
            }
        }
        let (wanted, own) = (strip(&operand.shape), strip(&own));
        let is_turned = at > 0 && wanted.len() == own.len() && wanted.iter().rev().eq(own.iter());
        if wanted == own || is_turned {
            continue;
        }
        if wanted.len() != own.len() {
            dimensions += 10;
        }
        for (a, b) in wanted.iter().zip(own).filter(|(a, b)| a != b) {
            dimensions += 1;
            size += ((1 + a.max(&0)) as f64 / (1 + b.max(&0)) as f64).ln().abs();
        }
        if difference.is_empty() {
            difference = format!("input {} is {}, not {}", at + 1, shape(own), shape(wanted));
        }
    }
    if difference.is_empty() {
        difference = "differs in runtime values or results".to_owned();
    }
    ((types, dimensions, size), difference)
}
