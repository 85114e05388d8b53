//! Convolutions: input, weight, bias, stride, padding, dilation, transposed, output padding, groups.

use crate::roofline::Work;

use super::products::matrix;
use crate::workload::call::{Call, CallWork};

pub(super) fn work(call: &Call) -> Option<CallWork> {
    let (input, weight) = (call.shape(0)?, call.shape(1)?);
    let spatial = input.len().checked_sub(2).filter(|count| *count > 0)?;
    if weight.len() != input.len() {
        return None;
    }
    let per_dimension = |at: usize, default: f64| -> Option<Vec<f64>> {
        let found = call.integers(at)?;
        match found.len() {
            0 => Some(vec![default; spatial]),
            1 => Some(vec![found[0]; spatial]),
            count if count == spatial => Some(found),
            _ => None,
        }
    };
    let (stride, padding, dilation) = (per_dimension(3, 1.0)?, per_dimension(4, 0.0)?, per_dimension(5, 1.0)?);
    let (is_transposed, output_padding) = (call.flag(6)?, per_dimension(7, 0.0)?);
    let groups = call.integers(8)?.first().copied().unwrap_or(1.0);
    if stride.contains(&0.0) {
        return None;
    }
    let size = |at: usize| {
        let (before, kernel) = (input[at + 2], weight[at + 2]);
        let reach = dilation[at] * (kernel - 1.0);
        if is_transposed {
            (before - 1.0) * stride[at] - 2.0 * padding[at] + reach + output_padding[at] + 1.0
        } else {
            ((before + 2.0 * padding[at] - reach - 1.0) / stride[at]).floor() + 1.0
        }
    };
    let channels = if is_transposed { weight[1] * groups } else { weight[0] };
    let sizes: Vec<f64> = (0..spatial).map(size).collect();
    if sizes.iter().any(|size| *size < 0.0) {
        return None;
    }
    let product = |shape: &[f64]| shape.iter().product::<f64>();
    let (inputs, weights) = (product(input), product(weight));
    let outputs = input[0] * channels * product(&sizes);
    let has_bias = call.shape(2).is_some() || call.arguments() == 3;
    let bytes = call.bytes(0)?;
    let mut work = Work {
        operations: 2.0 * if is_transposed { inputs } else { outputs } * product(weight.get(1..)?),
        bytes: (inputs + weights + outputs) * bytes,
    };
    if has_bias {
        work.operations += outputs;
        work.bytes += channels * bytes;
    }
    matrix(work, call.element(0)?)
}

#[cfg(test)]
mod tests {
    use crate::workload::{Arguments, Call};

    fn work(dims: &str, values: &str) -> Option<(f64, f64)> {
        let types = r#"["float", "float", "float"]"#;
        let found = Call::new("aten::convolution", Arguments { dims, types, values })?.work()?;
        Some((found.work.operations, found.work.bytes))
    }

    #[test]
    fn output_sizes_follow_stride_padding_and_dilation() {
        let values = r#"["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]"#;
        // 8 × 8 becomes 4 × 4.
        let outputs = 2.0 * 6.0 * 16.0;
        let expected = (2.0 * outputs * 27.0, 4.0 * (2.0 * 3.0 * 64.0 + 6.0 * 27.0 + outputs));
        assert_eq!(work("[[2, 3, 8, 8], [6, 3, 3, 3], []]", values), Some((expected.0 + outputs, expected.1 + 24.0)));
        assert_eq!(work("[[2, 3, 8, 8], [6, 3, 3, 3]]", values), Some(expected));
        assert_eq!(work("[[2, 3, 8, 8], [6, 3, 3, 3], [], []]", values), Some(expected));
    }

    #[test]
    fn transposed_ones_grow() {
        let values = r#"["", "", "", "[2]", "[0]", "[1]", "True", "[1]", "2"]"#;
        // (5 − 1)·2 + 2 + 1 + 1 = 12 with two groups of 3 channels.
        let expected = (2.0 * 20.0 * 9.0, 4.0 * (20.0 + 36.0 + 72.0));
        assert_eq!(work("[[1, 4, 5], [4, 3, 3], [], []]", values), Some(expected));
    }

    #[test]
    fn without_values_nothing_is_known() {
        assert_eq!(work("[[2, 3, 8, 8], [6, 3, 3, 3], []]", ""), None);
    }
}
