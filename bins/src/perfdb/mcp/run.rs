//! The run of a tool in a process of its own.

use super::bounded;
use super::call::{Call, Form, Run};
use crate::program::command_for;
use serde_json::Value;
use std::io::{self, Read};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of output that are kept of a run.
const MOST_OUTPUT: u64 = 64 << 20;
/// Bytes of messages that are kept of a run.
const MOST_MESSAGES: u64 = 64 << 10;
/// The part of an answer that warnings may take.
const SHARE_OF_WARNINGS: usize = 4;

/// A call that a client may take back while its tool runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Running(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_cancelled: bool,
    child: Option<Child>,
}

impl Running {
    /// Ends the tool. What it allocated is freed with it.
    pub(super) fn cancel(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cancelled = true;
        if let Some(child) = state.child.as_mut() {
            // A tool that has ended already cannot be ended.
            let _ = child.kill();
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_cancelled
    }
}

/// What a tool said.
#[derive(Debug, Clone)]
pub(super) enum Said {
    Text(String),
    Json(Value),
}

/// How a tool ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    said: Said,
    /// Lines on stderr.
    messages: String,
    has_failed: bool,
}

/// What a client gets.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// Runs the tool to its end.
pub(super) fn run(run: &Run, running: &Running) -> io::Result<Ended> {
    let mut command = command_for(run.tool);
    command.args(&run.arguments).env("NO_COLOR", "1").env("COLUMNS", "120");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (stdout, stderr) = {
        let mut state = running.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_cancelled {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let child = state.child.insert(command.spawn()?);
        (child.stdout.take(), child.stderr.take())
    };
    let messages = std::thread::Builder::new().name("messages".to_owned());
    let messages = messages.spawn(move || stderr.map(|stream| read(stream, MOST_MESSAGES)));
    let output = stdout.map(|stream| read(stream, MOST_OUTPUT)).unwrap_or(Ok((Vec::new(), false)));
    let messages = messages.map(|thread| thread.join().ok().flatten());
    let status = {
        let mut state = running.0.lock().unwrap_or_else(PoisonError::into_inner);
        let child = state.child.take();
        // The streams have ended, and the tool with them.
        child.map(|mut child| child.wait()).transpose()?
    };
    let (output, is_cut) = output?;
    let (messages, _) = messages?.transpose()?.unwrap_or_default();
    let mut messages = String::from_utf8_lossy(&messages).into_owned();
    if is_cut {
        return Ok(Ended {
            said: Said::Text(String::new()),
            messages: format!(
                "error: the answer is longer than {} MiB; ask for the text, or for less",
                MOST_OUTPUT >> 20
            ),
            has_failed: true,
        });
    }
    let code = status.and_then(|status| status.code());
    if code.is_none() {
        let ended = status.map_or_else(String::new, |status| status.to_string());
        messages.push_str(&format!("error: {} ended early ({ended})\n", run.tool));
    }
    // Exit status 3: all is written, and something was found.
    let has_failed = !matches!(code, Some(0 | 3));
    let output = String::from_utf8_lossy(&output).into_owned();
    let said = match run.form {
        Form::Json => json(&output).map_or(Said::Text(output), Said::Json),
        Form::Text => Said::Text(output),
    };
    Ok(Ended { said, messages, has_failed })
}

/// What a stream says up to a limit, and whether that is not all. It is read to its end, so that its writer ends as it does without.
fn read(mut stream: impl Read, most: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    stream.by_ref().take(most).read_to_end(&mut bytes)?;
    let rest = io::copy(&mut stream, &mut io::sink())?;
    Ok((bytes, rest > 0))
}

/// One JSON value, or JSON lines as a list.
fn json(output: &str) -> Option<Value> {
    let one = serde_json::from_str(output).ok();
    one.or_else(|| {
        output.lines().map(|line| serde_json::from_str(line).ok()).collect::<Option<Vec<Value>>>().map(Value::Array)
    })
}

/// The answer to a call: what the tool said, then its warnings; of a tool that failed its error first.
pub(super) fn answer(call: &Call, ended: &Ended) -> Answer {
    let most = call.max_bytes;
    let lines = ended.messages.lines();
    // Usage speaks of options, which a call has not.
    let is_message = |line: &&str| {
        ["error: ", "warning: ", "Warning: ", "note: ", "limit: ", "[WARN]"].iter().any(|label| line.starts_with(label))
    };
    let messages: String = lines.filter(is_message).map(|line| format!("{line}\n")).collect();
    if ended.has_failed {
        let said = match &ended.said {
            Said::Text(text) => text.as_str(),
            Said::Json(_) => "",
        };
        let text = bounded::text(&format!("{messages}{said}"), None, most).unwrap_or_default();
        return Answer { text, is_error: true };
    }
    let room = most / SHARE_OF_WARNINGS;
    let messages = match call.page {
        None => bounded::text(&messages, None, room).unwrap_or_default(),
        Some(_) => String::new(),
    };
    let most = most - messages.len();
    let page = call.page.as_deref();
    let text = match &ended.said {
        Said::Text(text) => bounded::text(text, page, most),
        // The lines of the messages follow in a line of their own.
        Said::Json(value) => bounded::json(value, page, most.saturating_sub(1)).map(|text| text + "\n"),
    };
    match text {
        Ok(text) => Answer { text: text + &messages, is_error: false },
        Err(unknown) => Answer { text: format!("error: {unknown}\n"), is_error: true },
    }
}
