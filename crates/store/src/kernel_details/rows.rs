//! From the text of a piece to numbers, on any thread.

use crate::columns::{BASE, COMMUNICATION_DURATION, METRICS};
use crate::kernel::FUSED_INFER_ATTENTION_SCORE;
use crate::profile::{Piece, PieceEnd, ProfileRow};
use crate::registry::without_variant;
use perfdb_pycompat::text::trim;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::path::Path;

/// Columns of a kernel_details file, in the order in which the code below counts them.
pub(super) fn required_columns() -> Vec<&'static str> {
    [&["Type"], BASE.as_slice(), &[COMMUNICATION_DURATION], METRICS.as_slice()].concat()
}

const TYPE: usize = 0;
const FIRST_BASE: usize = 1;
/// Positions of the shapes among the base columns.
pub(super) const INPUT_SHAPES: usize = 2;
pub(super) const OUTPUT_SHAPES: usize = 5;
const DURATION: usize = FIRST_BASE + BASE.len();
const FIRST_METRIC: usize = DURATION + 1;

/// The columns that tell variants apart, in the runs in which profilers write them: type, state and core; shapes, types and formats.
const KEY_RUNS: [Range<usize>; 2] = [TYPE..FIRST_BASE + INPUT_SHAPES, FIRST_BASE + INPUT_SHAPES..DURATION];

/// Duration and metrics of a row.
pub(super) const VALUES: usize = 1 + METRICS.len();

/// Variants that a worker remembers. Real profiles have some thousands; where nearly every row is a variant of its own, remembering
/// them all would take as much memory as their groups, for each worker.
pub(super) const MOST_VARIANTS: usize = 1 << 14;

/// Stands for the cells of attention rows that are dropped.
const DROPPED: &[u8] = &[0xff];

/// What equal rows have in common: the kernel type and the base cells, trimmed.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    pub(super) kernel_type: String,
    pub(super) base: [String; BASE.len()],
    pub(super) use_of_rows: RowUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowUse {
    /// Samples of a group.
    Samples,
    /// Attention rows without shapes: they only take part in the pairing with operator rows.
    PairingOnly,
    /// Nothing.
    Nothing,
}

/// A row of a part: its variant by the worker's count, and its line from the piece's beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowEntry {
    pub(super) variant: u32,
    pub(super) line: u32,
}

/// Why a row stops the run.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum BadRow {
    Duration(String),
    LongCell,
}

/// The rows of one piece.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: usize,
    pub(super) worker: usize,
    /// Whether the worker has forgotten its variants, and counts those of this part from zero.
    pub(super) counts_anew: bool,
    /// Variants that this worker had not seen before.
    pub(super) new_variants: Vec<Variant>,
    pub(super) rows: Vec<RowEntry>,
    /// `VALUES` per row.
    pub(super) values: Vec<f64>,
    pub(super) skipped: u64,
    pub(super) bad_row: Option<(u64, BadRow)>,
    pub(super) end: PieceEnd,
    /// For the next piece.
    pub(super) text: Vec<u8>,
}

/// What a worker remembers between pieces: the variants it has seen, by the bytes of their cells.
#[derive(Debug, Default)]
pub(super) struct Worker {
    number: Option<usize>,
    variants: FxHashMap<Box<[u8]>, (u32, RowUse)>,
    key: Vec<u8>,
}

/// How to read pieces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) skip_bad: bool,
}

impl Rows {
    /// Reads the rows of a piece. `number` counts the workers.
    pub(super) fn read(
        self,
        worker: &mut Worker,
        piece: Piece,
        path: &Path,
        number: impl Fn() -> usize,
        buffers: (Vec<RowEntry>, Vec<f64>),
    ) -> Result<Part, crate::Error> {
        let (mut rows, mut values) = buffers;
        rows.clear();
        values.clear();
        let counts_anew = worker.variants.len() > MOST_VARIANTS;
        if counts_anew {
            worker.variants.clear();
        }
        let mut part = Part {
            file: piece.file,
            worker: *worker.number.get_or_insert_with(number),
            counts_anew,
            new_variants: Vec::new(),
            rows,
            values,
            skipped: 0,
            bad_row: None,
            end: PieceEnd::default(),
            text: Vec::new(),
        };
        part.end = piece.for_each_row(path, |row| match worker.row(row, &mut part) {
            Ok(()) => true,
            Err(_) if self.skip_bad => {
                part.skipped += 1;
                worker.keep_pairing(row, &mut part);
                true
            }
            Err(bad) => {
                part.bad_row = Some((row.line, bad));
                false
            }
        })?;
        part.text = piece.text;
        Ok(part)
    }
}

impl Worker {
    /// A dropped attention row still has its operator row: the ones behind it keep theirs.
    fn keep_pairing(&mut self, row: &ProfileRow<'_>, part: &mut Part) {
        if trim(&row.text(TYPE)) != FUSED_INFER_ATTENTION_SCORE {
            return;
        }
        // Too few separators to be the key of a row.
        let variant = match self.variants.get(DROPPED) {
            Some((variant, _)) => *variant,
            None => {
                let variant = u32::try_from(self.variants.len()).unwrap_or(u32::MAX);
                let use_of_rows = RowUse::PairingOnly;
                self.variants.insert(DROPPED.into(), (variant, use_of_rows));
                let kernel_type = FUSED_INFER_ATTENTION_SCORE.to_owned();
                part.new_variants.push(Variant { kernel_type, base: Default::default(), use_of_rows });
                variant
            }
        };
        part.rows.push(RowEntry { variant, line: u32::try_from(row.line).unwrap_or(u32::MAX) });
        part.values.extend([0.0; VALUES]);
    }

    fn row(&mut self, row: &ProfileRow<'_>, part: &mut Part) -> Result<(), BadRow> {
        if row.has_long_cell() {
            return Err(BadRow::LongCell);
        }
        self.key.clear();
        for wanted in KEY_RUNS {
            // The bytes that end a run or a cell are none of UTF-8.
            if let Some(run) = row.raw_run(wanted.clone()) {
                self.key.extend_from_slice(run);
                self.key.push(0xfe);
                continue;
            }
            for wanted in wanted {
                self.key.extend_from_slice(row.raw(wanted));
                self.key.push(0xff);
            }
        }
        let known = self.variants.get(self.key.as_slice()).copied();
        let fresh = if known.is_none() { Some(variant_of(row)) } else { None };
        let use_of_rows = known.map(|(_, use_of_rows)| use_of_rows).or(fresh.as_ref().map(|fresh| fresh.use_of_rows));
        let duration_us = match use_of_rows {
            Some(RowUse::Nothing) => 0.0,
            Some(RowUse::PairingOnly) => 0.0,
            _ => duration_of(row)?,
        };
        let (variant, use_of_rows) = match (known, fresh) {
            (Some(known), _) => known,
            (None, Some(fresh)) => {
                let entry = (u32::try_from(self.variants.len()).unwrap_or(u32::MAX), fresh.use_of_rows);
                self.variants.insert(self.key.as_slice().into(), entry);
                part.new_variants.push(fresh);
                entry
            }
            (None, None) => return Ok(()),
        };
        if use_of_rows == RowUse::Nothing {
            return Ok(());
        }
        part.rows.push(RowEntry { variant, line: u32::try_from(row.line).unwrap_or(u32::MAX) });
        part.values.push(duration_us);
        part.values.extend((0..METRICS.len()).map(|metric| {
            let value = row.number(FIRST_METRIC + metric);
            if value.is_finite() { value } else { 0.0 }
        }));
        Ok(())
    }
}

fn duration_of(row: &ProfileRow<'_>) -> Result<f64, BadRow> {
    let duration_us = row.number(DURATION);
    if duration_us.is_finite() && duration_us >= 0.0 {
        Ok(duration_us)
    } else {
        Err(BadRow::Duration(trim(&row.text(DURATION)).to_owned()))
    }
}

fn variant_of(row: &ProfileRow<'_>) -> Variant {
    let kernel_type = row.text(TYPE);
    let kernel_type = without_variant(trim(&kernel_type));
    let base = std::array::from_fn(|at| trim(&row.text(FIRST_BASE + at)).to_owned());
    let is_absent = |shapes: &String| shapes.trim_matches('"').eq_ignore_ascii_case("N/A");
    let has_shapes = !is_absent(&base[INPUT_SHAPES]) && !is_absent(&base[OUTPUT_SHAPES]);
    let use_of_rows = if has_shapes {
        RowUse::Samples
    } else if kernel_type == FUSED_INFER_ATTENTION_SCORE {
        RowUse::PairingOnly
    } else {
        RowUse::Nothing
    };
    Variant { kernel_type: kernel_type.to_owned(), base, use_of_rows }
}
