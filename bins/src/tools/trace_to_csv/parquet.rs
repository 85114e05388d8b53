//! The same events as a table with typed columns, and as CSV in the same reading where both are wanted.

use crate::comparison::usable_cores;
use crate::table_file::{OpenTable, TableFile};
use crate::{Failure, error_line};
use perfdb_compare::event_table::{COLUMNS, EventCell, Selection, TableError, TablePart, read_events, read_selected};
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_report::event_table::{header_of, push_cells};
use perfdb_report::tables::{EventBatch, EventColumns};
use std::io::{self, Write as _};
use std::path::Path;

/// What comes of a piece of the trace.
#[derive(Default)]
struct Piece {
    csv: Vec<u8>,
    table: EventBatch,
}

/// The files while they are written.
struct Files<'t> {
    columns: &'t EventColumns,
    names: &'t [String],
    parquet: &'t TableFile,
    csv: Option<&'t Path>,
    open: Option<(OpenTable, Option<Staged>)>,
    has_rows: bool,
}

impl Files<'_> {
    /// Begins both files, those of a table before it are void.
    fn restart(&mut self) -> Result<(), Failure> {
        self.open = None;
        self.has_rows = false;
        let table = self.parquet.begin(self.columns.schema())?;
        let csv = self.csv.map(|path| -> Result<Staged, Failure> {
            let mut staged = Staged::create(path, Parents::MustExist)?;
            let header = header_of(self.names);
            staged.write_all(header.as_bytes()).map_err(|source| perfdb_files::Error::io(path, source))?;
            Ok(staged)
        });
        self.open = Some((table, csv.transpose()?));
        Ok(())
    }

    fn take(&mut self, part: TablePart<Piece>) -> Result<(), Failure> {
        let TablePart::Rows(Piece { csv, table: EventBatch { rows, misfit } }) = part else { return self.restart() };
        if let Some((column, cell)) = misfit {
            let cell = perfdb_files::escape::excerpt(&cell).to_string();
            let reason = format!("column {column} has {cell}, which is no number; leave it out with --columns");
            return Err(Failure::lines(vec![format!("--parquet: {reason}")]));
        }
        let Some((table, file)) = &mut self.open else { return Ok(()) };
        self.has_rows |= rows.row_count() > 0;
        table.write(rows)?;
        if let Some(file) = file {
            let path = file.path().to_owned();
            file.write_all(&csv).map_err(|source| perfdb_files::Error::io(path, source))?;
        }
        Ok(())
    }
}

/// Writes the events to the table, and to the CSV if there is one. Tells whether there is any.
pub(super) fn write(
    trace: &Path,
    selection: Option<&Selection>,
    csv: Option<&Path>,
    parquet: &TableFile,
) -> Result<bool, Failure> {
    let names = selection.map_or_else(|| COLUMNS.map(str::to_owned).into(), |selection| selection.columns.clone());
    let columns = EventColumns::of(&names)
        .map_err(|name| Failure::usage(format!("--parquet: two columns would be called {name}")))?;
    let mut files = Files { columns: &columns, names: &names, parquet, csv, open: None, has_rows: false };
    files.restart()?;
    let mut failure = None;
    let sink = |part| {
        files.take(part).map_err(|reason| {
            failure = Some(reason);
            io::Error::other("not written")
        })
    };
    let push = |piece: &mut Piece, row: &[EventCell<'_>]| {
        columns.push(&mut piece.table, row);
        if csv.is_some() {
            push_cells(&mut piece.csv, row);
        }
    };
    let read = match selection {
        None => read_events(trace, usable_cores(), |piece, row| push(piece, row), sink),
        Some(selection) => read_selected(trace, usable_cores(), selection, push, sink),
    };
    match (read, failure) {
        (_, Some(failure)) => return Err(failure),
        (Err(TableError::Sink(error)), _) => return Err(Failure::lines(vec![error_line(&error)])),
        (Err(TableError::Read(error)), _) => return Err(error.into()),
        (Ok(()), None) => {}
    }
    if let Some((table, csv)) = files.open {
        commit([table.finish()?].into_iter().chain(csv).collect())?;
    }
    Ok(files.has_rows)
}
