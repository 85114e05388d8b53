//! Whole JSON documents in Python's dialect, as values.

use crate::scan::{Fault, HalfPair, Number, Raw, Scanner, TextRule, Value as Scanned};
use indexmap::IndexMap;
use perfdb_pycompat::value::Value;

/// Why a document could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no JSON.
    #[error("{} at byte {} (line {line}, column {column})", fault.kind, fault.at)]
    Malformed {
        /// What is wrong, and where in bytes from 0.
        fault: Fault,
        /// Line, from 1.
        line: u64,
        /// Column in characters, from 1.
        column: u64,
    },
    /// One of its texts is none.
    #[error(transparent)]
    HalfPair(#[from] HalfPair),
}

/// Reads a document: `NaN` and infinities are values, integers have any size, of equal keys the last one counts.
///
/// ```
/// let value = perfdb_trace::json::parse(br#"{"a": 1, "n": [NaN, 1e400, 12345678901234567890], "a": "x"}"#).unwrap();
/// assert_eq!(value.repr(), "{'a': 'x', 'n': [nan, inf, 12345678901234567890]}");
/// ```
pub fn parse(bytes: &[u8]) -> Result<Value, Error> {
    let mut scanner = Scanner::new(bytes, TextRule::Strict);
    let value = scanner.value().and_then(|value| scanner.finish().map(|()| value));
    match value {
        Ok(value) => Ok(to_value(value)?),
        Err(fault) => {
            let fault = Fault { kind: fault.kind.of_document(bytes, fault.at), ..fault };
            let before = bytes.get(..fault.at).unwrap_or(bytes);
            let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
            let last = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            let column = 1 + before[last..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count() as u64;
            Err(Error::Malformed { fault, line, column })
        }
    }
}

/// What the scanner found, as a value.
pub(crate) fn to_value(scanned: Scanned<'_>) -> Result<Value, HalfPair> {
    Ok(match scanned {
        Scanned::Null => Value::None,
        Scanned::Bool(value) => Value::Bool(value),
        Scanned::Number(number) => number_value(number),
        Scanned::Text(text) => Value::Text(text.decode()?.into_owned()),
        Scanned::List(raw) => nested(raw)?,
        Scanned::Object(raw) => nested(raw)?,
    })
}

fn number_value(number: Number<'_>) -> Value {
    if !number.is_integer() {
        return Value::Float(number.to_f64());
    }
    match number.to_i64() {
        Some(value) => Value::Int(value),
        None => number.text().parse().map_or(Value::Float(number.to_f64()), Value::from_big),
    }
}

/// A list or object that is still open.
enum Open {
    List { items: Vec<Value>, first: bool },
    Object { entries: IndexMap<String, Value>, key: String, first: bool },
}

/// Builds lists and objects without recursion. The text has been checked already.
fn nested(raw: Raw<'_>) -> Result<Value, HalfPair> {
    let mut scanner = Scanner::new(raw.text(), raw.rule());
    let mut open: Vec<Open> = Vec::new();
    loop {
        let mut done = match scanner.open_or_scalar() {
            Ok(Opened::Object) => {
                open.push(Open::Object { entries: IndexMap::new(), key: String::new(), first: true });
                None
            }
            Ok(Opened::List) => {
                open.push(Open::List { items: Vec::new(), first: true });
                None
            }
            Ok(Opened::Scalar(value)) => Some(to_value(value)?),
            Err(_) => return Ok(Value::None),
        };
        loop {
            let Some(innermost) = open.last_mut() else { return Ok(done.unwrap_or(Value::None)) };
            let more = match innermost {
                Open::List { items, first } => {
                    items.extend(done.take());
                    scanner.next_element(first).unwrap_or(false)
                }
                Open::Object { entries, key, first } => {
                    if let Some(value) = done.take() {
                        entries.insert(std::mem::take(key), value);
                    }
                    match scanner.next_key(first).unwrap_or(None) {
                        Some(name) => {
                            *key = name.decode()?.into_owned();
                            true
                        }
                        None => false,
                    }
                }
            };
            if more {
                break;
            }
            done = match open.pop() {
                Some(Open::List { items, .. }) => Some(Value::List(items)),
                Some(Open::Object { entries, .. }) => Some(Value::Dict(entries)),
                None => None,
            };
        }
    }
}

/// What [`Scanner::open_or_scalar`] found.
pub(crate) enum Opened<'a> {
    Object,
    List,
    Scalar(Scanned<'a>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> String {
        parse(text.as_bytes()).map_or_else(|error| error.to_string(), |value| value.repr())
    }

    #[test]
    fn values() {
        assert_eq!(form(r#" [ ] "#), "[]");
        assert_eq!(
            form(r#"{"a": {"b": [1, 2.0, {}], "c": null}, "d": [[], [true]]}"#),
            "{'a': {'b': [1, 2.0, {}], 'c': None}, 'd': [[], [True]]}"
        );
        assert_eq!(form("-0"), "0");
        assert_eq!(form("[-0.0, 1e3, -Infinity]"), "[-0.0, 1000.0, -inf]");
        assert_eq!(form(r#"{"a": 1, "b": 2, "a": 3}"#), "{'a': 3, 'b': 2}");
        assert_eq!(form(&format!("{}1{}", "[".repeat(1000), "]".repeat(1000))).len(), 2001);
    }

    #[test]
    fn faults_have_places() {
        assert_eq!(form("[1,\n é]"), "bytes that are not UTF-8 at byte 5 (line 2, column 2)");
        assert_eq!(form("{\"a\": 1\n"), "JSON ends too early at byte 8 (line 2, column 1)");
        assert_eq!(form("[01]"), "malformed number at byte 1 (line 1, column 2)");
        assert_eq!(form("\u{feff}[]"), "a byte order mark stands before the JSON value at byte 0 (line 1, column 1)");
        assert_eq!(
            form("Type,Duration(us)\n"),
            "a JSON value is expected, this looks like a CSV at byte 0 (line 1, column 1)"
        );
        assert_eq!(form("x\n,"), "a JSON value is expected at byte 0 (line 1, column 1)");
        assert_eq!(form(r#"["\ud800"]"#), "half a surrogate pair in a text");
        assert!(form(&"[".repeat(100_000)).starts_with("lists and objects are nested too deep"));
    }
}
