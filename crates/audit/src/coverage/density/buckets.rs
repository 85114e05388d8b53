//! Rows that are equal in all but one axis.

use super::axes::Kernel;
use super::rows::{PlacedRow, PlacedTable};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// Rows that are equal in all but one axis.
pub(crate) struct Bucket {
    /// The number of the axis among those of the kernel.
    pub(crate) axis: usize,
    /// The other axes and columns: what is equal.
    pub(crate) key: Key,
    /// Values that are measured: the first row of each, and its duration.
    pub(crate) measured: BTreeMap<i64, (usize, f64)>,
    /// The first row, measured or not, and its line.
    pub(crate) first: (usize, u64),
}

/// The other axes, then the columns, of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) axes: Vec<(String, i64)>,
    pub(crate) rest: Vec<(String, String)>,
}

/// The buckets of a table along each axis, in the order of their first rows.
pub(crate) fn buckets(kernel: &Kernel<'_>, table: &PlacedTable) -> Vec<Bucket> {
    let names = kernel.axes();
    let mut all = Vec::new();
    for axis in 0..names.len() {
        let mut of_axis: IndexMap<Key, Bucket> = IndexMap::new();
        for row in &table.rows {
            let Some(value) = row.values[axis] else { continue };
            let key = key(&names, axis, row);
            let bucket = of_axis.entry(key.clone()).or_insert_with(|| Bucket {
                axis,
                key,
                measured: BTreeMap::new(),
                first: (row.row, row.line),
            });
            if let Some((us, _)) = &row.measured {
                bucket.measured.entry(value).or_insert((row.row, *us));
            }
        }
        all.extend(of_axis.into_values());
    }
    all
}

fn key(names: &[&str], axis: usize, row: &PlacedRow) -> Key {
    let others = names.iter().zip(&row.values).enumerate().filter(|(at, _)| *at != axis);
    let axes = others.filter_map(|(_, (name, value))| Some(((*name).to_owned(), (*value)?)));
    Key { axes: axes.collect(), rest: row.rest.clone() }
}
