//! PadV3: zeros after the data of each dimension, up to the recorded output; a smaller output cuts.

use crate::kernels::number::Number;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Stored, require, values, zeros};
use crate::kernels::window::copy_window;
use crate::kernels::with_type;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::inputs::resized;
use crate::operator::{Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::{Row, column};

const READS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS, column::OUTPUT_SHAPES];

pub(super) const OPERATOR: Operator = Operator::new("PadV3", READS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let (x, shape, dtype, recorded) = resized(row, |shape, recorded| format!("{shape:?} padded to {recorded:?}"))?;
    let pad: Vec<i64> =
        shape.iter().zip(recorded.iter()).rev().flat_map(|(from, to)| [0, *to as i64 - *from as i64]).collect();
    Ok(Call::new("torch.nn.functional.pad")
        .arg_tensor(x.tensor("x", shape, dtype))
        .kwarg("pad", pad)
        .kwarg("mode", "constant")
        .kwarg("value", Argument::Number(Number::Float(0.0)))
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let x = bindings.tensor(0)?;
    let pad = bindings.integers("pad")?.unwrap_or_default();
    if bindings.string("mode")?.is_some_and(|mode| mode != "constant")
        || bindings.number("value")?.is_some_and(|value| value != 0.0)
    {
        return Err(CaseError::unsupported("padding with anything but zeros"));
    }
    with_type!(x.dtype(), T => padded::<T>(x, &pad)).map(|padded| vec![padded])
}

fn padded<T: Stored>(x: &Tensor, pad: &[i64]) -> Result<Output, CaseError> {
    let rank = x.shape().len();
    let (pairs, rest) = pad.as_chunks::<2>();
    require(rest.is_empty() && pairs.len() <= rank, || format!("{} paddings for {rank} dimensions", pad.len()))?;
    let (mut shape, mut offsets) = (x.shape().to_vec(), vec![0; rank]);
    for (at, [before, after]) in (0..rank).rev().zip(pairs) {
        let size = (shape[at] as i64)
            .checked_add(*before)
            .and_then(|size| size.checked_add(*after))
            .and_then(|size| usize::try_from(size).ok());
        shape[at] = size.ok_or_else(|| CaseError::rejected(format!("padding {pad:?} of {:?}", x.shape())))?;
        offsets[at] = -before;
    }
    require(crate::kernels::shape::elements(&shape) < usize::MAX / 16, || {
        format!("padding {pad:?} of {:?}", x.shape())
    })?;
    let mut out = zeros::<T>(&shape)?;
    copy_window(values::<T>(x)?, x.shape(), &mut out, &shape, &offsets);
    output(shape, out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tensor::Data;

    #[test]
    fn negative_padding_cuts_at_both_ends() {
        let x = Tensor::new([2, 3], Data::Int8(vec![1, 2, 3, 4, 5, 6])).expect("six elements");
        let out = padded::<i8>(&x, &[-1, 1, 1]).map(drop).expect_err("an odd number");
        assert!(out.detail.contains("3 paddings"));
        let out = padded::<i8>(&x, &[-1, 1, 0, -1]).expect("a padded tensor");
        assert_eq!((out.tensor().shape(), out.tensor().data()), (&[1, 3][..], &Data::Int8(vec![2, 3, 0])));
        assert!(padded::<i8>(&x, &[-2, -2]).is_err());
    }
}
