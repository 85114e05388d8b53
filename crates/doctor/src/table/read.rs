//! Reading a kernel table.

use std::collections::TryReserveError;
use std::hash::{Hash, Hasher};
use std::io::Read;

use perfdb_trace::blocks::{BLOCK_BYTES, Blocks};
use perfdb_trace::kernel_table::{Places, Record, is_collective, time};
use perfdb_trace::records::{Cell, Splitter};
use rustc_hash::FxHasher;

use super::columns::{Row, Table};
use crate::certificate::Certificate;
use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::report::{Kind, Report, Selection};

/// Header names that are shown.
const SHOWN: usize = 20;

/// Checks the table that `text` gives; findings about the file itself come later, from `more`.
pub(crate) fn check_table(
    text: impl Read,
    file: &str,
    more: impl FnOnce(&mut Findings),
    selection: &Selection,
) -> std::io::Result<Report> {
    let mut found = Findings::default();
    let (header, table) = read(text)?;
    more(&mut found);
    if !table.places.is_table() {
        let columns: Vec<&str> = header.iter().take(SHOWN).map(String::as_str).collect();
        found.error(Code::NotATrace, 1.0, Evidence::new().with("columns", columns));
        return Ok(Report::new(file, Kind::Unknown, found, Certificate::default(), 0, selection));
    }
    let certificate = super::rules::check_all(&table, &header, &mut found);
    Ok(Report::new(file, Kind::KernelTable, found, certificate, table.time, selection))
}

fn read(text: impl Read) -> std::io::Result<(Vec<String>, Table)> {
    let mut blocks = Blocks::new(text, BLOCK_BYTES);
    let mut header: Option<Vec<String>> = None;
    let mut table = Table::default();
    let (mut buffer, mut cells) = (Vec::new(), Vec::new());
    while let Some(block) = blocks.next_block(buffer)? {
        let mut splitter = Splitter::new(&block.text);
        while splitter.next_record(&mut cells).is_some() {
            let record = Record { text: &block.text, cells: &cells };
            match &header {
                None => {
                    let names = record.names();
                    table.places = Places::new(&names);
                    header = Some(names);
                    if !table.places.is_table() {
                        return Ok((header.unwrap_or_default(), table));
                    }
                }
                Some(header) => table.take(&record, header.len())?,
            }
        }
        buffer = block.text;
    }
    table.mark_copies()?;
    Ok((header.unwrap_or_default(), table))
}

/// Finds rows that are equal to an earlier one.
#[derive(Default)]
pub(crate) struct RowKeys {
    places: Option<Places>,
    seen: std::collections::HashSet<u128>,
}

impl RowKeys {
    /// Whether a record is equal to an earlier one in all that counts; the first record is the header.
    pub(crate) fn is_repeated(&mut self, text: &[u8], cells: &[Cell]) -> bool {
        let record = Record { text, cells };
        let Some(places) = &self.places else {
            self.places = Some(Places::new(&record.names()));
            return false;
        };
        let (start, duration) = (time(&record.cell(places.start)), time(&record.cell(places.duration)));
        let (Some(start), Some(duration @ 0..)) = (start, duration) else { return false };
        let texts = [places.kind, places.name, places.stream, places.task, places.device];
        let hash = |seed: u64| {
            let mut hasher = FxHasher::default();
            (seed, start, duration).hash(&mut hasher);
            for place in texts {
                record.cell(place).hash(&mut hasher);
            }
            hasher.finish()
        };
        !self.seen.insert(u128::from(hash(1)) << 64 | u128::from(hash(2)))
    }
}

impl Table {
    /// Takes the next record, if there is memory for it.
    fn take(&mut self, record: &Record<'_>, columns: usize) -> Result<(), TryReserveError> {
        let index = self.row_count;
        self.row_count += 1;
        if record.cells.len() != columns {
            if self.ragged == 0 {
                self.first_ragged = index;
            }
            self.ragged += 1;
            self.last_ragged = index;
            self.last_short = record.cells.len() < columns;
        }
        if self.places.start.is_none() || self.places.duration.is_none() {
            return Ok(());
        }
        let start = record.cell(self.places.start);
        let (start_time, duration) = (time(&start), time(&record.cell(self.places.duration)));
        let (Some(start_time), Some(duration)) = (start_time, duration) else {
            self.bad_numbers += 1;
            return Ok(());
        };
        self.exponents += u64::from(start.contains(['e', 'E']));
        if duration < 0 {
            self.negative += 1;
            self.worst = self.worst.min(duration);
            return Ok(());
        }
        let places = self.places.clone();
        let kind = record.cell(places.kind);
        let core = record.cell(places.core);
        let collective = is_collective(&kind, &core);
        let wait = time(&record.cell(places.wait));
        let mut number = |place| self.texts.number(&record.cell(place));
        let row = Row {
            start: start_time,
            duration,
            wait,
            kind: number(places.kind),
            name: number(places.name),
            stream: number(places.stream),
            device: number(places.device),
            task: number(places.task),
            step: number(places.step),
            collective,
            copy: false,
        };
        self.rows.try_reserve(1)?;
        self.rows.push(row);
        self.time += duration;
        Ok(())
    }

    /// Marks the rows that are equal to an earlier one.
    fn mark_copies(&mut self) -> Result<(), TryReserveError> {
        let mut seen = std::collections::HashSet::new();
        for row in &mut self.rows {
            let key = (row.start, row.duration, row.kind, row.name, row.stream, row.task, row.device);
            seen.try_reserve(1)?;
            row.copy = !seen.insert(key);
        }
        Ok(())
    }
}
