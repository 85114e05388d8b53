//! Limits that were asked for: one wording on stderr and in Markdown, and exit status 3.

use crate::output::print_limit;
use crate::{Status, one_output};
use std::fmt::Display;

/// Whether anything is beyond the limits of a run.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_exceeded: bool,
}

impl Gate {
    /// `limit: WHAT (limit LIMIT)` on stderr, and in files of Markdown.
    pub(crate) fn exceeded(&mut self, what: impl Display, limit: impl Display) {
        self.is_exceeded = true;
        let line = format!("{what} (limit {limit})");
        print_limit(&line);
        one_output::exceeded(line);
    }

    /// 3 where something is beyond a limit.
    pub(crate) fn status(&self) -> Status {
        if self.is_exceeded { Status::LimitPassed } else { Status::Success }
    }
}

/// A limit in percent.
pub(crate) fn percent(limit: impl Display) -> String {
    format!("{limit} %")
}
