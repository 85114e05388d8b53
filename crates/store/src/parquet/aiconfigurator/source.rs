//! Where the tables stand, and their cells.

use crate::parquet::error::Error;
use crate::parquet::read::ParquetFile;
use crate::table::{ReadOptions, Table};
use perfdb_files::tables::Values;
use perfdb_files::walk::walk;
use std::path::{Path, PathBuf};

/// The folders between a system and its frameworks in newer versions.
const FAMILIES: [&str; 14] = [
    "attention",
    "comm",
    "encoder_attention",
    "gemm",
    "kda",
    "linear_attention",
    "mhc",
    "mla",
    "mla_bmm",
    "mlp",
    "moe",
    "msa",
    "quantize",
    "sparse_attention",
];

/// What a table's path says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// The operator: the file's name without `_perf` and ending.
    pub(super) operator: String,
    /// `SYSTEM/FRAMEWORK/VERSION`.
    pub(super) directory: PathBuf,
}

impl Origin {
    pub(super) fn of(path: &Path) -> Result<Origin, Error> {
        let place = perfdb_files::paths::absolute(path);
        let mut above = place.ancestors().skip(1).filter_map(Path::file_name);
        let (version, framework, mut system) = (above.next(), above.next(), above.next());
        if system.is_some_and(|name| FAMILIES.iter().any(|family| name == *family)) {
            system = above.next();
        }
        let (Some(version), Some(framework), Some(system)) = (version, framework, system) else {
            return Err(Error::unfit(path, "does not stand in folders SYSTEM/FRAMEWORK/VERSION"));
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let operator = stem.strip_suffix("_perf").unwrap_or(&stem).to_owned();
        Ok(Origin { operator, directory: Path::new(system).join(framework).join(version) })
    }
}

/// All tables below a folder, in the order of their paths; of a table that is there in both forms the Parquet.
pub(super) fn tables_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut tables = Vec::new();
    walk(
        folder,
        |_| true,
        |entry| {
            let path = folder.join(entry.below);
            let has_parquet = || path.with_extension("parquet").is_file();
            let is_table =
                entry.name.ends_with("_perf.parquet") || (entry.name.ends_with("_perf.txt") && !has_parquet());
            if is_table && !entry.is_folder {
                tables.push(path);
            }
        },
    )?;
    tables.sort();
    Ok(tables)
}

/// A table as texts, column by column.
#[derive(Debug)]
pub(super) struct SourceTable {
    path: PathBuf,
    columns: Vec<(String, Vec<String>)>,
    rows: usize,
}

impl SourceTable {
    pub(super) fn read(path: &Path) -> Result<SourceTable, Error> {
        let columns = if path.extension().is_some_and(|extension| extension == "parquet") {
            parquet_columns(path)?
        } else {
            let table = Table::read(path, &ReadOptions::database())?;
            let cells = |at| table.rows().map(|row| row.cell(at).trim().to_owned()).collect();
            table.columns().iter().enumerate().map(|(at, name)| (name.trim().to_owned(), cells(at))).collect()
        };
        let rows = columns.first().map_or(0, |(_, cells): &(String, Vec<String>)| cells.len());
        Ok(SourceTable { path: path.to_owned(), columns, rows })
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows
    }

    /// The names of the columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The cells of a row.
    pub(super) fn cells(&self, row: usize) -> impl Iterator<Item = &str> {
        self.columns.iter().map(move |(_, cells)| cells[row].as_str())
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.columns().any(|name| name == column)
    }

    /// A cell.
    pub(super) fn text(&self, column: &str, row: usize) -> Result<&str, Error> {
        let found = self.columns.iter().find(|(name, _)| name == column);
        let (_, cells) = found.ok_or_else(|| Error::column(&self.path, column, "is missing"))?;
        Ok(&cells[row])
    }

    /// A size: an integer from 0.
    pub(super) fn size(&self, column: &str, row: usize) -> Result<u64, Error> {
        let text = self.text(column, row)?;
        // Older versions write integers of columns with gaps as 16.0.
        let integer = text.strip_suffix(".0").unwrap_or(text);
        integer.parse().map_err(|_| self.unfit(column, row, text, "no size"))
    }

    /// A number.
    pub(super) fn number(&self, column: &str, row: usize) -> Result<f64, Error> {
        let text = self.text(column, row)?;
        text.parse().map_err(|_| self.unfit(column, row, text, "no number"))
    }

    pub(super) fn unfit(&self, column: &str, row: usize, text: &str, what: &str) -> Error {
        let text = perfdb_files::escape::excerpt(text);
        Error::column(&self.path, column, format!("row {}: {text} is {what}", row + 1))
    }
}

fn parquet_columns(path: &Path) -> Result<Vec<(String, Vec<String>)>, Error> {
    let file = ParquetFile::open(path)?;
    let mut columns = Vec::new();
    for name in file.column_names() {
        let Some(values) = file.read_column(&name)? else { continue };
        fn texts<T: ToString>(cells: Vec<Option<T>>) -> Vec<String> {
            cells.into_iter().map(|cell| cell.map(|cell| cell.to_string()).unwrap_or_default()).collect()
        }
        let cells = match values {
            Values::Text(cells) => cells.into_iter().map(Option::unwrap_or_default).collect(),
            Values::Integer(cells) => texts(cells),
            Values::Real(cells) => texts(cells),
            Values::Truth(cells) => texts(cells),
        };
        columns.push((name, cells));
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_newer_and_older_versions() {
        for path in ["/x/h100_sxm/gemm/vllm/0.14.0/gemm_perf.parquet", "/x/h100_sxm/vllm/0.14.0/gemm_perf.txt"] {
            let expected = Origin { operator: "gemm".to_owned(), directory: "h100_sxm/vllm/0.14.0".into() };
            assert_eq!(Origin::of(path.as_ref()).unwrap(), expected);
        }
        assert!(Origin::of("/1/gemm_perf.txt".as_ref()).is_err());
    }
}
