//! Passing over one JSON value and writing it as it should be.

use super::fault::{Fault, behind_space};
use super::tally::Tally;
use std::ops::Range;

/// The deepest nesting that is read, as in [`Scanner`](perfdb_trace::scan::Scanner).
const DEPTH: usize = 1024;

/// What becomes of what is odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The result is read on the spot: values that are not finite stay numbers that are not, of equal keys all stay.
    Check,
    /// The result is a file to keep.
    Repair,
}

/// Writes values of `bytes` as JSON.
pub(super) struct ValueMender<'b> {
    pub(super) bytes: &'b [u8],
    /// Position of the first byte in the file.
    pub(super) base: u64,
    pub(super) purpose: Purpose,
    pub(super) out: Vec<u8>,
    pub(super) tally: Tally,
}

impl ValueMender<'_> {
    /// Takes the value at `at`; the position behind it.
    pub(super) fn value(&mut self, at: usize, depth: usize) -> Result<usize, Fault> {
        match self.bytes.get(at) {
            None => Fault::end(at),
            Some(b'"') => self.text(at),
            Some(b'{') if depth < DEPTH => self.object(at, depth),
            Some(b'[') if depth < DEPTH => self.list(at, depth),
            Some(b'{' | b'[') => Fault::bad(at, "nested too deep"),
            Some(b't') => self.word(at, b"true"),
            Some(b'f') => self.word(at, b"false"),
            Some(b'n') if self.bytes.get(at + 1).is_none_or(|byte| *byte == b'u') => self.word(at, b"null"),
            Some(b'-' | b'+' | b'0'..=b'9' | b'n' | b'N' | b'i' | b'I') => self.number(at),
            Some(_) => Fault::bad(at, "a value is expected"),
        }
    }

    fn copy(&mut self, from: usize, to: usize) {
        self.out.extend_from_slice(self.bytes.get(from..to).unwrap_or_default());
    }

    fn word(&mut self, at: usize, word: &[u8]) -> Result<usize, Fault> {
        let there = self.bytes.get(at..).unwrap_or_default();
        if there.starts_with(word) {
            self.out.extend_from_slice(word);
            Ok(at + word.len())
        } else if word.starts_with(there) {
            Fault::end(at)
        } else {
            Fault::bad(at, "a value is expected")
        }
    }

    fn number(&mut self, at: usize) -> Result<usize, Fault> {
        let there = self.bytes.get(at..).unwrap_or_default();
        if let Some(length) = nonfinite(there) {
            if length == there.len() {
                return Fault::end(at + length);
            }
            let word = String::from_utf8_lossy(&there[..length]).into_owned();
            *self.tally.words.entry(word).or_default() += 1;
            self.tally.nonfinite.add(self.base + at as u64);
            self.out.extend_from_slice(match self.purpose {
                Purpose::Check => b"NaN",
                Purpose::Repair => b"null",
            });
            return Ok(at + length);
        }
        let Some(length) = number_length(there) else {
            // What is cut may have become a number or a word.
            let cut =
                there.len() < 12 && there.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.(".contains(byte));
            return if cut { Fault::end(at) } else { Fault::bad(at, "malformed number") };
        };
        if length == there.len() {
            return Fault::end(at + length);
        }
        self.copy(at, at + length);
        Ok(at + length)
    }

    /// Takes the text whose opening quote stands at `at`.
    fn text(&mut self, at: usize) -> Result<usize, Fault> {
        let mut end = at + 1;
        let mut odd = false;
        loop {
            match self.bytes.get(end) {
                None => return Fault::end(at),
                Some(b'"') => break,
                Some(b'\\') => {
                    end += self.escape(at, end)?;
                }
                Some(byte) => {
                    odd |= !(0x20..0x80).contains(byte);
                    end += 1;
                }
            }
        }
        if odd {
            self.odd_text(at, end + 1);
        } else {
            self.copy(at, end + 1);
        }
        Ok(end + 1)
    }

    /// Length of the escape at `at` in the text that begins at `start`.
    fn escape(&self, start: usize, at: usize) -> Result<usize, Fault> {
        match self.bytes.get(at + 1) {
            None => Fault::end(start),
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
            Some(b'u') => {
                let digits = self.bytes.get(at + 2..).unwrap_or_default();
                match digits.iter().take(4).take_while(|digit| digit.is_ascii_hexdigit()).count() {
                    4 => Ok(6),
                    hex if hex == digits.len() => Fault::end(start),
                    _ => Fault::bad(at, "malformed escape"),
                }
            }
            Some(_) => Fault::bad(at, "malformed escape"),
        }
    }

    /// A text with control characters, or bytes that are not ASCII.
    fn odd_text(&mut self, from: usize, to: usize) {
        let text = self.bytes.get(from..to).unwrap_or_default();
        let mut at = self.base + from as u64;
        for chunk in text.utf8_chunks() {
            for byte in chunk.valid().bytes() {
                if byte < 0x20 {
                    self.tally.control.add(at);
                    self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                } else {
                    self.out.push(byte);
                }
                at += 1;
            }
            if !chunk.invalid().is_empty() {
                self.tally.bad_utf8.add(at);
                self.out.extend_from_slice("\u{fffd}".as_bytes());
                at += chunk.invalid().len() as u64;
            }
        }
    }

    fn list(&mut self, at: usize, depth: usize) -> Result<usize, Fault> {
        let mut at = self.opened(at);
        if self.bytes.get(at) == Some(&b']') {
            self.out.push(b']');
            return Ok(at + 1);
        }
        loop {
            at = self.value(at, depth + 1)?;
            match self.separator(at, b']')? {
                Behind::More(next) => at = next,
                Behind::Closed(end) => return Ok(end),
            }
        }
    }

    /// Takes the bracket at `at` and the space behind it.
    fn opened(&mut self, at: usize) -> usize {
        let next = behind_space(self.bytes, at + 1);
        self.copy(at, next);
        next
    }

    /// Takes a comma and the space around it, or the closing bracket.
    fn separator(&mut self, at: usize, close: u8) -> Result<Behind, Fault> {
        let next = behind_space(self.bytes, at);
        match self.bytes.get(next) {
            Some(b',') => {
                let end = behind_space(self.bytes, next + 1);
                self.copy(at, end);
                Ok(Behind::More(end))
            }
            Some(byte) if *byte == close => {
                self.copy(at, next + 1);
                Ok(Behind::Closed(next + 1))
            }
            None => Fault::end(next),
            Some(_) => Fault::bad(next, "a comma or a closing bracket is expected"),
        }
    }

    fn object(&mut self, at: usize, depth: usize) -> Result<usize, Fault> {
        let mut at = self.opened(at);
        if self.bytes.get(at) == Some(&b'}') {
            self.out.push(b'}');
            return Ok(at + 1);
        }
        let mut members: Vec<Member> = Vec::new();
        loop {
            let start = self.out.len();
            match self.bytes.get(at) {
                Some(b'"') => at = self.text(at)?,
                None => return Fault::end(at),
                Some(_) => return Fault::bad(at, "a key is expected"),
            }
            let key_end = self.out.len();
            let colon = behind_space(self.bytes, at);
            match self.bytes.get(colon) {
                Some(b':') => {}
                None => return Fault::end(colon),
                Some(_) => return Fault::bad(colon, "a colon is expected"),
            }
            let value = behind_space(self.bytes, colon + 1);
            self.copy(at, value);
            let value_start = self.out.len();
            at = self.value(value, depth + 1)?;
            members.push(Member { start, key_end, value_start, end: self.out.len() });
            match self.separator(at, b'}')? {
                Behind::More(next) => at = next,
                Behind::Closed(end) => {
                    self.keep_last(&members);
                    return Ok(end);
                }
            }
        }
    }

    /// Counts keys that stand there twice with different values; in a repair the last one stays.
    fn keep_last(&mut self, members: &[Member]) {
        let out = &self.out;
        let key = |member: &Member| unescaped(&out[member.start + 1..member.key_end - 1]);
        let mut keys: Vec<(std::borrow::Cow<'_, [u8]>, usize)> =
            members.iter().map(key).enumerate().map(|(at, key)| (key, at)).collect();
        keys.sort_unstable();
        let mut replaced = Vec::new();
        for pair in keys.windows(2) {
            let (before, after) = (&members[pair[0].1], &members[pair[1].1]);
            if pair[0].0 == pair[1].0 && out[before.value_start..before.end] != out[after.value_start..after.end] {
                let key = String::from_utf8_lossy(&pair[0].0).into_owned();
                *self.tally.duplicate_keys.entry(key).or_default() += 1;
                replaced.push(pair[0].1);
            }
        }
        if self.purpose == Purpose::Repair {
            replaced.sort_unstable();
            self.remove(replaced.into_iter().map(|at| {
                // A later one follows, so there is a next member.
                members[at].start..members[at + 1].start
            }));
        }
    }
}

impl ValueMender<'_> {
    /// Takes pieces, which are in order, out of what is written.
    fn remove(&mut self, pieces: impl Iterator<Item = Range<usize>>) {
        let (mut to, mut from) = (None, 0);
        for piece in pieces {
            let end = to.get_or_insert(piece.start);
            if from > 0 {
                self.out.copy_within(from..piece.start, *end);
                *end += piece.start - from;
            }
            from = piece.end;
        }
        if let Some(end) = to {
            self.out.copy_within(from.., end);
            self.out.truncate(end + self.out.len() - from);
        }
    }
}

/// What stands behind an element or member, and where that ends.
enum Behind {
    More(usize),
    Closed(usize),
}

/// Where a member stands in what was written.
#[derive(Debug, Clone, Copy)]
struct Member {
    start: usize,
    key_end: usize,
    value_start: usize,
    end: usize,
}

/// The text that stands between quotes.
pub(super) fn unescaped(raw: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return raw.into();
    }
    let quoted = [b"\"", raw, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).map_or_else(|_| raw.into(), |text| text.into_bytes().into())
}

/// Length of a word for a value that is not finite.
fn nonfinite(bytes: &[u8]) -> Option<usize> {
    const WORDS: [&[u8]; 5] = [b"nan(ind)", b"nan(snan)", b"infinity", b"nan", b"inf"];
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let rest = bytes.get(sign..)?;
    let starts = |word: &&[u8]| rest.get(..word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word));
    let word = WORDS.into_iter().find(starts)?;
    let behind = rest.get(word.len());
    behind.is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'(').then_some(sign + word.len())
}

/// Length of a JSON number.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits =
        |from: usize| bytes.get(from..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && bytes.get(at) == Some(&b'0')) {
        return None;
    }
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        let part = digits(at + 1);
        if part == 0 {
            return None;
        }
        at += 1 + part;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'-' | b'+')));
        let power = digits(at + 1 + sign);
        if power == 0 {
            return None;
        }
        at += 1 + sign + power;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mend(text: &[u8], purpose: Purpose) -> Result<(String, Tally), Fault> {
        let bytes = [text, b" "].concat();
        let mut mender = ValueMender { bytes: &bytes, base: 0, purpose, out: Vec::new(), tally: Tally::default() };
        mender.value(0, 0)?;
        Ok((String::from_utf8(mender.out).expect("text"), mender.tally))
    }

    #[test]
    fn good_values_stay_byte_for_byte() {
        for text in
            [r#"{"a" : [1 , -2.50e+3,true],"b":{},"c":[ ],"d":"é\"\u00e9"}"#, "[]", "null", "-0.0", r#"{"a":1,"a":1}"#]
        {
            let (mended, tally) = mend(text.as_bytes(), Purpose::Repair).expect("good");
            assert_eq!(mended, text);
            assert_eq!(tally.duplicates() + tally.control.count + tally.nonfinite.count, 0);
        }
    }

    #[test]
    fn odd_values_are_mended() {
        for (text, mended) in [
            (&b"{\"a\":\"x\ty\"}"[..], r#"{"a":"x\u0009y"}"#),
            (b"[nan,-inf, +Infinity,NaN,nan(ind),-nan(snan),INF]", "[null,null, null,null,null,null,null]"),
            (b"\"a\xe2\x82z\xff\"", "\"a\u{fffd}z\u{fffd}\""),
            (br#"{"a":1, "b":2, "a":3}"#, r#"{"b":2, "a":3}"#),
            (br#"{"a":1,"\u0061":2,"a":3}"#, r#"{"a":3}"#),
        ] {
            assert_eq!(mend(text, Purpose::Repair).expect("mended").0, mended);
        }
    }

    #[test]
    fn the_rest_is_a_fault() {
        for (text, at) in
            [("{\"a\":01}", 5), ("{a:1}", 1), ("[1 2]", 3), ("{\"a\" 1}", 5), ("[nanx]", 1), ("\"\\x\"", 1)]
        {
            let fault = mend(text.as_bytes(), Purpose::Check).expect_err("a fault");
            assert!(matches!(fault.kind, super::super::fault::FaultKind::Bad(_)), "{text}");
            assert_eq!(fault.at, at, "{text}");
        }
        let fault = mend(b"{\"a\":\"x", Purpose::Check).expect_err("cut");
        assert_eq!(fault, Fault { at: 5, kind: super::super::fault::FaultKind::End });
    }
}
