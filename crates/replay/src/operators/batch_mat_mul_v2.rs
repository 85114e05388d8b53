//! BatchMatMulV2: a matrix product per batch; matrices without a batch are multiplied as in
//! [`MatMulV2`](super::mat_mul_v2).

use super::mat_mul_v2::{product_call, recorded_matrix, run};
use crate::case::{Call, TensorSpec};
use crate::inputs::{factors, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{Refusal, bad_rank, output_count, shape_mismatch};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("BatchMatMulV2", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let matrix = recorded_matrix(row)?;
    let output = row.outputs()?.first_shape();
    let [a, b] = inputs.at_least()?;
    if a.logical().is_ok_and(|shape| shape.len() == 2) {
        inputs.exactly::<2>()?;
        inputs.strict()?;
        return product_call("torch.matmul", a, b, matrix).map(Planned::from);
    }
    let output = output.ok_or_else(|| output_count("no recorded output"))?;
    let (&[a_batch, m, k], &[b_batch, rows, columns], &[batch, out_m, n]) =
        (&a.logical_rank::<3>()?, &b.logical_rank::<3>()?, &*output)
    else {
        return Err(bad_rank(format!("output 0 has rank {}, expected 3", output.len())));
    };
    let dtype = factors(a, b)?;
    let [_, b_shape] = shapes([a, b])?;
    let b_spec = match (rows, columns) {
        _ if (a_batch, b_batch, m) != (batch, batch, out_m) => None,
        (rows, columns) if (rows, columns) == (k, n) => Some(TensorSpec::new("b", b_shape, dtype)),
        (rows, columns) if (rows, columns) == (n, k) => Some(TensorSpec::transposed("b", b_shape, dtype)),
        _ => None,
    };
    let b_spec = b_spec.ok_or_else(|| {
        shape_mismatch(format!("{:?} and {:?} make no {output:?}", [a_batch, m, k], [b_batch, rows, columns]))
    })?;
    Ok(Call::new("torch.matmul")
        .arg_tensor(a.tensor("a", [a_batch, m, k], dtype))
        .arg_tensor(b_spec.format(b.format()))
        .into())
}
