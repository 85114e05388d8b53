//! Which samples go into which rows of a table.

use super::layout::{Layout, Source};
use super::outcome::{Mode, TableUpdate};
use super::samples::Sample;
use crate::error::Error;
use crate::signature::{Rules, Signature};
use crate::table::{FileRow, Pass};
use indexmap::IndexMap;
use perfdb_files::escape::shown;
use rustc_hash::FxBuildHasher;
use std::borrow::Cow;
use std::path::Path;

/// What may become of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleUse {
    /// It is written into the row that it fits, or becomes a row.
    Merge,
    /// It is written only into a row that it fits.
    MatchOnly,
}

/// A sample that has to be looked at for a row.
#[derive(Debug, Clone)]
pub(super) struct Assigned<'s> {
    /// The row; those that are added count on behind those that were read.
    pub(super) row: usize,
    /// The sample's place among all.
    pub(super) order: usize,
    pub(super) sample: Cow<'s, Sample>,
    pub(super) use_of_sample: SampleUse,
}

/// The rows of a table with their samples.
#[derive(Debug, Default)]
pub(super) struct Assignment<'s> {
    /// Number of rows in the file.
    pub(super) read_rows: usize,
    /// By row, then in the order of the samples.
    pub(super) assigned: Vec<Assigned<'s>>,
    /// The samples that become rows.
    pub(super) added: Vec<&'s Sample>,
    /// Rows that others repeat, by position, with the number of equal ones.
    pub(super) repeated: IndexMap<usize, usize, FxBuildHasher>,
    /// Whether each row of the file has a valid duration.
    pub(super) has_duration: Vec<bool>,
}

/// The rows of a signature.
#[derive(Debug)]
struct Rows {
    first: usize,
    /// The first row of each exact signature, where the signature takes different cells for one case.
    exact: IndexMap<Signature, usize, FxBuildHasher>,
}

impl Rows {
    /// The row with these very cells; where none has them, the first.
    fn of(&self, exact: &Signature) -> usize {
        self.exact.get(exact).copied().unwrap_or(self.first)
    }

    /// The rows that a sample goes to. One row takes it whole, as the sum of all its measurements.
    fn shares<'s>(&self, sample: &'s Sample) -> Vec<(usize, Cow<'s, Sample>)> {
        let mut shares: IndexMap<usize, Cow<'s, Sample>, FxBuildHasher> = IndexMap::default();
        for (exact, variant) in &sample.variants {
            let share = shares.entry(self.of(exact));
            share.and_modify(|share| share.to_mut().add(variant)).or_insert(Cow::Borrowed(variant));
        }
        if shares.len() < 2 {
            let row = shares.first().map_or(self.first, |(row, _)| *row);
            return vec![(row, Cow::Borrowed(sample))];
        }
        shares.into_iter().collect()
    }
}

/// The rows of each signature.
type RowsOfSignatures = IndexMap<Signature, Rows, FxBuildHasher>;

/// The cell of a row of the file in a column of the new table.
pub(super) fn read_cell<'r>(layout: &'r Layout, row: FileRow<'r>, column: usize) -> Cow<'r, str> {
    match &layout.sources[column] {
        Source::Read(column) => row.cell(*column),
        Source::Constant(text) => Cow::Borrowed(text),
    }
}

impl<'s> Assignment<'s> {
    /// Reads the table, if there is one, and finds the rows of the samples, which come in the order in which they are merged.
    pub(super) fn find(
        pass: Option<Pass<'_>>,
        layout: &Layout,
        rules: &Rules,
        mode: Mode,
        samples: impl Iterator<Item = (Cow<'s, Signature>, &'s Sample, SampleUse)>,
        result: &mut TableUpdate,
    ) -> Result<Assignment<'s>, Error> {
        let mut found = Assignment::default();
        let mut known = RowsOfSignatures::default();
        if let Some(pass) = pass {
            found.read_rows = pass.for_each(|row| {
                let texts = layout.signature.texts(|column| read_cell(layout, row, column));
                found.has_duration.push(layout.durations.any_valid_of(|column| read_cell(layout, row, column)));
                let cells = texts.cells();
                let rows = known
                    .entry(rules.signature(&cells))
                    .or_insert_with(|| Rows { first: row.index, exact: IndexMap::default() });
                if rows.first != row.index {
                    *found.repeated.entry(rows.first).or_insert(1) += 1;
                }
                if let Some(exact) = rules.exact(&cells) {
                    rows.exact.entry(exact).or_insert(row.index);
                }
                Ok(())
            })?;
        }
        for (order, (signature, sample, use_of_sample)) in samples.enumerate() {
            match known.get(signature.as_ref()) {
                Some(rows) => {
                    let assigned = |(row, sample)| Assigned { row, order, sample, use_of_sample };
                    found.assigned.extend(rows.shares(sample).into_iter().map(assigned));
                }
                None if use_of_sample == SampleUse::MatchOnly => {
                    let name = result.path.file_name().map(|name| shown(Path::new(name))).unwrap_or_default();
                    let text = sample.text_form();
                    result.notices.push(format!("[WARN] match-only profiling row did not match {name}: {text}"));
                }
                None => {
                    result.missing.push(sample.text_form());
                    if mode == Mode::All {
                        let first = found.read_rows + found.added.len();
                        known.insert(signature.into_owned(), Rows { first, exact: IndexMap::default() });
                        found.added.push(sample);
                        result.added += 1;
                    }
                }
            }
        }
        found.assigned.sort_by_key(|assigned| assigned.row);
        Ok(found)
    }

    /// Whether any row of the table may come out changed.
    pub(super) fn may_change(&self, mode: Mode, prune: bool) -> bool {
        let takes = |assigned: &Assigned<'_>| match mode {
            Mode::All => true,
            Mode::MissingOnly => self.has_duration.get(assigned.row) != Some(&true),
        };
        !self.added.is_empty() || (prune && self.has_duration.contains(&false)) || self.assigned.iter().any(takes)
    }

    /// Whether the rows have to be walked over once more.
    pub(super) fn needs_rows(&self, mode: Mode, prune: bool) -> bool {
        !self.assigned.is_empty() || !self.repeated.is_empty() || self.may_change(mode, prune)
    }
}
