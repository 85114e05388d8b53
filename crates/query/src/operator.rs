//! Looking up what a simulator operator costs, by way of the operator mapping.

use crate::answer::{Call, DType, Hit, Miss, MissReason, Source, Tensor};
use crate::database::Database;
use crate::question::{By, Question};
use perfdb_store::op_mapping::{Entry, Lookup};
use smallvec::{SmallVec, smallvec};

impl Database {
    /// Answers a call of a simulator operator.
    pub fn lookup_operator(&self, call: &Call) -> Result<Hit, Miss> {
        let entry = self.mapping.find(&call.operator, Lookup::Nested).ok_or(MissReason::Unmapped)?;
        if entry.zero_cost {
            return Ok(free("", "zero_cost"));
        }
        if entry.accepted_miss.is_some() {
            return Ok(free("accepted_miss", "accepted_miss"));
        }
        if entry.composite {
            return self.composite(call, &entry);
        }
        let by = match (entry.category.as_deref(), entry.query_mode.as_deref(), &call.attention) {
            (Some("communication"), ..) => {
                communication(call, entry.kernel_type.as_deref().unwrap_or_default(), call.inputs.first())
            }
            (_, Some("attention_special"), Some(attention)) => By::Attention(attention),
            (_, Some("elementwise"), _) => By::elementwise(&call.outputs),
            (_, Some("moe_fused"), _) => By::moe(call.ep_size)?,
            _ => By::INPUTS,
        };
        let kernel_types = entry.kernel_type.iter().chain(&entry.alternate_kernel_types).map(String::as_str).collect();
        self.answer(&self.question(call, &entry, kernel_types, by))
    }

    fn question<'q>(
        &self,
        call: &'q Call,
        entry: &Entry,
        kernel_types: SmallVec<[&'q str; 4]>,
        by: By<'q>,
    ) -> Question<'q> {
        let square_root =
            call.interpolate && kernel_types.first().is_some_and(|kernel_type| self.is_over_square_root(kernel_type));
        Question {
            kernel_types,
            inputs: &call.inputs,
            input_count: entry.tc_input_count.and_then(|count| usize::try_from(count).ok()),
            by,
            interpolate: call.interpolate,
            square_root,
        }
    }

    fn is_over_square_root(&self, kernel_type: &str) -> bool {
        let policy = self.mapping.interpolation_policy.as_ref();
        policy.and_then(|policy| policy.kernel_overrides.get(kernel_type)).is_some_and(|options| {
            options.shape_transform.as_deref() == Some("sqrt") || options.axis_transform.as_deref() == Some("sqrt_seq")
        })
    }

    /// The first compute kernel that matches, plus every communication kernel.
    fn composite(&self, call: &Call, entry: &Entry) -> Result<Hit, Miss> {
        let (communication_kernels, compute_kernels): (Vec<&String>, Vec<&String>) =
            entry.sub_kernels.iter().partition(|kernel| kernel.starts_with("hcom_"));
        let mut miss = Miss::from(MissReason::ShapeMismatch);
        let mut total: Option<Hit> = None;
        for kernel in compute_kernels {
            match self.answer(&self.question(call, entry, smallvec![kernel.as_str()], By::INPUTS)) {
                Ok(hit) => {
                    total = Some(hit);
                    break;
                }
                Err(found) => miss = found,
            }
        }
        let mut total = total.ok_or(miss)?;
        let is_interpolated = total.source == Source::Interpolated;
        let message = product(&call.inputs).ok_or(MissReason::ShapeMismatch)?;
        for kernel in &communication_kernels {
            let by = communication(call, kernel, Some(&message));
            total.duration_us += self.answer(&self.question(call, entry, smallvec![kernel.as_str()], by))?.duration_us;
        }
        total.confidence = match (is_interpolated, communication_kernels.is_empty()) {
            (true, _) => 0.5,
            (false, false) => 0.9,
            (false, true) => 0.8,
        };
        Ok(total)
    }
}

fn free(kernel_type: &str, rule: &'static str) -> Hit {
    let kernel_type = kernel_type.to_owned();
    Hit { duration_us: 0.0, confidence: 1.0, source: Source::Measured, kernel_type, rule, lines: Vec::new() }
}

fn communication(call: &Call, kernel_type: &str, message: Option<&Tensor>) -> By<'static> {
    let whole = message.map_or(0, |tensor| tensor.elements().saturating_mul(tensor.dtype.bytes()));
    let is_scattered = kernel_type.starts_with("hcom_reduceScatter");
    let bytes = if is_scattered { whole / call.devices.max(1) } else { whole };
    By::Communication { bytes, devices: call.devices, tier: call.tier }
}

/// The result of a matrix product, whose elements have at least two bytes.
fn product(inputs: &[Tensor]) -> Option<Tensor> {
    let [first, second, ..] = inputs else { return None };
    let rows = first.shape.get(first.shape.len().checked_sub(2)?)?;
    let columns = second.shape.last()?;
    let dtype = if first.dtype.bytes() == 1 { DType::Bf16 } else { first.dtype };
    Some(Tensor::new([*rows, *columns], dtype))
}
