//! The calls of a simulator's trace: what each costs, and the total.

use super::answering::{Asking, Outcome, first_line};
use super::sink::Call;
use crate::{Failure, print_escaped, print_styled};
use perfdb_query::TracedCall;
use perfdb_report::answers::{Answered, TracedAnswer, details, reason, sentences, traced};
use perfdb_report::layout::Layout;
use serde_json::Value;

/// How many answers, and how many calls without one, people read where they do not say.
const LIMIT: usize = 25;

impl Asking {
    /// Answers each call of a trace.
    pub(super) fn ask_calls(mut self, calls: Vec<TracedCall>) -> Result<Outcome, Failure> {
        let mut outcome = Outcome { is_for_programs: self.sink.is_for_programs(), ..Outcome::default() };
        let is_shown = self.sink.shows_table();
        let mut queries = Vec::with_capacity(calls.len());
        let mut answers = Vec::with_capacity(calls.len());
        for TracedCall { operator, query, count, event, .. } in calls {
            let (answer, inputs) = (self.reader.lookup(&query), query.input_shapes());
            outcome.counts.add(&answer, count);
            let interval_us = self.intervals.of(&query, &answer, self.sink.wants_intervals());
            let answered = Answered { name: operator, inputs, answer, interval_us };
            let call = Call { count, inputs: &answered.inputs };
            self.sink.add(&Some(Value::from(event)), &answered, Some(call))?;
            answers.push(TracedAnswer { answered, calls: count });
            queries.push(query);
        }
        if is_shown {
            let limit = self.limit.unwrap_or(LIMIT);
            print_styled(&traced(&answers, limit, self.layout))?;
            let misses = answers.iter().zip(&queries).filter(|(one, _)| one.answered.answer.is_err());
            let all = self.details != perfdb_report::answers::Details::default();
            for (at, (one, query)) in misses.enumerate() {
                let Err(miss) = &one.answered.answer else { continue };
                if at == limit {
                    print_escaped("… and more without an answer (--limit shows them)\n")?;
                    break;
                }
                let name = format!("{} {}", one.answered.name, one.answered.inputs);
                print_escaped(&reason(&name, miss, self.layout))?;
                if !all {
                    print_escaped(&details(&self.reader, query, one.answered.named(), self.details, self.layout))?;
                }
            }
            for (one, query) in answers.iter().zip(&queries).filter(|_| all) {
                print_escaped(&sentences(std::slice::from_ref(&one.answered), self.layout))?;
                print_escaped(&details(&self.reader, query, one.answered.named(), self.details, self.layout))?;
            }
        }
        let verdict = first_line(&traced(&answers, 0, Layout::default()));
        self.sink.finish(&verdict, self.read)?;
        Ok(outcome)
    }
}
