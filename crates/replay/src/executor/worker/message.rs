//! The messages between driver and worker: JSON objects, one per line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::case::{Case, Name};
use crate::executor::{Greeting, Measured, OutputInfo, Sample};
use crate::refusal::ErrorKind;

/// Messages of the driver.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum ToWorker<'a> {
    Hello { protocol: u32, driver: &'a str, backend: &'a str, seed: u64, exact_init: bool },
    Case { id: u64, case: &'a Case, dump: bool },
    Shutdown,
}

/// Messages of a worker.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum FromWorker {
    Hello(Hello),
    Result(CaseResult),
    Error(Failure),
    Log { message: String },
    Progress { done: u64 },
    Bye {},
}

#[derive(Debug, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: Value,
    #[serde(flatten)]
    pub(super) greeting: Greeting,
}

#[derive(Debug)]
pub(super) struct CaseResult {
    pub(super) id: u64,
    pub(super) measured: Measured,
}

#[derive(Deserialize)]
struct ResultFields {
    id: u64,
    api: Name,
    #[serde(default)]
    attempt: Option<Name>,
    outputs: Vec<OutputInfo>,
    #[serde(default)]
    samples: Vec<Sample>,
}

impl<'de> Deserialize<'de> for CaseResult {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<CaseResult, D::Error> {
        let ResultFields { id, api, attempt, outputs, samples } = ResultFields::deserialize(deserializer)?;
        Ok(CaseResult { id, measured: Measured { api, attempt, outputs, samples } })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    #[serde(default)]
    pub(super) id: Option<u64>,
    #[serde(default = "internal", deserialize_with = "known_kind")]
    pub(super) kind: ErrorKind,
    #[serde(default)]
    exception: Option<String>,
    #[serde(default)]
    message: String,
}

fn internal() -> ErrorKind {
    ErrorKind::Internal
}

/// The five kinds that a worker may name; anything else is `internal`.
fn known_kind<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<ErrorKind, D::Error> {
    Ok(match String::deserialize(deserializer)?.as_str() {
        "rejected" => ErrorKind::Rejected,
        "unsupported" => ErrorKind::Unsupported,
        "oom" => ErrorKind::Oom,
        "environment" => ErrorKind::Environment,
        _ => ErrorKind::Internal,
    })
}

impl Failure {
    /// `<exception>: <message>`, or what the worker sent of them.
    pub(super) fn text(&self) -> String {
        match self.exception.as_deref() {
            None | Some("") => self.message.clone(),
            Some(exception) if self.message.is_empty() => exception.to_owned(),
            Some(exception) => format!("{exception}: {}", self.message),
        }
    }
}

impl FromWorker {
    /// What kind of message it was, for an error.
    pub(super) fn described(&self) -> String {
        match self {
            FromWorker::Hello(_) => "a greeting".to_owned(),
            FromWorker::Result(result) => format!("the result of case {}", result.id),
            FromWorker::Error(Failure { id: Some(id), .. }) => format!("an error of case {id}"),
            FromWorker::Error(error) => format!("an error of no case: {}", error.text()),
            FromWorker::Log { .. } | FromWorker::Progress { .. } => "a log message".to_owned(),
            FromWorker::Bye {} => "a goodbye".to_owned(),
        }
    }
}

/// A line as the driver understands it.
#[derive(Debug)]
pub(super) enum Received {
    Message(FromWorker),
    /// An object of a known type that lacks something.
    Malformed(String),
    /// Anything else.
    Noise,
}

/// Reads one line of a worker.
pub(super) fn read(line: &str) -> Received {
    // Libraries print a lot; most of it is told apart by its first byte.
    if !line.trim_start().starts_with('{') {
        return Received::Noise;
    }
    match serde_json::from_str(line) {
        Ok(message) => Received::Message(message),
        Err(error) => {
            let kind = match serde_json::from_str::<Value>(line) {
                Ok(value) => value["type"].as_str().map(str::to_owned),
                // Bare NaN and Infinity, numbers out of range, half a message.
                Err(_) => named_type(line).map(str::to_owned),
            };
            match kind.as_deref() {
                Some(kind @ ("hello" | "result" | "error" | "log" | "progress" | "bye")) => {
                    Received::Malformed(format!("a {kind} message that cannot be read: {error}"))
                }
                _ => Received::Noise,
            }
        }
    }
}

/// The type of a line that is not JSON.
fn named_type(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("\"type\"")?;
    let value = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    value.split_once('"').map(|(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_messages_and_broken_messages_are_told_apart() {
        for line in ["", "[W] text", "{not json}", "[1]", "{\"type\":\"metric\"}", "{\"a\":1}"] {
            assert!(matches!(read(line), Received::Noise), "{line}");
        }
        assert!(matches!(read("{\"type\":\"result\",\"id\":1}"), Received::Malformed(_)));
        assert!(matches!(read("{\"type\":\"bye\"}"), Received::Message(FromWorker::Bye {})));
        let line =
            r#"{"type":"error","id":3,"kind":"rejected","exception":"RuntimeError","message":"no","completed":0}"#;
        match read(line) {
            Received::Message(FromWorker::Error(error)) => {
                assert_eq!(
                    (error.id, error.kind, error.text().as_str()),
                    (Some(3), ErrorKind::Rejected, "RuntimeError: no")
                );
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_that_is_no_json_is_a_fault_not_noise() {
        for value in ["NaN", "Infinity", "-Infinity", "1e400"] {
            let line =
                format!(r#"{{"type": "result", "id": 1, "api": "a", "outputs": [], "samples": [[1, {value}]]}}"#);
            assert!(
                matches!(read(&line), Received::Malformed(fault) if fault.starts_with("a result message")),
                "{line}"
            );
        }
        assert!(matches!(read(r#"{"id":1,"type" : "error","#), Received::Malformed(_)));
        assert!(matches!(read(r#"{"type":"metric","value":NaN}"#), Received::Noise));
    }

    #[test]
    fn a_greeting_may_leave_out_what_it_does_not_know() {
        match read(r#"{"type":"hello","protocol":1,"ops":["Add"],"versions":{"torch":null}}"#) {
            Received::Message(FromWorker::Hello(hello)) => {
                assert_eq!(hello.protocol, 1);
                assert_eq!(hello.greeting.ops, Some(vec!["Add".to_owned()]));
            }
            other => panic!("{other:?}"),
        }
    }
}
