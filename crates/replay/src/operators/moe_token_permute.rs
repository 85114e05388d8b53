//! MoeTokenPermute: tokens in the order of their experts, one copy per choice.

use crate::kernels::rows::gather;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, integers, rank, require, values, zeros};
use crate::kernels::with_type;
use perfdb_store::dtype::DType;

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{dtypes, require_fit, shapes};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("MoeTokenPermute", INPUTS, plan, run);

/// Experts that the indices name.
const EXPERTS: i64 = 8;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let [tokens, indices] = inputs.at_least()?;
    let [t, h] = tokens.logical_rank::<2>()?;
    let [indices_shape] = shapes([indices])?;
    if !matches!(indices_shape.len(), 1 | 2) {
        return Err(indices.wrong_rank("1 or 2"));
    }
    let [dtype] = dtypes([tokens])?;
    let indices_dtype = indices.dtype_where("an integer type", DType::is_integer)?;
    require_fit(indices_shape[0] == t, || format!("indices of shape {indices_shape:?} for {t} tokens"))?;
    Ok(Call::new("torch_npu.npu_moe_token_permute")
        .arg_tensor(tokens.tensor("tokens", [t, h], dtype))
        .arg_tensor(
            indices.tensor("indices", indices_shape, indices_dtype).init(Init::Randint { low: 0, high: EXPERTS }),
        )
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let (tokens, indices) = (bindings.tensor(0)?, bindings.tensor(1)?);
    with_type!(tokens.dtype(), T => permute::<T>(tokens, indices))
}

fn permute<T: Stored>(tokens: &Tensor, indices: &Tensor) -> Result<Vec<Output>, CaseError> {
    let [t, h] = rank(tokens, "tokens")?;
    let experts = integers(indices)?;
    require(t > 0 && indices.shape().first() == Some(&t), || {
        format!("indices of shape {:?} for {t} tokens", indices.shape())
    })?;
    let choices = experts.len() / t;
    let mut order: Vec<usize> = (0..experts.len()).collect();
    order.sort_by_key(|place| experts[*place]);
    let mut permuted = zeros::<T>(&[order.len(), h])?;
    gather(values::<T>(tokens)?, h, &mut permuted, |row| order[row] / choices);
    let mut inverse = zeros::<i32>(&[order.len()])?;
    for (to, from) in order.iter().enumerate() {
        inverse[*from] = i32::try_from(to).map_err(|_| CaseError::rejected("more tokens than int32 counts"))?;
    }
    Ok(vec![output([order.len(), h], permuted)?, output([order.len()], inverse)?])
}
