//! Process ids as traces have them: any JSON value.

use crate::event::{EventFault, plain_form};
use perfdb_pycompat::value::Value as PythonValue;
use perfdb_trace::scan::{Number, Value};

/// A `pid`, equal to another when the JSON values are equal, with `1`, `1.0` and `true` equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pid {
    /// `null`
    Null,
    /// An integer, as its digits.
    Whole(Box<str>),
    /// Any other number, as the bits of its double.
    Real(u64),
    /// A text.
    Text(Box<str>),
    /// A list or an object, as its text form; never a process on its own.
    Structured(Box<str>),
}

impl Pid {
    /// Reads a `pid`.
    pub(crate) fn of(value: Value<'_>) -> Result<Pid, EventFault> {
        Ok(match value {
            Value::Null => Pid::Null,
            Value::Bool(value) => Pid::Whole(u8::from(value).to_string().into()),
            Value::Number(number) => Pid::of_number(number),
            Value::Text(text) => Pid::Text(crate::event::decode(text, "pid")?.into()),
            other => match other.to_value().map_err(|_| EventFault::HalfPair("pid"))? {
                PythonValue::Text(text) => Pid::Text(text.into()),
                value => Pid::Structured(value.repr().into()),
            },
        })
    }

    fn of_number(number: Number<'_>) -> Pid {
        if number.is_integer() {
            return Pid::Whole(if number.text() == "-0" { "0".into() } else { number.text().into() });
        }
        let value = number.to_f64();
        if value.is_finite() && value.fract() == 0.0 {
            // All digits of the double, as an equal integer would be written.
            return Pid::Whole(format!("{:.0}", value + 0.0).into());
        }
        Pid::Real(value.to_bits())
    }

    /// Not a number is no number's equal.
    pub(crate) fn equals_itself(&self) -> bool {
        !matches!(self, Pid::Real(bits) if f64::from_bits(*bits).is_nan())
    }

    /// Its text in messages.
    pub(crate) fn text_of(value: Value<'_>) -> String {
        plain_form(value, "pid").map_or_else(|_| "?".to_owned(), |text| text.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_trace::scan::{Scanner, TextRule};

    fn pid(json: &str) -> Pid {
        Pid::of(Scanner::new(json.as_bytes(), TextRule::Strict).value().unwrap()).unwrap()
    }

    #[test]
    fn equal_numbers_are_one_process() {
        for (one, other) in [
            ("1", "1.0"),
            ("1", "true"),
            ("0", "-0.0"),
            ("false", "0"),
            ("-0", "0"),
            ("1e3", "1000"),
            ("9007199254740992", "9007199254740992.0"),
        ] {
            assert_eq!(pid(one), pid(other), "{one} {other}");
        }
        for (one, other) in [
            ("1", "\"1\""),
            ("null", "0"),
            ("9007199254740993", "9007199254740992.0"),
            ("1", "1.5"),
            ("[1]", "[2]"),
            ("\"\"", "null"),
        ] {
            assert_ne!(pid(one), pid(other), "{one} {other}");
        }
        assert!(!pid("NaN").equals_itself() && pid("1.5").equals_itself());
    }
}
