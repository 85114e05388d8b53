//! Where the result of many traces goes: ranks, or runs before and after a change.

use std::path::Path;

use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_tracediff::Format;

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
}

impl Outputs<'_> {
    /// The files that are written.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        [self.result, self.json, self.csv].into_iter().flatten()
    }

    /// Writes what `text_in` says in a form: all files or none, then stdout.
    pub(super) fn write(&self, text_in: impl Fn(Format) -> String) -> Result<(), Failure> {
        let result = text_in(self.format);
        let stage = |path: &Path, text: &str| Staged::with(path, text.as_bytes(), Parents::MustExist);
        let files = [
            self.json.map(|path| stage(path, &text_in(Format::Json))),
            self.csv.map(|path| stage(path, &text_in(Format::Csv))),
            self.result.map(|path| stage(path, &result)),
        ];
        commit(files.into_iter().flatten().collect::<Result<_, _>>()?)?;
        if self.result.is_none() {
            if self.format == Format::Text { print_styled(&result)? } else { print(&result)? }
        }
        Ok(())
    }
}
