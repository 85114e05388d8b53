//! Questions, asked one after the other, and what people see of their answers.

use super::questions::{Question, Questions};
use super::sink::Sink;
use crate::{Failure, print_escaped, print_styled};
use perfdb_files::escape::for_terminal;
use perfdb_query::{Answer, Miss, Reader};
use perfdb_report::answers::{Details, Named, details, sentences, table};
use perfdb_report::layout::{Layout, more};
use std::io::Write as _;

/// A question with its answer.
struct Answered {
    question: Question,
    /// The name as people read it: in a table all are as wide as the longest.
    name: String,
    answer: Result<Answer, Miss>,
}

impl Answered {
    fn new(question: Question, answer: Result<Answer, Miss>, layout: Layout) -> Answered {
        let most = if layout.is_whole { 4096 } else { 200 };
        let name = match question.name.char_indices().nth(most) {
            Some((end, _)) => format!("{}…", &question.name[..end]),
            None => question.name.clone(),
        };
        Answered { question, name, answer }
    }

    fn named(&self) -> Named<'_> {
        (&self.name, &self.answer)
    }
}

/// Names that wait to be shown: so many bytes.
const WAITING_BYTES: usize = 16 << 20;

/// People read a table of so many answers at a time.
const TABLE_ROWS: usize = 1000;

/// Who answers, and where the answers go.
pub(super) struct Asking {
    pub(super) reader: Reader,
    pub(super) sink: Sink,
    pub(super) details: Details,
    /// How many answers people read; all of them if there is no limit.
    pub(super) limit: Option<usize>,
    pub(super) layout: Layout,
}

impl Asking {
    /// Asks all questions; true if each has an answer.
    pub(super) fn ask(mut self, mut questions: Questions) -> Result<bool, Failure> {
        let (mut waiting, mut waiting_bytes) = (Vec::new(), 0);
        let (mut asked, mut has_misses) = (0, false);
        let ended = loop {
            let question = match questions.next() {
                Ok(Some(question)) => question,
                ended => break ended,
            };
            let answer = self.reader.lookup(&question.query);
            asked += 1;
            has_misses |= answer.is_err();
            self.sink.add(&question.id, (&question.name, &answer))?;
            if self.limit.is_none_or(|limit| asked <= limit) {
                waiting_bytes += question.name.len();
                waiting.push(Answered::new(question, answer, self.layout));
            }
            if waiting.len() == TABLE_ROWS || waiting_bytes > WAITING_BYTES || !self.sink.shows_table() {
                self.show(&mut waiting)?;
                waiting_bytes = 0;
            }
            if questions.would_wait() {
                self.sink.flush()?;
            }
        };
        // What was asked before a line that is no question is answered.
        self.show(&mut waiting)?;
        self.sink.flush()?;
        ended?;
        if let Some(limit) = self.limit.filter(|_| self.sink.shows_table()) {
            print_escaped(&more(asked, limit, "answers"))?;
        }
        self.sink.finish()?;
        Ok(!has_misses)
    }

    /// Shows answers to people, and what they asked for besides.
    fn show(&self, waiting: &mut Vec<Answered>) -> Result<(), Failure> {
        let shows_table = self.sink.shows_table();
        if shows_table && !waiting.is_empty() {
            print_styled(&table(waiting.iter().map(Answered::named), self.layout))?;
            print_escaped(&sentences(waiting.iter().map(Answered::named), self.layout))?;
        }
        // Answers for programs have stdout for themselves; what was asked for besides goes to stderr.
        let wants_details = shows_table || self.details != Details::default();
        for one in waiting.drain(..).filter(|_| wants_details) {
            let text = details(&self.reader, &one.question.query, one.named(), self.details, self.layout);
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
