//! What is kept of a GPU trace: compact rows for the events that rules look at, texts interned.

use std::collections::TryReserveError;

use perfdb_trace::coverage::{Coverage, PAUSE};
use perfdb_trace::id::{Id, IdTable};
use perfdb_trace::names::{NO_NAME, NameId, Names};
use perfdb_trace::numbering::Numbering;
use perfdb_trace::packed::{Span, Spans};
use perfdb_trace::time::Picoseconds;

use super::category::Category;
use super::profile::Given;

/// What ran on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowKind {
    Kernel,
    /// A copy or a fill.
    Copy,
}

/// A kernel, copy or fill.
#[derive(Debug, Clone, Copy)]
#[repr(Rust, packed(8))]
pub(crate) struct Row {
    pub(crate) start: Picoseconds,
    /// Longer ones than fit are cut; that is 106 days.
    pub(crate) duration: i64,
    pub(crate) correlation: Id,
    pub(crate) external: Id,
    pub(crate) name: NameId,
    pub(crate) device: u32,
    /// Streams are numbered across devices.
    pub(crate) stream: u32,
    pub(crate) kind: RowKind,
}

impl Row {
    pub(crate) fn end(&self) -> Picoseconds {
        self.start + self.time()
    }

    pub(crate) fn time(&self) -> Picoseconds {
        self.duration.into()
    }
}

/// An annotated step, or a Python frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) start: Picoseconds,
    pub(crate) end: Picoseconds,
    pub(crate) name: NameId,
    pub(crate) thread: u32,
}

/// Events that end before they begin.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Negative {
    pub(crate) events: u64,
    pub(crate) kernels: u64,
    pub(crate) worst: Picoseconds,
    pub(crate) first_event: u64,
}

/// The rows of a trace or of a piece of it.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) names: Names,
    pub(crate) ids: IdTable,
    pub(crate) devices: Numbering<Id>,
    pub(crate) streams: Numbering<(u32, Id)>,
    pub(crate) threads: Numbering<(Id, Id)>,
    /// Rows and calls of a profile, in front of the others.
    pub(super) given: Option<Box<Given>>,
    pub(super) rows: Vec<Row>,
    /// Calls of the runtime or driver, by their correlation.
    pub(super) calls: Spans,
    /// Operators on the host, by their external id.
    pub(crate) operators: Spans,
    pub(crate) steps: Vec<Step>,
    /// `In msg nelems` of rows that have it.
    pub(crate) elements: Vec<(u32, Id)>,
    /// Correlations of device rows that are not used.
    pub(crate) skipped_correlations: Vec<Id>,
    pub(crate) skipped_kernels: u64,
    /// Names of those among them that only begin, end or mark something.
    pub(crate) incomplete_kernels: Vec<NameId>,
    pub(crate) negative: Negative,
    pub(crate) events: u64,
    /// Whether any event has a time, and whether any of these has a fraction of a microsecond.
    pub(crate) has_times: bool,
    pub(crate) has_fractions: bool,
    pub(crate) text_times: u64,
    pub(crate) old_categories: u64,
    /// Events of devices that are not read.
    pub(crate) of_other_devices: u64,
    /// Whether there was any runtime or driver event.
    pub(crate) has_calls: bool,
    /// When devices and calls were at work, and operators that are too short to hide a jump of a clock.
    pub(crate) worked: Coverage,
    /// When annotations, Python frames and long operators were open, which say nothing about work inside them.
    pub(crate) framed: Coverage,
    /// Python frames that are long enough to hide a jump of a clock.
    pub(crate) long_frames: Vec<Step>,
    /// Likewise operators.
    pub(crate) long_operators: Vec<Step>,
}

impl Columns {
    /// How many kernels, copies and fills there are.
    pub(crate) fn row_count(&self) -> usize {
        self.given.as_ref().map_or(0, |given| given.row_count()) + self.rows.len()
    }

    /// The kernel, copy or fill of a number that there is.
    #[inline(always)]
    pub(crate) fn row(&self, at: usize) -> Row {
        match &self.given {
            None => self.rows[at],
            Some(given) => given.row(at).unwrap_or_else(|| self.rows[at - given.row_count()]),
        }
    }

    /// All kernels, copies and fills.
    pub(crate) fn rows(&self) -> impl ExactSizeIterator<Item = Row> + Clone + '_ {
        (0..self.row_count()).map(|at| self.row(at))
    }

    /// How many calls there are.
    pub(crate) fn call_count(&self) -> usize {
        self.given.as_ref().map_or(0, |given| given.call_count()) + self.calls.len()
    }

    /// The call of a number that there is.
    #[inline(always)]
    pub(crate) fn call(&self, at: usize) -> Span {
        match &self.given {
            None => self.calls.at(at),
            Some(given) => given.call(at).unwrap_or_else(|| self.calls.at(at - given.call_count())),
        }
    }

    /// All calls.
    pub(crate) fn calls(&self) -> impl ExactSizeIterator<Item = Span> + Clone + '_ {
        (0..self.call_count()).map(|at| self.call(at))
    }

    /// Notes that something was under way from `start` to `end`.
    #[inline]
    pub(crate) fn cover(&mut self, category: Category, start: Picoseconds, end: Picoseconds) {
        match category {
            Category::Operator if end - start >= PAUSE => self.framed.add(start, end),
            Category::Kernel | Category::Copy | Category::Call | Category::Operator => self.worked.add(start, end),
            Category::Frame | Category::Annotation => self.framed.add(start, end),
            Category::OtherDevice | Category::Other => {}
        }
    }

    /// Makes room for the rows of a piece of the trace.
    pub(crate) fn reserve(&mut self, piece: &Columns) -> Result<(), TryReserveError> {
        self.rows.try_reserve(piece.rows.len())?;
        self.calls.try_reserve(piece.calls.len())?;
        self.operators.try_reserve(piece.operators.len())?;
        self.steps.try_reserve(piece.steps.len())?;
        self.elements.try_reserve(piece.elements.len())?;
        self.skipped_correlations.try_reserve(piece.skipped_correlations.len())
    }

    /// Puts the rows of the piece of the trace that follows behind these.
    pub(crate) fn append(&mut self, mut piece: Columns) {
        if self.events == 0 && self.names.is_empty() {
            *self = piece;
            return;
        }
        let names = self.names.adopt(&piece.names);
        let name = |id: NameId| names.get(id as usize).copied().unwrap_or(NO_NAME);
        if !piece.ids.is_empty() {
            piece.adopt_ids(&mut self.ids);
        }
        let devices: Vec<u32> = piece.devices.keys().iter().map(|key| self.devices.number(*key)).collect();
        let device = |number: u32| devices.get(number as usize).copied().unwrap_or_default();
        let streams: Vec<u32> =
            piece.streams.keys().iter().map(|(on, stream)| self.streams.number((device(*on), *stream))).collect();
        let stream = |number: u32| streams.get(number as usize).copied().unwrap_or_default();
        let threads: Vec<u32> = piece.threads.keys().iter().map(|key| self.threads.number(*key)).collect();
        let thread = |number: u32| threads.get(number as usize).copied().unwrap_or_default();
        let first_row = self.rows.len() as u32;
        self.rows.extend(piece.rows.iter().map(|row| Row {
            name: name(row.name),
            device: device(row.device),
            stream: stream(row.stream),
            ..*row
        }));
        self.calls.append(&piece.calls, name, thread);
        self.operators.append(&piece.operators, name, thread);
        let adopted = |step: &Step| Step { name: name(step.name), thread: thread(step.thread), ..*step };
        self.steps.extend(piece.steps.iter().map(adopted));
        self.long_frames.extend(piece.long_frames.iter().map(adopted));
        self.long_operators.extend(piece.long_operators.iter().map(adopted));
        self.elements.extend(piece.elements.iter().map(|(row, count)| (first_row + row, *count)));
        self.skipped_correlations.append(&mut piece.skipped_correlations);
        self.skipped_kernels += piece.skipped_kernels;
        self.incomplete_kernels.extend(piece.incomplete_kernels.iter().map(|kernel| name(*kernel)));
        if self.negative.events == 0 {
            self.negative.first_event = self.events + piece.negative.first_event;
        }
        self.negative.events += piece.negative.events;
        self.negative.kernels += piece.negative.kernels;
        self.negative.worst = self.negative.worst.min(piece.negative.worst);
        self.events += piece.events;
        self.has_times |= piece.has_times;
        self.has_fractions |= piece.has_fractions;
        self.text_times += piece.text_times;
        self.old_categories += piece.old_categories;
        self.of_other_devices += piece.of_other_devices;
        self.has_calls |= piece.has_calls;
        self.worked.join(&piece.worked);
        self.framed.join(&piece.framed);
    }

    /// Replaces ids of this piece's table by those of `table`.
    fn adopt_ids(&mut self, table: &mut IdTable) {
        let ids = std::mem::take(&mut self.ids);
        let mut adopt = |id: Id| table.adopt(id, &ids);
        for row in &mut self.rows {
            row.correlation = adopt(row.correlation);
            row.external = adopt(row.external);
        }
        self.calls.rename_ids(&mut adopt);
        self.operators.rename_ids(&mut adopt);
        for correlation in &mut self.skipped_correlations {
            *correlation = adopt(*correlation);
        }
        for (_, count) in &mut self.elements {
            *count = adopt(*count);
        }
        self.devices.rename(&mut adopt);
        self.streams.rename(|(device, stream)| (device, adopt(stream)));
        self.threads.rename(|(process, thread)| (adopt(process), adopt(thread)));
    }
}
