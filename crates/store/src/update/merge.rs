//! Writing samples into the rows of one table, in two passes over its file: the first finds the rows of the samples, the second writes.

use super::assignment::{Assigned, Assignment, SampleUse};
use super::changes::{CellChanges, ChangeKind, RowChange, TableChanges};
use super::layout::Layout;
use super::outcome::{Gap, Mode, TableUpdate};
use super::row::{NewCells, Origin, Row};
use super::samples::{Sample, Samples};
use super::writer::TableWriter;
use crate::columns::{EP_SIZE, METRICS};
use crate::duration::{is_valid, number};
use crate::error::Error;
use crate::kernel::{DISPATCH_FFN_COMBINE, operator_name};
use crate::registry;
use crate::signature::{Rules, Signature, Variant};
use crate::table::TableFile;
use perfdb_files::escape::shown;
use perfdb_files::replace::Staged;
use perfdb_pycompat::text::trim;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

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
    /// Compute everything and write nothing.
    pub(super) dry_run: bool,
}

/// The samples of a job in the order in which they are merged.
type JobSamples<'s> = Vec<(&'s Signature, &'s Sample, SampleUse)>;

impl Job<'_> {
    /// Updates the table; returns its staged content if it is to be written.
    pub(super) fn run(&self, samples: &Samples) -> Result<(TableUpdate, Option<Staged>), Error> {
        let samples = self.samples(samples);
        let mut file = if self.path.exists() { Some(TableFile::open(self.path)?) } else { None };
        let stem = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut result = TableUpdate { operator: stem, path: self.path.to_owned(), ..TableUpdate::default() };
        let pass = file.as_mut().map(TableFile::pass).transpose()?;
        let old_columns = pass.as_ref().map(|pass| pass.columns().to_vec()).unwrap_or_default();
        let layout = match pass {
            Some(_) => Layout::rewrite(&old_columns),
            None => Layout::new_table(
                samples
                    .iter()
                    .any(|(_, sample, use_of_sample)| *use_of_sample == SampleUse::Merge && sample.ep_size.is_some()),
            ),
        };
        let layout = adopt_ep_size(layout, &mut result, &samples);
        let rules = Rules::new(&result.operator, Variant::Database);
        let is_dispatch = operator_name(&result.operator) == DISPATCH_FFN_COMBINE;
        let with_signatures = samples.iter().map(|&(signature, sample, use_of_sample)| {
            // The size is the replay's, whatever its summary has.
            let own = is_dispatch.then(|| rules.signature(&sample.cells(&sample.ep_size_text())));
            (own.map_or(Cow::Borrowed(signature), Cow::Owned), sample, use_of_sample)
        });
        let assignment = Assignment::find(pass, &layout, &rules, self.mode, with_signatures, &mut result)?;
        let is_new = file.is_none();
        let may_change = is_new || assignment.may_change(self.mode, self.prune);
        let merger = Merger {
            job: self,
            layout: &layout,
            assignment: &assignment,
            old_columns: &old_columns,
            result,
            gaps: Vec::new(),
            changes: Vec::new(),
            is_new,
            differs: is_new,
            writer: if may_change && !self.dry_run {
                Some(TableWriter::create(self.path, &layout.names)?)
            } else {
                None
            },
        };
        let (result, writer) = merger.run(file.as_mut())?;
        let staged = match writer.filter(|_| result.is_written) {
            Some(writer) => Some(writer.finish()?),
            None => None,
        };
        Ok((result, staged))
    }

    fn samples<'s>(&self, samples: &'s Samples) -> JobSamples<'s> {
        let own = samples.of(self.operator).chain(self.namesakes.iter().flat_map(|operator| samples.of(operator)));
        let use_of_own =
            if registry::is_interchangeable(self.operator) { SampleUse::MatchOnly } else { SampleUse::Merge };
        let own = own.map(|(signature, sample)| (signature, sample, use_of_own));
        let of_siblings = registry::siblings(self.operator).flat_map(|sibling| samples.of(sibling));
        own.chain(of_siblings.map(|(signature, sample)| (signature, sample, SampleUse::MatchOnly))).collect()
    }
}

fn missing(names: &[String], others: &[String]) -> Vec<String> {
    names.iter().filter(|name| !others.contains(name)).cloned().collect()
}

/// A table of fused experts without a size takes the size of the samples, if they agree.
fn adopt_ep_size(layout: Layout, result: &mut TableUpdate, samples: &JobSamples<'_>) -> Layout {
    if operator_name(&result.operator) != DISPATCH_FFN_COMBINE || layout.has(EP_SIZE) {
        return layout;
    }
    let sizes: BTreeSet<i64> = samples.iter().filter_map(|(_, sample, _)| sample.ep_size).collect();
    let (Some(size), 1) = (sizes.first(), sizes.len()) else { return layout };
    let name = result.path.file_name().map(|name| shown(Path::new(name))).unwrap_or_default();
    result
        .notices
        .push(format!("[WARN] {name} has no EP Size column; using incoming EP Size={size} for legacy row matching."));
    layout.with_constant(EP_SIZE, size.to_string())
}

/// The second pass.
struct Merger<'a, 's> {
    job: &'a Job<'a>,
    layout: &'a Layout,
    assignment: &'a Assignment<'s>,
    old_columns: &'a [String],
    result: TableUpdate,
    /// With the place of their sample among all.
    gaps: Vec<(usize, Gap)>,
    changes: Vec<RowChange>,
    is_new: bool,
    /// Whether the rows that stay differ from those that were read.
    differs: bool,
    writer: Option<TableWriter>,
}

impl Merger<'_, '_> {
    fn run(mut self, file: Option<&mut TableFile<'_>>) -> Result<(TableUpdate, Option<TableWriter>), Error> {
        let (job, layout, assignment) = (self.job, self.layout, self.assignment);
        let mut assigned = assignment.assigned.as_slice();
        let mut of_row = |row: usize| {
            let (these, rest) = assigned.split_at(assigned.partition_point(|assigned| assigned.row <= row));
            assigned = rest;
            these
        };
        let mut new = NewCells::new(layout.names.len());
        if let Some(file) = file.filter(|_| assignment.needs_rows(job.mode, job.prune)) {
            let found = file.pass()?.for_each(|row| {
                let samples = of_row(row.index);
                self.row(Row::start(layout, Origin::File(row), &mut new), row.index, Some(row.record_number()), samples)
            })?;
            if found != assignment.read_rows {
                return Err(Error::input(job.path, None, "changed while it was read; run again"));
            }
        }
        for (at, &sample) in assignment.added.iter().enumerate() {
            let index = assignment.read_rows + at;
            let mut cells = vec![String::new(); layout.names.len()];
            for (column, cell) in layout.samples.iter().zip(&mut cells) {
                sample.push_column(*column, cell);
            }
            self.row(Row::start(layout, Origin::Added(&cells), &mut new), index, None, of_row(index))?;
        }
        let Merger { mut result, mut gaps, changes, is_new: created, differs, writer, .. } = self;
        tracing::debug!(
            "{}: {} rows, {} samples fit",
            shown(job.path),
            assignment.read_rows,
            assignment.assigned.len()
        );
        gaps.sort_by_key(|(order, _)| *order);
        result.gaps = gaps.into_iter().map(|(_, gap)| gap).collect();
        result.duplicates.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        result.is_written = differs;
        if differs && job.record_changes {
            let path = job.path.to_owned();
            let columns_added = missing(&layout.names, self.old_columns);
            let columns_removed = missing(self.old_columns, &layout.names);
            result.changes = Some(TableChanges { path, created, columns_added, columns_removed, rows: changes });
        }
        Ok((result, writer))
    }

    /// Merges the samples of a row into it, and writes it.
    fn row(
        &mut self,
        mut row: Row<'_>,
        index: usize,
        record: Option<u64>,
        samples: &[Assigned<'_>],
    ) -> Result<(), Error> {
        if let Some(&count) = self.assignment.repeated.get(&index) {
            self.result.duplicates.push((row.text_form(), count));
        }
        for assigned in samples {
            self.sample(&mut row, assigned);
        }
        let is_deleted = self.job.prune && !row.has_duration();
        if is_deleted {
            self.result.deleted.push(row.text_form());
        }
        let kind = match (record, is_deleted) {
            (Some(_), true) => Some(ChangeKind::Deleted),
            (Some(_), false) => row.changed().next().map(|_| ChangeKind::Updated),
            (None, true) => None,
            (None, false) => Some(ChangeKind::Added),
        };
        if let Some(kind) = kind {
            self.differs = true;
            if self.job.record_changes {
                self.changes.push(RowChange { row: record, kind, shape: row.text_form(), cells: cells_of(&row, kind) });
            }
        }
        match &mut self.writer {
            Some(writer) if !is_deleted => writer.push(&row),
            _ => Ok(()),
        }
    }

    fn sample(&mut self, row: &mut Row<'_>, assigned: &Assigned<'_>) {
        if self.job.mode == Mode::MissingOnly && row.has_duration() {
            match assigned.use_of_sample {
                SampleUse::Merge => self.result.unchanged += 1,
                SampleUse::MatchOnly => return,
            }
        } else {
            self.result.updated += usize::from(write_sample(row, &assigned.sample));
        }
        let (Some(measured), Some(profiled)) = (row.layout.measured, row.layout.profiled) else { return };
        let [measured_us, profiled_us] = [measured, profiled].map(|column| number(&row.cell(column)));
        if is_valid(measured_us) && is_valid(profiled_us) {
            let shape = row.text_form().into_boxed_str();
            self.gaps.push((assigned.order, Gap { shape, measured_us, profiled_us }));
        }
    }
}

/// Writes a sample into its row. Returns whether the duration changes.
fn write_sample(row: &mut Row<'_>, sample: &Sample) -> bool {
    let mut text = String::new();
    let mut differs = false;
    if let Some(measured) = row.layout.measured {
        sample.push_duration(&mut text);
        differs = trim(&row.cell(measured)) != text;
        row.set(measured, &text);
    }
    for metric in 0..METRICS.len() {
        if let Some(column) = row.layout.metrics[metric] {
            text.clear();
            sample.push_metric(metric, &mut text);
            row.set(column, &text);
        }
    }
    differs
}

/// The cells that a change concerns, old and new.
fn cells_of(row: &Row<'_>, kind: ChangeKind) -> CellChanges {
    let names = &row.layout.names;
    if kind == ChangeKind::Updated {
        // In the order in which a sample is written.
        let order = row.layout.measured.into_iter().chain(row.layout.metrics.into_iter().flatten());
        let changed: Vec<usize> = row.changed().collect();
        let pair = |column: usize| [Some(row.old(column).into_owned()), Some(row.cell(column).into_owned())];
        return order.filter(|column| changed.contains(column)).map(|at| (names[at].clone(), pair(at))).collect();
    }
    let cells = names.iter().enumerate().map(|(at, name)| (name, row.cell(at).into_owned()));
    let cells = cells.filter(|(_, cell)| !cell.is_empty());
    let pair = |cell| if kind == ChangeKind::Deleted { [Some(cell), None] } else { [None, Some(cell)] };
    cells.map(|(name, cell)| (name.clone(), pair(cell))).collect()
}
