//! What a caller wants of a chrome trace, and what it tolerates.

use crate::scan::TextRule;

/// What may stand at the top of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopLevel {
    /// An object with `traceEvents`; a list is an error.
    Object,
    /// An object with `traceEvents`, or the list of events itself.
    ObjectOrList,
}

/// Which top-level members besides `traceEvents` are handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Members {
    Named(Vec<String>),
    All,
}

/// How to read a trace: one of two presets, and the members the caller wants to see.
///
/// ```
/// use perfdb_trace::chrome::ReadOptions;
/// let options = ReadOptions::profiler().args(["correlation", "stream"]).members(["deviceProperties"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    pub(super) top_level: TopLevel,
    pub(super) text_rule: TextRule,
    pub(super) args: Vec<String>,
    pub(super) members: Members,
    pub(super) forms: bool,
}

impl ReadOptions {
    /// Traces of the simulator: an object at the top, UTF-8 throughout, half surrogate pairs refused where a text is used.
    /// Their names become keys of exact tables, so nothing about them is guessed.
    pub fn simulator() -> ReadOptions {
        ReadOptions {
            top_level: TopLevel::Object,
            text_rule: TextRule::Strict,
            args: Vec::new(),
            members: Members::Named(Vec::new()),
            forms: false,
        }
    }

    /// Traces of a profiler: a bare list of events is fine, and what is not text becomes U+FFFD. Profilers cut names in the
    /// middle of a character, and a name is a label here.
    pub fn profiler() -> ReadOptions {
        ReadOptions { top_level: TopLevel::ObjectOrList, text_rule: TextRule::Replace, ..ReadOptions::simulator() }
    }

    /// The members of `args` to hand over, as [`Event::arg`](super::Event::arg) in this order.
    pub fn args<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> ReadOptions {
        self.args = names.into_iter().map(Into::into).collect();
        self
    }

    /// Finds the [form](super::Form) of each event.
    pub fn with_forms(mut self) -> ReadOptions {
        self.forms = true;
        self
    }

    /// The top-level members to hand over, besides `traceEvents`.
    pub fn members<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> ReadOptions {
        self.members = Members::Named(names.into_iter().map(Into::into).collect());
        self
    }

    /// Hands over every top-level member but `traceEvents`.
    pub fn all_members(mut self) -> ReadOptions {
        self.members = Members::All;
        self
    }
}
