//! Operators that work element by element.

use crate::roofline::Work;

use crate::workload::call::{Call, CallWork, Unit};
use crate::workload::element;
use perfdb_store::dtype::DType;

pub(super) fn binary(call: &Call, compares: bool) -> Option<CallWork> {
    let first = call.element(0)?;
    let shapes = [0, 1].map(|at| call.shape(at).unwrap_or_default());
    let outputs: f64 = broadcast(shapes[0], shapes[1])?.iter().product();
    // A number that is no tensor is not read.
    let second = call.element(1);
    let inputs = call.elements(0)? * element::bytes(first)
        + second.map_or(0.0, |element| shapes[1].iter().product::<f64>() * element::bytes(element));
    let promoted = second.map_or(first, |second| element::promoted(first, second));
    let result = match second {
        _ if compares => DType::Bool,
        // Of a tensor without dimensions, only the kind of number counts.
        Some(second)
            if !shapes[0].is_empty() && shapes[1].is_empty() && element::bytes(second) > element::bytes(first) =>
        {
            first
        }
        Some(second) if shapes[0].is_empty() && !shapes[1].is_empty() => second,
        _ => promoted,
    };
    vector(Work { operations: outputs, bytes: inputs + outputs * element::bytes(result) }, promoted)
}

/// The shape of the result; `None` where the two do not fit.
fn broadcast(first: &[f64], second: &[f64]) -> Option<Vec<f64>> {
    let dimensions = first.len().max(second.len());
    let at = |shape: &[f64], from_end: usize| {
        shape.len().checked_sub(from_end).and_then(|at| shape.get(at).copied()).unwrap_or(1.0)
    };
    (1..=dimensions)
        .map(|from_end| match (at(first, from_end), at(second, from_end)) {
            (one, other) if one == other || other == 1.0 => Some(one),
            (1.0, other) => Some(other),
            _ => None,
        })
        .collect()
}

pub(super) fn unary(call: &Call) -> Option<CallWork> {
    // Another tensor beside it makes it another operator, such as a power of two tensors.
    if call.shape(1).is_some() {
        return None;
    }
    let (elements, element) = (call.shape(0)?.iter().product::<f64>(), call.element(0)?);
    vector(Work { operations: elements, bytes: 2.0 * elements * element::bytes(element) }, element)
}

/// `copy_` has the target first; `clone` has the source alone.
pub(super) fn copy(call: &Call) -> Option<CallWork> {
    let (first, element) = (call.shape(0)?, call.element(0)?);
    let elements: f64 = first.iter().product();
    let source = match (call.operator(), call.shape(1)) {
        ("copy", Some(source)) => source.iter().product::<f64>() * call.bytes(1)?,
        ("copy", None) => call.bytes(1)?,
        _ => elements * element::bytes(element),
    };
    vector(Work { operations: 0.0, bytes: source + elements * element::bytes(element) }, element)
}

/// Work of the units that are not matrix units.
pub(super) fn vector(work: Work, element: DType) -> Option<CallWork> {
    Some(CallWork { work, unit: Unit::Vector, precision: element::vector_precision(element) })
}

#[cfg(test)]
mod tests {
    use super::super::tests::work;

    #[test]
    fn shapes_are_broadcast_and_types_promoted() {
        assert_eq!(work("aten::add", "[[4, 8], [4, 8], []]", r#"["float", "float", "Scalar"]"#), Some((32.0, 384.0)));
        assert_eq!(work("aten::mul", "[[4, 8], [8]]", r#"["c10::Half", "float"]"#), Some((32.0, 64.0 + 32.0 + 128.0)));
        assert_eq!(work("aten::mul", "[[4, 1], [1, 8]]", r#"["float", "float"]"#), Some((32.0, 16.0 + 32.0 + 128.0)));
        assert_eq!(work("aten::mul_", "[[4, 8], []]", r#"["float", "Scalar"]"#), Some((32.0, 256.0)));
        assert_eq!(work("aten::mul", "[[4, 8], []]", r#"["c10::Half", "double"]"#), Some((32.0, 64.0 + 8.0 + 64.0)));
        assert_eq!(work("aten::lt", "[[4, 8], [4, 8]]", r#"["int", "int"]"#), Some((32.0, 128.0 + 128.0 + 32.0)));
        assert_eq!(work("aten::add", "[[4, 8], [3, 8]]", r#"["float", "float"]"#), None);
    }

    #[test]
    fn a_copy_computes_nothing() {
        assert_eq!(
            work("aten::copy_", "[[4, 8], [4, 8], []]", r#"["c10::Half", "float", "Scalar"]"#),
            Some((0.0, 192.0))
        );
        assert_eq!(work("aten::copy_", "[[4, 8], [8], []]", r#"["c10::Half", "float", "Scalar"]"#), Some((0.0, 96.0)));
        assert_eq!(work("aten::clone", "[[4, 8], []]", r#"["float", ""]"#), Some((0.0, 256.0)));
    }

    #[test]
    fn a_power_of_two_tensors_is_not_the_one_that_is_known() {
        assert_eq!(work("aten::pow", "[[4, 8], []]", r#"["float", "Scalar"]"#), Some((32.0, 256.0)));
        assert_eq!(work("aten::pow", "[[4, 8], [4, 8]]", r#"["float", "float"]"#), None);
    }
}
