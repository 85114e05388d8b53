//! The intervals of answers that are not one measured row, also under rules that give none.

use perfdb_query::{Answer, Database, Layer, LookupError, Query, Reader, ReaderSemantics, Source};

/// Who knows intervals.
pub(super) struct Intervals {
    best: Reader,
}

impl Intervals {
    pub(super) fn of_database(database: &Database) -> Intervals {
        Intervals { best: database.reader(ReaderSemantics::Best, Layer::Interpolating) }
    }

    /// The interval of an answer: its own, else that of the prediction for the same query, where people see it.
    pub(super) fn of(&self, query: &Query, answer: &Result<Answer, LookupError>, is_shown: bool) -> Option<[f64; 2]> {
        let answer =
            answer.as_ref().ok().filter(|answer| is_shown && !is_one_row(answer) && answer.duration_us > 0.0)?;
        answer.interval_or(|| self.best.lookup(query).ok())
    }
}

/// Whether an answer is a row as it was measured.
fn is_one_row(answer: &Answer) -> bool {
    answer.source == Source::Measured
        && !answer.is_of_other_type()
        && !answer.rule.is_some_and(|rule| rule.ends_with("padding"))
}
