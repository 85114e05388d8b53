//! A question with the rules and the tables that it is asked of.

use crate::answer::LookupError;
use crate::explanation::Explanation;
use crate::query::{Query, Target};
use crate::semantics::{ReaderKind, Rules};
use crate::state::{Operator, State};
use crate::table::KernelRows;
use crate::table::collective::CollectiveRows;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::{KernelClass, class_of};
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

    /// The same question under other rules.
    pub(crate) fn under(&self, rules: &'static Rules) -> Self {
        Context { rules, ..*self }
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
    pub(crate) fn table(&self, name: &str) -> Result<Option<&'d KernelRows>, LookupError> {
        let known = self.operator.and_then(|operator| operator.slot(name));
        self.state.rows(known.or_else(|| self.state.slot(name)))
    }

    /// The table of an entry's kernel type; `None` if there is none.
    #[inline]
    pub(crate) fn own_table(&self, entry: &Entry) -> Result<Option<&'d KernelRows>, LookupError> {
        match (self.operator, entry.kernel_type.as_deref()) {
            // That of the operator was looked up when the mapping was read.
            (Some(operator), _) if std::ptr::eq(&operator.entry, entry) => self.state.rows(operator.own_slot),
            (_, Some(name)) => self.table(name),
            (_, None) => Ok(None),
        }
    }

    /// What the kernel of a table does, as the rules have it.
    #[inline]
    pub(crate) fn class(&self, name: &str) -> KernelClass {
        if self.rules.reader != ReaderKind::Own {
            return class_of(name);
        }
        let known = self.operator.and_then(|operator| operator.slot(name));
        known.and_then(|slot| self.state.class(slot)).unwrap_or_else(|| self.state.registry.class(name))
    }

    /// Whether a kernel is a collective, whose table has message sizes.
    #[inline]
    pub(crate) fn is_collective(&self, name: &str) -> bool {
        self.class(name) == KernelClass::Collective
    }

    /// The tables that exist, in order.
    #[inline]
    pub(crate) fn tables(&self, names: &[&str]) -> Result<SmallVec<[&'d KernelRows; 4]>, LookupError> {
        let mut tables = SmallVec::new();
        for name in names {
            if let Some(table) = self.table(name)? {
                tables.push(table);
            }
        }
        Ok(tables)
    }

    /// The table of a collective.
    pub(crate) fn collective(&self, name: &str) -> Result<Option<&'d CollectiveRows>, LookupError> {
        self.state.collective(self.state.slot(name))
    }
}
