//! Numbers of literals.

use super::{Malformed, Reader};
use crate::{number::without_underscores, value::Value};
use num_bigint::BigInt;

impl Reader<'_> {
    /// One sign, then a number without one, which may stand in parentheses.
    pub(super) fn signed(&mut self) -> Result<Value, Malformed> {
        let negative = self.peek() == Some(b'-');
        self.at += 1;
        self.skip_whitespace()?;
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
                self.skip_whitespace()?;
                if self.peek() != Some(b')') {
                    return self.malformed();
                }
                self.close();
                Ok(number)
            }
            _ => self.malformed(),
        }
    }

    pub(super) fn number(&mut self) -> Result<Value, Malformed> {
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
}
