//! Literals of Python, as `ast.literal_eval` reads them, without sets, dicts, bytes and complex numbers.

use crate::{number::without_underscores, value::Value};
use num_bigint::BigInt;
use thiserror::Error;

/// Brackets within brackets that are still read; CPython's own limit is a little lower.
const MAX_DEPTH: usize = 200;

/// The text is no literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("not a literal (at byte {at})")]
pub struct Malformed {
    /// Where reading stopped, in bytes from the start of the text.
    pub at: usize,
}

/// Reads one literal: text, number, `True`, `False`, `None`, list or tuple. `inf` and `nan` as words, names, calls and
/// operators are malformed, and so is anything that follows the value but comments.
///
/// ```
/// use perfdb_pycompat::{literal::parse, value::Value};
/// assert_eq!(parse("[('a', 1_0), 0x1F]").unwrap().list_form(), "[('a', 10), 31]");
/// assert!(parse("[np.float64(9.0)]").is_err());
/// ```
pub fn parse(text: &str) -> Result<Value, Malformed> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    // Blanks may stand in front of the first line, but in front of no other (Python calls that an unexpected indent).
    while matches!(reader.peek(), Some(b' ' | b'\t')) {
        reader.at += 1;
    }
    reader.skip_blank_lines()?;
    let value = reader.expression_list()?;
    reader.skip_to_end()?;
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Open brackets; line ends count as blanks inside them.
    depth: usize,
}

impl Reader<'_> {
    fn malformed<T>(&self) -> Result<T, Malformed> {
        Err(Malformed { at: self.at })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn line_end_len(&self, at: usize) -> usize {
        match (self.bytes.get(at), self.bytes.get(at + 1)) {
            (Some(b'\r'), Some(b'\n')) => 2,
            (Some(b'\r' | b'\n'), _) => 1,
            _ => 0,
        }
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|byte| byte != b'\n' && byte != b'\r' && byte != 0) {
            self.at += 1;
        }
    }

    /// Blank and comment lines, up to the first character of another line or the end. That line may not be indented,
    /// which a form feed takes back; the blanks in front of a joined line count for it.
    fn skip_blank_lines(&mut self) -> Result<(), Malformed> {
        loop {
            let (mut column, mut joined_column) = (0, 0);
            loop {
                match self.peek() {
                    Some(b' ' | b'\t') => column += 1,
                    Some(b'\x0c') => column = 0,
                    Some(b'\\') => {
                        joined_column = if joined_column == 0 { column } else { joined_column };
                        self.skip_joined_line_end()?;
                        continue;
                    }
                    _ => break,
                }
                self.at += 1;
            }
            let comment = self.peek() == Some(b'#');
            if comment {
                self.skip_comment();
            }
            let line_end = self.line_end_len(self.at);
            if line_end == 0 {
                let indented = column != 0 || joined_column != 0;
                return if indented && !comment { self.malformed() } else { Ok(()) };
            }
            self.at += line_end;
        }
    }

    fn skip_joined_line_end(&mut self) -> Result<(), Malformed> {
        let line_end = self.line_end_len(self.at + 1);
        if line_end == 0 || self.at + 1 + line_end == self.bytes.len() {
            return self.malformed();
        }
        self.at += 1 + line_end;
        Ok(())
    }

    fn skip_to_end(&mut self) -> Result<(), Malformed> {
        self.skip_blanks()?;
        let line_end = self.line_end_len(self.at);
        if line_end > 0 {
            self.at += line_end;
            self.skip_blank_lines()?;
        }
        if self.at == self.bytes.len() { Ok(()) } else { self.malformed() }
    }

    /// Blanks, comments, joined lines; inside brackets line ends too.
    fn skip_blanks(&mut self) -> Result<(), Malformed> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\x0c') => self.at += 1,
                Some(b'#') => self.skip_comment(),
                Some(b'\n' | b'\r') if self.depth > 0 => self.at += 1,
                Some(b'\\') => self.skip_joined_line_end()?,
                _ => return Ok(()),
            }
        }
    }

    /// At the top a tuple may stand without parentheses.
    fn expression_list(&mut self) -> Result<Value, Malformed> {
        let first = self.expression()?;
        self.skip_blanks()?;
        if self.peek() != Some(b',') {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.peek() == Some(b',') {
            self.at += 1;
            self.skip_blanks()?;
            if self.peek().is_none_or(|byte| matches!(byte, b'\n' | b'\r')) {
                break;
            }
            items.push(self.expression()?);
            self.skip_blanks()?;
        }
        Ok(Value::Tuple(items))
    }

    fn expression(&mut self) -> Result<Value, Malformed> {
        match self.peek() {
            Some(b'[') => self.list(),
            Some(b'(') => self.parenthesised(),
            Some(b'+' | b'-') => self.signed(),
            Some(b'0'..=b'9' | b'.') => self.number(),
            Some(b'\'' | b'"') => self.texts(),
            Some(b'r' | b'R' | b'u' | b'U') if matches!(self.bytes.get(self.at + 1), Some(b'\'' | b'"')) => {
                self.texts()
            }
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Malformed> {
        for (word, value) in [("True", Value::Bool(true)), ("False", Value::Bool(false)), ("None", Value::None)] {
            if self.text[self.at..].starts_with(word) {
                let next = self.text[self.at + word.len()..].chars().next();
                if next
                    .is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '\'' | '"') || !next.is_ascii())
                {
                    return self.malformed();
                }
                self.at += word.len();
                return Ok(value);
            }
        }
        self.malformed()
    }

    fn open(&mut self) -> Result<(), Malformed> {
        if self.depth == MAX_DEPTH {
            return self.malformed();
        }
        self.depth += 1;
        self.at += 1;
        self.skip_blanks()
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// The items up to `close`, and whether a comma stood behind one of them.
    fn items(&mut self, close: u8) -> Result<(Vec<Value>, bool), Malformed> {
        self.open()?;
        let mut items = Vec::new();
        let mut comma = false;
        while self.peek() != Some(close) {
            if !items.is_empty() && !comma {
                return self.malformed();
            }
            items.push(self.expression()?);
            self.skip_blanks()?;
            comma = self.peek() == Some(b',');
            if comma {
                self.at += 1;
                self.skip_blanks()?;
            }
        }
        let had_comma = comma || items.len() > 1;
        self.close();
        Ok((items, had_comma))
    }

    fn list(&mut self) -> Result<Value, Malformed> {
        Ok(Value::List(self.items(b']')?.0))
    }

    fn parenthesised(&mut self) -> Result<Value, Malformed> {
        let (mut items, had_comma) = self.items(b')')?;
        match items.pop() {
            Some(only) if items.is_empty() && !had_comma => Ok(only),
            Some(last) => {
                items.push(last);
                Ok(Value::Tuple(items))
            }
            None => Ok(Value::Tuple(items)),
        }
    }

    /// One sign, then a number without one, which may stand in parentheses.
    fn signed(&mut self) -> Result<Value, Malformed> {
        let negative = self.peek() == Some(b'-');
        self.at += 1;
        self.skip_blanks()?;
        let number = self.unsigned()?;
        Ok(match number {
            Value::Int(number) if negative => {
                number.checked_neg().map_or_else(|| Value::from_big(-BigInt::from(number)), Value::Int)
            }
            Value::BigInt(number) if negative => Value::from_big(-number),
            Value::Float(number) if negative => Value::Float(-number),
            number => number,
        })
    }

    fn unsigned(&mut self) -> Result<Value, Malformed> {
        match self.peek() {
            Some(b'0'..=b'9' | b'.') => self.number(),
            Some(b'(') => {
                self.open()?;
                let number = self.unsigned()?;
                self.skip_blanks()?;
                if self.peek() != Some(b')') {
                    return self.malformed();
                }
                self.close();
                Ok(number)
            }
            _ => self.malformed(),
        }
    }

    fn number(&mut self) -> Result<Value, Malformed> {
        let start = self.at;
        if self.peek() == Some(b'0') {
            let radix = match self.bytes.get(start + 1) {
                Some(b'x' | b'X') => 16,
                Some(b'o' | b'O') => 8,
                Some(b'b' | b'B') => 2,
                _ => 10,
            };
            if radix != 10 {
                return self.radix_number(radix);
            }
        }
        let digits = |reader: &mut Self| {
            while matches!(reader.peek(), Some(b'0'..=b'9' | b'_')) {
                reader.at += 1;
            }
        };
        digits(self);
        let mut whole = true;
        if self.peek() == Some(b'.') {
            whole = false;
            self.at += 1;
            digits(self);
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            digits(self);
        }
        self.no_word_follows()?;
        let malformed = Malformed { at: start };
        let text = without_underscores(&self.text[start..self.at]).ok_or(malformed)?;
        if !whole {
            return text.parse().map(Value::Float).map_err(|_| malformed);
        }
        if text.starts_with('0') && text.bytes().any(|byte| byte != b'0') {
            return Err(malformed);
        }
        match text.parse() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => text.parse().map(Value::BigInt).map_err(|_| malformed),
        }
    }

    fn radix_number(&mut self, radix: u32) -> Result<Value, Malformed> {
        let start = self.at;
        self.at += 2;
        let digits_start = self.at;
        while self.peek().is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
            self.at += 1;
        }
        self.no_word_follows()?;
        let digits = self.text[digits_start..self.at].trim_start_matches('_');
        let separators = self.text[digits_start..self.at].len() - digits.len();
        let malformed = Malformed { at: start };
        if separators > 1 || digits.ends_with('_') || digits.contains("__") {
            return Err(malformed);
        }
        let digits = digits.replace('_', "");
        BigInt::parse_bytes(digits.as_bytes(), radix).map(Value::from_big).ok_or(malformed)
    }

    /// A letter right behind a number makes it something else (`1j`, `1if`).
    fn no_word_follows(&self) -> Result<(), Malformed> {
        let next = self.text[self.at..].chars().next();
        if next.is_some_and(|next| next.is_alphanumeric() || next == '_' || next == '.') {
            self.malformed()
        } else {
            Ok(())
        }
    }

    /// Adjacent pieces are one text.
    fn texts(&mut self) -> Result<Value, Malformed> {
        let mut text = String::new();
        loop {
            self.piece(&mut text)?;
            self.skip_blanks()?;
            let quoted = |byte: Option<&u8>| matches!(byte, Some(b'\'' | b'"'));
            let another = quoted(self.bytes.get(self.at))
                || matches!(self.peek(), Some(b'r' | b'R' | b'u' | b'U')) && quoted(self.bytes.get(self.at + 1));
            if !another {
                return Ok(Value::Text(text));
            }
        }
    }

    fn piece(&mut self, text: &mut String) -> Result<(), Malformed> {
        let raw = matches!(self.peek(), Some(b'r' | b'R'));
        if matches!(self.peek(), Some(b'r' | b'R' | b'u' | b'U')) {
            self.at += 1;
        }
        let Some(quote) = self.peek() else { return self.malformed() };
        let triple = self.bytes[self.at..].starts_with(&[quote; 3]);
        self.at += if triple { 3 } else { 1 };
        loop {
            let Some(character) = self.text[self.at..].chars().next() else { return self.malformed() };
            match character {
                _ if character == char::from(quote) && (!triple || self.bytes[self.at..].starts_with(&[quote; 3])) => {
                    self.at += if triple { 3 } else { 1 };
                    return Ok(());
                }
                '\n' | '\r' if !triple => return self.malformed(),
                '\n' | '\r' => {
                    text.push('\n');
                    self.at += self.line_end_len(self.at);
                }
                '\0' => return self.malformed(),
                '\\' if raw => {
                    // The next character stands as it is, a quote included.
                    text.push('\\');
                    self.at += 1;
                    let line_end = self.line_end_len(self.at);
                    if line_end > 0 {
                        text.push('\n');
                        self.at += line_end;
                    } else {
                        let Some(next) = self.text[self.at..].chars().next().filter(|next| *next != '\0') else {
                            return self.malformed();
                        };
                        text.push(next);
                        self.at += next.len_utf8();
                    }
                }
                '\\' => self.escape(text)?,
                _ => {
                    text.push(character);
                    self.at += character.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), Malformed> {
        self.at += 1;
        let line_end = self.line_end_len(self.at);
        if line_end > 0 {
            self.at += line_end;
            return Ok(());
        }
        let Some(kind) = self.peek() else { return self.malformed() };
        let plain = match kind {
            b'\\' | b'\'' | b'"' => char::from(kind),
            b'a' => '\x07',
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'v' => '\x0b',
            b'0'..=b'7' => {
                let digits =
                    self.bytes[self.at..].iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                return self.coded(text, 0, digits, 8);
            }
            b'x' => return self.coded(text, 1, 2, 16),
            b'u' => return self.coded(text, 1, 4, 16),
            b'U' => return self.coded(text, 1, 8, 16),
            b'N' | 0 => return self.malformed(),
            _ => {
                text.push('\\');
                return Ok(());
            }
        };
        text.push(plain);
        self.at += 1;
        Ok(())
    }

    /// A character given by exactly `digits` digits, `skip` bytes further on.
    fn coded(&mut self, text: &mut String, skip: usize, digits: usize, radix: u32) -> Result<(), Malformed> {
        let start = self.at + skip;
        let code = self.bytes.get(start..start + digits).filter(|digits| digits.iter().all(u8::is_ascii_alphanumeric));
        let code = code.and_then(|_| u32::from_str_radix(&self.text[start..start + digits], radix).ok());
        // Half a surrogate pair cannot be written to any output, so it is refused here.
        let Some(character) = code.and_then(char::from_u32) else { return self.malformed() };
        text.push(character);
        self.at = start + digits;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(text: &str) -> String {
        parse(text).map_or_else(|_| "malformed".to_owned(), |value| value.list_form())
    }

    #[test]
    fn accepted() {
        for (text, value) in [
            ("[('MatMulV2', 22.77), ('hcom_allReduce_', 8.29)]", "[('MatMulV2', 22.77), ('hcom_allReduce_', 8.29)]"),
            ("[]", "[]"),
            ("()", "()"),
            ("(1)", "1"),
            ("((1),)", "(1,)"),
            ("1,", "(1,)"),
            ("1, 2 # both", "(1, 2)"),
            ("[1,2,]", "[1, 2]"),
            (" \t# a\n\n[1]\n  # b\n", "[1]"),
            ("[1,\n 2]", "[1, 2]"),
            ("[1, \\\n2]", "[1, 2]"),
            ("- (3)", "-3"),
            ("+1_000", "1000"),
            ("00", "0"),
            ("012.5", "12.5"),
            ("1_0.5_0", "10.5"),
            (".5e1", "5.0"),
            ("1e400", "inf"),
            ("0x_fF", "255"),
            ("0B101", "5"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("'a' \"b\"", "'ab'"),
            ("r'\\n' u'x'", "'\\\\nx'"),
            ("'''a\r\nb'''", "'a\\nb'"),
            ("'\\x41\\u00e9\\101\\q\\\n'", "'AéA\\\\q'"),
            ("[True, None, False]", "[True, None, False]"),
        ] {
            assert_eq!(form(text), value, "{text}");
        }
    }

    #[test]
    fn malformed() {
        let deep = format!("{}{}", "[".repeat(201), "]".repeat(201));
        let just_deep_enough = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(parse(&just_deep_enough).is_ok());
        for text in [
            "",
            " ",
            "[",
            "[,]",
            "[1 2]",
            "(,)",
            "inf",
            "nan",
            "s0",
            "np.float64(9.0)",
            "1+1",
            "--1",
            "-True",
            "-'a'",
            "012",
            "1__0",
            "1_",
            "1._5",
            "1j",
            "0x",
            "0x__f",
            "0b2",
            "1if",
            "f'a'",
            "b'a'",
            "{1}",
            "{}",
            "...",
            "*x",
            "[1];",
            "[1]\u{a0}",
            "1\n2",
            "\n  1",
            "'a\nb'",
            "'\\x4'",
            "'\\N{DASH}'",
            "'\\ud800'",
            "'a",
            "\0",
            "'\0'",
            "Truex",
            "[1]]",
            "1.2.3",
            "lambda: 1",
            deep.as_str(),
        ] {
            assert_eq!(form(text), "malformed", "{text:?}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::None),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            any::<f64>().prop_filter("a literal", |x| x.is_finite()).prop_map(Value::Float),
            any::<String>().prop_map(Value::Text),
        ];
        leaf.prop_recursive(4, 24, 6, |inner| {
            let items = proptest::collection::vec(inner, 0..6);
            prop_oneof![items.clone().prop_map(Value::List), items.prop_map(Value::Tuple)]
        })
    }

    proptest! {
        #[test]
        fn reads_back_its_list_form(value in values()) {
            prop_assert_eq!(parse(&value.list_form()).unwrap(), value);
        }

        #[test]
        fn never_panics(text in "[\\[\\](),'\"\\\\ruxN0-9a-f._+\\-# \n\r\téTrueNone]{0,40}") {
            let _ = parse(&text);
        }
    }
}
