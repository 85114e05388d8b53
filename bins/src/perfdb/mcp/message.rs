//! JSON-RPC 2.0, a message a line.

use serde_json::{Value, json};
use std::io::{self, BufRead};

/// Bytes of a message at most.
pub(super) const MOST_BYTES: usize = 4 << 20;

/// What a line of the client is.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        parameters: Value,
    },
    Notification {
        method: String,
        parameters: Value,
    },
    /// An answer to something; this server asks nothing.
    Answer,
    /// A line that is none of these, with the error to send.
    Wrong(Value),
}

/// Codes of errors.
pub(super) const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMETERS: i64 = -32602;
pub(super) const SERVER_BUSY: i64 = -32000;

pub(super) fn answer(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

pub(super) fn error(id: &Value, code: i64, reason: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": reason}})
}

/// The next line that is not empty; `None` at the end. A line of more than [`MOST_BYTES`] is read to its end and not kept.
pub(super) fn next(input: &mut impl BufRead) -> io::Result<Option<Message>> {
    loop {
        let mut line = Vec::new();
        let mut is_long = false;
        let mut ended = false;
        while !ended {
            let available = match input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            if available.is_empty() {
                break;
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let part = &available[..end.unwrap_or(available.len())];
            is_long |= line.len() + part.len() > MOST_BYTES;
            if is_long {
                line = vec![b' '];
            } else {
                line.extend_from_slice(part);
            }
            ended = end.is_some();
            let used = part.len() + usize::from(ended);
            input.consume(used);
        }
        if is_long {
            let reason = format!("a message of more than {} MiB is not read", MOST_BYTES >> 20);
            return Ok(Some(Message::Wrong(error(&Value::Null, INVALID_REQUEST, &reason))));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(parse(&line)));
        }
        if !ended {
            return Ok(None);
        }
    }
}

fn parse(line: &[u8]) -> Message {
    let wrong = |id: &Value, code, reason: &str| Message::Wrong(error(id, code, reason));
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(source) => return wrong(&Value::Null, PARSE_ERROR, &format!("not JSON: {source}")),
    };
    let Value::Object(mut members) = value else {
        return wrong(&Value::Null, INVALID_REQUEST, "a message is one JSON object; batches are not taken");
    };
    let id = members.remove("id");
    let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
    let shown = id.clone().filter(is_id).unwrap_or_default();
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong(&shown, INVALID_REQUEST, "\"jsonrpc\" is not \"2.0\"");
    }
    let parameters = members.remove("params").unwrap_or_default();
    match (id, members.remove("method")) {
        (_, None) if members.contains_key("result") || members.contains_key("error") => Message::Answer,
        (None, Some(Value::String(method))) => Message::Notification { method, parameters },
        (Some(id), Some(Value::String(method))) if is_id(&id) => Message::Request { id, method, parameters },
        (Some(_), Some(Value::String(_))) => wrong(&shown, INVALID_REQUEST, "\"id\" is not a string or an integer"),
        _ => wrong(&shown, INVALID_REQUEST, "\"method\" is not a string"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &[u8]) -> Vec<Message> {
        let mut input = io::BufReader::with_capacity(16, text);
        std::iter::from_fn(|| next(&mut input).unwrap()).collect()
    }

    #[test]
    fn requests_notifications_and_what_is_neither() {
        let read = messages(
            b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":1}}\n\
              {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\n[]\n{\"id\":7,\"method\":\"ping\"}\n\xff\n\
              {\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"z\",\"method\":\"end\"}",
        );
        assert_eq!(read[0], Message::Request { id: json!(1), method: "ping".into(), parameters: Value::Null });
        assert_eq!(read[1], Message::Notification { method: "n".into(), parameters: json!({"a": 1}) });
        assert_eq!(read[2], Message::Answer);
        let codes: Vec<Option<(Value, i64)>> = read[3..]
            .iter()
            .map(|message| match message {
                Message::Wrong(error) => Some((error["id"].clone(), error["error"]["code"].as_i64()?)),
                _ => None,
            })
            .collect();
        let wrong = |id, code| Some((id, code));
        assert_eq!(
            codes[..6],
            [
                wrong(Value::Null, PARSE_ERROR),
                wrong(Value::Null, INVALID_REQUEST),
                wrong(json!(7), INVALID_REQUEST),
                wrong(Value::Null, PARSE_ERROR),
                wrong(Value::Null, INVALID_REQUEST),
                wrong(json!("a"), INVALID_REQUEST),
            ]
        );
        assert_eq!(read[9], Message::Request { id: json!("z"), method: "end".into(), parameters: Value::Null });
    }

    #[test]
    fn a_huge_line_is_refused_and_the_next_one_is_read() {
        let mut text = vec![b'x'; MOST_BYTES + 17];
        text.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
        let read = messages(&text);
        assert_eq!(read.len(), 2);
        assert!(matches!(&read[0], Message::Wrong(error) if error["error"]["code"] == INVALID_REQUEST));
        assert!(matches!(&read[1], Message::Request { .. }));
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let text = "[".repeat(100_000);
        assert!(
            matches!(&messages(text.as_bytes())[0], Message::Wrong(error) if error["error"]["code"] == PARSE_ERROR)
        );
    }
}
