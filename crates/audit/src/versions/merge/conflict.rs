//! Cases that two databases have different durations of, and what decides.

use crate::versions::{Case, Error, Source};
use perfdb_files::escape::spreadsheet_text;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What decides which of two durations stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prefer {
    /// The one that was measured last.
    Newest,
    /// The shorter one.
    Fastest,
    /// The target's.
    #[default]
    Into,
    /// Nobody: the target's stays until somebody has decided.
    AskList,
}

impl Prefer {
    /// All of them.
    pub const ALL: [Prefer; 4] = [Prefer::Newest, Prefer::Fastest, Prefer::Into, Prefer::AskList];

    /// The name, as an option.
    pub fn name(self) -> &'static str {
        match self {
            Prefer::Newest => "newest",
            Prefer::Fastest => "fastest",
            Prefer::Into => "into",
            Prefer::AskList => "ask-list",
        }
    }
}

/// A name that is none of [`Prefer::ALL`].
#[derive(Debug, thiserror::Error)]
#[error("one of newest, fastest, into, ask-list")]
pub struct UnknownPreference;

impl FromStr for Prefer {
    type Err = UnknownPreference;

    fn from_str(name: &str) -> Result<Prefer, UnknownPreference> {
        Prefer::ALL.into_iter().find(|prefer| prefer.name() == name).ok_or(UnknownPreference)
    }
}

/// Whose duration a conflict leaves in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The target's.
    Into,
    /// The other's.
    From,
    /// The target's, until somebody has decided.
    Undecided,
}

impl Taken {
    /// The name, as a list of decisions has it; empty where nobody has decided.
    pub fn name(self) -> &'static str {
        match self {
            Taken::Into => "into",
            Taken::From => "from",
            Taken::Undecided => "",
        }
    }
}

/// A case of which two databases have different durations.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The kernel type.
    pub kernel_type: String,
    pub case: Case,
    /// Which duration.
    pub duration: Source,
    /// The other database.
    pub from: PathBuf,
    /// The line in its table.
    pub from_line: u64,
    /// The line in the target's table; `None` of a row that this merge has added.
    pub into_line: Option<u64>,
    /// The target's duration.
    pub into_us: f64,
    /// The other's duration.
    pub from_us: f64,
    /// Whose stays.
    pub taken: Taken,
}

impl Conflict {
    /// Kernel type, case and database as a list has them: no spreadsheet computes them.
    pub fn names(&self) -> [String; 3] {
        let case = self.case.to_string();
        let from = self.from.to_string_lossy();
        [self.kernel_type.as_str(), &case, &from].map(|text| spreadsheet_text(text).into_owned())
    }
}

/// Names and duration of a conflict, and both durations as the list has them.
type Question = ([String; 3], String, [String; 2]);

/// What somebody has decided about single conflicts: the list that a merge writes, with its column `keep` filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions(HashMap<Question, (u64, Option<bool>)>);

impl Decisions {
    /// The columns of the list that are needed.
    const COLUMNS: [&str; 7] = ["kernel_type", "case", "duration", "from", "into_us", "from_us", "keep"];

    /// Reads a list; `path` is for messages.
    ///
    /// # Errors
    /// When a column is missing, or a line keeps something other than `into`, `from` or nothing.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Decisions, Error> {
        let wrong = |line: u64, reason: String| Error::Decision { path: path.to_owned(), line, reason };
        let mut reader = csv::Reader::from_reader(text);
        let headers = reader.headers().map_err(|error| wrong(1, error.to_string()))?.clone();
        let mut places = [0; Decisions::COLUMNS.len()];
        for (place, name) in places.iter_mut().zip(Decisions::COLUMNS) {
            let found = headers.iter().position(|header| header == name);
            *place = found.ok_or_else(|| wrong(1, format!("no column {name}; is this the list of a merge?")))?;
        }
        let mut decisions = HashMap::new();
        let mut lines = Lines { text, at: 0, line: 1 };
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(1, |position| lines.line_of(position));
                wrong(line, error.to_string())
            })?;
            let line = record.position().map_or(1, |position| lines.line_of(position));
            let [kernel_type, case, duration, from, into_us, from_us, keep] =
                places.map(|place| record.get(place).unwrap_or_default());
            let takes_from = match keep.trim() {
                "from" => Some(true),
                "into" => Some(false),
                "" => None,
                other => {
                    let found = perfdb_files::escape::excerpt(other);
                    return Err(wrong(line, format!("keep is {found}; one of into, from, or nothing")));
                }
            };
            let names = [kernel_type, case, from].map(str::to_owned);
            let durations = [into_us, from_us].map(|us| us.trim().to_owned());
            decisions.insert((names, duration.to_owned(), durations), (line, takes_from));
        }
        Ok(Decisions(decisions))
    }

    /// Whether a conflict is decided, and for whom.
    pub(super) fn of(&self, conflict: &Conflict) -> Option<Taken> {
        let takes_from = self.0.get(&Decisions::question(conflict))?.1?;
        Some(if takes_from { Taken::From } else { Taken::Into })
    }

    fn question(conflict: &Conflict) -> Question {
        let durations = [conflict.into_us, conflict.from_us].map(|us| us.to_string());
        (conflict.names(), conflict.duration.name().to_owned(), durations)
    }

    /// Lines with a decision that is about none of these conflicts: a duration has changed, or a row is gone.
    pub(super) fn unused<'c>(&self, conflicts: impl Iterator<Item = &'c Conflict>) -> Vec<u64> {
        let met: HashSet<Question> = conflicts.map(Decisions::question).collect();
        let is_unused =
            |(question, (_, keep)): &(&Question, &(u64, Option<bool>))| keep.is_some() && !met.contains(*question);
        let mut lines: Vec<u64> = self.0.iter().filter(is_unused).map(|(_, (line, _))| *line).collect();
        lines.sort_unstable();
        lines
    }
}

/// Counts lines up to records, one after the other.
struct Lines<'t> {
    text: &'t [u8],
    at: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line on which a record begins. Its position may be that of the line end before it.
    fn line_of(&mut self, position: &csv::Position) -> u64 {
        let mut begin = usize::try_from(position.byte()).unwrap_or(usize::MAX).min(self.text.len());
        while self.text.get(begin).is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            begin += 1;
        }
        let passed = self.text.get(self.at..begin).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = begin;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_what_is_wrong_with_it() {
        let read =
            |text: &str| Decisions::parse("list.csv".as_ref(), text.as_bytes()).map_err(|error| error.to_string());
        let header = "kernel_type,case,duration,into_us,from,from_us,keep\n";
        assert!(read(&format!("{header}Add,x,measured,2,db,3,\n")).is_ok());
        assert_eq!(
            read(&format!("{header}Add,x,measured,2,db,3,from\nAdd,y,measured,2,db,3,mine\n")),
            Err("list.csv:3: keep is mine; one of into, from, or nothing".to_owned())
        );
        for end in ["\n", "\r\n"] {
            let rows =
                ["Add,\"x\ny\",measured,2,db,3,into", "", "Add,y,measured,2,db,3,", "Add,z,measured,2,db,3,mine"];
            let text = format!("{}{end}{}{end}", header.trim_end(), rows.join(end));
            assert_eq!(
                read(&text),
                Err("list.csv:6: keep is mine; one of into, from, or nothing".to_owned()),
                "{end:?}"
            );
        }
        assert_eq!(
            read("a,b\n1,2\n"),
            Err("list.csv:1: no column kernel_type; is this the list of a merge?".to_owned())
        );
    }
}
