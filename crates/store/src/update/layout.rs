//! The columns of a table when it is rewritten, and what stands in each of them.

use super::header::rewritten;
use super::samples::SampleColumn;
use crate::columns::{EP_SIZE, MEASURED_DURATION, METRICS, PROFILED_DURATION, full_schema, measured_metric};
use crate::duration::DurationColumns;
use crate::signature::SignatureColumns;

/// Where the cells of a column come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Source {
    /// A column of the file.
    Read(usize),
    /// The same text in every row.
    Constant(String),
}

/// The columns of the new table.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) names: Vec<String>,
    pub(super) sources: Vec<Source>,
    pub(super) signature: SignatureColumns,
    pub(super) durations: DurationColumns,
    pub(super) measured: Option<usize>,
    pub(super) profiled: Option<usize>,
    pub(super) metrics: [Option<usize>; METRICS.len()],
    /// What a sample has for each column.
    pub(super) samples: Vec<SampleColumn>,
}

impl Layout {
    /// The columns of a table that no file holds yet.
    pub(super) fn new_table(has_ep_size: bool) -> Layout {
        let names = full_schema().into_iter().chain(has_ep_size.then(|| EP_SIZE.to_owned()));
        Layout::of(names.map(|name| (name, None)).collect())
    }

    /// The columns that a rewrite gives a table.
    pub(super) fn rewrite(columns: &[String]) -> Layout {
        Layout::of(rewritten(columns))
    }

    fn of(columns: Vec<(String, Option<usize>)>) -> Layout {
        let (names, sources): (Vec<String>, Vec<Source>) = columns
            .into_iter()
            .map(|(name, from)| (name, from.map_or_else(|| Source::Constant(String::new()), Source::Read)))
            .unzip();
        Layout::find(names, sources)
    }

    fn find(names: Vec<String>, sources: Vec<Source>) -> Layout {
        let position = |wanted: &str| names.iter().rposition(|name| name == wanted);
        Layout {
            signature: SignatureColumns::find(position),
            durations: DurationColumns::find(position),
            measured: position(MEASURED_DURATION),
            profiled: position(PROFILED_DURATION),
            metrics: METRICS.map(|metric| position(&measured_metric(metric))),
            samples: names.iter().map(|name| SampleColumn::of(name)).collect(),
            names,
            sources,
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|column| column == name)
    }

    /// Adds a column at the end with the same text in every row.
    pub(super) fn with_constant(self, name: &str, text: String) -> Layout {
        let Layout { mut names, mut sources, .. } = self;
        names.push(name.to_owned());
        sources.push(Source::Constant(text));
        Layout::find(names, sources)
    }
}
