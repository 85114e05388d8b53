//! TransposeBatchMatMul: a product per batch, the result with rows before batches.

use crate::kernels::batched::{Order, matrix_product};

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::Call;
use crate::inputs::{factors, require_fit};
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, constraint, unsupported_format};
use crate::row::{Row, column};

const READS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_SHAPES];

pub(super) const OPERATOR: Operator = Operator::new("TransposeBatchMatMul", READS, plan, run);

/// What the device wants K and N to be multiples of.
const ALIGNMENT: usize = 128;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let outputs = row.outputs()?.present();
    let [a, b] = inputs.exactly()?;
    let [recorded] = outputs.exactly()?;
    inputs.strict()?;
    let ([batch, m, k], [b_batch, inner, n]) = (a.rank::<3>()?, b.rank::<3>()?);
    for slot in [a, b] {
        if slot.format_word() != "ND" {
            return Err(unsupported_format(format!(
                "input {} has the format {}, expected ND",
                slot.position,
                slot.format_word()
            )));
        }
    }
    let dtype = factors(a, b)?;
    require_fit(batch == b_batch && k == inner, || format!("{:?} times {:?}", a.shape, b.shape))?;
    require_fit(recorded.shape == [m, batch, n], || {
        format!("output 0 is {:?}, expected {:?}", recorded.shape, [m, batch, n])
    })?;
    if !k.is_multiple_of(ALIGNMENT) || !n.is_multiple_of(ALIGNMENT) {
        return Err(constraint(format!("K = {k} and N = {n} must be multiples of {ALIGNMENT}")));
    }
    Ok(Call::new("torch_npu.npu_transpose_batchmatmul")
        .arg_tensor(a.tensor("a", [batch, m, k], dtype))
        .arg_tensor(b.tensor("b", [batch, k, n], dtype))
        .kwarg("bias", Argument::None)
        .kwarg("scale", Argument::None)
        .kwarg("perm_x1", vec![0_i64, 1, 2])
        .kwarg("perm_x2", vec![0_i64, 1, 2])
        .kwarg("perm_y", vec![1_i64, 0, 2])
        .kwarg("batch_split_factor", 1)
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let plain = |name: &str, order: [i64; 3]| {
        Ok::<bool, CaseError>(bindings.integers(name)?.is_none_or(|given| given == order))
    };
    if bindings.kwarg("bias").is_some()
        || bindings.kwarg("scale").is_some()
        || !plain("perm_x1", [0, 1, 2])?
        || !plain("perm_x2", [0, 1, 2])?
        || !plain("perm_y", [1, 0, 2])?
    {
        return Err(CaseError::unsupported("a bias, a scale or another order of dimensions"));
    }
    Ok(vec![Output::New(matrix_product(bindings.tensor(0)?, bindings.tensor(1)?, Order::RowFirst)?)])
}
