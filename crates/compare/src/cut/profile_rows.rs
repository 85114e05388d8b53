//! Rows of a profile: what cutting needs of them, read in blocks by several threads.

use super::Phase;
use crate::attribution::{is_measured_attention, measured_attention, type_without_ending};
use crate::error::Error;
use crate::picoseconds::{PS_PER_US, parse_duration_us, parse_us};
use crate::profile::excerpt;
use perfdb_files::parallel::{OrderedMap, states};
use perfdb_pycompat::text::trim;
use perfdb_store::registry::is_collective;
use perfdb_trace::blocks::{Block, Blocks};
use perfdb_trace::records::{Row, Splitter, line_ends};
use perfdb_trace::source::Source;
use rustc_hash::FxHashMap;
use std::io::Read;
use std::ops::{ControlFlow, Range};
use std::path::Path;

/// What one thread splits at once: enough to be worth it, and little where several blocks wait.
const BLOCK_BYTES: usize = 1 << 18;

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
    /// AICPU rows and rows without a type are not kernels.
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
    /// Whether the rows, and the header in the first block, are all that is in the text: no empty lines.
    pub(super) is_dense: bool,
}

/// A profile, opened.
pub(super) struct ProfileRows {
    path: std::path::PathBuf,
    blocks: Blocks<Box<dyn Read + Send>>,
    first: Option<Block>,
    /// The header as it stands in the file.
    pub(super) header: Vec<u8>,
    pub(super) columns: Columns,
}

impl ProfileRows {
    /// Opens a file and reads its header.
    pub(super) fn open(path: &Path) -> Result<ProfileRows, Error> {
        let source = Source::open(path)?;
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
pub(super) struct Scratch {
    key: Vec<u8>,
    buffer: Vec<u8>,
}

impl Scratch {
    /// The rows of a block from `begin` on.
    pub(super) fn rows(&mut self, text: Vec<u8>, begin: usize, columns: Columns) -> BlockRows {
        let mut found = BlockRows {
            rows: Vec::with_capacity(text.len() / 128),
            text,
            classes: Vec::new(),
            fault: None,
            lines: 0,
            is_dense: false,
        };
        if let Err(fault) = std::str::from_utf8(&found.text) {
            let line = line_ends(&found.text[..fault.valid_up_to()]) + 1;
            found.fault = Some((line, TYPE, "the line is not valid UTF-8".to_owned()));
            return found;
        }
        let mut block = Classified { text: &found.text, columns, known: Known::default(), classes: &mut found.classes };
        let first_line = line_ends(&found.text[..begin]) + 1;
        let mut splitter = Splitter::starting_at(&found.text, begin, first_line);
        let mut row_bytes = 0;
        while let Some(row) = splitter.next_row() {
            let record = row.record();
            match self.row(&row, &mut block) {
                Ok((start_ps, duration_ps, class)) => {
                    row_bytes += record.end - record.start;
                    let (start, end) = (record.start as u32, record.end as u32);
                    found.rows.push(BlockRow { start_ps, duration_ps, class, start, end });
                }
                Err((column, reason)) => {
                    found.fault = Some((record.line, column, reason));
                    break;
                }
            }
        }
        found.lines = splitter.line() - 1;
        found.is_dense = begin + row_bytes == found.text.len();
        found
    }

    fn row(&mut self, row: &Row<'_>, block: &mut Classified<'_>) -> Result<(i128, i64, u32), (&'static str, String)> {
        let (text, columns, buffer) = (block.text, block.columns, &mut self.buffer);
        let time = |column: usize, name: &'static str, buffer: &mut Vec<u8>| {
            let cell = row.cell(column);
            let cell = cell.as_ref().map_or(&[][..], |cell| cell.decode(text, buffer));
            let cell = std::str::from_utf8(cell).unwrap_or_default();
            parse_us(cell).ok_or_else(|| (name, format!("{} is not a finite number", excerpt(cell))))
        };
        let start_ps = time(columns.start, START, buffer)?;
        let duration_ps = match time(columns.duration, DURATION, buffer)? {
            ps @ 0..=0x7fff_ffff => ps as i64,
            ps => parse_duration_us(&format!("{ps}e-6")).ok_or((DURATION, "the duration is too large".to_owned()))?,
        };
        Ok((start_ps, duration_ps.max(0), self.class(row, block)))
    }

    /// The class of a row: known by its cells as they are written, made of their contents the first time.
    fn class(&mut self, row: &Row<'_>, block: &mut Classified<'_>) -> u32 {
        let Scratch { key, buffer } = self;
        let Classified { text, columns, known, classes } = block;
        let written =
            |column: Option<usize>| column.and_then(|column| row.cell(column)).map_or(&[][..], |cell| cell.raw(text));
        let push_shapes = |key: &mut Vec<u8>| {
            key.push(0x1f);
            key.extend_from_slice(written(columns.shapes));
        };
        key.clear();
        key.extend_from_slice(written(Some(columns.kernel_type)));
        key.push(0x1f);
        key.extend_from_slice(written(columns.step));
        let mut found = known.get(key.as_slice()).copied();
        let has_phase = matches!(found, Some(ClassOf::Shapes));
        if has_phase {
            push_shapes(key);
            found = known.get(key.as_slice()).copied();
        }
        if let Some(ClassOf::Row(class)) = found {
            return class;
        }
        let mut content = |column: Option<usize>| {
            let cell = column.and_then(|column| row.cell(column));
            let bytes = cell.as_ref().map_or(&[][..], |cell| cell.decode(text, buffer));
            trim(std::str::from_utf8(bytes).unwrap_or_default()).to_owned()
        };
        let kernel_type = content(Some(columns.kernel_type));
        if !has_phase && is_measured_attention(&kernel_type) {
            known.insert(key.as_slice().into(), ClassOf::Shapes);
            push_shapes(key);
        }
        let class = classes.len() as u32;
        classes.push(Class::new(&kernel_type, &content(columns.step), &content(columns.shapes)));
        known.insert(key.as_slice().into(), ClassOf::Row(class));
        class
    }
}

/// A block, and the classes that its rows have so far.
struct Classified<'b> {
    text: &'b [u8],
    columns: Columns,
    known: Known,
    classes: &'b mut Vec<Class>,
}

/// Classes by the cells of kernel type and step, and of shapes where they matter.
type Known = FxHashMap<Box<[u8]>, ClassOf>;

/// What follows for a row's class from a kernel type and a step.
#[derive(Debug, Clone, Copy)]
enum ClassOf {
    /// It is this one.
    Row(u32),
    /// It is attention, whose phase depends on the shapes.
    Shapes,
}

impl Class {
    fn new(kernel_type: &str, step: &str, shapes: &str) -> Class {
        let phase = match measured_attention(kernel_type, shapes) {
            Some(key) if key.sequences > 0 && key.query_tokens > key.sequences => Phase::Prefill,
            Some(key) if key.sequences > 0 => Phase::Decode,
            _ => Phase::Unknown,
        };
        Class {
            symbol: type_without_ending(kernel_type).into(),
            collective: is_collective(kernel_type).then(|| kernel_type.into()),
            is_kernel: !kernel_type.is_empty() && !kernel_type.ends_with("AicpuKernel"),
            step: (!step.is_empty() && step != "N/A").then(|| step.into()),
            phase,
        }
    }
}

/// Microseconds since the epoch of a start, which distinguishes collectives.
pub(super) fn whole_us(start_ps: i128) -> i128 {
    start_ps / i128::from(PS_PER_US)
}
