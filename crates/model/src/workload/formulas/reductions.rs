//! Reductions over dimensions, and softmax.

use crate::roofline::Work;
use crate::workload::element;

use super::pointwise::vector;
use crate::workload::call::{Call, CallWork};
use crate::workload::operator_kind::Reduced;

pub(super) fn reduction(reduced: Reduced, call: &Call) -> Option<CallWork> {
    let (shape, element) = (call.shape(0)?, call.element(0)?);
    let inputs: f64 = shape.iter().product();
    let dimensions = call.integers(1)?;
    let mut kept = vec![!dimensions.is_empty(); shape.len()];
    for dimension in dimensions {
        let from_start = if dimension < 0.0 { dimension + shape.len() as f64 } else { dimension };
        *kept.get_mut(from_start as usize).filter(|_| from_start >= 0.0)? = false;
    }
    let outputs: f64 = shape.iter().zip(kept).filter(|(_, kept)| *kept).map(|(size, _)| size).product();
    let result_bytes = match reduced {
        Reduced::Position => 8.0,
        Reduced::Truth => 1.0,
        Reduced::Sum if !element.is_float() => 8.0,
        Reduced::Sum | Reduced::Same => element::bytes(element),
    };
    vector(Work { operations: inputs, bytes: inputs * element::bytes(element) + outputs * result_bytes }, element)
}

pub(super) fn softmax(call: &Call) -> Option<CallWork> {
    let (elements, element) = (call.shape(0)?.iter().product::<f64>(), call.element(0)?);
    vector(Work { operations: 3.0 * elements, bytes: 2.0 * elements * element::bytes(element) }, element)
}

#[cfg(test)]
mod tests {
    use crate::workload::{Arguments, Call};

    fn work(name: &str, types: &str, values: &str) -> Option<(f64, f64)> {
        let found = Call::new(name, Arguments { dims: "[[4, 8], [], [], []]", types, values })?.work()?;
        Some((found.work.operations, found.work.bytes))
    }

    #[test]
    fn the_result_has_the_dimensions_that_are_left() {
        let types = r#"["float", "", "", ""]"#;
        assert_eq!(work("aten::sum", types, r#"["", "[-1]", "False", ""]"#), Some((32.0, 128.0 + 16.0)));
        assert_eq!(work("aten::mean", types, r#"["", "[0]", "True", ""]"#), Some((32.0, 128.0 + 32.0)));
        assert_eq!(work("aten::sum", types, r#"["", ""]"#), Some((32.0, 128.0 + 4.0)));
        assert_eq!(work("aten::argmax", types, r#"["", "1", "False"]"#), Some((32.0, 128.0 + 32.0)));
        assert_eq!(work("aten::sum", r#"["int"]"#, r#"["", "[1]"]"#), Some((32.0, 128.0 + 32.0)));
        assert_eq!(work("aten::sum", types, r#"["", "[2]"]"#), None);
        assert_eq!(work("aten::sum", types, ""), None);
    }

    #[test]
    fn softmax_takes_three_operations_per_element() {
        assert_eq!(work("aten::_softmax", r#"["c10::Half"]"#, ""), Some((96.0, 128.0)));
    }
}
