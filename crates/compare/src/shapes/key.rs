//! Shape keys: one text per list of tensor shapes, the same for the simulator's and the profiler's spelling.

use crate::profile::excerpt;
use perfdb_pycompat::literal;
use perfdb_pycompat::text::trim;
use perfdb_pycompat::value::Value;
use rustc_hash::FxHashMap;

/// A list of shapes in which an element is no shape: `[4, 8]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a list of shapes is needed, one of the elements is a plain value: {0}")]
pub struct NoShapes(String);

/// The key of a list of shapes: `4112,5120;768,5120`.
///
/// Quotes around the text and all blanks go. The simulator's form `[[4112, 5120], [768, 5120]]` is read as a literal, the
/// profiler's form `4112,5120;768,5120` and all other text stays as it is.
///
/// ```
/// use perfdb_compare::shapes::shape_key;
///
/// assert_eq!(shape_key("[[4112, 5120], [768, 5120]]").unwrap(), "4112,5120;768,5120");
/// assert_eq!(shape_key("\"4112,5120;768,5120\"").unwrap(), "4112,5120;768,5120");
/// assert_eq!(shape_key("[[], [4]]").unwrap(), ";4");
/// assert!(shape_key("[4, 8]").is_err());
/// ```
///
/// # Errors
/// When an element of the list is a number, a boolean or `None`.
pub fn shape_key(text: &str) -> Result<String, NoShapes> {
    let mut plain = trim(text).trim_matches('"').to_owned();
    plain.retain(|character| character != ' ');
    if plain.is_empty() || plain.contains(';') || !plain.contains('[') {
        return Ok(plain);
    }
    if let Some(key) = integer_lists(&plain) {
        return Ok(key);
    }
    let Ok(Value::List(shapes)) = literal::parse(&plain) else { return Ok(plain) };
    let mut key = String::new();
    for (position, shape) in shapes.iter().enumerate() {
        if position > 0 {
            key.push(';');
        }
        push_shape(&mut key, shape).ok_or_else(|| NoShapes(excerpt(text)))?;
    }
    Ok(key)
}

fn push_shape(key: &mut String, shape: &Value) -> Option<()> {
    match shape {
        Value::List(items) | Value::Tuple(items) => {
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    key.push(',');
                }
                match item {
                    Value::Text(text) => key.push_str(text),
                    other => other.push_repr(key),
                }
            }
        }
        Value::Text(text) => {
            for (position, character) in text.chars().enumerate() {
                if position > 0 {
                    key.push(',');
                }
                key.push(character);
            }
        }
        _ => return None,
    }
    Some(())
}

/// The usual form, `[[4112,5120],[768]]` with plain integers and nothing else, without building values.
fn integer_lists(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix("[[")?.strip_suffix("]]")?;
    let mut key = String::with_capacity(rest.len());
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at(digits);
        if number.is_empty() || (number.starts_with('0') && number.len() > 1) {
            return None;
        }
        key.push_str(number);
        if behind.is_empty() {
            return Some(key);
        }
        if let Some(next) = behind.strip_prefix("],[") {
            key.push(';');
            rest = next;
        } else {
            key.push(',');
            rest = behind.strip_prefix(',')?;
        }
    }
}

/// Keys of texts that come again and again. What it remembers is bounded.
#[derive(Debug, Default)]
pub(crate) struct ShapeKeys {
    known: FxHashMap<Box<str>, Box<str>>,
    bytes: usize,
}

/// When to forget what is known.
const REMEMBERED_BYTES: usize = 4 << 20;

impl ShapeKeys {
    /// [`shape_key`] of a text, remembered by how the text is written: equal spellings are equal texts.
    ///
    /// # Errors
    /// As [`shape_key`].
    pub(crate) fn key<T: AsRef<str>>(&mut self, written: &str, text: impl FnOnce() -> T) -> Result<&str, NoShapes> {
        if !self.known.contains_key(written) {
            let key = shape_key(text().as_ref())?;
            if self.bytes > REMEMBERED_BYTES {
                self.known.clear();
                self.bytes = 0;
            }
            self.bytes += written.len() + key.len() + 64;
            self.known.insert(written.into(), key.into());
        }
        Ok(self.known.get(written).map_or("", |key| key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_of_shapes() {
        for (text, key) in [
            ("", ""),
            ("  \"\"  ", ""),
            ("[]", ""),
            ("[[]]", ""),
            ("[[], [4]]", ";4"),
            ("[[4], []]", "4;"),
            ("[[1 2]]", "12"),
            ("[[s0, 5]]", "[[s0,5]]"),
            ("[[007]]", "[[007]]"),
            ("[[0, 1_000]]", "0,1000"),
            ("[[4112, 5120], [5120, 768],]", "4112,5120;5120,768"),
            ("[[1, 2.50], [True, None, 'a b']]", "1,2.5;True,None,ab"),
            ("[(1,), [(2,), (3, 4), [5]]]", "1;(2,),(3, 4),[5]"),
            ("[\"ab\", \"cd\"]", "a,b;c,d"),
            ("([1], [2])", "([1],[2])"),
            ("\"\"\"16,5120;5120,768\"\"\"", "16,5120;5120,768"),
            ("16, 5120 ; 5120", "16,5120;5120"),
            ("\"544404480\"", "544404480"),
            ("[[1],[2];", "[[1],[2];"),
            ("{[1]}", "{[1]}"),
            ("[[-1, +2]]", "-1,2"),
            ("[[1e3]]", "1000.0"),
        ] {
            assert_eq!(shape_key(text).unwrap(), key, "{text}");
        }
    }

    #[test]
    fn only_the_blank_goes() {
        assert_eq!(shape_key("[[1,\t2]]").unwrap(), "1,2");
        assert_eq!(shape_key("1,\u{a0}2").unwrap(), "1,\u{a0}2");
        assert_eq!(shape_key("[[1,\u{a0}2]]").unwrap(), "[[1,\u{a0}2]]");
    }

    #[test]
    fn a_flat_list_is_refused_with_its_text() {
        for text in ["[4, 8]", "[[1], None]", "[True]", "[[1], 2.0]"] {
            assert!(shape_key(text).unwrap_err().to_string().contains(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_short_way_agrees_with_the_literal(shapes in prop::collection::vec(prop::collection::vec(0u64..100_000, 1..5), 1..5)) {
            let text = format!("{shapes:?}").replace(' ', "");
            let inner = |shape: &Vec<u64>| shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            let expected = shapes.iter().map(inner).collect::<Vec<_>>().join(";");
            prop_assert_eq!(integer_lists(&text), Some(expected));
        }

        #[test]
        fn any_text_gives_a_key_or_a_refusal(text in "[\\[\\]\\(\\)0-9, ;'\"a_.-]{0,24}") {
            if let Ok(key) = shape_key(&text) {
                prop_assert!(!key.contains(' ') || key.contains('('));
            }
            let plain: String = trim(&text).trim_matches('"').chars().filter(|c| *c != ' ').collect();
            if let Some(short) = integer_lists(&plain) {
                prop_assert_eq!(shape_key(&text).unwrap(), short);
            }
        }
    }

    #[test]
    fn remembered_keys_are_the_same() {
        let mut keys = ShapeKeys::default();
        for _ in 0..2 {
            assert_eq!(keys.key("\"[[1, 2]]\"", || "[[1, 2]]").unwrap(), "1,2");
            assert!(keys.key("[1]", || "[1]").is_err());
        }
    }
}
