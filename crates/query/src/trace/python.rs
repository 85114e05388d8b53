//! Arguments as Python prints them: `(tensor(..., size=(16, 512), dtype=torch.int8), None, [0, 1]) kwargs: {}`.

use crate::query::{Argument, Tensor};
use perfdb_store::dtype::DType;

/// How deep lists may stand in each other.
const MOST_LEVELS: usize = 32;

/// Why printed arguments cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at character {at} of its arguments")]
pub struct MalformedCall {
    at: usize,
    reason: &'static str,
}

type Result<T> = std::result::Result<T, MalformedCall>;

/// Positional arguments, and those with a name.
type Arguments<Name> = (Vec<Argument>, Vec<(Name, Argument)>);

/// Positional and keyword arguments of a printed call.
pub(super) fn call(text: &str) -> Result<Arguments<String>> {
    let mut parser = Parser { text, at: 0, level: 0 };
    let arguments = match parser.value()? {
        Argument::List(arguments) => arguments,
        one => vec![one],
    };
    parser.blanks();
    if !parser.takes("kwargs:") {
        return if parser.rest().is_empty() {
            Ok((arguments, Vec::new()))
        } else {
            parser.fail("text behind the arguments")
        };
    }
    let keywords = parser.dictionary()?;
    parser.end()?;
    Ok((arguments, keywords))
}

/// One printed value.
pub(super) fn value(text: &str) -> Result<Argument> {
    let mut parser = Parser { text, at: 0, level: 0 };
    parser.blanks();
    if parser.rest().is_empty() {
        return Ok(Argument::None);
    }
    let value = parser.value()?;
    parser.end()?;
    Ok(value)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    level: usize,
}

impl<'t> Parser<'t> {
    fn fail<T>(&self, reason: &'static str) -> Result<T> {
        Err(MalformedCall { at: self.at, reason })
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.rest().starts_with(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn end(&mut self) -> Result<()> {
        self.blanks();
        if self.rest().is_empty() { Ok(()) } else { self.fail("text behind the value") }
    }

    fn value(&mut self) -> Result<Argument> {
        self.level += 1;
        if self.level > MOST_LEVELS {
            return self.fail("too many levels");
        }
        self.blanks();
        let value = match self.rest().chars().next() {
            None => self.fail("nothing"),
            Some('(') => self.items("(", ")").map(Argument::List),
            Some('[') => self.items("[", "]").map(Argument::List),
            Some('{') => self.dictionary().map(|_| Argument::Text(String::new())),
            Some(quote @ ('\'' | '"')) => self.quoted(quote).map(Argument::Text),
            Some(first) if first.is_ascii_digit() || matches!(first, '-' | '+' | '.') => self.number(),
            Some('<') => self.angled(),
            Some(_) => self.word(),
        };
        self.level -= 1;
        value
    }

    fn items(&mut self, open: &str, close: &str) -> Result<Vec<Argument>> {
        self.takes(open);
        let mut items = Vec::new();
        loop {
            self.blanks();
            if self.takes(close) {
                return Ok(items);
            }
            items.push(self.value()?);
            self.blanks();
            if !self.takes(",") && !self.rest().starts_with(close) {
                return self.fail("no comma between values");
            }
        }
    }

    fn dictionary(&mut self) -> Result<Vec<(String, Argument)>> {
        self.blanks();
        if !self.takes("{") {
            return self.fail("no dictionary");
        }
        let mut entries = Vec::new();
        loop {
            self.blanks();
            if self.takes("}") {
                return Ok(entries);
            }
            let key = match self.value()? {
                Argument::Text(key) => key,
                _ => return self.fail("a key that is no text"),
            };
            self.blanks();
            if !self.takes(":") {
                return self.fail("no colon behind a key");
            }
            entries.push((key, self.value()?));
            self.blanks();
            if !self.takes(",") && !self.rest().starts_with('}') {
                return self.fail("no comma between entries");
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        let mut text = String::new();
        let mut is_escaped = false;
        for (at, character) in self.rest().char_indices().skip(1) {
            match (is_escaped, character) {
                (true, character) => {
                    text.push(character);
                    is_escaped = false;
                }
                (false, '\\') => is_escaped = true,
                (false, character) if character == quote => {
                    self.at += at + quote.len_utf8();
                    return Ok(text);
                }
                (false, character) => text.push(character),
            }
        }
        self.fail("a quote stays open")
    }

    fn number(&mut self) -> Result<Argument> {
        let rest = self.rest();
        // `...` stands for items that are left out.
        if self.takes("...") {
            return Ok(Argument::None);
        }
        let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '+' | '_');
        let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let number = &rest[..length];
        let value = match number.parse::<i64>() {
            Ok(number) => Some(Argument::Integer(number)),
            Err(_) => number.parse::<f64>().ok().map(Argument::Float),
        };
        match value {
            Some(value) => {
                self.at += length;
                Ok(value)
            }
            None => self.fail("no number"),
        }
    }

    /// `<object at 0x…>`
    fn angled(&mut self) -> Result<Argument> {
        match self.rest().find('>') {
            Some(end) => {
                let text = self.rest()[..=end].to_owned();
                self.at += end + 1;
                Ok(Argument::Text(text))
            }
            None => self.fail("an angle bracket stays open"),
        }
    }

    fn word(&mut self) -> Result<Argument> {
        if self.takes("Parameter containing:") {
            return self.value();
        }
        let rest = self.rest();
        let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.');
        let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        if length == 0 {
            return self.fail("an unexpected character");
        }
        let word = &rest[..length];
        self.at += length;
        if matches!(word, "tensor" | "FakeTensor" | "Parameter") && self.rest().starts_with('(') {
            return self.tensor();
        }
        if self.rest().starts_with('(') {
            // An object of another kind: its arguments do not matter.
            self.arguments()?;
            return Ok(Argument::Text(word.to_owned()));
        }
        Ok(match word {
            "None" => Argument::None,
            "True" => Argument::Boolean(true),
            "False" => Argument::Boolean(false),
            "inf" => Argument::Float(f64::INFINITY),
            "nan" => Argument::Float(f64::NAN),
            word => Argument::Text(word.to_owned()),
        })
    }

    /// Positional and named arguments in parentheses.
    fn arguments(&mut self) -> Result<Arguments<&'t str>> {
        self.takes("(");
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        loop {
            self.blanks();
            if self.takes(")") {
                return Ok((positional, named));
            }
            let rest = self.rest();
            let name = rest.find('=').map(|end| &rest[..end]).filter(|name| {
                !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
            });
            match name {
                Some(name) => {
                    self.at += name.len() + 1;
                    named.push((name, self.value()?));
                }
                None => positional.push(self.value()?),
            }
            self.blanks();
            if !self.takes(",") && !self.rest().starts_with(')') {
                return self.fail("no comma between arguments");
            }
        }
    }

    /// `tensor(..., size=(16, 512), dtype=torch.int8)` or `tensor([1, 2])`.
    fn tensor(&mut self) -> Result<Argument> {
        let (positional, named) = self.arguments()?;
        let of = |name: &str| named.iter().find(|(key, _)| *key == name).map(|(_, value)| value);
        let contents = positional.first().filter(|contents| **contents != Argument::None);
        let dtype = match of("dtype") {
            Some(Argument::Text(name)) => name.parse().or_else(|_| self.fail("an unknown data type"))?,
            _ => contents.map_or(DType::Float32, literal_type),
        };
        let shape = match (of("size"), contents) {
            (Some(Argument::List(size)), _) => size.iter().map(Argument::as_integer).collect::<Option<Vec<_>>>(),
            (None, Some(contents)) => Some(literal_shape(contents)),
            (None, None) => Some(Vec::new()),
            (Some(_), _) => None,
        };
        let Some(shape) = shape else { return self.fail("a size that is none") };
        let values = contents.filter(|_| of("size").is_none()).and_then(|contents| match contents {
            Argument::List(items) => items.iter().map(Argument::as_integer).collect(),
            _ => None,
        });
        Ok(Argument::Tensor(Tensor { shape, dtype, values }))
    }
}

fn literal_type(contents: &Argument) -> DType {
    match contents {
        Argument::List(items) => items.first().map_or(DType::Float32, literal_type),
        Argument::Integer(_) => DType::Int64,
        Argument::Boolean(_) => DType::Bool,
        _ => DType::Float32,
    }
}

fn literal_shape(contents: &Argument) -> Vec<i64> {
    match contents {
        Argument::List(items) => {
            let mut shape = vec![items.len() as i64];
            shape.extend(items.first().map(literal_shape).unwrap_or_default());
            shape
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_as_they_are_printed() {
        let text = "(Parameter containing:\ntensor(..., device='meta', size=(8, 4), dtype=torch.float16,\n       requires_grad=True), \
                    tensor([0, 1]), [tensor(1.), None], 1e-06, torch.int8, (2,), tensor(..., device='meta', size=(3,))) \
                    kwargs: {'phase': 'prefill', 'x': [True]}";
        let (arguments, keywords) = call(text).unwrap();
        let tensor = |shape: &[i64], dtype| Argument::Tensor(Tensor::new(shape, dtype));
        assert_eq!(
            arguments,
            [
                tensor(&[8, 4], DType::Float16),
                Argument::Tensor(Tensor::of_values([0, 1], DType::Int64)),
                Argument::List(vec![tensor(&[], DType::Float32), Argument::None]),
                Argument::Float(1e-6),
                Argument::Text("torch.int8".to_owned()),
                Argument::List(vec![Argument::Integer(2)]),
                tensor(&[3], DType::Float32),
            ]
        );
        assert_eq!(keywords[0], ("phase".to_owned(), Argument::Text("prefill".to_owned())));
        assert_eq!(keywords[1].1, Argument::List(vec![Argument::Boolean(true)]));
    }

    #[test]
    fn what_is_no_call_is_told_with_its_place() {
        for text in
            ["(tensor(", "(1 2)", "('a", "(tensor(..., size=(1,), dtype=torch.what),)", "(1,) kwargs: {1: 2}", "(1,) x"]
        {
            assert!(call(text).is_err(), "{text}");
        }
        let deep = "[".repeat(10_000);
        assert!(value(&deep).is_err());
        assert_eq!(call("(1 2)").unwrap_err().to_string(), "no comma between values at character 3 of its arguments");
    }
}
