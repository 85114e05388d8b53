//! `sub_kernel_durations`: the parts of a composite operator, each kernel type with its duration.

use perfdb_pycompat::literal;
use perfdb_pycompat::value::Value;
use std::borrow::Cow;

/// A list of pairs in which a pair is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPair {
    /// The name of a kernel is no text.
    #[error("sub_kernel_durations: a kernel name is not a text")]
    Name,
    /// A duration is no number.
    #[error("sub_kernel_durations: a duration is not a number")]
    Duration,
    /// A duration is an integer beyond the doubles.
    #[error("sub_kernel_durations: a duration is too large")]
    TooLarge,
}

/// Kernel type and duration in microseconds of one part.
pub(crate) type SubKernel<'a> = (Cow<'a, str>, f64);

/// Reads the text. `None`: it can't be used (not a list of pairs, or empty), and the operator's duration is split evenly.
///
/// # Errors
/// When it is a list of pairs, but a name is not a text or a duration not a number.
pub(crate) fn read(text: &str) -> Result<Option<Vec<SubKernel<'_>>>, BadPair> {
    let mut parts = Vec::new();
    if plain_pairs(text, &mut parts).is_some() {
        return Ok(Some(parts));
    }
    parts.clear();
    let Ok(Value::List(items)) = literal::parse(text) else { return Ok(None) };
    let mut pairs = Vec::with_capacity(items.len());
    for item in items {
        let (Value::List(pair) | Value::Tuple(pair)) = item else { return Ok(None) };
        let Ok([name, duration]) = <[Value; 2]>::try_from(pair) else { return Ok(None) };
        pairs.push((name, duration));
    }
    for (name, duration) in pairs {
        let Value::Text(name) = name else { return Err(BadPair::Name) };
        let whole = matches!(duration, Value::Int(_) | Value::BigInt(_));
        let duration_us = duration.as_double().ok_or(BadPair::Duration)?;
        if whole && duration_us.is_infinite() {
            return Err(BadPair::TooLarge);
        }
        parts.push((Cow::Owned(name), duration_us));
    }
    Ok((!parts.is_empty()).then_some(parts))
}

/// The form the simulator writes, without building values: names without quotes and backslashes, plain decimals.
fn plain_pairs<'a>(text: &'a str, parts: &mut Vec<SubKernel<'a>>) -> Option<()> {
    let mut rest = text.strip_prefix('[')?;
    loop {
        rest = rest.strip_prefix("('")?;
        let (name, behind) = rest.split_at_checked(name_length(rest.as_bytes())?)?;
        rest = behind.strip_prefix("', ")?;
        let (duration_us, behind) = plain_decimal(rest)?;
        parts.push((Cow::Borrowed(name), duration_us));
        match behind.as_bytes() {
            b")]" => return Some(()),
            [b')', b',', b' ', ..] => rest = behind.get(3..)?,
            _ => return None,
        }
    }
}

/// Where a name ends: at a quote, or at what makes the short way impossible.
#[inline]
fn name_length(text: &[u8]) -> Option<usize> {
    const ENDS: [bool; 256] = {
        let mut ends = [false; 256];
        ends[b'\'' as usize] = true;
        ends[b'\\' as usize] = true;
        ends[b'\n' as usize] = true;
        ends[b'\r' as usize] = true;
        ends[0] = true;
        ends
    };
    text.iter().position(|&byte| ENDS[usize::from(byte)])
}

/// `12.34` in front of something else. Up to 15 digits and their power of ten are exact doubles, so that the one division
/// rounds correctly.
#[inline]
fn plain_decimal(text: &str) -> Option<(f64, &str)> {
    const TENS: [f64; 15] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];
    let (mut value, mut point) = (0u64, None);
    for (at, &byte) in text.as_bytes().iter().enumerate().take(17) {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() && at > 0 => point = Some(at),
            _ => {
                let decimals = at.checked_sub(point? + 1).filter(|decimals| *decimals > 0)?;
                return Some((value as f64 / TENS.get(decimals)?, text.get(at..)?));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Option<Vec<(String, f64)>> {
        read(text)
            .unwrap()
            .map(|parts| parts.into_iter().map(|(name, duration)| (name.into_owned(), duration)).collect())
    }

    #[test]
    fn usable_forms() {
        for text in [
            "[('A', 1.5), ('B', 2.0)]",
            "[('A',1.5),('B',2)]",
            "[['A', 1.5], ('B', 2)]",
            "  [('A', 1.5), (\"B\", +2), ]  # parts",
            "[('A', 1.5e0), ('B', 0x2)]",
            "[(u'A', 1.5), ('' 'B', (2))]",
        ] {
            assert_eq!(pairs(text), Some(vec![("A".to_owned(), 1.5), ("B".to_owned(), 2.0)]), "{text}");
        }
        assert_eq!(pairs("[('A', True), ('', -1.25)]"), Some(vec![("A".to_owned(), 1.0), (String::new(), -1.25)]));
        assert_eq!(pairs("[('A', 1e400)]"), Some(vec![("A".to_owned(), f64::INFINITY)]));
        assert_eq!(pairs("[('a b', 1.5)]"), Some(vec![("a b".to_owned(), 1.5)]));
    }

    #[test]
    fn unusable_forms() {
        for text in [
            "",
            "[]",
            "()",
            "(('A', 1.0),)",
            "[('A', 1.0), ('B',)]",
            "[('A', 1.0, 2)]",
            "['ab']",
            "[('A', nan)]",
            "[('A', inf)]",
            "[('A', np.float64(9.0))]",
            "[('A', 1.0)",
            "[('A', 01.0x)]",
            "{'A': 1.0}",
            "[('A', 1.0), 5]",
            "[('A\n', 1.0)]",
        ] {
            assert_eq!(pairs(text), None, "{text}");
        }
    }

    #[test]
    fn wrong_pairs() {
        assert_eq!(read("[(1, 2.0)]"), Err(BadPair::Name));
        assert_eq!(read("[('A', '2.0')]"), Err(BadPair::Duration));
        assert_eq!(read("[('A', None)]"), Err(BadPair::Duration));
        assert_eq!(read(&format!("[('A', 1{})]", "0".repeat(400))), Err(BadPair::TooLarge));
        assert_eq!(read("[(1, 2.0), 3]"), Ok(None), "usable lists only");
    }

    proptest! {
        #[test]
        fn the_short_way_agrees_with_the_literal(text in "\\[\\('[a-c\\\\\"']{0,2}', [0-9_.]{1,5}\\)(, \\('A', [0-9]{1,2}\\.[0-9]{0,2}\\))?\\]") {
            let mut parts = Vec::new();
            if plain_pairs(&text, &mut parts).is_some() {
                let expected = match literal::parse(&text).unwrap() {
                    Value::List(items) => items,
                    other => panic!("{other:?}"),
                };
                for (item, (name, duration)) in expected.iter().zip(&parts) {
                    let Value::Tuple(pair) = item else { panic!("{item:?}") };
                    prop_assert_eq!(pair[0].as_text(), Some(name.as_ref()));
                    prop_assert_eq!(pair[1].as_double(), Some(*duration));
                }
                prop_assert_eq!(expected.len(), parts.len());
            }
        }
    }
}
