//! Makes the new rows of a table and writes the table with them.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use perfdb_files::replace::{Parents, Staged};
use perfdb_store::Error as StoreError;
use perfdb_store::table::{LineEnd, RowStream, push_csv_row};

use super::duplicates::Signatures;
use super::head::Head;
use super::row_text::{RowCells, RowText};
use super::template_row::TemplateRow;
use crate::candidate::Candidate;
use crate::enumeration::{Enumeration, Maker};
use crate::error::Error;
use crate::template::check_count;

/// How much is collected before it is written.
const CHUNK_BYTES: usize = 1 << 18;

/// A table that grows.
pub(crate) struct Growth<'a> {
    pub(crate) path: &'a Path,
    pub(crate) kernel: &'a str,
    pub(crate) head: Head,
    pub(crate) enumeration: Enumeration<'a>,
    pub(crate) template: TemplateRow,
    pub(crate) text: RowText,
    /// Decides which rows may be written; `None` takes all.
    pub(crate) filter: Option<RowFilter<'a>>,
}

/// Decides whether a row may be written. It is called with the kernel, the columns and the cells, without quotes around slots.
pub type RowFilter<'a> = &'a (dyn Fn(&str, &[String], &[&str]) -> bool + Sync);

/// What became of the candidates that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// The rows that are new, and the positions of their candidates.
    pub(crate) rows: NewRows,
    pub(crate) positions: Vec<u64>,
    pub(crate) over_budget: u64,
    pub(crate) refused: u64,
    pub(crate) duplicates: u64,
}

/// New rows, as compact text, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct NewRows {
    texts: String,
    sort_keys: Vec<u8>,
    rows: Vec<NewRow>,
}

#[derive(Debug)]
struct NewRow {
    /// Where the row's texts and sort key end; they begin where those of the row before end.
    inputs_end: usize,
    outputs_end: usize,
    key_end: usize,
    own: Arc<[String]>,
}

impl NewRows {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    fn start(&self, index: usize) -> (usize, usize) {
        index.checked_sub(1).map_or((0, 0), |before| (self.rows[before].outputs_end, self.rows[before].key_end))
    }

    fn cells(&self, index: usize) -> RowCells<'_> {
        let row = &self.rows[index];
        RowCells {
            inputs: &self.texts[self.start(index).0..row.inputs_end],
            outputs: &self.texts[row.inputs_end..row.outputs_end],
            own: &row.own,
        }
    }

    fn sort_key(&self, index: usize) -> &[u8] {
        &self.sort_keys[self.start(index).1..self.rows[index].key_end]
    }

    fn push(&mut self, candidate: &Candidate) {
        candidate.inputs.push_text(&mut self.texts);
        let inputs_end = self.texts.len();
        candidate.outputs.push_text(&mut self.texts);
        candidate.inputs.push_sort_key(&mut self.sort_keys);
        self.rows.push(NewRow {
            inputs_end,
            outputs_end: self.texts.len(),
            key_end: self.sort_keys.len(),
            own: Arc::clone(&candidate.cells),
        });
    }

    fn pop(&mut self) {
        self.rows.pop();
        let (text, key) = self.start(self.rows.len());
        self.texts.truncate(text);
        self.sort_keys.truncate(key);
    }

    /// By input shapes; rows with equal ones keep their order.
    fn sorted(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|left, right| self.sort_key(*left).cmp(self.sort_key(*right)));
        order
    }
}

impl Growth<'_> {
    /// Whether this many candidates can be looked at one by one.
    pub(crate) fn check_count(&self, count: u64) -> Result<(), Error> {
        check_count(count).map_err(|error| self.enumeration.error(error, self.path))
    }

    /// The signatures of the rows that the file has.
    pub(crate) fn existing_signatures(&self, bytes: &[u8]) -> Result<Signatures<'_>, Error> {
        let mut signatures = Signatures::new(self.kernel, &self.head, &self.text);
        let mut rows = RowStream::new(self.path, bytes)?;
        while let Some(row) = rows.next_row()? {
            signatures.add_existing(row, self.head.existing_columns);
        }
        Ok(signatures)
    }

    /// Makes the candidates at these positions and drops those over budget and those that are there already.
    pub(crate) fn judge(
        &self,
        positions: impl Iterator<Item = u64>,
        mut signatures: Signatures<'_>,
    ) -> Result<Judged, Error> {
        let mut judged = Judged::default();
        let mut candidates = Aligned::new(self);
        for position in positions {
            let candidate = candidates.at(position)?;
            if self.template.is_over_budget(candidate) {
                judged.over_budget += 1;
                continue;
            }
            let rows = &mut judged.rows;
            rows.push(candidate);
            if !self.is_allowed(rows.cells(rows.len() - 1)) {
                rows.pop();
                judged.refused += 1;
                continue;
            }
            if signatures.add(candidate, rows.cells(rows.len() - 1)) {
                judged.positions.push(position);
            } else {
                rows.pop();
                judged.duplicates += 1;
            }
        }
        Ok(judged)
    }

    fn is_allowed(&self, row: RowCells<'_>) -> bool {
        let Some(filter) = self.filter else {
            return true;
        };
        let cells: Vec<_> = self.text.cells(row).collect();
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        filter(self.kernel, &self.head.columns, &cells)
    }

    /// Shows the candidates at these positions, with the slots of the table.
    pub(crate) fn each_candidate(&self, positions: &[u64], mut show: impl FnMut(u64, &Candidate)) -> Result<(), Error> {
        let mut candidates = Aligned::new(self);
        for &position in positions {
            show(position, candidates.at(position)?);
        }
        Ok(())
    }

    /// Makes the candidates at these positions.
    pub(crate) fn make(&self, positions: impl Iterator<Item = u64>) -> Result<NewRows, Error> {
        let mut rows = NewRows::default();
        let mut candidates = Aligned::new(self);
        for position in positions {
            rows.push(candidates.at(position)?);
        }
        Ok(rows)
    }

    /// Writes the whole table again, existing rows first; nothing is synced or renamed yet.
    pub(crate) fn stage(&self, bytes: &[u8], rows: &NewRows) -> Result<Staged, Error> {
        let failed = |source| StoreError::io(self.path, source);
        let mut existing = RowStream::new(self.path, bytes)?;
        let mut out = BufWriter::with_capacity(CHUNK_BYTES, Staged::create(self.path, Parents::MustExist)?);
        let mut line = Vec::new();
        if existing.has_byte_order_mark() {
            line.extend_from_slice("\u{feff}".as_bytes());
        }
        push_csv_row(&mut line, self.head.columns.iter().map(String::as_str), LineEnd::CrLf);
        let added_columns = self.head.columns.len() - self.head.existing_columns;
        while let Some(row) = existing.next_row()? {
            out.write_all(&line).map_err(failed)?;
            line.clear();
            push_csv_row(&mut line, row.cells().chain(std::iter::repeat_n("", added_columns)), LineEnd::CrLf);
        }
        out.write_all(&line).map_err(failed)?;
        let mut line = String::new();
        for index in rows.sorted() {
            line.clear();
            self.text.push_line(&mut line, rows.cells(index));
            out.write_all(line.as_bytes()).map_err(failed)?;
        }
        Ok(out.into_inner().map_err(|error| failed(error.into_error()))?)
    }

    /// The bytes of the file.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Error> {
        fs::read(self.path).map_err(|source| Error::Read { path: self.path.to_owned(), source })
    }
}

/// Candidates with the slots of their table, one after the other.
struct Aligned<'a> {
    growth: &'a Growth<'a>,
    maker: Maker<'a>,
    candidate: Candidate,
}

impl<'a> Aligned<'a> {
    fn new(growth: &'a Growth<'a>) -> Self {
        Self { growth, maker: growth.enumeration.maker(), candidate: Candidate::default() }
    }

    fn at(&mut self, position: u64) -> Result<&Candidate, Error> {
        let made = self.maker.make(position, &mut self.candidate);
        made.map_err(|error| self.growth.enumeration.error(error, self.growth.path))?;
        self.growth.template.align(&mut self.candidate);
        Ok(&self.candidate)
    }
}
