//! The rows that come nearest to a question, and in what they differ.

use crate::answer::RowRef;
use crate::context::Context;
use crate::database::Reader;
use crate::dtype::one_spelling;
use crate::explain::asked;
use crate::lookup::attention::{self, Mismatch};
use crate::lookup::fields::Fields;
use crate::lookup::inputs;
use crate::operands::{Operand, Operands};
use crate::search::fit;
use crate::shapes::{Tolerance, strip};
use crate::table::{KernelRow, KernelRows};
use perfdb_store::op_mapping::Entry;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

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
    distance: Distance,
}

/// In what a row differs most, the smaller the nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Fits,
    /// In lengths, runtime values or results.
    Values,
    Sizes,
    Types,
    Count,
}

/// The class, how many things differ, by how much.
type Distance = (Class, usize, f64);

/// How many rows differ in what, beside those that are named.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Others([usize; 5]);

impl Others {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }
}

impl fmt::Display for Others {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = ["fit", "differ in values or results", "in sizes", "in types", "in the number of inputs"];
        let told: Vec<String> = self
            .0
            .iter()
            .zip(words)
            .filter(|(count, _)| **count > 0)
            .map(|(count, word)| {
                format!("{count} {}", if word.starts_with("in ") { format!("differ {word}") } else { word.to_owned() })
            })
            .collect();
        write!(formatter, "{} more rows: {}", self.0.iter().sum::<usize>(), told.join(", "))
    }
}

impl Reader {
    /// The rows that come nearest to a question, in the tables in which its answer is looked for. All of their rows are looked at.
    pub fn nearest(&self, query: &crate::Query, count: usize) -> Vec<Nearest> {
        let context = self.context(query);
        let Some(entry) = context.entry.filter(|_| count > 0) else { return Vec::new() };
        let mut all = Vec::new();
        for table in context.tables(&asked(&context, entry)).unwrap_or_default() {
            all.extend(context.nearest_of(entry, table, count).0);
        }
        all.sort_by(|a, b| order(&(a.distance, a.row.line), &(b.distance, b.row.line)));
        all.truncate(count);
        all
    }
}

fn order(a: &(Distance, u32), b: &(Distance, u32)) -> Ordering {
    (a.0.0, a.0.1).cmp(&(b.0.0, b.0.1)).then(a.0.2.total_cmp(&b.0.2)).then(a.1.cmp(&b.1))
}

impl Context<'_> {
    /// The rows of a table that come nearest, and in what the others differ.
    pub(crate) fn nearest_of(&self, entry: &Entry, table: &KernelRows, count: usize) -> (Vec<Nearest>, Others) {
        let asked = Asked::of(self, entry, table);
        let mut near: Vec<(Distance, u32)> = Vec::new();
        let mut others = Others::default();
        for row in table.iter() {
            let own = (asked.distance(self, row), row.number());
            others.0[own.0.0 as usize] += 1;
            if near.len() < count || near.last().is_some_and(|last| order(&own, last).is_lt()) {
                near.insert(near.partition_point(|known| order(known, &own).is_lt()), own);
                near.truncate(count);
            }
        }
        let named = near.into_iter().map(|(distance, number)| {
            others.0[distance.0 as usize] -= 1;
            let row = table.row(number);
            Nearest {
                kernel_type: table.kernel_type.clone(),
                row: row.reference(),
                inputs: row.inputs().iter().map(|own| shape(&own)).collect::<Vec<_>>().join(";"),
                duration_us: row.duration_us(),
                difference: if distance.0 == Class::Fits { String::new() } else { asked.difference(self, row) },
                distance,
            }
        });
        (named.collect(), others)
    }
}

/// What the rows of a table are compared with.
struct Asked<'q> {
    operands: Operands<'q>,
    rearranged: Option<Operands<'q>>,
    limit: Option<usize>,
    tolerance: Tolerance,
    attention: Option<Fields>,
}

impl<'q> Asked<'q> {
    fn of(context: &Context<'q>, entry: &Entry, table: &KernelRows) -> Self {
        let operands = inputs::operands(context, entry);
        let tolerance = *table.tolerance(context.rules);
        let is_attention = entry.query_mode.as_deref() == Some("attention_special");
        Asked {
            rearranged: tolerance.arrangement.rearranged(&operands),
            limit: inputs::input_count(entry),
            tolerance,
            attention: is_attention.then(|| attention::fields_of(context).ok()).flatten(),
            operands,
        }
    }

    /// The inputs in the form that has as many as the row.
    fn inputs_for(&self, row: KernelRow<'_>) -> &Operands<'q> {
        let count = row.inputs().len().min(self.limit.unwrap_or(usize::MAX));
        self.rearranged.as_ref().filter(|new| new.len() == count).unwrap_or(&self.operands)
    }

    fn distance(&self, context: &Context<'_>, row: KernelRow<'_>) -> Distance {
        if let Some(fields) = &self.attention {
            return of_attention(context, fields, row);
        }
        let given = self.inputs_for(row);
        if fit(context.rules, &self.tolerance, given, row, self.limit).is_some() {
            return (Class::Fits, 0, 0.0);
        }
        let inputs = row.matrices();
        let count = inputs.len().min(self.limit.unwrap_or(usize::MAX));
        if count != given.len() {
            return (Class::Count, count.abs_diff(given.len()), 0.0);
        }
        let (mut types, mut dimensions, mut size) = (0, 0, 0.0);
        for (at, ((operand, own), own_type)) in given.iter().zip(inputs).zip(row.input_types()).enumerate() {
            types += usize::from(!is_of_type(operand, own_type));
            let Some((wanted, own)) = different(at, operand, &own) else { continue };
            if wanted.len() != own.len() {
                dimensions += 10;
            }
            for (a, b) in wanted.iter().zip(own).filter(|(a, b)| a != b) {
                dimensions += 1;
                size += ((1 + a.max(&0)) as f64 / (1 + b.max(&0)) as f64).ln().abs();
            }
        }
        match (types, dimensions) {
            (0, 0) => (Class::Values, 0, 0.0),
            (0, _) => (Class::Sizes, dimensions, size),
            _ => (Class::Types, 100 * types + dimensions, size),
        }
    }

    /// The first difference in words.
    fn difference(&self, context: &Context<'_>, row: KernelRow<'_>) -> String {
        if let Some(fields) = &self.attention {
            return words_of_attention(context, fields, row);
        }
        let given = self.inputs_for(row);
        let inputs = row.matrices();
        let count = inputs.len().min(self.limit.unwrap_or(usize::MAX));
        if count != given.len() {
            return format!("{count} inputs, not {}", given.len());
        }
        for (at, ((operand, own), own_type)) in given.iter().zip(inputs).zip(row.input_types()).enumerate() {
            let asked = operand.dtype.unwrap_or("a type that no table knows");
            if !is_of_type(operand, own_type) {
                return format!("input {} is {own_type}, not {asked}", at + 1);
            }
            if let Some((wanted, own)) = different(at, operand, &own) {
                return format!("input {} is {}, not {}", at + 1, shape(own), shape(wanted));
            }
        }
        "differs in runtime values or results".to_owned()
    }
}

fn is_of_type(operand: &Operand<'_>, own: &str) -> bool {
    operand.dtype.is_some_and(|dtype| one_spelling(dtype) == one_spelling(own))
}

/// The shapes of an input that differ, without leading dimensions of 1. A weight may lie the other way round.
fn different<'s>(at: usize, operand: &'s Operand<'_>, own: &'s [i64]) -> Option<(&'s [i64], &'s [i64])> {
    let (wanted, own) = (strip(&operand.shape), strip(own));
    let is_turned = at > 0 && wanted.len() == own.len() && wanted.iter().rev().eq(own.iter());
    (wanted != own && !is_turned).then_some((wanted, own))
}

/// Attention rows are compared by tokens, heads, length and runtime fields.
fn of_attention(context: &Context<'_>, fields: &Fields, row: KernelRow<'_>) -> Distance {
    let (Some(query), Some(length)) = (fields.query, fields.avg_seq_len) else { return (Class::Count, 0, 0.0) };
    if row.input_types().first().map(|name| one_spelling(name)) != fields.dtype.map(one_spelling) {
        return (Class::Types, 0, 0.0);
    }
    let gap = row.average_length().map_or(f64::INFINITY, |own| (own - length).abs() as f64);
    let tokens = attention::row_tokens(row, query).map_or(f64::INFINITY, |own| (own - query[0]).abs() as f64);
    match attention::mismatch(context.rules, fields, query, row) {
        None if gap <= attention::LENGTH_TOLERANCE as f64 => (Class::Fits, 0, tokens * 1e6 + gap),
        None => (Class::Values, 0, gap),
        Some(Mismatch::Cell(_)) => (Class::Values, 1, gap),
        Some(Mismatch::Tokens) => (Class::Sizes, 0, tokens * 1e6 + gap),
        Some(Mismatch::Heads) => (Class::Sizes, 1, gap),
        Some(Mismatch::Query) => (Class::Count, 0, gap),
    }
}

fn words_of_attention(context: &Context<'_>, fields: &Fields, row: KernelRow<'_>) -> String {
    let (Some(query), Some(length)) = (fields.query, fields.avg_seq_len) else { return String::new() };
    let own = row.inputs().get(0).unwrap_or_default();
    let own_type = row.input_types().first().map_or("nothing", |name| &**name);
    if Some(one_spelling(own_type)) != fields.dtype.map(one_spelling) {
        return format!("input 1 is {own_type}, not {}", fields.dtype.unwrap_or("a type that no table knows"));
    }
    match attention::mismatch(context.rules, fields, query, row) {
        None => match row.average_length() {
            Some(own) => format!("its average length is {own}, not {length}"),
            None => "it has no average length".to_owned(),
        },
        Some(Mismatch::Cell(column)) => {
            format!("{} is {}", column.name(), row.cell(column).map_or("empty".to_owned(), |cell| format!("'{cell}'")))
        }
        Some(_) => format!("input 1 is {}; tokens, heads and head size are {}", shape(&own), shape(&query)),
    }
}

fn shape(shape: &[i64]) -> String {
    shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
}
