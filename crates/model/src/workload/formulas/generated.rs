//! Kernels that TorchInductor generates: a profile has their tensors and the number of elements that they go through, but nothing of
//! what they compute. So there are bytes alone.

use crate::roofline::Work;

use super::pointwise::vector;
use crate::workload::call::{Call, CallWork};

/// Operators among those fused that may take less than all of a tensor.
const TAKE_A_PART: [&str; 15] = [
    "embedding",
    "index",
    "gather",
    "scatter",
    "select",
    "slice",
    "split",
    "unbind",
    "as_strided",
    "narrow",
    "chunk",
    "unfold",
    "topk",
    "sort",
    "roll",
];

/// Each tensor counts once. Where one has more elements than the kernel goes through, only a part of it is read, and nobody knows which.
pub(super) fn work(call: &Call) -> Option<CallWork> {
    if TAKE_A_PART.iter().any(|part| call.operator().contains(part)) {
        return None;
    }
    let tensors: Vec<usize> = (0..call.arguments()).filter(|at| call.shape(*at).is_some()).collect();
    let sizes: Vec<f64> = tensors.iter().map(|at| call.elements(*at)).collect::<Option<_>>()?;
    let most = sizes.iter().copied().fold(0.0, f64::max);
    // Behind the tensors: sizes of the shape, then one to three numbers of elements, whose product the kernel goes through.
    let numbers: Vec<f64> = (tensors.last()? + 1..call.arguments())
        .map_while(|at| call.value(at)?.parse::<u64>().ok())
        .map(|number| number as f64)
        .collect();
    let gone_through = |dimensions: usize| {
        let first = numbers.len().checked_sub(dimensions)?;
        Some(numbers[first..].iter().product::<f64>())
    };
    if most == 0.0 || !(1..=3).any(|dimensions| gone_through(dimensions) == Some(most)) {
        return None;
    }
    let bytes: f64 = tensors.iter().zip(&sizes).map(|(at, size)| Some(size * call.bytes(*at)?)).sum::<Option<f64>>()?;
    vector(Work { operations: 0.0, bytes }, call.element(*tensors.first()?)?)
}

#[cfg(test)]
mod tests {
    use crate::workload::{Arguments, Call};

    fn bytes(name: &str, dims: &str, types: &str, values: &str) -> Option<f64> {
        Some(Call::new(name, Arguments { dims, types, values })?.work()?.work.bytes)
    }

    #[test]
    fn every_tensor_counts_once() {
        let types = r#"["float", "float", "c10::BFloat16", "Scalar"]"#;
        let dims = "[[10, 10], [10], [10, 10], []]";
        let name = "triton_poi_fused_add_cos_sin_0";
        assert_eq!(bytes(name, dims, types, r#"["", "", "", "100"]"#), Some(400.0 + 40.0 + 200.0));
        // In two dimensions, behind a size of the shape.
        let types = r#"["float", "float", "c10::BFloat16", "Scalar", "Scalar", "Scalar"]"#;
        let two = "[[10, 10], [10], [10, 10], [], [], []]";
        assert_eq!(bytes("triton_red_fused_mean_1", two, types, r#"["", "", "", "7", "25", "4"]"#), Some(640.0));
    }

    #[test]
    fn a_part_of_a_tensor_is_not_known() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "Scalar"]"#;
        let some = |name, dims| bytes(name, dims, types, r#"["", "", "64"]"#);
        assert_eq!(some("triton_poi_fused_silu_0", "[[8, 8], [8, 8], []]"), Some(256.0));
        // It goes through 64 of the 128 elements of the first one.
        assert_eq!(some("triton_poi_fused_silu_0", "[[8, 16], [8, 8], []]"), None);
        assert_eq!(some("triton_poi_fused_embedding_0", "[[8, 8], [8, 8], []]"), None);
        assert_eq!(bytes("triton_poi_fused_0", "[[8, 8], [8, 8]]", types, r#"["", ""]"#), None);
        assert_eq!(some("triton_tem_fused_mm_0", "[[8, 8], [8, 8], []]"), None);
    }
}
