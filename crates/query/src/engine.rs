//! One question on its way through the rules.

use crate::answer::{Answer, Miss, Source};
use crate::explain::Explanation;
use crate::interval::with_interval;
use crate::query::{Query, Target};
use crate::semantics::{Layer, Rules};
use crate::state::{Operator, State};
use crate::table::KernelRows;
use crate::table::collective::CollectiveRows;
use crate::{between, measured};
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Names of tables in the order in which they are asked.
pub(crate) type Names<'e> = SmallVec<[&'e str; 4]>;

/// A question, the rules and the database.
#[derive(Clone, Copy)]
pub(crate) struct Context<'d> {
    pub(crate) state: &'d State,
    pub(crate) rules: &'static Rules,
    pub(crate) query: &'d Query,
    pub(crate) entry: Option<&'d Entry>,
    operator: Option<&'d Operator>,
    /// What was tried, where that is asked for.
    pub(crate) explanation: Option<&'d RefCell<Explanation>>,
}

impl<'d> Context<'d> {
    #[inline]
    pub(crate) fn new(
        state: &'d State,
        rules: &'static Rules,
        query: &'d Query,
        explanation: Option<&'d RefCell<Explanation>>,
    ) -> Self {
        let operator = match &query.target {
            Target::Operator(name) if query.entry.is_none() => state.operator(name),
            _ => None,
        };
        let entry = query.entry.as_deref().or(operator.map(|operator| &operator.entry));
        Context { state, rules, query, entry, operator, explanation }
    }

    /// The kernel type of an entry and its alternates, without repetitions.
    #[inline]
    pub(crate) fn names<'e>(&self, entry: &'e Entry) -> Names<'e> {
        let mut names = Names::new();
        for name in entry.kernel_type.iter().chain(&entry.alternate_kernel_types) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The table of a kernel type; `None` if there is none.
    #[inline]
    pub(crate) fn table(&self, name: &str) -> Result<Option<&'d KernelRows>, Miss> {
        let known = self.operator.and_then(|operator| operator.slot(name));
        self.state.rows(known.or_else(|| self.state.slot(name)))
    }

    /// The table of an entry's kernel type; `None` if there is none.
    #[inline]
    pub(crate) fn own_table(&self, entry: &Entry) -> Result<Option<&'d KernelRows>, Miss> {
        match (self.operator, entry.kernel_type.as_deref()) {
            // That of the operator was looked up when the mapping was read.
            (Some(operator), _) if std::ptr::eq(&operator.entry, entry) => self.state.rows(operator.own_slot),
            (_, Some(name)) => self.table(name),
            (_, None) => Ok(None),
        }
    }

    /// The tables that exist, in order.
    #[inline]
    pub(crate) fn tables(&self, names: &[&str]) -> Result<SmallVec<[&'d KernelRows; 4]>, Miss> {
        let mut tables = SmallVec::new();
        for name in names {
            if let Some(table) = self.table(name)? {
                tables.push(table);
            }
        }
        Ok(tables)
    }

    /// The table of a collective.
    pub(crate) fn collective(&self, name: &str) -> Result<Option<&'d CollectiveRows>, Miss> {
        self.state.collective(self.state.slot(name))
    }

    /// Answers in a layer, with an interval where the rules say so.
    pub(crate) fn answer(&self, layer: Layer) -> Result<Answer, Miss> {
        // The one value that is returned, so that an answer is made where the caller wants it and not copied.
        let mut answer = measured::lookup(self);
        let is_final = match &answer {
            Ok(answer) => answer.source != Source::Partial && !(answer.is_padded && self.rules.bracket_before_padding),
            Err(miss) => miss.reason.code() == "unreadable",
        };
        if !is_final && layer == Layer::Interpolating {
            answer = self.between_rows(answer);
        }
        if let Ok(answer) = &mut answer
            && self.state.is_of_other_version(answer)
        {
            answer.more.get_or_insert_default().is_of_other_version = true;
        }
        if self.rules.predicts() {
            answer = answer.map(|answer| with_interval(self, answer));
        }
        answer
    }

    /// The answer between rows, or what the measured reader has if there is none.
    fn between_rows(&self, measured: Result<Answer, Miss>) -> Result<Answer, Miss> {
        match (between::lookup(self), measured) {
            (Ok(answer), _) => Ok(answer),
            (Err(_), Ok(answer)) if self.rules.keeps_partial || answer.source != Source::Partial => Ok(answer),
            // The reader of 2025 reports the reason of the exact search.
            (Err(_), Err(miss)) if !self.rules.is_newest => Err(miss),
            (Err(miss), _) => Err(miss),
        }
    }
}
