//! MatMulCommon: matrix product of the first two inputs; a bias and what else is recorded are left out.

use super::mat_mul_v2::{product_call, recorded_matrix, run};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::Refusal;
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("MatMulCommon", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let output = recorded_matrix(row)?;
    let [a, b] = inputs.at_least()?;
    a.require_described()?;
    b.require_described()?;
    product_call("torch.mm", a, b, output).map(Planned::from)
}
