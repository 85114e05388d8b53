//! Writing samples into the rows of one table.

use super::changes::{CellChanges, ChangeKind, RowChange, TableChanges};
use super::header::rewritten;
use super::samples::{Sample, SampleColumn, Samples};
use crate::columns::{EP_SIZE, MEASURED_DURATION, METRICS, PROFILED_DURATION, full_schema, measured_metric};
use crate::duration::{DurationColumns, number};
use crate::error::Error;
use crate::kernel::{DISPATCH_FFN_COMBINE, matmul_siblings, operator_name};
use crate::signature::{Rules, Signature, SignatureColumns, Variant};
use crate::table::{ReadOptions, Table, Written};
use indexmap::IndexMap;
use perfdb_files::escape::shown;
use perfdb_pycompat::text::trim;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which rows an update may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every row that a sample fits; samples that fit none become rows.
    All,
    /// Only rows without a valid duration; nothing is added.
    MissingOnly,
}

impl Mode {
    /// The value of `--update-mode`.
    pub fn name(self) -> &'static str {
        match self {
            Mode::All => "all",
            Mode::MissingOnly => "missing-only",
        }
    }
}

/// What an update did to one table.
#[derive(Debug, Clone, Default)]
pub struct TableUpdate {
    /// The operator, which is the stem of the file's name.
    pub operator: String,
    /// The table.
    pub path: PathBuf,
    /// Rows whose duration changed.
    pub updated: usize,
    /// Rows that were added.
    pub added: usize,
    /// Samples that fit a row which keeps its duration.
    pub unchanged: usize,
    /// Samples that fitted no row, as text.
    pub missing: Vec<String>,
    /// Rows that were pruned, as text.
    pub deleted: Vec<String>,
    /// Signatures that several rows have: the first row as text, and how many.
    pub duplicates: Vec<(String, usize)>,
    /// Rows with both a measured and a profiled duration, one per sample.
    pub gaps: Vec<Gap>,
    /// Lines to print, without a line break.
    pub notices: Vec<String>,
    /// Whether the file is written.
    pub is_written: bool,
    /// What changes, if it was asked for and something does.
    pub changes: Option<TableChanges>,
}

/// A measured beside a profiled duration.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// The row, as text.
    pub shape: String,
    /// The measured duration.
    pub measured_us: f64,
    /// The profiled duration.
    pub profiled_us: f64,
}

impl Gap {
    /// Their distance.
    pub fn difference_us(&self) -> f64 {
        (self.measured_us - self.profiled_us).abs()
    }

    /// Measured by profiled.
    pub fn ratio(&self) -> f64 {
        self.measured_us / self.profiled_us
    }
}

/// The table to work on, and how.
pub(super) struct Job<'a> {
    pub(super) path: &'a Path,
    /// The operator whose samples go into it.
    pub(super) operator: &'a str,
    /// Further operators whose file has the same name.
    pub(super) namesakes: &'a [String],
    pub(super) mode: Mode,
    pub(super) prune: bool,
    pub(super) record_changes: bool,
}

impl Job<'_> {
    /// Updates the table; returns its new content if it is to be written.
    pub(super) fn run(&self, samples: &Samples) -> Result<(TableUpdate, Option<Vec<u8>>), Error> {
        let mut merge_rows: Vec<(&Signature, &Sample)> = samples.of(self.operator).collect();
        merge_rows.extend(self.namesakes.iter().flat_map(|operator| samples.of(operator)));
        let mut match_only: Vec<(&Signature, &Sample)> = Vec::new();
        if !matmul_siblings(self.operator).is_empty() {
            match_only.append(&mut merge_rows);
            match_only.extend(matmul_siblings(self.operator).iter().flat_map(|sibling| samples.of(sibling)));
        }
        let is_new = !self.path.exists();
        let mut table = if is_new {
            let has_ep_size = merge_rows.iter().any(|(_, sample)| sample.ep_size.is_some());
            Table::new(self.path, full_schema().into_iter().chain(has_ep_size.then(|| EP_SIZE.to_owned())))
        } else {
            Table::read(self.path, &ReadOptions::database())?
        };
        let old_columns = table.columns().to_vec();
        if !is_new {
            table.rearrange(rewritten(&old_columns));
        }
        let stem = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut result = TableUpdate { operator: stem, path: self.path.to_owned(), ..TableUpdate::default() };
        adopt_ep_size(&mut table, &mut result, merge_rows.iter().chain(&match_only).map(|(_, sample)| *sample));
        let mut merger = Merger::new(table, result, self);
        for (signature, sample) in merge_rows {
            merger.merge(signature, sample, RowUse::Merge);
        }
        for (signature, sample) in match_only {
            merger.merge(signature, sample, RowUse::MatchOnly);
        }
        merger.finish(is_new, &old_columns)
    }
}

/// A table of `DispatchFFNCombine` that does not say for which size it holds takes the size of the samples, if they agree.
fn adopt_ep_size<'s>(table: &mut Table, result: &mut TableUpdate, samples: impl Iterator<Item = &'s Sample>) {
    if operator_name(&result.operator) != DISPATCH_FFN_COMBINE || table.column(EP_SIZE).is_some() {
        return;
    }
    let sizes: BTreeSet<i64> = samples.filter_map(|sample| sample.ep_size).collect();
    if let (Some(size), 1) = (sizes.first(), sizes.len()) {
        table.push_column(EP_SIZE, &size.to_string());
        let name = result.path.file_name().map(|name| shown(Path::new(name))).unwrap_or_default();
        result.notices.push(format!(
            "[WARN] {name} has no EP Size column; using incoming EP Size={size} for legacy row matching."
        ));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowUse {
    Merge,
    MatchOnly,
}

struct Merger<'a> {
    job: &'a Job<'a>,
    table: Table,
    result: TableUpdate,
    rules: Rules,
    columns: SignatureColumns,
    durations: DurationColumns,
    measured: Option<usize>,
    profiled: Option<usize>,
    metrics: [Option<usize>; METRICS.len()],
    /// What a sample has for each column of the table.
    sample_columns: Vec<SampleColumn>,
    index: FxHashMap<Signature, usize>,
    /// Whether the expert-parallel size is part of a row's identity.
    is_dispatch: bool,
    /// How many rows were read.
    read_rows: usize,
    /// Which of them have got other cells.
    changed: Vec<bool>,
    /// Whether a changed row was written to once more, and may be as it was.
    is_unsettled: bool,
    /// Old texts of changed cells, by row and column, if changes are recorded.
    old_cells: IndexMap<(usize, usize), String>,
    text: String,
}

impl<'a> Merger<'a> {
    fn new(table: Table, mut result: TableUpdate, job: &'a Job<'a>) -> Self {
        let rules = Rules::new(&result.operator, Variant::Database);
        let columns = SignatureColumns::of(&table);
        let mut index: FxHashMap<Signature, usize> = FxHashMap::default();
        index.reserve(table.row_count());
        let mut counts: IndexMap<usize, usize> = IndexMap::new();
        for row in table.rows() {
            let first = *index.entry(rules.signature(&columns.cells(row))).or_insert(row.index());
            if first != row.index() {
                *counts.entry(first).or_insert(1) += 1;
            }
        }
        let text_form = |row: usize| columns.cells(table.row(row)).text_form();
        result.duplicates = counts.into_iter().map(|(row, count)| (text_form(row), count)).collect();
        result.duplicates.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Merger {
            job,
            rules,
            columns,
            durations: DurationColumns::of(&table),
            measured: table.column(MEASURED_DURATION),
            profiled: table.column(PROFILED_DURATION),
            metrics: METRICS.map(|metric| table.column(&measured_metric(metric))),
            sample_columns: table.columns().iter().map(|name| SampleColumn::of(name)).collect(),
            index,
            is_dispatch: operator_name(&result.operator) == DISPATCH_FFN_COMBINE,
            read_rows: table.row_count(),
            changed: vec![false; table.row_count()],
            is_unsettled: false,
            old_cells: IndexMap::new(),
            text: String::new(),
            table,
            result,
        }
    }

    fn merge(&mut self, signature: &Signature, sample: &Sample, row_use: RowUse) {
        // The size is the replay's, whatever its summary says.
        let own_signature = self.is_dispatch.then(|| self.rules.signature(&sample.cells(&sample.ep_size_text())));
        let signature = own_signature.as_ref().unwrap_or(signature);
        let Some(&row) = self.index.get(signature) else { return self.unknown(signature, sample, row_use) };
        if self.job.mode == Mode::MissingOnly && self.durations.any_valid(self.table.row(row)) {
            match row_use {
                RowUse::Merge => self.result.unchanged += 1,
                RowUse::MatchOnly => return,
            }
        } else {
            self.write_sample(row, sample);
        }
        self.note_gap(row);
    }

    fn unknown(&mut self, signature: &Signature, sample: &Sample, row_use: RowUse) {
        let text = sample.text_form();
        if row_use == RowUse::MatchOnly {
            let name = self.result.path.file_name().map(|name| shown(Path::new(name))).unwrap_or_default();
            self.result.notices.push(format!("[WARN] match-only profiling row did not match {name}: {text}"));
            return;
        }
        self.result.missing.push(text);
        if self.job.mode == Mode::All {
            let row = self.table.push_row_with(|column, out| sample.push_column(self.sample_columns[column], out));
            self.index.insert(signature.clone(), row);
            self.result.added += 1;
        }
    }

    fn write_sample(&mut self, row: usize, sample: &Sample) {
        self.is_unsettled |= self.changed.get(row) == Some(&true);
        let mut text = std::mem::take(&mut self.text);
        if let Some(measured) = self.measured {
            text.clear();
            sample.push_duration(&mut text);
            let differs = trim(self.table.cell(row, measured)) != text;
            self.result.updated += usize::from(differs);
            self.set(row, measured, &text);
        }
        for metric in 0..METRICS.len() {
            if let Some(column) = self.metrics[metric] {
                text.clear();
                sample.push_metric(metric, &mut text);
                self.set(row, column, &text);
            }
        }
        self.text = text;
    }

    fn set(&mut self, row: usize, column: usize, text: &str) {
        let old = self.table.cell(row, column);
        if old == text {
            return;
        }
        if let Some(changed) = self.changed.get_mut(row) {
            *changed = true;
        }
        if self.job.record_changes && row < self.read_rows {
            self.old_cells.entry((row, column)).or_insert_with(|| old.to_owned());
        }
        self.table.set(row, column, text);
    }

    fn note_gap(&mut self, row: usize) {
        let (Some(measured), Some(profiled)) = (self.measured, self.profiled) else { return };
        let [measured_us, profiled_us] = [measured, profiled].map(|column| number(self.table.cell(row, column)));
        if crate::duration::is_valid(measured_us) && crate::duration::is_valid(profiled_us) {
            let shape = self.columns.cells(self.table.row(row)).text_form();
            self.result.gaps.push(Gap { shape, measured_us, profiled_us });
        }
    }

    fn finish(mut self, is_new: bool, old_columns: &[String]) -> Result<(TableUpdate, Option<Vec<u8>>), Error> {
        let empty: Vec<usize> = if self.job.prune {
            self.table.rows().filter(|row| !self.durations.any_valid(*row)).map(|row| row.index()).collect()
        } else {
            Vec::new()
        };
        for &row in &empty {
            self.result.deleted.push(self.columns.cells(self.table.row(row)).text_form());
        }
        self.result.is_written = is_new || self.has_other_rows(&empty)?;
        if !self.result.is_written {
            return Ok((self.result, None));
        }
        if self.job.record_changes {
            self.result.changes = Some(self.changes(is_new, old_columns, &empty));
        }
        let mut gone = empty.into_iter().peekable();
        self.table.retain_rows(|row| gone.next_if_eq(&row).is_none());
        let content = self.table.to_csv(Written::PLAIN);
        Ok((self.result, Some(content)))
    }

    /// Whether the rows that stay differ from those that were read.
    fn has_other_rows(&self, empty: &[usize]) -> Result<bool, Error> {
        let pruned = empty.partition_point(|&row| row < self.read_rows);
        let added = self.table.row_count() - self.read_rows;
        if pruned > 0 || added > empty.len() - pruned {
            return Ok(true);
        }
        if !self.is_unsettled {
            return Ok(self.changed.contains(&true));
        }
        let mut old = Table::parse(self.table.path(), self.table.source().to_vec(), &ReadOptions::database())?;
        old.rearrange(rewritten(old.columns()));
        let differs = |row: usize| {
            let old = old.row(row).cells();
            // A column that was appended has not changed.
            old.zip(self.table.row(row).cells()).any(|(old, new)| old != new)
        };
        Ok((0..self.read_rows).filter(|&row| self.changed[row]).any(differs))
    }

    fn changes(&self, is_new: bool, old_columns: &[String], empty: &[usize]) -> TableChanges {
        let columns = self.table.columns();
        let missing =
            |names: &[String], others: &[String]| names.iter().filter(|name| !others.contains(name)).cloned().collect();
        let mut by_row: IndexMap<usize, CellChanges> = IndexMap::new();
        for ((row, column), old) in &self.old_cells {
            let new = self.table.cell(*row, *column);
            if old != new {
                let cells = by_row.entry(*row).or_default();
                cells.insert(columns[*column].clone(), [Some(old.clone()), Some(new.to_owned())]);
            }
        }
        let whole_row = |row: usize, side: usize| {
            let cells = columns.iter().zip(self.table.row(row).cells()).filter(|(_, cell)| !cell.is_empty());
            let pair =
                |cell: &str| if side == 0 { [Some(cell.to_owned()), None] } else { [None, Some(cell.to_owned())] };
            cells.map(|(name, cell)| (name.clone(), pair(cell))).collect::<IndexMap<_, _>>()
        };
        let mut rows: Vec<(usize, ChangeKind, CellChanges)> = Vec::new();
        rows.extend(
            by_row
                .into_iter()
                .filter(|(row, _)| !empty.contains(row))
                .map(|(row, cells)| (row, ChangeKind::Updated, cells)),
        );
        rows.extend(
            empty.iter().filter(|&&row| row < self.read_rows).map(|&row| (row, ChangeKind::Deleted, whole_row(row, 0))),
        );
        let added = (self.read_rows..self.table.row_count()).filter(|row| !empty.contains(row));
        rows.extend(added.map(|row| (row, ChangeKind::Added, whole_row(row, 1))));
        rows.sort_by_key(|(row, ..)| *row);
        TableChanges {
            path: self.result.path.clone(),
            created: is_new,
            columns_added: missing(columns, if is_new { &[] } else { old_columns }),
            columns_removed: missing(old_columns, columns),
            rows: rows
                .into_iter()
                .map(|(row, kind, cells)| RowChange {
                    row: self.table.record_number(row),
                    kind,
                    shape: self.columns.cells(self.table.row(row)).text_form(),
                    cells,
                })
                .collect(),
        }
    }
}
