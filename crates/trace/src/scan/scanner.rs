//! The scanner itself.

use super::fault::{Fault, FaultKind, Scan};
use super::number::{number_end, word_end};
use super::skip::Skip;
use super::text_end::{BLOCK, block_at, stops, text_stop};
use super::{Kind, Span, Text, TextRule, Value};
use crate::json::Opened;

/// Walks over a JSON text, checking everything it passes.
///
/// Every step takes the scanner over whole tokens; after an error its position is undefined.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
    rule: TextRule,
}

impl<'a> Scanner<'a> {
    /// The deepest nesting of lists and objects that is read.
    pub const MAX_DEPTH: usize = 1024;

    /// A scanner at the start of `bytes`.
    pub fn new(bytes: &'a [u8], rule: TextRule) -> Scanner<'a> {
        Scanner { bytes, at: 0, rule }
    }

    pub(crate) fn starting_at(bytes: &'a [u8], at: usize, rule: TextRule) -> Scanner<'a> {
        Scanner { bytes, at, rule }
    }

    /// Position of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Takes the value that comes next, of any kind; lists and objects are checked and handed over as text.
    pub fn value(&mut self) -> Result<Value<'a>, Fault> {
        self.space();
        let span = self.value_span()?;
        Ok(span.of(self.bytes, self.rule).unwrap_or(Value::Null))
    }

    /// Passes over the value that comes next.
    pub fn skip_value(&mut self) -> Result<(), Fault> {
        self.space();
        self.value_span().map(drop)
    }

    /// Takes the `{` of an object.
    pub fn enter_object(&mut self) -> Result<(), Fault> {
        self.space();
        self.expect(b'{', FaultKind::ExpectedValue)
    }

    /// Takes the next key of an object and its `:`, or the closing `}`, for which it gives `None`. `first` is true for the
    /// first call in an object.
    pub fn next_key(&mut self, first: &mut bool) -> Result<Option<Text<'a>>, Fault> {
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(None);
        }
        if !*first {
            self.expect(b',', FaultKind::ExpectedCommaOrBrace)?;
            self.space();
        }
        *first = false;
        let key = self.key_span()?;
        Ok(key.of(self.bytes, self.rule).and_then(|key| key.as_text()))
    }

    /// Goes to the next element of a list, or takes the closing `]`, for which it gives `false`. `first` is true for the
    /// first call in a list.
    pub(crate) fn next_element(&mut self, first: &mut bool) -> Result<bool, Fault> {
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(false);
        }
        if !*first {
            self.expect(b',', FaultKind::ExpectedCommaOrBracket)?;
            self.space();
        }
        *first = false;
        Ok(true)
    }

    /// Takes the opening bracket of a list or object, or a whole value of another kind.
    pub(crate) fn open_or_scalar(&mut self) -> Result<Opened<'a>, Fault> {
        self.space();
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                Ok(Opened::Object)
            }
            Some(b'[') => {
                self.at += 1;
                Ok(Opened::List)
            }
            _ => self.value().map(Opened::Scalar),
        }
    }

    /// Checks that only whitespace is left.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.space();
        if self.at < self.bytes.len() { self.fault(FaultKind::Trailing) } else { Ok(()) }
    }

    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline(always)]
    pub(crate) fn space(&mut self) {
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        if self.peek().is_some_and(|byte| byte <= b' ') {
            self.more_space();
        }
    }

    #[cold]
    fn more_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    #[cold]
    pub(crate) fn fault<T>(&self, kind: FaultKind) -> Scan<T> {
        let kind = match (kind, self.bytes.get(self.at)) {
            (_, None) => FaultKind::End,
            (FaultKind::ExpectedValue, Some(0xef)) if self.at == 0 => FaultKind::ByteOrderMark,
            (FaultKind::ExpectedValue | FaultKind::ExpectedKey | FaultKind::Trailing, Some(0x80..)) => FaultKind::Utf8,
            (kind, _) => kind,
        };
        Err(Fault { at: self.at, kind })
    }

    /// Takes `byte`, which must come next.
    #[inline(always)]
    pub(crate) fn expect(&mut self, byte: u8, kind: FaultKind) -> Scan<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            self.fault(kind)
        }
    }

    /// Takes a key, its `:` and the whitespace behind it.
    #[inline(always)]
    pub(crate) fn key_span(&mut self) -> Scan<Span> {
        self.expect(b'"', FaultKind::ExpectedKey)?;
        let key = self.text_span()?;
        if self.peek() == Some(b':') {
            self.at += 1;
        } else {
            self.space();
            self.expect(b':', FaultKind::ExpectedColon)?;
        }
        self.space();
        Ok(key)
    }

    /// Takes the value whose first byte comes next.
    #[inline(always)]
    pub(crate) fn value_span(&mut self) -> Scan<Span> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.text_span()
            }
            Some(b'{' | b'[') => self.container_span(),
            _ => self.scalar_span(),
        }
    }

    /// Takes a number, `true`, `false`, `null`, `NaN` or `Infinity`.
    #[inline]
    pub(super) fn scalar_span(&mut self) -> Scan<Span> {
        let start = self.at;
        let (end, kind) = match self.peek() {
            Some(b'-' | b'0'..=b'9') => {
                let (end, integer) = number_end(self.bytes, start)?;
                (end, if integer { Kind::Integer } else { Kind::Real })
            }
            Some(b't') => (word_end(self.bytes, start, b"true")?, Kind::True),
            Some(b'f') => (word_end(self.bytes, start, b"false")?, Kind::False),
            Some(b'n') => (word_end(self.bytes, start, b"null")?, Kind::Null),
            Some(b'N') => (word_end(self.bytes, start, b"NaN")?, Kind::Real),
            Some(b'I') => (word_end(self.bytes, start, b"Infinity")?, Kind::Real),
            _ => return self.fault(FaultKind::ExpectedValue),
        };
        self.at = end;
        Ok(Span { start, end, kind })
    }

    /// Passes over a value that stands `depth` levels deep.
    pub(super) fn value_below(&mut self, depth: usize) -> Scan<()> {
        Skip::below(depth).run(self)
    }

    #[inline(never)]
    fn container_span(&mut self) -> Scan<Span> {
        let start = self.at;
        let kind = if self.peek() == Some(b'{') { Kind::Object } else { Kind::List };
        Skip::new().run(self)?;
        Ok(Span { start, end: self.at, kind })
    }

    /// Takes the rest of a text whose opening quote has just been taken.
    #[inline(always)]
    pub(crate) fn text_span(&mut self) -> Scan<Span> {
        let start = self.at;
        let end = text_stop(self.bytes, start);
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Span { start, end, kind: Kind::PlainText });
        }
        self.text_span_from(start, end)
    }

    /// The rest of a text that is plain only up to `at`.
    #[inline(never)]
    pub(super) fn text_span_from(&mut self, start: usize, mut at: usize) -> Scan<Span> {
        let mut kind = Kind::PlainText;
        let mut ascii = true;
        'blocks: while let Some(block) = block_at(self.bytes, at) {
            let mut stops = stops(block);
            while stops != 0 {
                let stop = stops.trailing_zeros() as usize;
                match block[stop] {
                    b'"' => return self.text_done(start, at + stop, kind, ascii),
                    b'\\' => {
                        kind = Kind::EscapedText;
                        // The byte behind the backslash is done with too, whatever it is.
                        let next = self.escape_end(at + stop)? - at;
                        if next >= BLOCK {
                            at += next;
                            continue 'blocks;
                        }
                        stops &= !0 << next;
                    }
                    0x80.. => {
                        ascii = false;
                        stops &= stops - 1;
                    }
                    _ => return Err(Fault { at: at + stop, kind: FaultKind::ControlCharacter }),
                }
            }
            at += BLOCK;
        }
        loop {
            match self.bytes.get(at) {
                Some(b'"') => return self.text_done(start, at, kind, ascii),
                Some(b'\\') => {
                    kind = Kind::EscapedText;
                    at = self.escape_end(at)?;
                }
                Some(0x80..) => {
                    ascii = false;
                    at += 1;
                }
                Some(0x20..) => at += 1,
                Some(_) => return Err(Fault { at, kind: FaultKind::ControlCharacter }),
                None => return Err(Fault { at, kind: FaultKind::End }),
            }
        }
    }

    #[inline(always)]
    fn text_done(&mut self, start: usize, end: usize, kind: Kind, ascii: bool) -> Scan<Span> {
        if !ascii && self.rule == TextRule::Strict {
            self.check_utf8(start, end)?;
        }
        self.at = end + 1;
        Ok(Span { start, end, kind })
    }

    #[inline(never)]
    fn check_utf8(&self, start: usize, end: usize) -> Scan<()> {
        match std::str::from_utf8(self.bytes.get(start..end).unwrap_or_default()) {
            Ok(_) => Ok(()),
            Err(error) => Err(Fault { at: start + error.valid_up_to(), kind: FaultKind::Utf8 }),
        }
    }

    /// The end of the escape whose backslash stands at `at`.
    #[inline(always)]
    fn escape_end(&self, at: usize) -> Scan<usize> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                let digits = self.bytes.get(at + 2..).unwrap_or_default();
                let hex = digits.iter().take(4).take_while(|digit| digit.is_ascii_hexdigit()).count();
                match hex {
                    4 => Ok(at + 6),
                    _ if hex == digits.len() => Err(Fault { at: self.bytes.len(), kind: FaultKind::End }),
                    _ => Err(Fault { at, kind: FaultKind::Escape }),
                }
            }
            Some(_) => Err(Fault { at, kind: FaultKind::Escape }),
            None => Err(Fault { at: at + 1, kind: FaultKind::End }),
        }
    }
}
