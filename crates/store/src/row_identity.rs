//! When two rows of a kernel type are the same row: every cell that is not a measurement is equal.
//!
//! ```
//! use perfdb_store::row_identity::IdentityColumns;
//!
//! let columns = ["Input Shapes", "Input Data Types", "Runtime topk", "OP State", "Average Duration(us)"].map(str::to_owned);
//! let identity = IdentityColumns::of_lookups(&columns);
//! let row = |cells: [&'static str; 5]| identity.of_row(|column| cells[column].into());
//! let first = row(["\"16,512;2048,512\"", "DT_BF16;DT_BF16", "2048", "dynamic", "5.0"]);
//! assert_eq!(first, row(["16,512;2048,512", "DT_BF16; DT_BF16", "2048.0", "static", "7.0"]));
//! assert_ne!(first, row(["16,512;2048,512;2048", "DT_BF16;DT_BF16", "2048", "dynamic", "5.0"]));
//! assert_ne!(first, row(["16,512;2048,512", "DT_BF16;DT_BF16", "1024", "dynamic", "5.0"]));
//! ```

use crate::columns::{
    COMMUNICATION, EP_SIZE, INPUT_FORMATS, INPUT_SHAPES, INPUT_TYPES, OUTPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES,
    PROFILED, is_measurement,
};
use crate::slots::{normal_shape, split, unquoted};
use perfdb_pycompat::number::parse_float;
use perfdb_pycompat::text::trim;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt;

/// Runtime columns that say where values are from; no lookup reads them.
const DESCRIPTIONS: [&str; 2] = ["Runtime source_profile", "Runtime operator_input_shapes_raw"];
const SHAPES: [&str; 2] = [INPUT_SHAPES, OUTPUT_SHAPES];
const SLOTS: [&str; 4] = [INPUT_TYPES, INPUT_FORMATS, OUTPUT_TYPES, OUTPUT_FORMATS];

/// What all cells that identify a row come to. Equal for rows that are the same; stable across versions and machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowIdentity([u8; 16]);

impl fmt::Display for RowIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shapes,
    Slots,
    Value,
}

/// The columns of a table that identify its rows. A column that is missing counts as empty, so tables with other columns can have equal rows.
#[derive(Debug, Clone)]
pub struct IdentityColumns(Vec<(String, usize, Kind)>);

impl IdentityColumns {
    /// Those of a table with these columns: all but measurements.
    pub fn of(columns: &[String]) -> IdentityColumns {
        IdentityColumns::among(columns, |_| true)
    }

    /// Those of a table that is compared with one of the `other` columns: a column of people's own counts where both have it.
    pub fn shared_with(columns: &[String], other: &[String]) -> IdentityColumns {
        IdentityColumns::among(columns, |name| is_looked_up(name) || other.iter().any(|known| known == name))
    }

    /// Those that lookups may read, without columns of people's own.
    pub fn of_lookups(columns: &[String]) -> IdentityColumns {
        IdentityColumns::among(columns, is_looked_up)
    }

    fn among(columns: &[String], counts: impl Fn(&str) -> bool) -> IdentityColumns {
        let identifies = |name: &str| identifies(name) && counts(name);
        let mut found: Vec<(String, usize, Kind)> = Vec::new();
        for (at, name) in columns.iter().enumerate().rev() {
            // Of two columns of one name readers take the last.
            if identifies(name) && !found.iter().any(|(known, ..)| known == name) {
                found.push((name.clone(), at, kind(name)));
            }
        }
        found.sort_by(|first, second| first.0.cmp(&second.0));
        IdentityColumns(found)
    }

    /// The names and positions of the columns, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, at, _)| (name.as_str(), *at))
    }

    /// The identity of a row, where `cell` gives the text of a column.
    pub fn of_row<'t>(&self, cell: impl Fn(usize) -> Cow<'t, str>) -> RowIdentity {
        self.of_row_and_lookup(cell)[0]
    }

    /// The identity of a row, and that of what lookups read of it, which is that of [`of_lookups`](Self::of_lookups).
    pub fn of_row_and_lookup<'t>(&self, cell: impl Fn(usize) -> Cow<'t, str>) -> [RowIdentity; 2] {
        let mut hashes = [Sha256::new(), Sha256::new()];
        for (name, at, kind) in &self.0 {
            let text = cell(*at);
            let text = normalised(&text, *kind);
            if text.is_empty() {
                continue;
            }
            let count = if is_looked_up(name) { 2 } else { 1 };
            for hash in &mut hashes[..count] {
                hash.update(name.as_bytes());
                hash.update([0x1f]);
                hash.update(text.as_bytes());
                hash.update([0x1e]);
            }
        }
        hashes.map(|hash| {
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&hash.finalize()[..16]);
            RowIdentity(bytes)
        })
    }
}

/// Whether the cells of a column are a part of what a row is, and neither a measurement nor a description.
fn identifies(name: &str) -> bool {
    let is_counter = name.starts_with("MicroBench ") || name.starts_with("Profiling ") || name == COMMUNICATION[5];
    !is_measurement(name) && !is_counter && !PROFILED.contains(&name)
}

/// Whether the cells of a column describe a row: no lookup reads them, and they are not measured.
pub fn describes(name: &str) -> bool {
    identifies(name) && !is_looked_up(name)
}

/// Whether lookups may read a column of this name.
fn is_looked_up(name: &str) -> bool {
    SHAPES.contains(&name)
        || [INPUT_TYPES, INPUT_FORMATS, OUTPUT_TYPES].contains(&name)
        || COMMUNICATION.contains(&name)
        || name == EP_SIZE
        || name == "avg_seq_len"
        || name.starts_with("Runtime ") && !DESCRIPTIONS.contains(&name)
}

fn kind(name: &str) -> Kind {
    match name {
        name if SHAPES.contains(&name) => Kind::Shapes,
        name if SLOTS.contains(&name) => Kind::Slots,
        _ => Kind::Value,
    }
}

/// A cell without quotes and blanks that mean nothing; numbers in one form.
fn normalised(cell: &str, kind: Kind) -> Cow<'_, str> {
    match kind {
        Kind::Shapes => Cow::Owned(split(cell).into_iter().map(normal_shape).collect::<Vec<_>>().join(";")),
        Kind::Slots => Cow::Owned(split(cell).join(";")),
        Kind::Value => {
            let text = trim(unquoted(cell));
            match parse_float(text).filter(|number| number.is_finite()) {
                Some(number) => Cow::Owned(number.to_string()),
                None if matches!(text.to_ascii_lowercase().as_str(), "nan" | "none" | "null" | "n/a" | "na") => {
                    "".into()
                }
                None => Cow::Borrowed(text),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn identity(names: &[&str], cells: &[&'static str]) -> RowIdentity {
        IdentityColumns::of(&columns(names)).of_row(|column| cells[column].into())
    }

    #[test]
    fn a_missing_column_is_an_empty_one_and_order_does_not_count() {
        let wide = identity(&[INPUT_SHAPES, "Runtime topk", INPUT_TYPES], &["4,8", "", "FLOAT"]);
        assert_eq!(wide, identity(&[INPUT_TYPES, INPUT_SHAPES], &["FLOAT", "\"4,8\""]));
        assert_ne!(wide, identity(&[INPUT_TYPES, INPUT_SHAPES], &["FLOAT", "4,8;"]));
    }

    #[test]
    fn measurements_do_not_count() {
        let names = [INPUT_SHAPES, "Average Duration(us)", "MicroBench Block Dim", "bandwidth_gbps", "OP State"];
        assert_eq!(identity(&names, &["4", "1", "2", "3", "x"]), identity(&names, &["4", "9", "8", "7", "x"]));
        assert_ne!(identity(&names, &["4", "1", "2", "3", "x"]), identity(&names, &["4", "1", "2", "3", "y"]));
    }

    #[test]
    fn own_columns_count_where_both_tables_have_them() {
        let (own, plain) = (columns(&[INPUT_SHAPES, "quant"]), columns(&[INPUT_SHAPES]));
        let of = |columns: &IdentityColumns, cells: &'static [&'static str]| columns.of_row(|at| cells[at].into());
        for alone in [IdentityColumns::shared_with(&own, &plain), IdentityColumns::of_lookups(&own)] {
            assert_eq!(of(&alone, &["4", "fp8"]), of(&IdentityColumns::of(&plain), &["4"]));
        }
        let both = IdentityColumns::of(&own).of_row_and_lookup(|at| ["4", "fp8"][at].into());
        assert_eq!(both[1], of(&IdentityColumns::of(&plain), &["4"]));
        assert_ne!(of(&IdentityColumns::of(&own), &["4", "fp8"]), of(&IdentityColumns::of(&own), &["4", "int8"]));
    }
}
