//! Whether a row would answer a question.

use crate::coverage::Error;
use perfdb_files::folders::{PrivateFolder, private};
use perfdb_query::{Database, Layer, Query, ReaderSemantics, Source};
use perfdb_store::columns::DURATIONS;
use perfdb_store::table::{LineEnd, Table, push_csv_row};
use std::path::Path;

/// A database with nothing but the row that is looked at.
pub(super) struct Proof {
    folder: PrivateFolder,
}

const MAPPING: &str = "op_mapping.yaml";

impl Proof {
    /// With the mapping of a database.
    pub(super) fn new(directory: &Path) -> Result<Proof, Error> {
        let folder = private("perfdb-proof-").map_err(|error| perfdb_files::Error::io(std::env::temp_dir(), error))?;
        let mapping = directory.join(MAPPING);
        if mapping.is_file() {
            let copied = std::fs::copy(&mapping, folder.path().join(MAPPING));
            copied.map_err(|error| perfdb_files::Error::io(&mapping, error))?;
        }
        Ok(Proof { folder })
    }

    /// Whether the row, once it has a duration, is an exact answer.
    pub(super) fn answers(
        &self,
        kernel_type: &str,
        table: &Table,
        cells: &[String],
        query: &Query,
    ) -> Result<bool, Error> {
        let Some(duration) = DURATIONS.iter().find_map(|name| table.column(name)) else { return Ok(false) };
        let mut content = Vec::new();
        push_csv_row(&mut content, table.columns().iter().map(String::as_str), LineEnd::Lf);
        let with_duration = cells.iter().enumerate().map(|(at, cell)| if at == duration { "1" } else { cell.as_str() });
        push_csv_row(&mut content, with_duration, LineEnd::Lf);
        let Some(name) = table.path().file_name() else { return Ok(false) };
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).map_err(|error| perfdb_files::Error::io(&path, error))?;
        let reader = Database::open(self.folder.path())?.reader(ReaderSemantics::Corrected, Layer::Measured);
        let answer = reader.lookup(query);
        std::fs::remove_file(&path).map_err(|error| perfdb_files::Error::io(&path, error))?;
        Ok(answer.is_ok_and(|answer| {
            answer.source == Source::Measured
                && !answer.is_padded()
                && !answer.rule.is_some_and(|rule| rule.contains("padding"))
                && answer.kernel_type().is_some_and(|own| own == kernel_type)
        }))
    }
}
