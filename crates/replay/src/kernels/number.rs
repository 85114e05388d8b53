//! Values of any type as they stand in replay cases and dumped outputs.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number or truth value in a case. Integral numbers are written as integers; `"nan"`, `"inf"`, `"-inf"` are strings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Anything else.
    Float(f64),
}

impl Number {
    /// The value as a double; truth values count 0 and 1.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Bool(value) => f64::from(u8::from(value)),
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The value as an integer; fractions are cut off.
    pub fn as_i64(self) -> i64 {
        match self {
            Number::Bool(value) => i64::from(value),
            Number::Int(value) => value,
            Number::Float(value) => value as i64,
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::Int(value)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Number {
        Number::Int(value.into())
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number::Float(value)
    }
}

impl From<bool> for Number {
    fn from(value: bool) -> Number {
        Number::Bool(value)
    }
}

/// Largest double below which every integral value is an exact `i64`.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Number::Bool(value) => serializer.serialize_bool(value),
            Number::Int(value) => serializer.serialize_i64(value),
            Number::Float(value) if value.is_nan() => serializer.serialize_str("nan"),
            Number::Float(value) if value.is_infinite() => {
                serializer.serialize_str(if value > 0.0 { "inf" } else { "-inf" })
            }
            Number::Float(value) if value.fract() == 0.0 && value.abs() <= EXACT_INTEGERS => {
                serializer.serialize_i64(value as i64)
            }
            Number::Float(value) => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Number;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a number, true, false, \"nan\", \"inf\" or \"-inf\"")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Number, E> {
                Ok(Number::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Int(value))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(i64::try_from(value).map_or(Number::Float(value as f64), Number::Int))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "nan" => Ok(Number::Float(f64::NAN)),
                    "inf" => Ok(Number::Float(f64::INFINITY)),
                    "-inf" => Ok(Number::Float(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
