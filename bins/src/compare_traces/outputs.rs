//! Where the result of many traces goes: ranks, or runs before and after a change.

use std::path::Path;

use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_report::page::Page;
use perfdb_report::tables::Table;
use perfdb_tracediff::Format;

use super::parquet::ParquetTable;
use crate::{Failure, print, print_styled};

/// What is done with the result.
#[derive(Debug)]
pub(super) struct Outputs<'a> {
    /// The result; stdout otherwise.
    pub(super) result: Option<&'a Path>,
    /// Its form.
    pub(super) format: Format,
    /// The result as JSON, besides.
    pub(super) json: Option<&'a Path>,
    /// The result as a table, besides.
    pub(super) csv: Option<&'a Path>,
    /// The result as a page, besides.
    pub(super) page: Option<&'a Path>,
    /// The result as a table with typed columns, besides.
    pub(super) parquet: &'a [ParquetTable],
}

/// The result in each form.
pub(super) struct Forms<'r> {
    /// The text of a form.
    pub(super) text_in: &'r dyn Fn(Format) -> String,
    /// The table.
    pub(super) table: &'r dyn Fn() -> Table,
    /// The page.
    pub(super) page: &'r dyn Fn() -> Page,
}

impl Outputs<'_> {
    /// The files that are written.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let files = [self.result, self.json, self.csv, self.page];
        files.into_iter().flatten().chain(self.parquet.iter().map(ParquetTable::path))
    }

    /// Refuses, before there is any work, tables that cannot be written.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.parquet.iter().try_for_each(|table| Ok(table.of_many()?.check()?))
    }

    /// Writes all files or none, then stdout.
    pub(super) fn write(&self, Forms { text_in, table, page }: &Forms<'_>) -> Result<(), Failure> {
        let result = text_in(self.format);
        let stage = |path: &Path, text: &str| Staged::with(path, text.as_bytes(), Parents::MustExist);
        let texts = [
            self.json.map(|path| stage(path, &text_in(Format::Json))),
            self.csv.map(|path| stage(path, &text_in(Format::Csv))),
            self.result.map(|path| stage(path, &result)),
        ];
        let mut files = texts.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
        if let Some(path) = self.page {
            files.push(stage(path, &page().to_html()?)?);
        }
        for file in self.parquet {
            files.push(file.of_many()?.stage(table())?);
        }
        commit(files)?;
        if self.result.is_none() {
            if self.format == Format::Text { print_styled(&result)? } else { print(&result)? }
        }
        Ok(())
    }
}
