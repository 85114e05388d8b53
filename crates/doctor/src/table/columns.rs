//! The columns of a kernel table and its rows.

use std::collections::HashMap;

use perfdb_trace::kernel_table::Places;
use perfdb_trace::time::Picoseconds;

/// Columns without which little can be checked, and those without which some things cannot.
pub(super) fn missing(places: &Places) -> (Vec<&'static str>, Vec<&'static str>) {
    let useful = [("Stream ID", places.stream), ("Wait Time(us)", places.wait), ("Accelerator Core", places.core)];
    let lacking = useful.into_iter().filter(|(_, place)| place.is_none()).map(|(name, _)| name).collect();
    (places.missing(), lacking)
}

/// Distinct texts.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Texts {
    pub(super) fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    pub(super) fn get(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", AsRef::as_ref)
    }
}

/// A row that can be used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) start: Picoseconds,
    pub(super) duration: Picoseconds,
    pub(super) wait: Option<Picoseconds>,
    pub(super) kind: u32,
    pub(super) name: u32,
    pub(super) stream: u32,
    pub(super) device: u32,
    pub(super) task: u32,
    pub(super) step: u32,
    pub(super) collective: bool,
    /// Equal to an earlier row.
    pub(super) copy: bool,
}

impl Row {
    pub(super) fn end(&self) -> Picoseconds {
        self.start + self.duration
    }
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) places: Places,
    pub(super) texts: Texts,
    pub(super) rows: Vec<Row>,
    pub(super) row_count: u64,
    pub(super) bad_numbers: u64,
    pub(super) negative: u64,
    pub(super) worst: Picoseconds,
    /// Rows with another number of cells than the header, the first and the last one, and whether the last is short.
    pub(super) ragged: u64,
    pub(super) first_ragged: u64,
    pub(super) last_ragged: u64,
    pub(super) last_short: bool,
    /// Starts that are written with an exponent.
    pub(super) exponents: u64,
    pub(super) time: Picoseconds,
}

impl Table {
    pub(super) fn share(&self, time: Picoseconds) -> f64 {
        crate::finding::share(time, self.time)
    }

    pub(super) fn text(&self, number: u32) -> &str {
        self.texts.get(number)
    }
}
