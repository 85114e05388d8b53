//! The rows of a Parquet file as records of a table.

use super::cells::{is_same, is_whole, text};
use super::{AS_WRITTEN, CSV, DURATION, FIRST, FORMAT_VERSION, KERNEL_TYPE, LINE, Written};
use crate::columns;
use crate::dtype::DType;
use crate::duration;
use crate::parquet::error::Error;
use crate::parquet::read::ParquetFile;
use crate::table::{LineEnd, ReadOptions, Table, push_csv_row};
use perfdb_files::tables::Values;
use perfdb_pycompat::float::repr;
use std::path::Path;

/// The columns of a table by the names that they have in Python and in queries.
const SPELLINGS: [(&str, &str); 8] = [
    ("input_shapes", columns::INPUT_SHAPES),
    ("input_data_types", columns::INPUT_TYPES),
    ("data_types", columns::INPUT_TYPES),
    ("input_formats", columns::INPUT_FORMATS),
    ("output_shapes", columns::OUTPUT_SHAPES),
    ("output_data_types", columns::OUTPUT_TYPES),
    ("output_formats", columns::OUTPUT_FORMATS),
    ("ep_size", columns::EP_SIZE),
];

/// The records of one kernel type.
#[derive(Debug)]
pub(super) struct Records {
    /// The name of the table's file, without its ending; `None` where it is that of the Parquet file.
    pub(super) table: Option<String>,
    /// What stands before the first row.
    pub(super) header: Vec<u8>,
    /// The rows, in order.
    pub(super) rows: Vec<u8>,
    pub(super) row_count: usize,
    line_end: LineEnd,
}

impl Records {
    /// The whole table.
    pub(super) fn bytes(&self) -> Vec<u8> {
        [self.header.as_slice(), &self.rows].concat()
    }

    /// Adds the rows of another file of the same table; whether it has the same columns.
    pub(super) fn append(&mut self, other: &Records) -> bool {
        if self.header != other.header {
            return false;
        }
        end_line(&mut self.rows, self.line_end);
        self.rows.extend_from_slice(&other.rows);
        self.row_count += other.row_count;
        true
    }
}

/// The last row of a file may end without a line end, and may not be the last one any more.
fn end_line(rows: &mut Vec<u8>, line_end: LineEnd) {
    if !matches!(rows.last(), None | Some(b'\n' | b'\r')) {
        rows.extend_from_slice(line_end.as_str().as_bytes());
    }
}

/// The tables of a file: one, or of a file that export-database has not written one for each kernel type.
pub(super) fn of_file(file: &ParquetFile) -> Result<Vec<Records>, Error> {
    let content = Content::read(file)?;
    let Some(kernels) = &content.kernels else { return Ok(vec![content.records(None)?]) };
    let mut names: Vec<&str> = Vec::new();
    for (row, name) in kernels.iter().enumerate() {
        match name.as_deref() {
            None | Some("") => {
                return Err(Error::column(file.path(), KERNEL_TYPE, format!("is empty in row {}", row + 1)));
            }
            Some(name) if !names.contains(&name) => names.push(name),
            Some(_) => {}
        }
    }
    names.into_iter().map(|name| content.records(Some(name))).collect()
}

/// What a file holds.
struct Content<'f> {
    path: &'f Path,
    written: Written,
    /// Whether the file says how its table was written.
    is_export: bool,
    line_end: LineEnd,
    columns: Vec<Values>,
    durations: Option<Vec<Option<f64>>>,
    as_written: Option<Vec<Option<String>>>,
    /// The kernel type of each row, where they are to be told apart.
    kernels: Option<Vec<Option<String>>>,
    rows: usize,
}

impl<'f> Content<'f> {
    fn read(file: &'f ParquetFile) -> Result<Content<'f>, Error> {
        let path = file.path();
        let note = file.note(CSV);
        let texts = |name: &str| match file.read_column(name)? {
            Some(Values::Text(cells)) => Ok(Some(cells)),
            Some(_) => Err(Error::column(path, name, "is not text")),
            None => Ok(None),
        };
        let as_written = texts(AS_WRITTEN)?;
        let written = match note {
            Some(note) => of_note(path, note)?,
            None => of_header(file, as_written.as_deref())?,
        };
        if note.is_some() && as_written.is_none() {
            return Err(Error::column(path, AS_WRITTEN, "is missing"));
        }
        let line_end =
            [LineEnd::CrLf, LineEnd::Lf, LineEnd::Cr].into_iter().find(|end| end.as_str() == written.line_end);
        let line_end = line_end.ok_or_else(|| Error::unfit(path, "metadata: no line end"))?;
        let column = |(_, name): &(String, String)| {
            file.read_column(name)?.ok_or_else(|| Error::column(path, name, "is missing"))
        };
        let columns = written.columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let durations = match file.read_column(DURATION)? {
            Some(Values::Real(cells)) => Some(cells),
            Some(Values::Integer(cells)) => Some(cells.into_iter().map(|cell| cell.map(|us| us as f64)).collect()),
            // A file without rows has values of no kind.
            Some(values) if values.is_empty() => Some(Vec::new()),
            Some(_) => return Err(Error::column(path, DURATION, "is not a number")),
            None => None,
        };
        check_header(path, &written)?;
        let kernels = if note.is_some() { None } else { texts(KERNEL_TYPE)? };
        let rows = file.row_count()?;
        Ok(Content {
            path,
            is_export: note.is_some(),
            written,
            line_end,
            columns,
            durations,
            as_written,
            kernels,
            rows,
        })
    }

    /// The records of a kernel type, or all.
    fn records(&self, kernel_type: Option<&str>) -> Result<Records, Error> {
        let is_own = |row: usize| match (&self.kernels, kernel_type) {
            (Some(kernels), Some(kernel_type)) => kernels[row].as_deref() == Some(kernel_type),
            _ => true,
        };
        let mut rows = Vec::new();
        let mut row_count = 0;
        for row in (0..self.rows).filter(|row| is_own(*row)) {
            end_line(&mut rows, self.line_end);
            self.push(&mut rows, row)?;
            row_count += 1;
        }
        let mut header = self.written.header.clone().into_bytes();
        if row_count > 0 {
            end_line(&mut header, self.line_end);
        }
        let table = kernel_type.map(str::to_owned).or_else(|| self.written.table.clone());
        Ok(Records { table, header, rows, row_count, line_end: self.line_end })
    }

    /// Writes a row: its record where no cell was changed.
    fn push(&self, out: &mut Vec<u8>, row: usize) -> Result<(), Error> {
        let record = self.as_written.as_ref().and_then(|records| records[row].as_deref());
        let before = record.and_then(|record| Some((record, cells_of(&self.written.header, record)?)));
        let mut is_changed = before.is_none();
        let mut cells: Vec<String> = Vec::with_capacity(self.columns.len());
        for (at, values) in self.columns.iter().enumerate() {
            let own = before.as_ref().map(|(_, cells)| cells[at].as_str());
            match own {
                Some(own) if is_same(values, row, own) => cells.push(own.to_owned()),
                _ => {
                    is_changed = true;
                    let was_whole = own.is_some_and(|own| own.trim().parse::<i64>().is_ok());
                    let as_whole = was_whole || is_whole(&self.written.columns[at].0, values);
                    let cell = text(values, row, as_whole);
                    let has_types =
                        [columns::INPUT_TYPES, columns::OUTPUT_TYPES].contains(&&*self.written.columns[at].0);
                    cells.push(if has_types && !self.is_export && before.is_none() { in_tables(&cell) } else { cell });
                }
            }
        }
        if let Some(durations) = &self.durations {
            let given = durations[row].filter(|us| !us.is_nan());
            is_changed |=
                self.put_duration(row, given, before.as_ref().map(|(_, cells)| cells.as_slice()), &mut cells)?;
        }
        match before {
            Some((record, _)) if !is_changed => out.extend_from_slice(record.as_bytes()),
            _ => push_csv_row(out, cells.iter().map(String::as_str), self.line_end),
        }
        Ok(())
    }

    /// Puts a duration that was changed into the column that it came from; whether it was.
    fn put_duration(
        &self,
        row: usize,
        given: Option<f64>,
        before: Option<&[String]>,
        cells: &mut [String],
    ) -> Result<bool, Error> {
        // Cells of the first form are what counts: whether they or the duration were changed cannot be told.
        if before.is_none() && self.is_export && self.written.format_version == 1 {
            return Ok(false);
        }
        let column = |name: &&str| self.written.columns.iter().position(|(own, _)| own == name);
        let places: Vec<usize> = columns::DURATIONS.iter().filter_map(column).collect();
        let is_valid = |cell: &str| duration::is_valid(duration::number(cell));
        let found = |cells: &[String]| places.iter().copied().find(|place| is_valid(&cells[*place]));
        let was = before.and_then(|before| found(before).map(|place| (place, duration::number(&before[place]))));
        if before.is_some() && given == was.map(|(_, us)| us) {
            return Ok(false);
        }
        let now = found(cells).map(|place| (place, duration::number(&cells[place])));
        let conflict = |place: usize, us: f64| {
            let name = &self.written.columns[place].0;
            let given = given.map_or("empty".to_owned(), repr);
            let reason =
                format!("row {}: duration_us is {given} and {name} is {}; change one of them", row + 1, repr(us));
            Error::unfit(self.path, reason)
        };
        match (was, now, given) {
            // A row that is new: its cells say it already, or nothing does.
            (None, Some((_, us)), Some(given)) if us == given => return Ok(false),
            (None, Some((place, us)), Some(_)) => return Err(conflict(place, us)),
            (None, _, None) => return Ok(false),
            (Some((place, us)), Some((_, other)), _) if us != other && given != Some(other) => {
                return Err(conflict(place, other));
            }
            (Some(_), Some((_, other)), Some(given)) if given == other => return Ok(true),
            _ => {}
        }
        let place = was.map(|(place, _)| place).or(places.first().copied());
        let none = || Error::column(self.path, DURATION, "is a duration of a table that has no column for one");
        cells[place.ok_or_else(none)?] = given.map(repr).unwrap_or_default();
        Ok(true)
    }
}

/// Data types as tables spell them. Names of profilers stay, and those that nobody knows.
fn in_tables(types: &str) -> String {
    let spelled = types.split(';').map(|name| match name.trim().parse::<DType>() {
        Ok(dtype) if DType::from_database(name).is_none() => dtype.table_name(),
        _ => name,
    });
    spelled.collect::<Vec<_>>().join(";")
}

/// The cells of a record; `None` if it is not one record of these columns.
fn cells_of(header: &str, record: &str) -> Option<Vec<String>> {
    let line_end = if header.ends_with(['\n', '\r']) || header.is_empty() { "" } else { "\n" };
    let text = [header, line_end, record].concat();
    let table = Table::parse(Path::new(""), text.into_bytes(), &ReadOptions::database()).ok()?;
    (table.row_count() == 1).then(|| table.row(0).cells().map(str::to_owned).collect())
}

/// How the table was written, as the file itself says.
fn of_note(path: &Path, note: &str) -> Result<Written, Error> {
    let written: Written =
        serde_json::from_str(note).map_err(|error| Error::unfit(path, format!("metadata {CSV}: {error}")))?;
    if written.format_version > FORMAT_VERSION {
        let reason =
            format!("form {} is newer than this program, which knows {FORMAT_VERSION}", written.format_version);
        return Err(Error::unfit(path, reason));
    }
    Ok(written)
}

/// How the table of a file of another program is written: its columns by their names, those that export-database adds left out.
fn of_header(file: &ParquetFile, as_written: Option<&[Option<String>]>) -> Result<Written, Error> {
    let mut columns: Vec<(String, String)> = Vec::new();
    for name in file.column_names() {
        if FIRST.contains(&name.as_str()) || name == AS_WRITTEN || name == LINE || name.starts_with("__index_level_") {
            continue;
        }
        let known = SPELLINGS.iter().find(|(spelling, _)| *spelling == name);
        columns.push((known.map_or(name.clone(), |(_, own)| (*own).to_owned()), name));
    }
    let has = |name: &str| columns.iter().any(|(own, _)| own == name);
    let is_table = has(columns::INPUT_SHAPES) || has("message_bytes");
    let has_duration = columns::DURATIONS.iter().any(|name| has(name));
    if !is_table || !(has_duration || file.column_names().iter().any(|name| name == DURATION)) {
        let reason = "has no columns of a table: it needs input_shapes (or \"Input Shapes\"), or message_bytes for a collective, and \
                      duration_us (or \"Average Duration(us)\")";
        return Err(Error::unfit(file.path(), reason));
    }
    // The duration has a column of its own name in the table.
    if !has_duration {
        let own = if has("message_bytes") { columns::COMMUNICATION_DURATION } else { columns::MEASURED_DURATION };
        columns.push((own.to_owned(), DURATION.to_owned()));
    }
    let record = as_written.and_then(|records| records.iter().flatten().next());
    let line_end = match record {
        Some(record) if !record.contains('\r') => LineEnd::Lf,
        _ => LineEnd::CrLf,
    };
    let mut header = Vec::new();
    push_csv_row(&mut header, columns.iter().map(|(name, _)| name.as_str()), line_end);
    Ok(Written {
        format_version: FORMAT_VERSION,
        header: String::from_utf8_lossy(&header).into_owned(),
        line_end: line_end.as_str().to_owned(),
        columns,
        table: None,
    })
}

/// Refuses a header that names other columns than are listed.
fn check_header(path: &Path, written: &Written) -> Result<(), Error> {
    let table = Table::parse(path, written.header.clone().into_bytes(), &ReadOptions::database())?;
    if table.row_count() > 0 || !table.columns().iter().eq(written.columns.iter().map(|(column, _)| column)) {
        return Err(Error::unfit(path, "metadata: the header has other columns than are listed"));
    }
    Ok(())
}
