//! Values found by the scanner.

use super::{HalfPair, Number, Text, TextRule};

/// A value as it stands in the text; nothing is decoded yet.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// a number, `NaN`, `Infinity`, `-Infinity`
    Number(Number<'a>),
    /// a text
    Text(Text<'a>),
    /// a list
    List(Raw<'a>),
    /// an object
    Object(Raw<'a>),
}

impl<'a> Value<'a> {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<Text<'a>> {
        match self {
            Value::Text(text) => Some(*text),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<Number<'a>> {
        match self {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether Python takes it for true: not `null`, `false`, zero, `""`, `[]` or `{}`.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(value) => *value,
            Value::Number(number) => number.to_f64() != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(raw) | Value::Object(raw) => !raw.is_empty(),
        }
    }

    /// The whole value as Python would hold it.
    pub fn to_value(&self) -> Result<perfdb_pycompat::value::Value, HalfPair> {
        crate::json::to_value(*self)
    }
}

/// A list or an object as the text it stands in, already checked.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    text: &'a [u8],
    rule: TextRule,
}

impl<'a> Raw<'a> {
    /// The text, brackets included.
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// How its texts are to be decoded.
    pub fn rule(&self) -> TextRule {
        self.rule
    }

    /// Whether it is `[]` or `{}`.
    pub fn is_empty(&self) -> bool {
        let inside = self.text.len().saturating_sub(1);
        self.text.get(1..inside).is_none_or(|inside| inside.iter().all(u8::is_ascii_whitespace))
    }
}

/// The kinds a [`Span`] can be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Absent,
    Null,
    False,
    True,
    Integer,
    Real,
    PlainText,
    EscapedText,
    List,
    Object,
}

/// Kind and place of a value: `start..end` is the text of numbers, lists and objects, and what stands between the quotes of
/// texts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
}

impl Span {
    pub(crate) const ABSENT: Span = Span { start: 0, end: 0, kind: Kind::Absent };

    /// The value that stands there in `bytes`.
    #[inline]
    pub(crate) fn of(self, bytes: &[u8], rule: TextRule) -> Option<Value<'_>> {
        let raw = bytes.get(self.start..self.end).unwrap_or_default();
        Some(match self.kind {
            Kind::Absent => return None,
            Kind::Null => Value::Null,
            Kind::False => Value::Bool(false),
            Kind::True => Value::Bool(true),
            Kind::Integer => Value::Number(Number::new(raw, true)),
            Kind::Real => Value::Number(Number::new(raw, false)),
            Kind::PlainText => Value::Text(Text::new(raw, false, rule)),
            Kind::EscapedText => Value::Text(Text::new(raw, true, rule)),
            Kind::List => Value::List(Raw { text: raw, rule }),
            Kind::Object => Value::Object(Raw { text: raw, rule }),
        })
    }
}
