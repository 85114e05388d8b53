//! The answers of a database beside those that stand in a simulator's trace.

use super::sink::{Call, Sink};
use super::{Arguments, questions};
use crate::{Failure, Status, print_escaped, print_styled};
use perfdb_query::{Answer, LookupError, Reader, TracedCall};
use perfdb_report::answers::Answered;
use perfdb_report::layout::{Cell, Column, Table};
use perfdb_report::page::Provenance;
use serde_json::Value;
use std::path::Path;

/// Traces have whole microseconds.
const ROUNDING_US: f64 = 0.5;
/// Durations are differences of rounded time stamps in some traces, and cut in others.
const TOLERANCE_US: f64 = ROUNDING_US + 1e-6;

/// Differences on a screen.
const DIFFERENCES_SHOWN: usize = 25;

/// Queries every call and lists where the trace has another answer.
pub(super) fn compare(
    reader: &Reader,
    trace: &Path,
    arguments: &Arguments,
    mut sink: Sink,
    read: Provenance,
) -> Result<Status, Failure> {
    let calls = questions::traced_calls(trace, &arguments.parallel)?;
    let mut table = Table::new([
        Column::number("event"),
        Column::name("operator"),
        Column::number("calls"),
        Column::name("differs in"),
        Column::name("here"),
        Column::name("in the trace"),
    ]);
    let limit = arguments.limit.unwrap_or(DIFFERENCES_SHOWN);
    let mut found = 0;
    let (mut asked, mut different, mut unanswered) = (0, 0, 0);
    for call in &calls {
        let answer = reader.lookup(&call.query);
        asked += call.count;
        unanswered += if answer.is_err() { call.count } else { 0 };
        let inputs = call.query.input_shapes();
        let occurrence = Call { count: call.count, inputs: &inputs };
        let answered = Answered { name: call.operator.clone(), inputs: inputs.clone(), answer, interval_us: None };
        sink.add(&Some(Value::from(call.event)), &answered, Some(occurrence))?;
        if let Some((what, here, there)) = difference(call, &answered.answer) {
            different += call.count;
            found += 1;
            if found <= limit {
                let (event, operator) = (call.event.to_string(), call.operator.clone());
                let cells = [event, operator, call.count.to_string(), what.to_owned(), here, there];
                table.push(cells.map(Cell::from));
            }
        }
    }
    let verdict = format!(
        "{different} of {asked} calls differ from the trace ({} distinct calls, {unanswered} not found)",
        calls.len()
    );
    if sink.shows_table() {
        print_escaped(&format!("{verdict}\n"))?;
        if found > 0 && limit > 0 {
            print_styled(&table.text(arguments.terminal.layout()))?;
        }
        if found > limit {
            print_escaped(&format!("… and {} more (--limit, --csv)\n", found - limit))?;
        }
    }
    sink.finish(&verdict, read)?;
    Ok(if different > 0 && arguments.require { Status::LimitPassed } else { Status::Success })
}

/// In what an answer differs: the name of it, what is here and what is in the trace.
fn difference(call: &TracedCall, answer: &Result<Answer, LookupError>) -> Option<(&'static str, String, String)> {
    let (answer, expected) = match (answer, &call.answered) {
        (Err(_), None) => return None,
        (Ok(answer), None) => {
            let here = format!("{:.3} us {}", answer.duration_us, answer.source.name());
            return Some(("having an answer", here, "none".to_owned()));
        }
        (Err(miss), Some(expected)) => {
            let there = format!("{} us {}", call.duration_us, expected.source);
            return Some(("having an answer", miss.to_string(), there));
        }
        (Ok(answer), Some(expected)) => (answer, expected),
    };
    let (shortest, longest) = call.range_us;
    if answer.duration_us < shortest - TOLERANCE_US || answer.duration_us > longest + TOLERANCE_US {
        return Some(("duration", format!("{:.3} us", answer.duration_us), format!("{} us", call.duration_us)));
    }
    if answer.source.name() != expected.source {
        return Some(("source", answer.source.name().to_owned(), expected.source.clone()));
    }
    let confidence = expected.confidence.filter(|confidence| (confidence - answer.confidence).abs() > 1e-9);
    if let Some(confidence) = confidence {
        return Some(("confidence", answer.confidence.to_string(), confidence.to_string()));
    }
    let kernel_type = answer.kernel_type().unwrap_or_default();
    if let Some(expected) = expected.kernel_type.as_ref().filter(|expected| **expected != kernel_type) {
        return Some(("kernel", kernel_type.into_owned(), expected.clone()));
    }
    let rule = answer.rule.unwrap_or_default();
    let expected = expected.rule.as_deref().filter(|expected| *expected != rule)?;
    Some(("rule", rule.to_owned(), expected.to_owned()))
}
