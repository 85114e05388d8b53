//! Noting what is tried on the way to an answer.

use crate::context::{Context, Names};
use perfdb_store::op_mapping::Entry;
use std::fmt::Write as _;

/// How many rows of a table are named; of the others it is counted in what they differ.
const ROWS_PER_TABLE: usize = 20;

/// The tables that an entry names.
pub(crate) fn asked<'e>(context: &Context<'_>, entry: &'e Entry) -> Names<'e> {
    let mut names = context.names(entry);
    names.extend(entry.sub_kernels.iter().map(String::as_str).filter(|name| !context.is_collective(name)));
    names
}

impl Context<'_> {
    /// Notes what is tried, if anybody wants to know.
    #[inline]
    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        if let Some(explanation) = self.explanation {
            explanation.borrow_mut().lines.push(line());
        }
    }

    /// Notes the entry, its tables, and why their nearest rows do not answer.
    pub(crate) fn explain_tables(&self) {
        let Some(entry) = self.entry else {
            return self.note(|| format!("{}: the operator mapping has no entry", self.query.name()));
        };
        self.note(|| {
            let mut line = format!("{}: class {:?}", self.query.name(), entry.class());
            if let Some(mode) = &entry.query_mode {
                let _ = write!(line, ", query mode {mode}");
            }
            if let Some(count) = entry.tc_input_count {
                let _ = write!(line, ", first {count} inputs");
            }
            line
        });
        for name in asked(self, entry) {
            match self.table(name) {
                Err(miss) => self.note(|| format!("{name}: {miss}")),
                Ok(None) => self.note(|| format!("{name}: no table")),
                Ok(Some(table)) => {
                    self.note(|| format!("{name}: {} rows with a duration", table.iter().count()));
                    if self.explanation.is_some() {
                        let (rows, others) = self.nearest_of(entry, table, ROWS_PER_TABLE);
                        for near in rows {
                            let why = if near.difference.is_empty() { "fits" } else { &near.difference };
                            self.note(|| format!("  {} {} {:.3} us: {why}", near.row, near.inputs, near.duration_us));
                        }
                        if !others.is_empty() {
                            self.note(|| format!("  {others}"));
                        }
                    }
                }
            }
        }
        for name in entry.sub_kernels.iter().filter(|name| self.is_collective(name)) {
            self.note(|| match self.collective(name) {
                Ok(Some(table)) if table.has_sizes => format!("{name}: a table of message sizes"),
                Ok(Some(_)) => format!("{name}: a table without message sizes"),
                Ok(None) => format!("{name}: no table"),
                Err(miss) => format!("{name}: {miss}"),
            });
        }
    }
}
