//! What the metrics ask of an event of a simulator's trace, and what can be wrong with it.

use perfdb_pycompat::value::Value as PythonValue;
use perfdb_trace::chrome::{Args, Event, Field};
use perfdb_trace::scan::{Text, Value};
use std::borrow::Cow;

use crate::sub_kernels::BadPair;

/// Why an event can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventFault {
    /// `args` is there and no object.
    #[error("args is not an object")]
    Args,
    /// A field that has to be a text is none.
    #[error("{0} is not a text")]
    NotText(&'static str),
    /// A field that has to be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A field that has to be a number is none.
    #[error("{0} is not a number")]
    NotNumber(&'static str),
    /// An integer beyond the doubles can't be added.
    #[error("{0} is too large to be added")]
    TooLarge(&'static str),
    /// A list or an object where a plain value is needed.
    #[error("{0} is a list or an object")]
    Structured(&'static str),
    /// A text that is used holds half a surrogate pair.
    #[error("{0} holds half a surrogate pair")]
    HalfPair(&'static str),
    /// A pair of `sub_kernel_durations`.
    #[error(transparent)]
    Pair(#[from] BadPair),
    /// A list of shapes.
    #[error("simulation_shapes: {0}")]
    Shapes(#[from] crate::shapes::NoShapes),
    /// The entry of an operator in the mapping.
    #[error("the kernel_type of {operator} in op_mapping.yaml is {kind}, not a text")]
    MappedKernel {
        /// The operator.
        operator: String,
        /// What stands there.
        kind: &'static str,
    },
}

/// Fails unless `args` is absent or an object.
pub(crate) fn check_args(event: &Event<'_>) -> Result<(), EventFault> {
    match event.args() {
        Args::Absent | Args::Object => Ok(()),
        Args::Other(_) => Err(EventFault::Args),
    }
}

/// `dur` as an addend; absent counts as 0.
#[inline]
pub(crate) fn duration_us(event: &Event<'_>) -> Result<f64, EventFault> {
    match event.field(Field::Duration) {
        None => Ok(0.0),
        Some(Value::Bool(value)) => Ok(f64::from(u8::from(value))),
        Some(Value::Number(number)) => number.to_addend().ok_or(EventFault::TooLarge("dur")),
        Some(_) => Err(EventFault::NotNumber("dur")),
    }
}

/// The characters of a text that is used.
#[inline]
pub(crate) fn decode<'a>(text: Text<'a>, field: &'static str) -> Result<Cow<'a, str>, EventFault> {
    text.decode().map_err(|_| EventFault::HalfPair(field))
}

/// The value as the original's language prints it: texts as they are, `None`, `True`, numbers, lists.
pub(crate) fn plain_form<'a>(value: Value<'a>, field: &'static str) -> Result<Cow<'a, str>, EventFault> {
    Ok(match value {
        Value::Text(text) => decode(text, field)?,
        other => match other.to_value().map_err(|_| EventFault::HalfPair(field))? {
            PythonValue::Text(text) => Cow::Owned(text),
            value => Cow::Owned(value.repr()),
        },
    })
}
