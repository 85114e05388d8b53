//! JSON texts as they stand in the file, decoded on demand.

use super::text_end::only_quotes_escaped;
use std::borrow::Cow;

/// How the reader treats what cannot be text: bytes that are not UTF-8, and escaped halves of surrogate pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRule {
    /// Bytes that are not UTF-8 are an error wherever they stand, half a pair where the text is decoded.
    Strict,
    /// Both become U+FFFD (one per maximal bad piece) where the text is decoded, and are ignored elsewhere.
    Replace,
}

/// A text holds half a surrogate pair (`"\ud83d"` alone), which is no character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("half a surrogate pair in a text")]
pub struct HalfPair;

/// A text, checked but not decoded.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    raw: &'a [u8],
    escaped: bool,
    rule: TextRule,
}

impl<'a> Text<'a> {
    #[inline]
    pub(super) fn new(raw: &'a [u8], escaped: bool, rule: TextRule) -> Text<'a> {
        Text { raw, escaped, rule }
    }

    /// The bytes between the quotes, escapes untouched. Equal bytes mean equal texts; the reverse holds only without escapes.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Whether the text holds escapes.
    pub fn is_escaped(&self) -> bool {
        self.escaped
    }

    /// Whether all its escapes are `\"`, so that only the backslashes have to go.
    pub fn has_only_quotes_escaped(&self) -> bool {
        only_quotes_escaped(self.raw)
    }

    /// Whether it is `""`.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// Whether it equals `other` once decoded.
    #[inline]
    pub fn is(&self, other: &str) -> bool {
        if self.escaped { self.decode().is_ok_and(|text| text == other) } else { self.raw == other.as_bytes() }
    }

    /// The decoded text, borrowed where it has no escapes. Fails only under [`TextRule::Strict`].
    pub fn decode(&self) -> Result<Cow<'a, str>, HalfPair> {
        if self.escaped {
            return self.unescape().map(Cow::Owned);
        }
        Ok(match std::str::from_utf8(self.raw) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(self.raw),
        })
    }

    /// The decoded text where decoding does not fail, with U+FFFD in place of what cannot be text otherwise.
    pub fn decode_lossy(&self) -> Cow<'a, str> {
        Text { rule: TextRule::Replace, ..*self }.decode().unwrap_or_default()
    }

    fn unescape(&self) -> Result<String, HalfPair> {
        let text = String::from_utf8_lossy(self.raw);
        let mut rest = &*text;
        let mut out = String::with_capacity(rest.len());
        while let Some(backslash) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (before, escape) = rest.split_at(backslash);
            out.push_str(before);
            let mut letters = escape.chars();
            // The backslash itself.
            letters.next();
            let letter = letters.next();
            rest = letters.as_str();
            match letter {
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some('t') => out.push('\t'),
                Some('u') => match code_point(&mut rest) {
                    Some(character) => out.push(character),
                    None if self.rule == TextRule::Replace => out.push(char::REPLACEMENT_CHARACTER),
                    None => return Err(HalfPair),
                },
                Some(other) => out.push(other),
                None => {}
            }
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Takes the digits of a `\u` escape, and of the second half where the first is the first of a pair. `None`: half a pair.
fn code_point(rest: &mut &str) -> Option<char> {
    let first = hex4(rest.as_bytes())?;
    *rest = rest.get(4..)?;
    if (0xd800..0xdc00).contains(&first)
        && let Some(low) = rest.strip_prefix("\\u").and_then(|low| hex4(low.as_bytes()))
        && (0xdc00..0xe000).contains(&low)
    {
        *rest = rest.get(6..)?;
        return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00));
    }
    char::from_u32(first)
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let mut value = 0;
    for &byte in bytes.first_chunk::<4>()? {
        value = value * 16 + char::from(byte).to_digit(16)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(raw: &str, rule: TextRule) -> Result<String, HalfPair> {
        Text::new(raw.as_bytes(), raw.contains('\\'), rule).decode().map(Cow::into_owned)
    }

    #[test]
    fn escapes() {
        assert_eq!(decode(r#"a\"\\\/\b\f\n\r\t\u0041\u00E9z"#, TextRule::Strict).unwrap(), "a\"\\/\u{8}\u{c}\n\r\tAéz");
        assert_eq!(decode(r"\ud83d\ude00", TextRule::Strict).unwrap(), "\u{1f600}");
    }

    #[test]
    fn half_pairs() {
        for raw in [r"\ud83d", r"\ude00", r"\ud83dx", r"\ud83d\n", r"\ude00\ud83d"] {
            assert_eq!(decode(raw, TextRule::Strict), Err(HalfPair), "{raw}");
        }
        assert_eq!(decode(r"\ud83dx", TextRule::Replace).unwrap(), "\u{fffd}x");
        assert_eq!(decode(r"\ud83d\ud83d\ude00", TextRule::Replace).unwrap(), "\u{fffd}\u{1f600}");
        assert_eq!(decode(r"\ud83d\u0041", TextRule::Replace).unwrap(), "\u{fffd}A");
    }

    #[test]
    fn escapes_of_quotes_alone() {
        for (raw, only_quotes) in [
            ("", true),
            (r#"a\"b\""#, true),
            (r#"0123456789abcde\"\"\"\"\"\"\"\"\"f"#, true),
            (r#"\"\\"#, false),
            (r#"\\\""#, false),
            (r#"0123456789abcdef\n"#, false),
            (r#"0123456789abcde\u0022"#, false),
        ] {
            assert_eq!(
                Text::new(raw.as_bytes(), true, TextRule::Strict).has_only_quotes_escaped(),
                only_quotes,
                "{raw}"
            );
        }
    }

    #[test]
    fn bad_bytes_are_replaced() {
        let text = Text::new(b"a\xe2\x82z\xff\\n", true, TextRule::Replace);
        assert_eq!(text.decode().unwrap(), "a\u{fffd}z\u{fffd}\n");
        assert_eq!(Text::new(b"\xc3", false, TextRule::Replace).decode().unwrap(), "\u{fffd}");
    }

    #[test]
    fn comparison_is_by_decoded_text() {
        assert!(Text::new(br"\u0070h", true, TextRule::Strict).is("ph"));
        assert!(!Text::new(br"\ud83d", true, TextRule::Strict).is("\u{fffd}"));
    }
}
