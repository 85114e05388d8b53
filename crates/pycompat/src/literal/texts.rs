//! Texts of literals: quotes, prefixes, escapes.

use super::{Malformed, Reader};
use crate::value::Value;

impl Reader<'_> {
    /// Adjacent pieces are one text.
    pub(super) fn texts(&mut self) -> Result<Value, Malformed> {
        let mut text = String::new();
        loop {
            self.piece(&mut text)?;
            self.skip_whitespace()?;
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
