//! A value of Python's own types, and its text form.

use crate::{float, text::is_printable};
use indexmap::IndexMap;
use num_bigint::BigInt;
use std::fmt::Write as _;

/// What a JSON document or a literal holds. `PartialEq` is structural: `Int(1)` and `Float(1.0)` differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `None`, JSON `null`
    None,
    /// `True` and `False`
    Bool(bool),
    /// an integer of 64 bits
    Int(i64),
    /// an integer beyond 64 bits
    BigInt(BigInt),
    /// a double; JSON numbers with a point or an exponent
    Float(f64),
    Text(String),
    /// a list, JSON array
    List(Vec<Value>),
    /// a tuple; JSON has none and writes it as an array
    Tuple(Vec<Value>),
    /// a dict in order of first appearance, keys with their last value
    Dict(IndexMap<String, Value>),
}

impl Value {
    /// The integer, in the smaller form where it fits.
    pub fn from_big(number: BigInt) -> Value {
        i64::try_from(&number).map_or_else(|_| Value::BigInt(number), Value::Int)
    }

    /// Whether Python would take it for true: not `None`, `False`, a zero, an empty text or collection.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(number) => *number != 0,
            Value::BigInt(number) => *number != BigInt::ZERO,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(items) | Value::Tuple(items) => !items.is_empty(),
            Value::Dict(entries) => !entries.is_empty(),
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number as a double (booleans count 1 and 0); `None` for other types, and an infinity for an integer that
    /// is too large.
    pub fn as_double(&self) -> Option<f64> {
        match self {
            Value::Bool(value) => Some(f64::from(u8::from(*value))),
            // The nearest double, as Python's conversion gives.
            Value::Int(number) => Some(*number as f64),
            Value::BigInt(number) => number.to_string().parse().ok(),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// `repr(value)`: texts in quotes.
    ///
    /// ```
    /// use perfdb_pycompat::value::Value;
    /// let list = Value::List(vec![Value::Text("it's".into()), Value::None, Value::Float(0.5)]);
    /// assert_eq!(list.repr(), r#"["it's", None, 0.5]"#);
    /// ```
    pub fn repr(&self) -> String {
        let mut out = String::new();
        self.push_repr(&mut out);
        out
    }

    /// `str(value)`: a text on its own stands without quotes.
    pub fn str(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            _ => self.repr(),
        }
    }

    /// [`Value::repr`] appended to `out`.
    pub fn push_repr(&self, out: &mut String) {
        match self {
            Value::None => out.push_str("None"),
            Value::Bool(true) => out.push_str("True"),
            Value::Bool(false) => out.push_str("False"),
            // Writing to a String cannot fail.
            Value::Int(number) => drop(write!(out, "{number}")),
            Value::BigInt(number) => drop(write!(out, "{number}")),
            Value::Float(number) => float::push_repr(out, *number),
            Value::Text(text) => push_quoted(out, text),
            Value::List(items) => push_items(out, "[", items, "]"),
            Value::Tuple(items) if items.len() == 1 => push_items(out, "(", items, ",)"),
            Value::Tuple(items) => push_items(out, "(", items, ")"),
            Value::Dict(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    push_quoted(out, key);
                    out.push_str(": ");
                    value.push_repr(out);
                }
                out.push('}');
            }
        }
    }
}

fn push_items(out: &mut String, open: &str, items: &[Value], close: &str) {
    out.push_str(open);
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        item.push_repr(out);
    }
    out.push_str(close);
}

/// `repr` of a text: between `'`, or between `"` where it holds `'` and no `"`.
///
/// ```
/// let mut out = String::new();
/// perfdb_pycompat::value::push_quoted(&mut out, "a\tb\u{a0}");
/// assert_eq!(out, r"'a\tb\xa0'");
/// ```
pub fn push_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for character in text.chars() {
        let code = u32::from(character);
        match character {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character == quote => {
                out.push('\\');
                out.push(quote);
            }
            _ if is_printable(character) => out.push(character),
            _ if code <= 0xff => drop(write!(out, "\\x{code:02x}")),
            _ if code <= 0xffff => drop(write!(out, "\\u{code:04x}")),
            _ => drop(write!(out, "\\U{code:08x}")),
        }
    }
    out.push(quote);
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Float(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms() {
        let text = |text: &str| Value::from(text).repr();
        assert_eq!(text("a"), "'a'");
        assert_eq!(text("a'b\"c"), r#"'a\'b"c'"#);
        assert_eq!(text("\u{7f}\u{200b}\u{10ffff}é\\"), r"'\x7f\u200b\U0010ffffé\\'");
        assert_eq!(Value::Tuple(vec![Value::Int(1)]).repr(), "(1,)");
        assert_eq!(Value::Tuple(vec![]).repr(), "()");
        let dict = Value::Dict(IndexMap::from([("k".to_owned(), Value::Bool(true)), ("n".to_owned(), Value::None)]));
        assert_eq!(dict.repr(), "{'k': True, 'n': None}");
        assert_eq!(Value::from("a").str(), "a");
    }

    #[test]
    fn big_numbers_keep_their_digits() {
        let digits = "123456789012345678901234567890";
        let number = Value::from_big(digits.parse().unwrap());
        assert_eq!(number.repr(), digits);
        assert_eq!(number.as_double(), Some(1.2345678901234568e29));
        assert_eq!(Value::from_big(BigInt::from(-5)), Value::Int(-5));
    }
}
