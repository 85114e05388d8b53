//! Literals of Python, as `ast.literal_eval` reads them, without sets, dicts, bytes and complex numbers.

mod numbers;
mod texts;

#[cfg(test)]
mod tests;

use crate::value::Value;
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
/// assert_eq!(parse("[('a', 1_0), 0x1F]").unwrap().repr(), "[('a', 10), 31]");
/// assert!(parse("[np.float64(9.0)]").is_err());
/// ```
pub fn parse(text: &str) -> Result<Value, Malformed> {
    let mut reader = Reader { text, bytes: text.as_bytes(), at: 0, depth: 0 };
    // Whitespace may stand in front of the first line, but in front of no other (Python calls that an unexpected indent).
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
    /// Open brackets; line ends count as whitespace inside them.
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
    /// which a form feed takes back; the whitespace in front of a joined line count for it.
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
        self.skip_whitespace()?;
        let line_end = self.line_end_len(self.at);
        if line_end > 0 {
            self.at += line_end;
            self.skip_blank_lines()?;
        }
        if self.at == self.bytes.len() { Ok(()) } else { self.malformed() }
    }

    /// Whitespace, comments, joined lines; inside brackets line ends too.
    fn skip_whitespace(&mut self) -> Result<(), Malformed> {
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
        self.skip_whitespace()?;
        if self.peek() != Some(b',') {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.peek() == Some(b',') {
            self.at += 1;
            self.skip_whitespace()?;
            if self.peek().is_none_or(|byte| matches!(byte, b'\n' | b'\r')) {
                break;
            }
            items.push(self.expression()?);
            self.skip_whitespace()?;
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
        self.skip_whitespace()
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
            self.skip_whitespace()?;
            comma = self.peek() == Some(b',');
            if comma {
                self.at += 1;
                self.skip_whitespace()?;
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
}
