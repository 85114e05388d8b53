//! Arguments of a call as a case carries them.

use std::borrow::Cow;

use crate::kernels::number::Number;
use perfdb_store::dtype::DType;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A short string that an operator fixes or a case file brings.
pub type Name = Cow<'static, str>;

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `null`.
    None,
    /// A truth value or number.
    Number(Number),
    Text(Name),
    List(Vec<Argument>),
    /// `{"tensor": name}`.
    Tensor(Name),
    /// `{"dtype": name}`; also the quantised types `qint8`, `quint8`, `quint4x2`.
    DType(Name),
    /// `{"group": "ep"}`: the name of the process group.
    Group(Name),
}

impl Argument {
    /// A type as argument.
    pub fn dtype(dtype: DType) -> Argument {
        Argument::DType(dtype.name().into())
    }

    /// A tensor of the case.
    pub fn tensor(name: impl Into<Name>) -> Argument {
        Argument::Tensor(name.into())
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Argument, D::Error> {
        Argument::from_json(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Argument {
    fn from_json(value: Value) -> Result<Argument, String> {
        Ok(match value {
            Value::Null => Argument::None,
            Value::Bool(value) => Argument::Number(Number::Bool(value)),
            Value::Number(number) => Argument::Number(match number.as_i64() {
                Some(value) => Number::Int(value),
                None => Number::Float(number.as_f64().ok_or("a number out of range")?),
            }),
            Value::String(text) => Argument::Text(text.into()),
            Value::Array(items) => {
                Argument::List(items.into_iter().map(Argument::from_json).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let mut entries = map.into_iter();
                match (entries.next(), entries.next()) {
                    (Some((key, Value::String(name))), None) => match key.as_str() {
                        "tensor" => Argument::Tensor(name.into()),
                        "dtype" => Argument::DType(name.into()),
                        "group" => Argument::Group(name.into()),
                        _ => return Err(format!("unknown argument {{\"{key}\": …}}")),
                    },
                    _ => return Err("an object argument has exactly one of tensor, dtype, group".to_owned()),
                }
            }
        })
    }
}

impl From<Number> for Argument {
    fn from(value: Number) -> Argument {
        Argument::Number(value)
    }
}

impl From<i64> for Argument {
    fn from(value: i64) -> Argument {
        Argument::Number(Number::Int(value))
    }
}

impl From<i32> for Argument {
    fn from(value: i32) -> Argument {
        Argument::Number(Number::Int(value.into()))
    }
}

impl From<f64> for Argument {
    fn from(value: f64) -> Argument {
        Argument::Number(Number::Float(value))
    }
}

impl From<bool> for Argument {
    fn from(value: bool) -> Argument {
        Argument::Number(Number::Bool(value))
    }
}

impl From<&'static str> for Argument {
    fn from(value: &'static str) -> Argument {
        Argument::Text(value.into())
    }
}

impl From<String> for Argument {
    fn from(value: String) -> Argument {
        Argument::Text(value.into())
    }
}

impl From<Vec<i64>> for Argument {
    fn from(values: Vec<i64>) -> Argument {
        Argument::List(values.into_iter().map(Argument::from).collect())
    }
}

impl From<Vec<Argument>> for Argument {
    fn from(values: Vec<Argument>) -> Argument {
        Argument::List(values)
    }
}

impl From<Option<Argument>> for Argument {
    fn from(value: Option<Argument>) -> Argument {
        value.unwrap_or(Argument::None)
    }
}

/// Sizes and counts of tensors; those above `i64::MAX` cannot occur in a case that can be built.
impl From<usize> for Argument {
    fn from(value: usize) -> Argument {
        Argument::Number(i64::try_from(value).map_or(Number::Float(value as f64), Number::Int))
    }
}
