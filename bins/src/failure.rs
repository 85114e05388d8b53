//! How a tool ends.

use perfdb_files::escape::one_line;
use perfdb_files::with_causes;
use std::error::Error;
use std::process::ExitCode;

/// A tool that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// exit 0
    Success,
    /// everything is written, but a limit or check that was asked for does not hold: exit 3
    LimitPassed,
    /// a status that the original tool fixes
    Code(u8),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Success => ExitCode::SUCCESS,
            Status::LimitPassed => ExitCode::from(3),
            Status::Code(code) => ExitCode::from(code),
        }
    }
}

/// A tool that failed.
#[derive(Debug)]
pub enum Failure {
    /// one `error:` line each, exit 1
    Lines(Vec<String>),
    /// a command line that cannot be: usage and the reason, exit 2
    Usage(String),
    /// the error is printed already: exit with this status
    Reported(u8),
}

impl Failure {
    /// One reason each (without `error:`), exit 1.
    pub fn lines(lines: Vec<String>) -> Failure {
        Failure::Lines(lines)
    }

    /// A value or a combination of options that cannot be, exit 2.
    pub fn usage(reason: impl Into<String>) -> Failure {
        Failure::Usage(reason.into())
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Lines(vec![error_line(&error)])
    }
}

/// The error and its sources on one line, joined by `: `. A source that the text already ends in is not said again;
/// control characters are escaped.
pub fn error_line(error: &dyn Error) -> String {
    one_line(&with_causes(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{path}: cannot be read")]
    struct Unreadable {
        path: &'static str,
        source: std::io::Error,
    }

    #[test]
    fn the_whole_chain_on_one_line() {
        let source = std::io::Error::other("no\nmore");
        assert_eq!(error_line(&Unreadable { path: "a\tb.csv", source }), "a\\tb.csv: cannot be read: no\\nmore");
    }
}
