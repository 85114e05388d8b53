//! `--parquet [TABLE=]FILE`.

use crate::Failure;
use crate::path_argument::path;
use crate::table_file::TableFile;
use clap::builder::TypedValueParser;
use perfdb_files::replace::Staged;
use perfdb_files::tables::{push, schema};
use perfdb_report::tables::{Table, kernel_columns, layers, operations};
use perfdb_tracediff::{Document, PhaseFilter, Trace, events};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Rows that are collected before they are handed on.
const BATCH_ROWS: usize = 1 << 14;

/// Which table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Operations,
    Kernels,
    Layers,
}

/// A table that is asked for, and its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParquetTable {
    kind: Kind,
    path: PathBuf,
}

impl ParquetTable {
    /// Reads `[TABLE=]FILE`. A word before the first `=` has to be a table's, so that a wrong one does not end up in the name
    /// of a file; what has a slash or a point in it is part of the file's name.
    pub fn parser() -> impl TypedValueParser<Value = ParquetTable> {
        path().try_map(|path: PathBuf| {
            let tables = [("operations", Kind::Operations), ("kernels", Kind::Kernels), ("layers", Kind::Layers)];
            let text = path.as_os_str().as_bytes();
            let Some(at) = text.iter().position(|byte| *byte == b'=') else {
                return Ok(ParquetTable { kind: Kind::Operations, path });
            };
            let (word, file) = (&text[..at], &text[at + 1..]);
            if let Some((_, kind)) = tables.into_iter().find(|(name, _)| name.as_bytes() == word) {
                return Ok(ParquetTable { kind, path: std::ffi::OsStr::from_bytes(file).into() });
            }
            if !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic) && !file.contains(&b'/') {
                Err(format!(
                    "there are tables operations, kernels and layers, and no {}; a file of that name is ./{}",
                    String::from_utf8_lossy(word),
                    path.display()
                ))
            } else {
                Ok(ParquetTable { kind: Kind::Operations, path })
            }
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a result of many traces, which has one table.
    pub(super) fn of_many(&self) -> Result<TableFile, Failure> {
        match self.kind {
            Kind::Operations => TableFile::of("compare-traces", &self.path),
            Kind::Kernels | Kind::Layers => {
                Err(Failure::usage("--parquet: kernels and layers are tables of two traces"))
            }
        }
    }

    /// The file, if this program can write it.
    pub(super) fn file(&self) -> Result<(Kind, TableFile), Failure> {
        Ok((self.kind, TableFile::of("compare-traces", &self.path)?))
    }
}

/// Stages a table.
pub(super) fn stage(
    kind: Kind,
    file: &TableFile,
    document: &Document,
    traces: [&Trace; 2],
    phase: PhaseFilter,
) -> Result<Staged, Failure> {
    let of_document = |table: Option<Table>| {
        let table = table.ok_or_else(|| Failure::usage("--parquet: this result has no operations and no layers"))?;
        Ok(file.stage(table)?)
    };
    match kind {
        Kind::Operations => of_document(operations(document)),
        Kind::Layers => of_document(layers(document)),
        Kind::Kernels => stage_kernels(file, traces, phase),
    }
}

fn stage_kernels(file: &TableFile, traces: [&Trace; 2], phase: PhaseFilter) -> Result<Staged, Failure> {
    let schema = schema("kernels", &kernel_columns());
    let mut table = file.begin(&schema)?;
    let mut batch = schema.batch();
    events(traces[0], traces[1], phase, |row| {
        push(&kernel_columns(), &mut batch, &row);
        match batch.row_count() {
            BATCH_ROWS.. => Ok::<_, Failure>(table.write(std::mem::replace(&mut batch, schema.batch()))?),
            _ => Ok(()),
        }
    })?;
    table.write(batch)?;
    Ok(table.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};

    #[test]
    fn a_table_is_named_in_front_of_the_file() {
        let command = || Command::new("c").arg(Arg::new("t").value_parser(ParquetTable::parser()));
        for (text, kind, file) in [
            ("a.parquet", Kind::Operations, "a.parquet"),
            ("kernels=a=b", Kind::Kernels, "a=b"),
            ("layers=l", Kind::Layers, "l"),
            ("./other=l", Kind::Operations, "./other=l"),
            ("run=3/l", Kind::Operations, "run=3/l"),
            ("a-1=l", Kind::Operations, "a-1=l"),
        ] {
            let matches = command().try_get_matches_from(["c", text]).unwrap();
            let expected = ParquetTable { kind, path: file.into() };
            assert_eq!(matches.get_one::<ParquetTable>("t"), Some(&expected), "{text}");
        }
        let error = command().try_get_matches_from(["c", "kernel=l"]).unwrap_err().to_string();
        assert!(error.contains("no kernel; a file of that name is ./kernel=l"), "{error}");
    }
}
