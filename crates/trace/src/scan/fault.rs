//! What can be wrong with a JSON text.

use std::fmt;

/// Result of the scanner's steps.
pub(crate) type Scan<T> = Result<T, Fault>;

/// Where a JSON text stops being one, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Position in the scanned bytes, from 0.
    pub at: usize,
    /// What is wrong there.
    pub kind: FaultKind,
}

/// The faults a JSON text can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The text ends inside a value. More bytes may follow where the text is read in pieces.
    End,
    /// No value where one must stand.
    ExpectedValue,
    /// A line of comma-separated names where a document must begin: a CSV.
    Csv,
    /// No key in double quotes where one must stand.
    ExpectedKey,
    /// No `:` behind a key.
    ExpectedColon,
    /// Neither `,` nor `}` behind a member of an object.
    ExpectedCommaOrBrace,
    /// Neither `,` nor `]` behind an element of a list.
    ExpectedCommaOrBracket,
    /// A number that does not follow JSON's grammar.
    Number,
    /// A raw character below U+0020 inside a text.
    ControlCharacter,
    /// A backslash followed by something that is no escape.
    Escape,
    /// Bytes that are not UTF-8.
    Utf8,
    /// More than [`MAX_DEPTH`](super::Scanner::MAX_DEPTH) lists and objects inside each other.
    Depth,
    /// Something other than whitespace behind the value.
    Trailing,
    /// A byte order mark in front of the value.
    ByteOrderMark,
    /// A value of another kind where the reader of a format wants an object.
    ExpectedObject,
}

impl FaultKind {
    /// The same for a document that starts with `bytes`: one that has no value in front may be a CSV given by mistake.
    pub(crate) fn of_document(self, bytes: &[u8], at: usize) -> FaultKind {
        let line = bytes.iter().take_while(|byte| !matches!(byte, b'\n' | b'\r'));
        match self {
            FaultKind::ExpectedValue if at == 0 && line.take(1 << 12).any(|byte| *byte == b',') => FaultKind::Csv,
            other => other,
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FaultKind::End => "JSON ends too early",
            FaultKind::ExpectedValue => "a JSON value is expected",
            FaultKind::Csv => "a JSON value is expected, this looks like a CSV",
            FaultKind::ExpectedKey => "a key in double quotes is expected",
            FaultKind::ExpectedColon => "a ':' is expected behind the key",
            FaultKind::ExpectedCommaOrBrace => "a ',' or '}' is expected",
            FaultKind::ExpectedCommaOrBracket => "a ',' or ']' is expected",
            FaultKind::Number => "malformed number",
            FaultKind::ControlCharacter => "a control character stands unescaped in a text",
            FaultKind::Escape => "malformed escape in a text",
            FaultKind::Utf8 => "bytes that are not UTF-8",
            FaultKind::Depth => "lists and objects are nested too deep",
            FaultKind::Trailing => "something follows the end of the JSON value",
            FaultKind::ExpectedObject => "the top level is not an object",
            FaultKind::ByteOrderMark => "a byte order mark stands before the JSON value",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.at)
    }
}

impl std::error::Error for Fault {}
