//! Rows that would close findings.

use super::axes::Kernel;
use super::buckets::Bucket;
use super::judgeable::Judgeable;
use indexmap::IndexMap;
use perfdb_grid::slots::Slots;
use perfdb_store::columns::{INPUT_SHAPES, OUTPUT_SHAPES, is_measurement};
use perfdb_store::table::{LineEnd, push_csv_row};

/// A row to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The kernel type.
    pub kernel_type: String,
    /// Its cells by the columns of its table; without a duration.
    pub cells: Vec<(String, String)>,
}

/// The row of a bucket with this value on its axis, made after the first row; `None` for kernels whose shapes no template makes, and where
/// the template has none for it.
pub(super) fn repair(table: &Judgeable<'_>, bucket: &Bucket, value: i64) -> Option<Repair> {
    let Kernel::Template { template, .. } = &table.kernel else { return None };
    let names = table.kernel.axes();
    let axis = names.get(bucket.axis)?;
    let of = |name: &str| {
        if name == *axis {
            Some(i128::from(value))
        } else {
            bucket.key.axes.iter().find(|(own, _)| own == name).map(|(_, value)| i128::from(*value))
        }
    };
    let values: Vec<i128> = names.iter().map(|name| of(name)).collect::<Option<_>>()?;
    let (inputs, outputs) = template.shapes_of(&values)?;
    let own = &table.placed.table;
    let cells = own.columns().iter().enumerate().map(|(at, name)| {
        let old = own.cell(bucket.first.0, at);
        let text = match name.as_str() {
            INPUT_SHAPES => text(&inputs, old),
            OUTPUT_SHAPES => text(&outputs, old),
            name if is_measurement(name) => String::new(),
            _ => old.to_owned(),
        };
        (name.clone(), text)
    });
    Some(Repair { kernel_type: table.kernel_type.clone(), cells: cells.collect() })
}

fn text(slots: &Slots, old: &str) -> String {
    let mut text = String::new();
    slots.push_text(&mut text);
    if old.starts_with('"') { format!("\"{text}\"") } else { text }
}

/// The rows as tables in CSV, one for each kernel type.
pub fn repair_tables(repairs: &[Repair]) -> Vec<(String, Vec<u8>)> {
    let mut by_kernel: IndexMap<&str, Vec<&Repair>> = IndexMap::new();
    repairs.iter().for_each(|repair| by_kernel.entry(&repair.kernel_type).or_default().push(repair));
    let mut tables = Vec::new();
    for (kernel, repairs) in by_kernel {
        let mut content = Vec::new();
        let header = repairs.first().map(|repair| repair.cells.iter().map(|(name, _)| name.as_str()));
        push_csv_row(&mut content, header.into_iter().flatten(), LineEnd::CrLf);
        for repair in repairs {
            push_csv_row(&mut content, repair.cells.iter().map(|(_, cell)| cell.as_str()), LineEnd::CrLf);
        }
        tables.push((kernel.to_owned(), content));
    }
    tables
}
