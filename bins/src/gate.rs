//! Gates: a limit that was asked for, and what exceeds it. One wording, and exit status 3.

use crate::{Status, print_limit};

/// A limit, and whether anything was beyond it.
#[derive(Debug)]
pub(crate) struct Gate {
    limit: String,
    is_exceeded: bool,
}

impl Gate {
    /// A limit in percent.
    pub(crate) fn of_percent(limit: f64) -> Gate {
        Gate { limit: format!("{limit}%"), is_exceeded: false }
    }

    /// Says on stderr what is beyond the limit.
    pub(crate) fn exceeded(&mut self, what: &str) {
        self.is_exceeded = true;
        print_limit(&format!("{what} (limit {})", self.limit));
    }

    /// 3 where something is beyond the limit.
    pub(crate) fn status(self) -> Status {
        if self.is_exceeded { Status::Code(3) } else { Status::Success }
    }
}
