//! Literals: what is read, shown and read again is the same value.

use perfdb_pycompat::float::repr;
use perfdb_pycompat::value::Value;
use perfdb_pycompat::{integer, literal, number};

pub(crate) const WORDS: &[&str] = &[
    "[",
    "]",
    "(",
    ")",
    ",",
    "'",
    "\"\"\"",
    "\\N{DIGIT ONE}",
    "\\x41",
    "\\ud800",
    "1_000",
    "0x1F",
    "0b1",
    "1e400",
    "-1",
    "True",
    "None",
    "b'x'",
    "r'\\'",
    "\\\n",
    "# comment\n",
    "[[[[[[[[",
    "+-+1",
    "1.5e-3",
    "f''",
    "u'x'",
    "1j",
];

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match literal::parse(text) {
        Ok(value) => {
            if is_finite(&value) {
                assert_eq!(literal::parse(&value.repr()).as_ref(), Ok(&value), "{}", value.repr());
            }
        }
        Err(error) => assert!(error.at <= text.len(), "{error}"),
    }
    let read = number::parse_float(text);
    if let Some(value) = read {
        let again = number::parse_float(&repr(value));
        assert!(again == read || value.is_nan() && again.is_some_and(f64::is_nan), "{value}");
    }
    if let Some(integer) = integer::parse(text) {
        let nearest = integer.to_string().parse::<f64>().ok();
        assert_eq!(read, nearest, "the integer {integer} as a number");
    }
}

fn is_finite(value: &Value) -> bool {
    match value {
        Value::Float(number) => number.is_finite(),
        Value::List(items) | Value::Tuple(items) => items.iter().all(is_finite),
        _ => true,
    }
}
