//! Merging parts in row order into groups.

use super::attention::{AttentionRow, OperatorRows, RuntimeShapes, is_attention};
use super::rows::{BadRow, INPUT_SHAPES, OUTPUT_SHAPES, Part, RowUse, VALUES, Variant};
use super::sums::Sums;
use super::texts::{Text, Texts};
use super::warning::Warning;
use crate::columns::BASE;
use crate::error::{CsvFault, Error};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::path::{Path, PathBuf};

/// The samples of one kernel type with one input and output shape text.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kernel_type: Text,
    /// The first non-empty cell of each base column.
    pub(super) base: [Text; BASE.len()],
    /// How many samples it has.
    pub(super) count: usize,
    /// The samples, where they are asked for.
    pub(super) samples: SmallVec<[f64; 2]>,
    pub(super) sums: Sums,
    pub(super) sum_of_squares: f64,
    pub(super) runtime: Option<Box<RuntimeShapes>>,
    /// The types and formats of its first sample.
    attributes: [Text; 4],
    pub(super) is_mixed: bool,
    is_attention: bool,
    is_wanted: bool,
}

/// Positions of types and formats among the base columns.
const ATTRIBUTES: [usize; 4] = [3, 4, 6, 7];

#[derive(Debug, Clone, Copy)]
struct Resolved {
    group: usize,
    use_of_rows: RowUse,
}

/// Groups in order of first appearance.
pub(super) struct Groups<'a> {
    files: &'a [PathBuf],
    /// Whether the samples of a kernel type are asked for.
    is_wanted: &'a (dyn Fn(&str) -> bool + 'a),
    /// Whether operator rows are looked for beside the kernel files.
    with_operators: bool,
    skip_bad: bool,
    pub(super) texts: Texts,
    pub(super) groups: Vec<Group>,
    /// By kernel type, input and output shapes.
    by_key: FxHashMap<[Text; 3], u32>,
    /// For each worker, what its variants mean.
    resolved: Vec<Vec<Resolved>>,
    file: Option<usize>,
    operators: OperatorRows,
    attention_rows: usize,
    /// Lines of the current file before the part.
    lines: u64,
    pub(super) skipped: u64,
    pub(super) warnings: Vec<Warning>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(
        files: &'a [PathBuf],
        with_operators: bool,
        skip_bad: bool,
        is_wanted: &'a (dyn Fn(&str) -> bool + 'a),
    ) -> Self {
        Groups {
            files,
            is_wanted,
            with_operators,
            skip_bad,
            texts: Texts::new(),
            groups: Vec::new(),
            by_key: FxHashMap::default(),
            resolved: Vec::new(),
            file: None,
            operators: OperatorRows::default(),
            attention_rows: 0,
            lines: 0,
            skipped: 0,
            warnings: Vec::new(),
        }
    }

    /// Adds the rows of the next part.
    pub(super) fn merge(&mut self, part: &Part) -> Result<(), Error> {
        if self.file != Some(part.file) {
            self.end_file();
            self.begin_file(part.file)?;
        }
        if self.resolved.len() <= part.worker {
            self.resolved.resize(part.worker + 1, Vec::new());
        }
        if part.counts_anew {
            self.resolved[part.worker].clear();
        }
        for variant in &part.new_variants {
            let resolved = self.resolve(variant);
            self.resolved[part.worker].push(resolved);
        }
        for (row, values) in part.rows.iter().zip(part.values.as_chunks::<VALUES>().0) {
            let resolved = self.resolved[part.worker][row.variant as usize];
            if (resolved.use_of_rows == RowUse::PairingOnly || self.groups[resolved.group].is_attention)
                && !self.attention_row(resolved, self.lines + u64::from(row.line))?
            {
                continue;
            }
            if resolved.use_of_rows == RowUse::Samples {
                self.groups[resolved.group].add(values);
            }
        }
        self.skipped += part.skipped;
        self.finish_part(part)
    }

    fn finish_part(&mut self, part: &Part) -> Result<(), Error> {
        let path = &self.files[part.file];
        if let Some((line, bad)) = &part.bad_row {
            let line = self.lines + line;
            return Err(match bad {
                BadRow::LongCell => Error::csv_line(path, line, CsvFault::CellTooLong),
                BadRow::Duration(cell) => Error::BadDuration { path: path.into(), line, cell: cell.clone() },
            });
        }
        if let Some(line) = part.end.open_quote {
            self.warnings.push(Warning::OpenQuote { path: path.clone(), line: self.lines + line });
        }
        self.lines += part.end.lines;
        Ok(())
    }

    fn begin_file(&mut self, file: usize) -> Result<(), Error> {
        self.file = Some(file);
        self.lines = 0;
        self.attention_rows = 0;
        self.operators =
            if self.with_operators { OperatorRows::beside(&self.files[file])? } else { OperatorRows::default() };
        Ok(())
    }

    /// Ends the current file.
    pub(super) fn end_file(&mut self) {
        let Some(file) = self.file.take() else { return };
        let (kernel_rows, operator_rows) = (self.attention_rows, self.operators.len());
        if operator_rows > 0 && operator_rows != kernel_rows {
            let directory = self.files[file].parent().unwrap_or(Path::new(".")).to_owned();
            self.warnings.push(Warning::AttentionRowCounts { directory, kernel_rows, operator_rows });
        }
    }

    fn resolve(&mut self, variant: &Variant) -> Resolved {
        if variant.use_of_rows != RowUse::Samples {
            return Resolved { group: 0, use_of_rows: variant.use_of_rows };
        }
        let kernel_type = self.texts.keep(&variant.kernel_type);
        let base = variant.base.each_ref().map(|cell| self.texts.keep(cell));
        let (groups, is_wanted) = (&mut self.groups, self.is_wanted);
        let group = *self.by_key.entry([kernel_type, base[INPUT_SHAPES], base[OUTPUT_SHAPES]]).or_insert_with(|| {
            groups.push(Group {
                is_wanted: is_wanted(&variant.kernel_type),
                is_attention: is_attention(&variant.kernel_type),
                ..Group::new(kernel_type, base)
            });
            u32::try_from(groups.len() - 1).unwrap_or(u32::MAX)
        }) as usize;
        groups[group].see(base);
        Resolved { group, use_of_rows: RowUse::Samples }
    }

    /// Pairs an attention row and takes its runtime shapes if it is the first of its group. False if the row is dropped.
    fn attention_row(&mut self, resolved: Resolved, line: u64) -> Result<bool, Error> {
        let number = self.attention_rows;
        self.attention_rows += 1;
        if resolved.use_of_rows != RowUse::Samples || self.groups[resolved.group].runtime.is_some() {
            return Ok(true);
        }
        let input_shapes = self.texts.get(self.groups[resolved.group].base[INPUT_SHAPES]);
        let Some(file) = self.file else { return Ok(true) };
        let row = AttentionRow { file: &self.files[file], line, number, input_shapes };
        match RuntimeShapes::of(row, &self.operators) {
            Ok(runtime) => self.groups[resolved.group].runtime = Some(Box::new(runtime)),
            Err(_) if self.skip_bad => {
                self.skipped += 1;
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}

impl Group {
    fn new(kernel_type: Text, base: [Text; BASE.len()]) -> Self {
        Group {
            kernel_type,
            base: [Text::EMPTY; BASE.len()],
            count: 0,
            samples: SmallVec::new(),
            sums: Sums::default(),
            sum_of_squares: 0.0,
            runtime: None,
            attributes: ATTRIBUTES.map(|column| base[column]),
            is_mixed: false,
            is_attention: false,
            is_wanted: false,
        }
    }

    fn see(&mut self, base: [Text; BASE.len()]) {
        for (cell, new) in self.base.iter_mut().zip(base) {
            if *cell == Text::EMPTY {
                *cell = new;
            }
        }
        self.is_mixed |= ATTRIBUTES.iter().zip(self.attributes).any(|(column, first)| base[*column] != first);
    }

    /// Adds a sample. Row order is what makes the digits of the sums.
    fn add(&mut self, values: &[f64; VALUES]) {
        self.count += 1;
        if !self.is_wanted {
            return;
        }
        let duration_us = values[0];
        self.samples.push(duration_us);
        self.sum_of_squares += duration_us * duration_us;
        self.sums.add(values);
    }
}
