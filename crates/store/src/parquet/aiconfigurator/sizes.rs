//! Tables of kernels without shapes: their whole numbers are sizes, their texts are part of the kernel type.

use super::operators::{file_name_part, types};
use super::source::{LATENCY_STD, SourceTable};
use crate::parquet::error::Error;

/// Texts that say where a row comes from, not what was called.
const ORIGINS: [&str; 6] = ["framework", "version", "device", "kernel_source", "architecture", "simulation_mode"];

/// The columns of a table.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// Those of whole numbers, in the order of the table.
    pub(super) names: Vec<String>,
    /// That of the first data type.
    dtype: Option<String>,
}

/// What one duration of a row is: a suffix of the kernel type, its columns, and microseconds in one of their units.
#[derive(Debug, PartialEq)]
pub(super) struct Timing {
    pub(super) suffix: String,
    columns: Vec<String>,
    unit_us: f64,
}

impl Sizes {
    pub(super) fn of(table: &SourceTable) -> Sizes {
        let is_size =
            |name: &&str| table.row_count() > 0 && (0..table.row_count()).all(|row| table.size(name, row).is_ok());
        let is_time = |name: &str| Timing::of(table).iter().any(|timing| timing.columns.iter().any(|own| own == name));
        let names = table.columns().filter(|name| !is_time(name)).filter(is_size).map(str::to_owned).collect();
        let dtype = table.columns().find(|name| is_type(name)).map(str::to_owned);
        Sizes { names, dtype }
    }

    /// The kernel type of a row: the operator and all texts that tell calls apart.
    pub(super) fn name(operator: &str, table: &SourceTable, row: usize) -> Result<String, Error> {
        let mut name = operator.to_owned();
        for column in table.columns().filter(|column| !ORIGINS.contains(column)) {
            let text = table.text(column, row)?;
            // Numbers are sizes or times.
            if text.parse::<f64>().is_ok() || text.is_empty() {
                continue;
            }
            let text = text.rsplit('/').next().unwrap_or(text);
            if column != "op_name" || !operator.contains(text) {
                name = format!("{name}_{}", file_name_part(text));
            }
        }
        Ok(name)
    }

    /// All sizes of a row as one shape.
    pub(super) fn shape(&self, table: &SourceTable, row: usize) -> Result<Vec<u64>, Error> {
        self.names.iter().map(|name| table.size(name, row)).collect()
    }

    /// The data type of a row.
    pub(super) fn dtype(&self, table: &SourceTable, row: usize) -> Result<&'static str, Error> {
        self.dtype.as_deref().map_or(Ok("DT_BF16"), |column| Ok(types(table.text(column, row)?).0))
    }
}

/// Whether the cells of a column are texts, even where they look like numbers.
pub(super) fn is_text(column: &str) -> bool {
    ORIGINS.contains(&column) || is_type(column) || matches!(column, "op_name" | "distribution")
}

/// Whether a column says what is computed on.
fn is_type(column: &str) -> bool {
    column.ends_with("_dtype") || matches!(column, "gemm_type" | "quant_type")
}

/// The columns of latencies in milliseconds.
const LATENCIES: [&str; 2] = ["latency", "avg_ms"];
/// The halves of an exchange, as the names of their columns begin.
const HALVES: [&str; 2] = ["dispatch", "combine"];

impl Timing {
    /// Whether a column has times.
    pub(super) fn is_time(column: &str) -> bool {
        let is_half = || HALVES.iter().any(|half| column.starts_with(half)) && column.ends_with("_us");
        LATENCIES.contains(&column) || column == LATENCY_STD || is_half()
    }

    /// The columns that are summed.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many microseconds one of the columns' units has.
    pub(super) fn unit_us(&self) -> f64 {
        self.unit_us
    }

    /// The durations of each row: a latency in milliseconds, or what two halves of an exchange take in microseconds.
    pub(super) fn of(table: &SourceTable) -> Vec<Timing> {
        if let Some(column) = LATENCIES.into_iter().find(|column| table.has(column)) {
            return vec![Timing { suffix: String::new(), columns: vec![column.to_owned()], unit_us: 1000.0 }];
        }
        let half = |name: &str| {
            let columns: Vec<String> = table
                .columns()
                .filter(|column| column.starts_with(name) && column.ends_with("_us"))
                .map(str::to_owned)
                .collect();
            (!columns.is_empty()).then(|| Timing { suffix: format!("_{name}"), columns, unit_us: 1.0 })
        };
        HALVES.into_iter().filter_map(half).collect()
    }

    /// The duration of a row in microseconds.
    pub(super) fn us(&self, table: &SourceTable, row: usize) -> Result<f64, Error> {
        let mut sum = 0.0;
        for column in &self.columns {
            sum += table.number(column, row)? * self.unit_us;
        }
        Ok(sum)
    }
}
