//! The session: requests from a client, answers to it.

use super::call::{Run, description, prepare};
use super::catalogue::{ENTRIES, find};
use super::message::{self, INVALID_PARAMETERS, METHOD_NOT_FOUND, Message, SERVER_BUSY, answer, error};
use super::roots::Roots;
use super::run::{self, Answer, Ended, Running};
use crate::Failure;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

/// Versions of the protocol that this server speaks, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// Tools that run at the same time; each uses the cores that there are.
const WORKERS: usize = 2;
/// Calls that wait or run at most.
const MOST_CALLS: usize = 64;
/// Runs whose outcome is kept, so that the pages of an answer cost one run.
const KEPT_RUNS: usize = 4;

const INSTRUCTIONS: &str = "Traces of GPUs and databases of measured operators of LLM inference. Start with trace_explain for one trace, trace_diff for two, \
    trace_check where figures look wrong, db_query for what an operator costs. The first line of an answer is the verdict. Relative paths are looked for in ";

struct Server<W> {
    roots: Roots,
    output: Mutex<W>,
    calls: Mutex<BTreeMap<String, Running>>,
    kept: Mutex<VecDeque<(Run, Ended)>>,
}

/// A call that waits for its turn.
struct Waiting {
    id: Value,
    parameters: Value,
    running: Running,
}

/// Answers a client until its stream ends and every call has its answer.
pub(super) fn serve(mut input: impl BufRead, output: impl Write + Send, roots: Roots) -> Result<(), Failure> {
    let server = Server { roots, output: output.into(), calls: Mutex::default(), kept: Mutex::default() };
    let (sender, receiver) = channel::<Waiting>();
    let receiver = Mutex::new(receiver);
    let ended = std::thread::scope(|scope| -> std::io::Result<()> {
        for _ in 0..WORKERS {
            std::thread::Builder::new().name("call".to_owned()).spawn_scoped(scope, || server.work(&receiver))?;
        }
        let sender = sender;
        while let Some(message) = message::next(&mut input)? {
            server.take(message, &sender)?;
        }
        Ok(())
    });
    match ended {
        // A client that reads no more has ended the session.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        ended => Ok(ended?),
    }
}

/// The key of a call: numbers and strings are different ids.
fn key(id: &Value) -> String {
    id.to_string()
}

impl<W: Write + Send> Server<W> {
    fn send(&self, message: &Value) -> std::io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.write_all(format!("{message}\n").as_bytes())?;
        output.flush()
    }

    fn take(&self, message: Message, sender: &Sender<Waiting>) -> std::io::Result<()> {
        match message {
            Message::Request { id, method, parameters } if method == "tools/call" => {
                let running = Running::default();
                let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
                if calls.len() >= MOST_CALLS || calls.contains_key(&key(&id)) {
                    let reason = if calls.contains_key(&key(&id)) {
                        "a call of this id is running".to_owned()
                    } else {
                        format!("{MOST_CALLS} calls are waiting for their answers")
                    };
                    drop(calls);
                    return self.send(&error(&id, SERVER_BUSY, &reason));
                }
                calls.insert(key(&id), running.clone());
                drop(calls);
                // The workers live as long as this sender.
                let _ = sender.send(Waiting { id, parameters, running });
                Ok(())
            }
            Message::Request { id, method, parameters } => self.send(&self.respond(&id, &method, &parameters)),
            Message::Notification { method, parameters } if method == "notifications/cancelled" => {
                let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(running) = parameters.get("requestId").and_then(|id| calls.get(&key(id))) {
                    running.cancel();
                }
                Ok(())
            }
            Message::Notification { .. } | Message::Answer => Ok(()),
            Message::Wrong(error) => self.send(&error),
        }
    }

    /// The answer to a request that needs no tool.
    fn respond(&self, id: &Value, method: &str, parameters: &Value) -> Value {
        match method {
            "initialize" => {
                let asked = parameters.get("protocolVersion").and_then(Value::as_str);
                let version = asked.and_then(|asked| VERSIONS.into_iter().find(|known| *known == asked));
                answer(
                    id,
                    json!({
                        "protocolVersion": version.unwrap_or(VERSIONS[0]),
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": "perfdb", "version": env!("PERFDB_VERSION")},
                        "instructions": format!("{INSTRUCTIONS}{}.", self.roots.names()),
                    }),
                )
            }
            "ping" => answer(id, json!({})),
            "tools/list" => answer(id, json!({"tools": ENTRIES.iter().map(description).collect::<Vec<_>>()})),
            _ => {
                let method = perfdb_files::escape::excerpt(method);
                error(id, METHOD_NOT_FOUND, &format!("{method}: this server has no such method"))
            }
        }
    }

    /// Runs the tools of calls, one after the other.
    fn work(&self, receiver: &Mutex<Receiver<Waiting>>) {
        loop {
            let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(Waiting { id, parameters, running }) = next else { return };
            let message = self.call(&id, &parameters, &running);
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&key(&id));
            // A client that went away reads no answer; the end of its stream ends the session.
            if !running.is_cancelled() {
                let _ = self.send(&message);
            }
        }
    }

    fn call(&self, id: &Value, parameters: &Value, running: &Running) -> Value {
        let name = parameters.get("name").and_then(Value::as_str);
        let Some(entry) = name.and_then(find) else {
            let names: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
            let name = perfdb_files::escape::excerpt(name.unwrap_or("name"));
            let reason = format!("{name}: no such tool; there are {}", names.join(", "));
            return error(id, INVALID_PARAMETERS, &reason);
        };
        let nothing = Value::Null;
        let arguments = parameters.get("arguments").unwrap_or(&nothing);
        let failed = |error: &dyn std::error::Error| Answer {
            text: format!("error: {}\n", crate::error_line(error)),
            is_error: true,
        };
        let given = match prepare(entry, arguments, &self.roots) {
            Ok(call) => match self.ended(&call.run, running) {
                Ok(ended) => run::answer(&call, &ended),
                Err(error) => failed(&error),
            },
            Err(error) => failed(&error),
        };
        let content = json!([{"type": "text", "text": given.text}]);
        answer(id, json!({"content": content, "isError": given.is_error}))
    }

    /// The outcome of a run: that of an earlier one whose files are as they were, or of a new one.
    fn ended(&self, run: &Run, running: &Running) -> std::io::Result<Ended> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ended)) = kept().iter().find(|(known, _)| known == run) {
            return Ok(ended.clone());
        }
        let ended = run::run(run, running)?;
        if !running.is_cancelled() {
            let mut kept = kept();
            kept.truncate(KEPT_RUNS - 1);
            kept.push_front((run.clone(), ended.clone()));
        }
        Ok(ended)
    }
}
