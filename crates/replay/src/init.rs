//! Initial values of tensors: kinds as they stand in a case.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dtype::DType;

/// How a tensor is filled before the call. Random kinds are fixed by seed, operator, row and tensor name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Init {
    /// Uniform in `[low, high)`.
    Uniform {
        /// Lower bound, inclusive.
        low: Number,
        /// Upper bound, exclusive.
        high: Number,
    },
    /// Integers in `[low, high)`.
    Randint {
        /// Lower bound, inclusive.
        low: i64,
        /// Upper bound, exclusive.
        high: i64,
    },
    /// Standard normal.
    Normal,
    /// The first `take` entries of a random permutation of `0..n`.
    Permutation {
        /// Size of the permuted range.
        n: u64,
        /// How many entries are used.
        take: u64,
    },
    /// `start`, `start + 1`, … over the flat tensor.
    Arange {
        /// First value; left out where it is 0.
        #[serde(default)]
        start: i64,
    },
    /// Flat index modulo `modulus`.
    ArangeMod {
        /// Divisor.
        modulus: u64,
    },
    /// In the last dimension `min(index, max)`, the same for all others.
    ArangeClip {
        /// Largest value; −1 where nothing is selected.
        max: i64,
    },
    /// One value everywhere.
    Full {
        /// The value.
        value: Number,
    },
    /// Flat values, row-major, in storage order.
    Values {
        /// One per element.
        values: Vec<Number>,
    },
    /// `value` strictly above the diagonal of the last two dimensions (column − row ≥ `diagonal`), else zero.
    Triu {
        /// First diagonal that holds the value.
        diagonal: i64,
        /// The value above.
        value: Number,
    },
    /// Flat index s becomes `(s mod ranks)·per_rank + (s div ranks) mod per_rank`.
    RankRoundRobin {
        /// Number of ranks.
        ranks: u64,
        /// Experts per rank.
        per_rank: u64,
    },
    /// Row i holds the next `counts[i]` numbers of one running counter modulo `modulus`, then zeros.
    BlockPrefix {
        /// Used entries per row.
        counts: Vec<u64>,
        /// Divisor of the counter.
        modulus: u64,
    },
    /// The same values as another input.
    CopyOf {
        /// Name of that input, which stands before this one.
        of: String,
    },
}

impl Init {
    /// What an input is filled with unless its operator says otherwise:
    /// floats uniform in `[-1, 1)`, integers 0…7, truth values 0…1.
    pub fn default_for(dtype: DType) -> Init {
        match dtype {
            DType::Bool => Init::Randint { low: 0, high: 2 },
            _ if dtype.is_integer() => Init::Randint { low: 0, high: 8 },
            _ => Init::Uniform { low: Number::Int(-1), high: Number::Int(1) },
        }
    }

    /// One value everywhere.
    pub fn full(value: impl Into<Number>) -> Init {
        Init::Full { value: value.into() }
    }

    /// All zero.
    pub fn zeros() -> Init {
        Init::full(0)
    }

    /// Flat integer values.
    pub fn integers(values: impl IntoIterator<Item = i64>) -> Init {
        Init::Values { values: values.into_iter().map(Number::Int).collect() }
    }
}

/// A number or truth value in a case. Integral numbers are written as integers; `"nan"`, `"inf"`, `"-inf"` are texts.
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
