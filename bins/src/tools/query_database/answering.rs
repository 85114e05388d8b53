//! Queries, answered one after the other, and what people see of their answers.

use super::intervals::Intervals;
use super::known_names::KnownNames;
use super::questions::{Question, Questions};
use super::sink::Sink;
use crate::{Failure, print_escaped, print_styled};
use perfdb_files::escape::for_terminal;
use perfdb_query::{Query, Reader};
use perfdb_report::answers::{Answered, Counts, Details, details, one, reason, sentences, table};
use perfdb_report::layout::{Layout, more};
use perfdb_report::page::Provenance;
use std::io::Write as _;

/// Names that wait to be shown, in bytes.
const WAITING_BYTES: usize = 16 << 20;
/// Characters of a name that are kept for a table, where lines are cut and where they are whole.
const NAME_CHARACTERS: [usize; 2] = [200, 4096];

/// Answers in one table for people.
const TABLE_ROWS: usize = 1000;

/// Who answers, and where the answers go.
pub(super) struct Asking {
    pub(super) reader: Reader,
    pub(super) intervals: Intervals,
    pub(super) names: KnownNames,
    pub(super) sink: Sink,
    pub(super) details: Details,
    /// How many answers people read; all of them if there is no limit.
    pub(super) limit: Option<usize>,
    pub(super) layout: Layout,
    /// What a page says about where it comes from.
    pub(super) read: Provenance,
}

/// The verdict of a text.
pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// What came of all queries.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) counts: Counts,
    /// The one query without an answer, where it is alone.
    pub(super) only_miss: Option<String>,
    /// Whether a program gets the answers, for which having none is one.
    pub(super) is_for_programs: bool,
    /// Where the queries came from, if they came from a manifest.
    pub(super) manifest: Option<String>,
}

impl Outcome {
    /// The failure of a manifest without queries, and of queries none of which has an answer.
    pub(super) fn failure(&self) -> Option<Failure> {
        if let Some(name) = self.manifest.as_ref().filter(|_| self.counts.all() == 0 && !self.is_for_programs) {
            let how = "give an operator, --kernel, --from-trace, --list or JSON lines";
            return Some(Failure::lines(vec![format!("{name}: no query in it; {how}")]));
        }
        let is_without = self.counts.all() > 0 && self.counts.missed() == self.counts.all();
        let line = || {
            self.only_miss.clone().unwrap_or_else(|| format!("none of the {} queries has an answer", self.counts.all()))
        };
        (is_without && !self.is_for_programs).then(|| Failure::lines(vec![line()]))
    }
}

/// Queries with their answers that are still to be shown.
type Waiting = Vec<(Query, Answered)>;

impl Asking {
    /// A name as a table shows it: all are as wide as the longest.
    fn shortened(&self, name: String) -> String {
        let most = NAME_CHARACTERS[usize::from(self.layout.is_whole)];
        match name.char_indices().nth(most) {
            Some((end, _)) => format!("{}…", &name[..end]),
            None => name,
        }
    }

    /// Answers all queries.
    pub(super) fn ask(mut self, mut questions: Questions) -> Result<Outcome, Failure> {
        let (mut waiting, mut waiting_bytes) = (Waiting::new(), 0);
        let mut outcome = Outcome {
            is_for_programs: self.sink.is_for_programs(),
            manifest: questions.manifest().map(str::to_owned),
            ..Outcome::default()
        };
        let mut shown = 0;
        let ended = loop {
            let Question { id, name, query } = match questions.next() {
                Ok(Some(question)) => question,
                ended => break ended,
            };
            let answer = self.reader.lookup(&query);
            outcome.counts.add(&answer, 1);
            outcome.only_miss = answer.is_err().then(|| self.miss(&query));
            let interval_us = self.intervals.of(&query, &answer, self.sink.wants_intervals());
            let mut answered = Answered { name, inputs: String::new(), answer, interval_us };
            self.sink.add(&id, &answered, None)?;
            if self.limit.is_none_or(|limit| outcome.counts.all() <= limit as u64) {
                answered.name = self.shortened(answered.name);
                waiting_bytes += answered.name.len();
                waiting.push((query, answered));
            }
            if waiting.len() == TABLE_ROWS || waiting_bytes > WAITING_BYTES || !self.sink.shows_table() {
                shown += waiting.len();
                self.show(&mut waiting)?;
                waiting_bytes = 0;
            }
            if questions.would_wait() {
                self.sink.flush()?;
            }
        };
        if outcome.counts.all() != 1 {
            outcome.only_miss = None;
        }
        let verdict = match waiting.as_slice() {
            [(_, answered)] if outcome.counts.all() == 1 => first_line(&one(answered, Layout::default())),
            _ => outcome.counts.text("query"),
        };
        // What was asked before a line that is no question is answered.
        self.show_end(&mut waiting, &outcome.counts, shown)?;
        self.sink.flush()?;
        ended?;
        if let Some(limit) = self.limit.filter(|_| self.sink.shows_table()) {
            print_escaped(&more(outcome.counts.all() as usize, limit, "answers"))?;
        }
        self.sink.finish(&verdict, self.read)?;
        Ok(outcome)
    }

    /// One line about a query without an answer, and what is meant by a name that is unknown.
    fn miss(&self, query: &Query) -> String {
        let hint = self.names.hint(query).map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}: no answer{hint}", query.name())
    }

    /// Shows the last answers; the counts stand in front of all, or behind them where some are shown already.
    fn show_end(&self, waiting: &mut Waiting, counts: &Counts, shown: usize) -> Result<(), Failure> {
        if !self.sink.shows_table() {
            return self.show(waiting);
        }
        if let ([(_, answered)], 1) = (waiting.as_slice(), counts.all()) {
            print_styled(&one(answered, self.layout))?;
            return self.show_details(waiting);
        }
        if shown == 0 {
            print_escaped(&format!("{}\n", counts.text("query")))?;
        }
        self.show(waiting)?;
        if shown > 0 {
            print_escaped(&format!("{}\n", counts.text("query")))?;
        }
        Ok(())
    }

    fn hint(&self, query: &Query) -> String {
        self.names.hint(query).map(|hint| format!("  {hint}\n")).unwrap_or_default()
    }

    /// Shows answers to people, and what they asked for besides.
    fn show(&self, waiting: &mut Waiting) -> Result<(), Failure> {
        if self.sink.shows_table() && !waiting.is_empty() {
            let (queries, answers): (Vec<Query>, Vec<Answered>) = std::mem::take(waiting).into_iter().unzip();
            print_styled(&table(&answers, self.layout))?;
            *waiting = queries.into_iter().zip(answers).collect();
            for (query, answered) in waiting.iter() {
                if let Err(miss) = &answered.answer {
                    print_escaped(&(reason(&answered.name, miss, self.layout) + &self.hint(query)))?;
                }
            }
        }
        self.show_details(waiting)
    }

    fn show_details(&self, waiting: &mut Waiting) -> Result<(), Failure> {
        let shows_table = self.sink.shows_table();
        // Answers for programs have stdout for themselves; what was asked for besides goes to stderr.
        let wants_details = shows_table || self.details != Details::default();
        for (query, answered) in waiting.drain(..).filter(|_| wants_details) {
            let mut text =
                if shows_table { sentences(std::slice::from_ref(&answered), self.layout) } else { String::new() };
            text.push_str(&details(&self.reader, &query, answered.named(), self.details, self.layout));
            if shows_table {
                print_escaped(&text)?;
            } else {
                // Nobody who reads stderr: no reason to stop.
                let _ = std::io::stderr().write_all(for_terminal(&text).as_bytes());
            }
        }
        Ok(())
    }
}
