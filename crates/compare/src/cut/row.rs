//! Rows of a profile: what cutting needs of them, read in blocks by several threads.

use super::Phase;
use crate::error::Error;
use crate::ledger::{measured_attention, type_without_ending};
use crate::picoseconds::{PS_PER_US, parse_duration_us, parse_us};
use crate::profile::excerpt;
use indexmap::IndexMap;
use perfdb_parallel::{OrderedMap, states};
use perfdb_pycompat::text::trim;
use perfdb_trace::blocks::{BLOCK_BYTES, Block, Blocks};
use perfdb_trace::records::{Cell, Splitter, line_ends};
use perfdb_trace::source::Source;
use rustc_hash::FxBuildHasher;
use std::fs::File;
use std::io::Read;
use std::ops::{ControlFlow, Range};
use std::path::Path;

const TYPE: &str = "Type";
const START: &str = "Start Time(us)";
const DURATION: &str = "Duration(us)";
const STEP: &str = "Step Id";
const SHAPES: &str = "Input Shapes";

/// Where the columns are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns {
    kernel_type: usize,
    start: usize,
    duration: usize,
    step: Option<usize>,
    shapes: Option<usize>,
}

/// What rows have in common: kernel type, step and phase.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Class {
    /// The kernel type without its ending.
    pub(super) symbol: Box<str>,
    /// The kernel type itself, of collectives.
    pub(super) collective: Option<Box<str>>,
    /// AICPU rows and rows without a type are no kernels.
    pub(super) is_kernel: bool,
    pub(super) step: Option<Box<str>>,
    pub(super) phase: Phase,
}

/// One row of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockRow {
    pub(super) start_ps: i128,
    pub(super) duration_ps: i64,
    /// Position among the classes of the block.
    pub(super) class: u32,
    /// Bytes of the block.
    start: u32,
    end: u32,
}

impl BlockRow {
    pub(super) fn bytes(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The rows of a block, in file order.
#[derive(Debug)]
pub(super) struct BlockRows {
    pub(super) text: Vec<u8>,
    pub(super) rows: Vec<BlockRow>,
    pub(super) classes: Vec<Class>,
    /// The first row that can't be used: its line within the block, the column and the reason.
    fault: Option<(u64, &'static str, String)>,
    lines: u64,
}

/// A profile, opened.
pub(super) struct ProfileRows {
    path: std::path::PathBuf,
    blocks: Blocks<Box<dyn Read + Send>>,
    first: Option<Block>,
    /// The header as it stands in the file.
    pub(super) header: Vec<u8>,
    columns: Columns,
}

impl ProfileRows {
    /// Opens a file and reads its header.
    pub(super) fn open(path: &Path) -> Result<ProfileRows, Error> {
        // Read, not mapped: the file is streamed twice and may be larger than memory.
        let file = File::open(path).map_err(|source| unreadable(path, source))?;
        let source = Source::from_reader(path, file)?;
        let mut blocks = Blocks::new(source.into_reader(), BLOCK_BYTES);
        let first = blocks.next_block(Vec::new()).map_err(|source| unreadable(path, source))?;
        let text = first.as_ref().map_or(&[][..], |block| &block.text);
        let mut cells = Vec::new();
        let record = Splitter::new(text).next_record(&mut cells);
        let mut buffer = Vec::new();
        let names: Vec<String> = cells
            .iter()
            .map(|cell| {
                String::from_utf8_lossy(cell.decode(text, &mut buffer)).trim_start_matches('\u{feff}').to_owned()
            })
            .collect();
        let column = |name: &str| names.iter().rposition(|column| column.trim_matches('"') == name);
        let needed = [TYPE, START, DURATION];
        let (Some(kernel_type), Some(start), Some(duration)) = (column(TYPE), column(START), column(DURATION)) else {
            let columns = needed.into_iter().filter(|name| column(name).is_none()).collect();
            return Err(Error::MissingColumns { path: path.to_owned(), columns });
        };
        let header = text[..record.map_or(0, |record| record.end)].to_vec();
        let columns = Columns { kernel_type, start, duration, step: column(STEP), shapes: column(SHAPES) };
        Ok(ProfileRows { path: path.to_owned(), blocks, first, header, columns })
    }

    /// Hands over all rows, block by block in file order.
    pub(super) fn each_block(self, mut each: impl FnMut(BlockRows) -> Result<(), Error>) -> Result<(), Error> {
        let ProfileRows { path, mut blocks, mut first, header, columns } = self;
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut scratch = states(threads, Scratch::default);
        let mut line = 1;
        OrderedMap::new(&mut scratch).tasks_ahead(threads + 2).run(
            || match first.take() {
                Some(block) => Ok(Some(block)),
                None => blocks.next_block(Vec::new()).map_err(|source| unreadable(&path, source)),
            },
            |scratch, block| {
                let begin = if block.offset == 0 { header.len() } else { 0 };
                scratch.rows(block.text, begin, columns)
            },
            |rows| {
                if let Some((offset, column, reason)) = rows.fault {
                    return Err(Error::Cell { path: path.clone(), line: line + offset - 1, column, reason });
                }
                line += rows.lines;
                each(rows)?;
                Ok(ControlFlow::Continue(()))
            },
        )
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    perfdb_trace::Error::Io { path: path.to_owned(), source }.into()
}

/// What a thread keeps from block to block.
#[derive(Debug, Default)]
struct Scratch {
    cells: Vec<Cell>,
    key: Vec<u8>,
    buffer: Vec<u8>,
}

impl Scratch {
    fn rows(&mut self, text: Vec<u8>, begin: usize, columns: Columns) -> BlockRows {
        let lines = line_ends(&text);
        let mut rows =
            BlockRows { rows: Vec::with_capacity(text.len() / 128), text, classes: Vec::new(), fault: None, lines };
        if let Err(fault) = std::str::from_utf8(&rows.text) {
            let line = line_ends(&rows.text[..fault.valid_up_to()]) + 1;
            rows.fault = Some((line, TYPE, "the line is not valid UTF-8".to_owned()));
            return rows;
        }
        let mut known: IndexMap<Box<[u8]>, (), FxBuildHasher> = IndexMap::default();
        let first_line = line_ends(&rows.text[..begin]) + 1;
        let mut splitter = Splitter::starting_at(&rows.text, begin, first_line);
        let mut list = std::mem::take(&mut rows.rows);
        while let Some(record) = splitter.next_record(&mut self.cells) {
            match self.row(&rows.text, columns, &mut known, &mut rows.classes) {
                Ok((start_ps, duration_ps, class)) => {
                    let (start, end) = (record.start as u32, record.end as u32);
                    list.push(BlockRow { start_ps, duration_ps, class, start, end });
                }
                Err((column, reason)) => {
                    rows.fault = Some((record.line, column, reason));
                    break;
                }
            }
        }
        rows.rows = list;
        rows
    }

    fn row(
        &mut self,
        text: &[u8],
        columns: Columns,
        known: &mut IndexMap<Box<[u8]>, (), FxBuildHasher>,
        classes: &mut Vec<Class>,
    ) -> Result<(i128, i64, u32), (&'static str, String)> {
        let Scratch { cells, key, buffer } = self;
        let time = |column: usize, name: &'static str, buffer: &mut Vec<u8>| {
            let cell = cells.get(column).map_or(&[][..], |cell| cell.decode(text, buffer));
            let cell = std::str::from_utf8(cell).unwrap_or_default();
            parse_us(cell).ok_or_else(|| (name, format!("{} is not a finite number", excerpt(cell))))
        };
        let start_ps = time(columns.start, START, buffer)?;
        let duration_ps = match time(columns.duration, DURATION, buffer)? {
            ps @ 0..=0x7fff_ffff => ps as i64,
            ps => parse_duration_us(&format!("{ps}e-6")).ok_or((DURATION, "the duration is too large".to_owned()))?,
        };
        key.clear();
        let mut push = |column: Option<usize>| {
            let cell = column.and_then(|column| cells.get(column));
            key.extend_from_slice(cell.map_or(&[][..], |cell| cell.raw(text)));
            key.push(0x1f);
        };
        push(Some(columns.kernel_type));
        push(columns.step);
        // Only attention has a phase; its names are few, so shapes stay out of the key of all other rows.
        let raw_type = cells.get(columns.kernel_type).map_or(&[][..], |cell| cell.raw(text));
        if may_be_attention(raw_type) {
            push(columns.shapes);
        }
        let class = match known.get_index_of(key.as_slice()) {
            Some(class) => class,
            None => {
                let mut cell = |column: Option<usize>| {
                    let cell = column.and_then(|column| cells.get(column));
                    let bytes = cell.map_or(&[][..], |cell| cell.decode(text, buffer));
                    trim(std::str::from_utf8(bytes).unwrap_or_default()).to_owned()
                };
                let (kernel_type, step, shapes) =
                    (cell(Some(columns.kernel_type)), cell(columns.step), cell(columns.shapes));
                classes.push(class(&kernel_type, &step, &shapes));
                known.insert_full(key.as_slice().into(), ()).0
            }
        };
        Ok((start_ps, duration_ps.max(0), class as u32))
    }
}

/// Whether a type may be attention, by its letters.
fn may_be_attention(kernel_type: &[u8]) -> bool {
    [&b"ttention"[..], b"MLA"].iter().any(|part| memchr::memmem::find(kernel_type, part).is_some())
}

fn class(kernel_type: &str, step: &str, shapes: &str) -> Class {
    let phase = match measured_attention(kernel_type, shapes) {
        Some(key) if key.sequences > 0 && key.query_tokens > key.sequences => Phase::Prefill,
        Some(key) if key.sequences > 0 => Phase::Decode,
        _ => Phase::Unknown,
    };
    Class {
        symbol: type_without_ending(kernel_type).into(),
        collective: kernel_type.starts_with("hcom_").then(|| kernel_type.into()),
        is_kernel: !kernel_type.is_empty() && !kernel_type.ends_with("AicpuKernel"),
        step: (!step.is_empty() && step != "N/A").then(|| step.into()),
        phase,
    }
}

/// Microseconds since the epoch of a start, which collectives are told apart by.
pub(super) fn whole_us(start_ps: i128) -> i128 {
    start_ps / i128::from(PS_PER_US)
}
