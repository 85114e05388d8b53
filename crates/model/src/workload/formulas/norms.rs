//! Norms over the last dimensions.

use crate::roofline::Work;
use crate::workload::element;

use super::pointwise::vector;
use crate::workload::call::{Call, CallWork};
use crate::workload::operator_kind::Norm;

pub(super) fn work(norm: Norm, call: &Call) -> Option<CallWork> {
    // Serving frameworks have the result in front, or nothing between input and weight; PyTorch has the normalised shape there.
    let (input, weight) = match (norm, call.shape(1)) {
        (Norm::RmsIntoResult, Some(second)) if Some(second) == call.shape(0) => (1, call.shape(2)),
        (Norm::RmsIntoResult, Some(second)) => (0, Some(second)),
        _ => (0, call.shape(2)),
    };
    let (shape, element) = (call.shape(input)?, call.element(input)?);
    if weight.is_some_and(|weight| !shape.ends_with(weight)) {
        return None;
    }
    let normalised = match (weight, norm) {
        (Some(weight), _) => weight.iter().product(),
        (None, Norm::Rms | Norm::Layer) => call.integers(1).filter(|sizes| !sizes.is_empty())?.iter().product(),
        (None, _) => *shape.last()?,
    };
    let elements: f64 = shape.iter().product();
    if normalised < 1.0 || elements % normalised != 0.0 {
        return None;
    }
    let (rows, bytes) = (elements / normalised, element::bytes(element));
    let has_weight = if weight.is_some() { 1.0 } else { 0.0 };
    let rms = Work {
        operations: rows * (2.0 * normalised + 2.0) + elements * (1.0 + has_weight),
        bytes: (2.0 * elements + has_weight * normalised) * bytes,
    };
    let work = match norm {
        Norm::Rms | Norm::RmsIntoResult => rms,
        // The sum is written back, too.
        Norm::AddedRms => Work { operations: rms.operations + elements, bytes: rms.bytes + 2.0 * elements * bytes },
        Norm::Layer => Work {
            operations: 5.0 * elements + 6.0 * rows,
            bytes: (2.0 * elements + 2.0 * normalised + 2.0 * rows) * bytes,
        },
    };
    vector(work, element)
}

#[cfg(test)]
mod tests {
    use crate::workload::{Arguments, Call};

    fn work(name: &str, dims: &str, values: &str) -> Option<(f64, f64)> {
        let types = r#"["c10::Half", "c10::Half", "c10::Half", "c10::Half"]"#;
        let found = Call::new(name, Arguments { dims, types, values })?.work()?;
        Some((found.work.operations, found.work.bytes))
    }

    #[test]
    fn rows_and_weights_are_told_apart() {
        let with_weight = 4.0 * 18.0 + 64.0;
        assert_eq!(
            work("aten::_fused_rms_norm", "[[4, 8], [], [8], []]", r#"["", "[8]", "", ""]"#),
            Some((with_weight, 144.0))
        );
        assert_eq!(
            work("aten::_fused_rms_norm", "[[4, 8], [], [], []]", r#"["", "[8]", "", ""]"#),
            Some((with_weight - 32.0, 128.0))
        );
        assert_eq!(work("_C::rms_norm", "[[4, 8], [4, 8], [8], []]", ""), Some((with_weight, 144.0)));
        assert_eq!(work("ir::rms_norm", "[[4, 8], [8], []]", ""), Some((with_weight, 144.0)));
        assert_eq!(work("ir::rms_norm", "[[4, 8], [5], []]", ""), None);
        assert_eq!(work("aten::rms_norm", "[[4, 8], [], [8], []]", ""), Some((with_weight, 144.0)));
        assert_eq!(work("_C::fused_add_rms_norm", "[[4, 8], [4, 8], [8], []]", ""), Some((with_weight + 32.0, 272.0)));
        assert_eq!(
            work("aten::native_layer_norm", "[[4, 8], [], [8], [8], []]", r#"["", "[8]"]"#),
            Some((184.0, 2.0 * 88.0))
        );
        assert_eq!(work("aten::native_layer_norm", "[[4, 8], [], [], [], []]", ""), None);
    }
}
