//! Databases of the public per-operator tables of AIConfigurator, so that there are durations of real GPUs to ask for.
//!
//! Its tables stand in folders `SYSTEM/FAMILY/FRAMEWORK/VERSION/` as Parquet, in older versions in `SYSTEM/FRAMEWORK/VERSION/` as CSV named
//! `.txt`. Read are products (`gemm`), attention, latent attention, experts and collectives; each of `SYSTEM/FRAMEWORK/VERSION` becomes a
//! database directory. Latencies are milliseconds there; durations are microseconds here. What is not a shape or type of a call (kernels,
//! distributions) is part of the kernel type's name, and behind perfdb's columns stand all of theirs but in collectives, whose tables have
//! columns of their own.

mod operators;
mod source;

use crate::parquet::database::Target;
use crate::parquet::error::Error;
use crate::table::{LineEnd, push_csv_row};
use operators::{COLLECTIVES, Form, Operator};
use perfdb_files::lock::LockOptions;
use source::{Origin, SourceTable, tables_below};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Converted {
    /// Database directories.
    pub databases: usize,
    /// Tables.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Rows without a duration, which no table takes.
    pub without_duration: usize,
    /// Names of tables of other operators, which were passed over.
    pub passed_over: BTreeSet<String>,
}

/// The tables of a database directory: kernel type to the content of its file.
type Tables = BTreeMap<String, Vec<u8>>;

/// Makes a database directory below `target` of every system, framework and version below `source`. All or nothing.
///
/// # Errors
/// When a table cannot be read or lacks a column, there is none, or a file that would be written is there already.
pub fn import(source: &Path, target: &Path, lock: &LockOptions<'_>) -> Result<Converted, Error> {
    let mut converted = Converted::default();
    let mut directories: BTreeMap<PathBuf, BTreeMap<String, PathBuf>> = BTreeMap::new();
    let tables = tables_below(source)?;
    let mut files = Target::open(target, lock)?;
    for path in tables {
        let origin = Origin::of(&path)?;
        let Some(operator) = Operator::of(&origin.operator) else {
            converted.passed_over.insert(origin.operator);
            continue;
        };
        let table = SourceTable::read(&path)?;
        let directory = target.join(&origin.directory);
        let mut tables = Tables::new();
        convert(&table, operator, &mut tables, &mut converted)?;
        for (mut kernel_type, content) in tables {
            let known = directories.entry(directory.clone()).or_default();
            // Some versions have the same collective by two libraries.
            if known.contains_key(&kernel_type) && operator.form() == Form::Collective {
                kernel_type = format!("{}_{}", kernel_type.trim_end_matches('_'), origin.operator);
            }
            let file = directory.join(format!("{kernel_type}.csv"));
            if let Some(other) = known.insert(kernel_type, path.clone()) {
                let reason = format!("{} has the same operators of the same version", other.display());
                return Err(Error::unfit(&path, reason));
            }
            files.add(&file, &content)?;
            converted.tables += 1;
        }
    }
    for (directory, kernel_types) in &directories {
        let mapping = mapping(directory, kernel_types.keys());
        files.add(&directory.join("op_mapping.yaml"), mapping.as_bytes())?;
    }
    converted.databases = directories.len();
    if directories.is_empty() {
        let reason = "no table of gemm, attention, mla, moe or a collective is here (*_perf.parquet or *_perf.txt)";
        return Err(Error::unfit(source, reason));
    }
    files.commit()?;
    Ok(converted)
}

/// Puts each row into the table of its kernel type.
fn convert(
    table: &SourceTable,
    operator: Operator,
    tables: &mut Tables,
    converted: &mut Converted,
) -> Result<(), Error> {
    let names = operator.kernel_types(table)?;
    let form = operator.form();
    for (row, kernel_type) in names.into_iter().enumerate() {
        let duration_us = table.number("latency", row)? * 1000.0;
        if !crate::duration::is_valid(duration_us) {
            converted.without_duration += 1;
            continue;
        }
        let mut cells = match form {
            Form::Compute => operator.compute_cells(table, row, duration_us)?,
            Form::Collective => operator.collective_cells(table, row, duration_us)?,
        };
        if form == Form::Compute {
            cells.extend(table.cells(row).map(str::to_owned));
        }
        let content = tables.entry(kernel_type).or_insert_with(|| {
            let mut header = Vec::new();
            let more = operator.more_columns().iter().map(|(name, _)| name);
            let own = form.columns().iter().chain(more).map(|name| (*name).to_owned());
            // Tables of collectives have no other columns than their own.
            let theirs = table.columns().filter(|_| form == Form::Compute).map(|name| format!("aiconfigurator {name}"));
            let columns: Vec<String> = own.chain(theirs).collect();
            push_csv_row(&mut header, columns.iter().map(String::as_str), LineEnd::CrLf);
            header
        });
        push_csv_row(content, cells.iter().map(String::as_str), LineEnd::CrLf);
        converted.rows += 1;
    }
    Ok(())
}

/// Operators that change how a tensor is seen and run no kernel.
const VIEWS: [&str; 14] = [
    "aten._unsafe_view.default",
    "aten.alias.default",
    "aten.detach.default",
    "aten.expand.default",
    "aten.permute.default",
    "aten.select.int",
    "aten.slice.Tensor",
    "aten.split.Tensor",
    "aten.split_with_sizes.default",
    "aten.squeeze.dim",
    "aten.t.default",
    "aten.transpose.int",
    "aten.unsqueeze.default",
    "aten.view.default",
];

/// The mapping of a database directory: products of matrices and collectives, whose operators are known, and views.
fn mapping<'k>(directory: &Path, kernel_types: impl Iterator<Item = &'k String> + Clone) -> String {
    let device = directory.ancestors().nth(2).and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let entry = |(operator, prefix, more): (&str, &str, &str)| {
        let mut named = kernel_types.clone().filter(|name| name.starts_with(prefix));
        // Servers capture their steps as graphs, where the same collective takes a third of the time.
        let graph = named.clone().find(|name| name.ends_with("_graph"));
        let kernel_type = graph.or_else(|| named.next())?;
        Some(format!("  {operator}:\n    kernel_type: {kernel_type}\n{more}"))
    };
    let collectives =
        COLLECTIVES.map(|(_, kernel_type, operator)| (operator, kernel_type, "    category: communication\n"));
    let products = [("aten.mm.default", "gemm_bfloat16", "")];
    let measured: String = products.into_iter().chain(collectives).filter_map(entry).collect();
    let views: String = VIEWS.iter().map(|operator| format!("  {operator}:\n    zero_cost: true\n")).collect();
    format!(
        "# Made by import-database of tables of AIConfigurator.\nversion: \"1.0\"\ndevice: {device}\noperator_mappings:\n{measured}{views}"
    )
}
