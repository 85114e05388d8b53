//! The guard that keeps a case from filling the host's memory.

use crate::kernels::memory::check_room;
use crate::kernels::shape::elements;

use crate::case::Case;
use crate::init::Init;
use crate::refusal::CaseError;

/// Bytes that a case takes on a host: inputs as allocated and what they are shuffled from, recorded outputs, one float32
/// copy of the largest input.
pub(crate) fn needed_bytes(case: &Case) -> u64 {
    let outputs = case.outputs.iter().filter_map(|output| {
        let size = output.dtype.map_or(4, perfdb_store::dtype::DType::size_bytes) as u64;
        output.shape.as_ref().map(|shape| (elements(shape) as u64).saturating_mul(size))
    });
    let largest = case.call.inputs.iter().map(|spec| elements(spec.storage_shape()) as u64).max().unwrap_or(0);
    let shuffled = case.call.inputs.iter().map(|spec| match spec.init {
        Init::Permutation { n, .. } => n.saturating_mul(size_of::<i64>() as u64),
        _ => 0,
    });
    outputs.chain(shuffled).fold(case.input_bytes(), u64::saturating_add).saturating_add(largest.saturating_mul(4))
}

/// Refuses a case that would take too large a part of the available memory, with both sizes.
pub(crate) fn check(case: &Case, available: Option<u64>) -> Result<(), CaseError> {
    Ok(check_room(needed_bytes(case), available)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Call, Check, RecordedOutput, TensorSpec};
    use crate::refusal::ErrorKind;
    use perfdb_store::dtype::DType;

    #[test]
    fn inputs_outputs_and_one_wide_copy_count() {
        let case = Case {
            op: "Add".into(),
            csv: "".into(),
            row: 2,
            call: Call::new("torch.add")
                .arg_tensor(TensorSpec::new("x", [1000, 100], DType::BFloat16))
                .arg_tensor(TensorSpec::new("y", [100], DType::BFloat16)),
            outputs: vec![RecordedOutput { shape: Some([1000, 100].into()), dtype: Some(DType::BFloat16) }],
            check: Check::Warn,
            repeat: 1,
            warmup: 0,
            fresh_inputs: false,
        };
        assert_eq!(needed_bytes(&case), 200_000 + 200 + 200_000 + 400_000);
        assert!(check(&case, Some(1_400_000)).is_ok());
        let error = check(&case, Some(1_000_000)).expect_err("too large");
        assert_eq!(
            (error.kind, error.detail.as_str()),
            (ErrorKind::Oom, "needs 0.00 GiB of memory, 0.00 GiB available")
        );
        assert!(check(&case, None).is_ok());
        let shuffled = |n| {
            let spec = TensorSpec::new("i", [1], DType::Int64).init(Init::Permutation { n, take: 1 });
            needed_bytes(&Case { call: Call::new("x").arg_tensor(spec), outputs: Vec::new(), ..case.clone() })
        };
        assert_eq!(shuffled(1000), 8 + 8000 + 4);
    }
}
