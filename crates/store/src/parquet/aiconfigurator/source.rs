//! Where the tables stand, and their cells.

use crate::parquet::error::Error;
use crate::parquet::read::ParquetFile;
use crate::table::{ReadOptions, Table};
use perfdb_files::tables::Values;
use perfdb_files::walk::walk;
use std::path::{Path, PathBuf};

/// The folders between a system and its frameworks in newer versions, and the operators that stand in each.
const FAMILIES: [(&str, &[&str]); 14] = [
    ("attention", &["context_attention", "generation_attention"]),
    (
        "comm",
        &[
            "custom_allreduce",
            "nccl",
            "oneccl",
            "trtllm_alltoall",
            "wideep_deepep_ll",
            "wideep_deepep_normal",
            "moe_a2a",
        ],
    ),
    ("encoder_attention", &["encoder_attention"]),
    ("gemm", &["gemm"]),
    ("kda", &["kda"]),
    ("linear_attention", &["gdn", "mamba2"]),
    ("mhc", &["mhc_module"]),
    (
        "mla",
        &[
            "context_mla",
            "generation_mla",
            "mla_context_module",
            "mla_generation_module",
            "wideep_context_mla",
            "wideep_generation_mla",
        ],
    ),
    ("mla_bmm", &["mla_bmm"]),
    ("mlp", &["wideep_context_mlp", "wideep_generation_mlp"]),
    ("moe", &["dsv4_megamoe_module", "moe", "wideep_context_moe", "wideep_generation_moe", "wideep_moe"]),
    ("msa", &["msa_context_module", "msa_generation_module"]),
    ("quantize", &["computescale", "scale_matrix"]),
    (
        "sparse_attention",
        &[
            "dsa_context_module",
            "dsa_generation_module",
            "dsv4_csa_context_module",
            "dsv4_csa_generation_module",
            "dsv4_csa_topk_calib",
            "dsv4_hca_attn_module",
            "dsv4_hca_context_module",
            "dsv4_hca_generation_module",
            "dsv4_paged_mqa_logits_module",
            "glm5_dsa_attn_module",
            "glm5_mqa_logits_module",
            "glm5_topk_module",
        ],
    ),
];

/// The column in which an export keeps the deviation of repeated durations, in milliseconds.
pub(super) const LATENCY_STD: &str = "latency_std";

/// The folder of an operator.
pub(super) fn family(operator: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(_, operators)| operators.contains(&operator)).map(|(family, _)| *family)
}

/// Whether a folder is one of operators.
pub(super) fn is_family(folder: &str) -> bool {
    FAMILIES.iter().any(|(family, _)| *family == folder)
}

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
        if system.and_then(std::ffi::OsStr::to_str).is_some_and(is_family) {
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
#[derive(Debug, Default)]
pub(super) struct SourceTable {
    pub(super) path: PathBuf,
    pub(super) columns: Vec<(String, Vec<String>)>,
    pub(super) rows: usize,
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
        Ok(SourceTable::of_columns(path, columns))
    }

    /// A table of these columns, all of one length.
    pub(super) fn of_columns(path: &Path, columns: Vec<(String, Vec<String>)>) -> SourceTable {
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        SourceTable { path: path.to_owned(), columns, rows }
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows
    }

    /// The names of the columns, but that of deviations.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str()).filter(|name| *name != LATENCY_STD)
    }

    /// The cells of a row in these columns.
    pub(super) fn cells(&self, row: usize) -> impl Iterator<Item = &str> {
        self.columns.iter().filter(|(name, _)| name != LATENCY_STD).map(move |(_, cells)| cells[row].as_str())
    }

    /// The deviation of a row in microseconds, where there is one.
    pub(super) fn deviation_us(&self, row: usize) -> Option<f64> {
        let (_, cells) = self.columns.iter().find(|(name, _)| name == LATENCY_STD)?;
        cells[row].parse().ok().map(|ms: f64| ms * 1000.0).filter(|us| us.is_finite())
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
