//! The events as CSV, in a file or on standard output.

use crate::comparison::usable_cores;
use crate::{Failure, print_bytes};
use perfdb_compare::event_table::{Selection, TableError, TablePart, read_events, read_selected};
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_report::event_table::{header, header_of, push_cells, push_event};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// Writes the file. Tells whether there is any row; without a selection the default columns of all processes are asked for.
pub(super) fn write(trace: &Path, selection: Option<&Selection>, output: &Path) -> Result<bool, Failure> {
    let mut staged = Some(Staged::create(output, Parents::MustExist)?);
    let has_rows = read(trace, selection, &output.display().to_string(), |part| {
        if let TablePart::Restart = part {
            staged = None;
            staged = Some(Staged::create(output, Parents::MustExist).map_err(io::Error::other)?);
        }
        staged.as_mut().map_or(Ok(()), |staged| write_part(staged, part, selection))
    })?;
    commit(staged.into_iter().collect())?;
    Ok(has_rows)
}

/// Prints the table. Nothing is printed before the whole trace has been read: a large table waits in a file without a name.
pub(super) fn print(trace: &Path, selection: Option<&Selection>) -> Result<bool, Failure> {
    const IN_MEMORY: usize = 8 << 20;
    let mut spool = tempfile::SpooledTempFile::new(IN_MEMORY);
    let has_rows = read(trace, selection, "temporary file", |part| {
        if let TablePart::Restart = part {
            spool.rewind()?;
            spool.set_len(0)?;
        }
        write_part(&mut spool, part, selection)
    })?;
    spool.rewind()?;
    let mut piece = vec![0; 1 << 16];
    loop {
        match spool.read(&mut piece)? {
            0 => return Ok(has_rows),
            count => print_bytes(piece.get(..count).unwrap_or_default())?,
        }
    }
}

fn write_part(out: &mut impl Write, part: TablePart<Vec<u8>>, selection: Option<&Selection>) -> io::Result<()> {
    match part {
        TablePart::Rows(rows) => out.write_all(&rows),
        TablePart::Restart => {
            let header = selection.map_or_else(header, |selection| header_of(&selection.columns));
            out.write_all(header.as_bytes())
        }
    }
}

/// Reads the trace into a sink; the table starts with a [`TablePart::Restart`].
fn read(
    trace: &Path,
    selection: Option<&Selection>,
    target: &str,
    mut sink: impl FnMut(TablePart<Vec<u8>>) -> io::Result<()>,
) -> Result<bool, Failure> {
    let unwritable = |error: io::Error| Failure::lines(vec![format!("{target}: {error}")]);
    sink(TablePart::Restart).map_err(unwritable)?;
    let mut has_rows = false;
    let sink = |part: TablePart<Vec<u8>>| {
        match &part {
            TablePart::Rows(rows) => has_rows |= !rows.is_empty(),
            TablePart::Restart => has_rows = false,
        }
        sink(part)
    };
    let read = match selection {
        None => read_events(trace, usable_cores(), push_event, sink),
        Some(selection) => read_selected(trace, usable_cores(), selection, push_cells, sink),
    };
    read.map_err(|error| match error {
        TableError::Read(error) => error.into(),
        TableError::Sink(error) => unwritable(error),
    })?;
    Ok(has_rows)
}
