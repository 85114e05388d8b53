//! JSON as CPython's `json.dump` writes it.

pub use crate::to_value::{NotRepresentable, to_value};
use crate::{float, value::Value};
use serde::Serialize;
use std::fmt::Write as _;

/// How a document is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// spaces per level, as `json.dump(indent=…)`; `None` for one line
    pub indent: Option<usize>,
    /// between the items of one line, as `separators[0]`; unused with an indent
    pub item_separator: &'static str,
    /// between key and value, as `separators[1]`
    pub key_separator: &'static str,
    /// which characters are written as `\u` escapes
    pub escape: Escape,
}

/// Which characters of texts are escaped besides `"`, `\` and the controls below U+0020.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// none: `ensure_ascii=False`
    ControlsOnly,
    /// every one that is not printable ASCII: `ensure_ascii=True`
    NonAscii,
}

impl Style {
    /// `json.dump(…, indent=2, ensure_ascii=False)`.
    pub const INDENTED: Style =
        Style { indent: Some(2), item_separator: ",", key_separator: ": ", escape: Escape::ControlsOnly };
    /// `json.dump(…)` with its defaults: one line, ASCII.
    pub const ONE_LINE: Style =
        Style { indent: None, item_separator: ", ", key_separator: ": ", escape: Escape::NonAscii };
}

/// The document of a value that serialises, in [`Style::INDENTED`]. Fails for maps whose keys are not texts.
pub fn to_string(value: &(impl Serialize + ?Sized)) -> Result<String, NotRepresentable> {
    Ok(write(&to_value(value)?, Style::INDENTED))
}

/// [`to_string`] in another style.
pub fn to_string_with(value: &(impl Serialize + ?Sized), style: Style) -> Result<String, NotRepresentable> {
    Ok(write(&to_value(value)?, style))
}

/// The document of a value. Floats stand as `repr` writes them, infinities and not-a-number as `Infinity`, `-Infinity` and
/// `NaN`. No line end at the end.
///
/// ```
/// use perfdb_pycompat::{json::{Style, write}, value::Value};
/// let list = Value::List(vec![Value::Float(1.0), Value::from("é\n")]);
/// assert_eq!(write(&list, Style::INDENTED), "[\n  1.0,\n  \"é\\n\"\n]");
/// assert_eq!(write(&list, Style::ONE_LINE), "[1.0, \"\\u00e9\\n\"]");
/// ```
pub fn write(value: &Value, style: Style) -> String {
    let mut writer = Writer { out: String::new(), style };
    writer.value(value, 0);
    writer.out
}

struct Writer {
    out: String,
    style: Style,
}

impl Writer {
    fn value(&mut self, value: &Value, level: usize) {
        match value {
            Value::None => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            // Writing to a String cannot fail.
            Value::Int(number) => drop(write!(self.out, "{number}")),
            Value::BigInt(number) => drop(write!(self.out, "{number}")),
            Value::Float(number) if number.is_nan() => self.out.push_str("NaN"),
            Value::Float(number) if number.is_infinite() => {
                self.out.push_str(if *number > 0.0 { "Infinity" } else { "-Infinity" });
            }
            Value::Float(number) => float::push_repr(&mut self.out, *number),
            Value::Text(text) => push_text(&mut self.out, text, self.style.escape),
            Value::List(items) | Value::Tuple(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.separate(at, level + 1);
                    self.value(item, level + 1);
                }
                self.close(items.len(), level, ']');
            }
            Value::Dict(entries) => {
                self.out.push('{');
                for (at, (key, item)) in entries.iter().enumerate() {
                    self.separate(at, level + 1);
                    push_text(&mut self.out, key, self.style.escape);
                    self.out.push_str(self.style.key_separator);
                    self.value(item, level + 1);
                }
                self.close(entries.len(), level, '}');
            }
        }
    }

    fn separate(&mut self, at: usize, level: usize) {
        match self.style.indent {
            Some(_) => {
                if at > 0 {
                    self.out.push(',');
                }
                self.new_line(level);
            }
            None if at > 0 => self.out.push_str(self.style.item_separator),
            None => {}
        }
    }

    fn close(&mut self, count: usize, level: usize, bracket: char) {
        if count > 0 && self.style.indent.is_some() {
            self.new_line(level);
        }
        self.out.push(bracket);
    }

    fn new_line(&mut self, level: usize) {
        self.out.push('\n');
        let spaces = self.style.indent.unwrap_or(0) * level;
        self.out.extend(std::iter::repeat_n(' ', spaces));
    }
}

fn push_text(out: &mut String, text: &str, escape: Escape) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => drop(write!(out, "\\u{:04x}", u32::from(character))),
            ' '..='~' => out.push(character),
            _ if escape == Escape::ControlsOnly => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    struct Row {
        kernel_type: &'static str,
        total_us: f64,
        count: u64,
        percent: Option<f64>,
        shapes: Vec<(i32, i32)>,
    }

    #[test]
    fn a_row_as_python_writes_it() {
        let row = Row { kernel_type: "Mat\"Mul", total_us: 1e-5, count: 3, percent: None, shapes: vec![(1, 2)] };
        let text = "{\n  \"kernel_type\": \"Mat\\\"Mul\",\n  \"total_us\": 1e-05,\n  \"count\": 3,\n  \"percent\": null,\n  \
                    \"shapes\": [\n    [\n      1,\n      2\n    ]\n  ]\n}";
        assert_eq!(to_string(&row).unwrap(), text);
        assert_eq!(to_string(&BTreeMap::<String, i32>::new()).unwrap(), "{}");
        assert_eq!(to_string(&[] as &[i32]).unwrap(), "[]");
    }

    #[test]
    fn numbers_and_escapes() {
        let values = (f64::NAN, f64::NEG_INFINITY, u64::MAX, i128::MIN, true);
        assert_eq!(
            to_string_with(&values, Style::ONE_LINE).unwrap(),
            "[NaN, -Infinity, 18446744073709551615, -170141183460469231731687303715884105728, true]"
        );
        assert_eq!(to_string_with("\u{7f}😀\u{1}\u{8}", Style::ONE_LINE).unwrap(), r#""\u007f\ud83d\ude00\u0001\b""#);
        assert_eq!(to_string("\u{7f}😀\u{1}/").unwrap(), "\"\u{7f}😀\\u0001/\"");
    }

    #[test]
    fn keys_must_be_texts() {
        assert!(to_string(&BTreeMap::from([(vec![1], 2)])).is_err());
        assert_eq!(to_string_with(&BTreeMap::from([(1, 2)]), Style::ONE_LINE).unwrap(), r#"{"1": 2}"#);
    }

    proptest! {
        #[test]
        fn texts_read_back(text in any::<String>()) {
            for style in [Style::INDENTED, Style::ONE_LINE] {
                let written = to_string_with(&text, style).unwrap();
                prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text.clone());
            }
        }
    }
}
