//! Whether a row would answer a question.

use crate::coverage::Error;
use perfdb_files::Error as FileError;
use perfdb_files::folders::{PrivateFolder, private};
use perfdb_query::{Answer, Database, Layer, LookupError, Query, ReaderSemantics, Source};
use perfdb_store::columns::DURATIONS;
use perfdb_store::table::{LineEnd, Table, push_csv_row};
use std::io::ErrorKind;
use std::path::Path;

/// A database with nothing but the row that is looked at.
pub(super) struct Proof {
    folder: PrivateFolder,
}

const MAPPING: &str = "op_mapping.yaml";

impl Proof {
    /// With the mapping of a database.
    pub(super) fn new(directory: &Path) -> Result<Proof, Error> {
        let folder = private("perfdb-proof-").map_err(|error| FileError::io(std::env::temp_dir(), error))?;
        let mapping = directory.join(MAPPING);
        match std::fs::copy(&mapping, folder.path().join(MAPPING)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(FileError::io(&mapping, error).into()),
            _ => {}
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
        std::fs::write(&path, content).map_err(|error| FileError::io(&path, error))?;
        let reader = Database::open(self.folder.path())?.reader(ReaderSemantics::Corrected, Layer::Measured);
        let answer = reader.lookup(query);
        std::fs::remove_file(&path).map_err(|error| FileError::io(&path, error))?;
        is_exact(answer, kernel_type)
    }
}

/// Whether an answer is the row itself. A table that the system refuses to read proves nothing.
fn is_exact(answer: Result<Answer, LookupError>, kernel_type: &str) -> Result<bool, Error> {
    match answer {
        Ok(answer) => Ok(answer.source == Source::Measured
            && !answer.is_padded()
            && !answer.rule.is_some_and(|rule| rule.contains("padding"))
            && answer.kernel_type().is_some_and(|own| own == kernel_type)),
        Err(miss) if miss.is_unreadable() => Err(Error::Unproven { reason: miss.to_string() }),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_cannot_be_read_is_an_error_and_no_missing_answer() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let query = Query::kernel("Add");
        let ask = || -> Result<Result<Answer, LookupError>, perfdb_query::Error> {
            Ok(Database::open(folder.path())?.reader(ReaderSemantics::Corrected, Layer::Measured).lookup(&query))
        };
        assert!(!is_exact(ask()?, "Add")?);
        std::fs::write(folder.path().join("Add.csv"), "Input Shapes,Average Duration(us)\n1,2,3\n")?;
        let error = is_exact(ask()?, "Add").expect_err("the table has a row that is too long");
        assert!(error.to_string().contains("Add.csv:2"), "{error}");
        Ok(())
    }
}
