//! MatMulV2: matrix product. The database writes the second input as [N, K]; it is built so and passed transposed.

use crate::kernels::batched::{Order, matrix_product};

use crate::bindings::{Bindings, Output};
use crate::case::{Call, TensorSpec};
use crate::inputs::factors;
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal, shape_mismatch};
use crate::row::{Recorded, Row};

pub(super) const OPERATOR: Operator = Operator::new("MatMulV2", INPUTS, plan, run);

pub(super) fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let output = recorded_matrix(row)?;
    let [a, b] = inputs.exactly()?;
    inputs.strict()?;
    product_call("torch.mm", a, b, output).map(Planned::from)
}

/// The recorded output if it is a matrix.
pub(super) fn recorded_matrix(row: &Row<'_>) -> Result<Option<[usize; 2]>, Refusal> {
    Ok(row.outputs()?.first_shape().and_then(|shape| <[usize; 2]>::try_from(&*shape).ok()))
}

/// The product of two recorded matrices, in the first orientation that fits them and the recorded output.
///
/// Without a recorded output the first matrix is never turned: either way could be meant.
pub(super) fn product_call(
    api: &'static str,
    a: &Recorded<'_>,
    b: &Recorded<'_>,
    output: Option<[usize; 2]>,
) -> Result<Call, Refusal> {
    let (a_stored, b_stored) = (a.logical_rank::<2>()?, b.logical_rank::<2>()?);
    let dtype = factors(a, b)?;
    let fits = |&(turn_a, turn_b): &(bool, bool)| {
        let ([m, k], [inner, n]) = (turned(a_stored, turn_a), turned(b_stored, turn_b));
        k == inner && output.map_or(!turn_a, |output| output == [m, n])
    };
    let orientations = [(false, true), (false, false), (true, true), (true, false)];
    let (turn_a, turn_b) = orientations
        .into_iter()
        .find(fits)
        .ok_or_else(|| shape_mismatch(format!("{a_stored:?} and {b_stored:?} make no product{}", of(output))))?;
    let spec = |name, stored: [usize; 2], turn, slot: &Recorded<'_>| {
        let spec =
            if turn { TensorSpec::transposed(name, stored, dtype) } else { TensorSpec::new(name, stored, dtype) };
        spec.format(slot.format())
    };
    Ok(Call::new(api).arg_tensor(spec("a", a_stored, turn_a, a)).arg_tensor(spec("b", b_stored, turn_b, b)))
}

fn turned([rows, columns]: [usize; 2], turn: bool) -> [usize; 2] {
    if turn { [columns, rows] } else { [rows, columns] }
}

fn of(output: Option<[usize; 2]>) -> String {
    output.map_or_else(String::new, |output| format!(" of shape {output:?}"))
}

pub(super) fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    Ok(vec![Output::New(matrix_product(bindings.tensor(0)?, bindings.tensor(1)?, Order::BatchFirst)?)])
}
