//! From tensors to typed slices and back, with errors instead of panics where a case does not fit.

pub use crate::kernels::stored::{Float, Stored};

use crate::kernels::element::Wide;
use crate::kernels::error::KernelError;
use crate::kernels::shape::elements;
use crate::kernels::tensor::{Data, Tensor};
use perfdb_store::dtype::DType;

/// Evaluates an expression with `$element` naming the floating-point element type of `$dtype`; other types are
/// answered with an `unsupported` error.
macro_rules! with_float {
    ($dtype:expr, $element:ident => $body:expr) => {
        match $dtype {
            $crate::kernels::DType::Float32 => {
                type $element = f32;
                $body
            }
            $crate::kernels::DType::Float16 => {
                type $element = $crate::kernels::half::f16;
                $body
            }
            $crate::kernels::DType::BFloat16 => {
                type $element = $crate::kernels::half::bf16;
                $body
            }
            $crate::kernels::DType::Float64 => {
                type $element = f64;
                $body
            }
            other => {
                Err($crate::kernels::error::KernelError::unsupported(format!("{other} where real numbers are needed"))
                    .into())
            }
        }
    };
}
pub(crate) use with_float;

/// Evaluates an expression with `$element` naming the element type of `$dtype`; types that no tensor has are answered with an
/// `unsupported` error.
macro_rules! with_type {
    ($dtype:expr, $element:ident => $body:expr) => {
        with_type!(@arms $dtype, $element, $body,
            Float32 f32, Float16 $crate::kernels::half::f16, BFloat16 $crate::kernels::half::bf16, Float64 f64, Int8 i8, UInt8 u8, Int16 i16, Int32 i32,
            Int64 i64, Bool bool)
    };
    (@arms $dtype:expr, $element:ident, $body:expr, $($variant:ident $type:ty),*) => {
        match $dtype {
            $($crate::kernels::DType::$variant => {
                type $element = $type;
                $body
            })*
            other => Err($crate::kernels::error::KernelError::unsupported(format!("tensors of {other}")).into()),
        }
    };
}
pub(crate) use with_type;

/// The elements of a tensor that lies plain in memory and has this type.
pub fn values<T: Stored>(tensor: &Tensor) -> Result<&[T], KernelError> {
    plain(tensor)?;
    T::slice(tensor.data()).ok_or_else(|| other_type(tensor))
}

/// The elements of a tensor that lies plain in memory and has this type, to be changed.
pub fn values_mut<T: Stored>(tensor: &mut Tensor) -> Result<&mut [T], KernelError> {
    plain(tensor)?;
    let refusal = other_type(tensor);
    T::slice_mut(tensor.data_mut()).ok_or(refusal)
}

fn other_type(tensor: &Tensor) -> KernelError {
    KernelError::unsupported(format!("{} beside another type", tensor.dtype()))
}

fn plain(tensor: &Tensor) -> Result<(), KernelError> {
    if tensor.is_transposed() && tensor.shape().len() >= 2 {
        return Err(KernelError::unsupported("a transposed view"));
    }
    Ok(())
}

/// All elements of a floating-point tensor, widened; a double is rounded where the work is done in single precision.
pub fn wide<W: Wide>(tensor: &Tensor) -> Result<Vec<W>, KernelError> {
    plain(tensor)?;
    with_float!(tensor.dtype(), E => {
        let values = values::<E>(tensor)?;
        Ok(values.iter().map(|value| W::from_f64(crate::kernels::cast::Convert::to_f64(*value))).collect())
    })
}

/// All scales of a tensor: real numbers, or float32 bits in the low half of 64-bit integers.
pub fn scales<W: Wide>(tensor: &Tensor) -> Result<Vec<W>, KernelError> {
    match tensor.data() {
        Data::Int64(bits) => Ok(bits
            .iter()
            .map(|bits| W::from_f64(f64::from(crate::kernels::quantise::scale_from_bits(*bits))))
            .collect()),
        _ => wide(tensor),
    }
}

/// All elements of an integer or truth-value tensor.
pub fn integers(tensor: &Tensor) -> Result<Vec<i64>, KernelError> {
    plain(tensor)?;
    match tensor.data() {
        Data::Int8(values) => Ok(values.iter().map(|value| i64::from(*value)).collect()),
        Data::UInt8(values) => Ok(values.iter().map(|value| i64::from(*value)).collect()),
        Data::Int16(values) => Ok(values.iter().map(|value| i64::from(*value)).collect()),
        Data::Int32(values) => Ok(values.iter().map(|value| i64::from(*value)).collect()),
        Data::Int64(values) => Ok(values.clone()),
        Data::Bool(values) => Ok(values.iter().map(|value| i64::from(*value)).collect()),
        _ => Err(KernelError::rejected(format!("{} where integers are needed", tensor.dtype()))),
    }
}

/// All elements of an integer tensor as places below `end` (`rejected` if one lies outside).
pub fn indices(tensor: &Tensor, end: usize) -> Result<Vec<usize>, KernelError> {
    integers(tensor)?.into_iter().map(|value| index(value, end)).collect()
}

/// One place below `end` (`rejected` if it lies outside).
pub fn index(value: i64, end: usize) -> Result<usize, KernelError> {
    usize::try_from(value)
        .ok()
        .filter(|value| *value < end)
        .ok_or_else(|| KernelError::rejected(format!("index {value} is out of range, there are {end}")))
}

/// The shape of a tensor with exactly `N` dimensions (`rejected`).
pub fn rank<const N: usize>(tensor: &Tensor, name: &str) -> Result<[usize; N], KernelError> {
    tensor
        .shape()
        .try_into()
        .map_err(|_| KernelError::rejected(format!("{name} has shape {:?}, expected {N} dimensions", tensor.shape())))
}

/// Insists on a shape (`rejected`).
pub(crate) fn expect_shape(tensor: &Tensor, name: &str, shape: &[usize]) -> Result<(), KernelError> {
    if tensor.shape() == shape {
        return Ok(());
    }
    Err(KernelError::rejected(format!("{name} has shape {:?}, expected {shape:?}", tensor.shape())))
}

/// Insists on a condition (`rejected`).
pub fn require(condition: bool, problem: impl FnOnce() -> String) -> Result<(), KernelError> {
    if condition { Ok(()) } else { Err(KernelError::rejected(problem())) }
}

/// Zeros for a new tensor of that shape (`oom` if the machine has no room for it).
pub fn zeros<T: Stored>(shape: &[usize]) -> Result<Vec<T>, KernelError> {
    let count = elements(shape);
    crate::kernels::memory::require_room((count as u64).saturating_mul(size_of::<T>() as u64))?;
    Ok(vec![T::default(); count])
}

/// Rounds finished values into a floating-point tensor.
pub(crate) fn output_into<W: Wide>(tensor: &mut Tensor, from: &[W]) -> Result<(), KernelError> {
    with_float!(tensor.dtype(), E => {
        let to = values_mut::<E>(tensor)?;
        require(to.len() == from.len(), || format!("{} values for {} elements", from.len(), to.len()))?;
        for (to, value) in to.iter_mut().zip(from) {
            *to = <E as crate::kernels::target::Target>::nearest(*value);
        }
        Ok(())
    })
}

/// The type that two operands are brought to before they meet, as torch promotes them.
pub(crate) fn common_type(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    match (a.is_float(), b.is_float()) {
        (true, false) => a,
        (false, true) => b,
        (true, true) if a == DType::Float64 || b == DType::Float64 => DType::Float64,
        (true, true) => DType::Float32,
        (false, false) if a == DType::Bool => b,
        (false, false) if b == DType::Bool => a,
        (false, false) => match (a, b) {
            (DType::UInt8, DType::Int8) | (DType::Int8, DType::UInt8) => DType::Int16,
            _ if a.size_bytes() >= b.size_bytes() => a,
            _ => b,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion() {
        for (a, b, common) in [
            (DType::Float16, DType::BFloat16, DType::Float32),
            (DType::Int64, DType::BFloat16, DType::BFloat16),
            (DType::Float64, DType::Float16, DType::Float64),
            (DType::UInt8, DType::Int8, DType::Int16),
            (DType::UInt8, DType::Int16, DType::Int16),
            (DType::Bool, DType::UInt8, DType::UInt8),
            (DType::Int64, DType::Int32, DType::Int64),
        ] {
            assert_eq!((common_type(a, b), common_type(b, a)), (common, common), "{a} {b}");
        }
    }

    #[test]
    fn places_outside_are_refused() {
        let tensor = Tensor::new([3], Data::Int32(vec![0, 2, -1])).expect("three elements");
        assert_eq!(
            indices(&tensor, 3).expect_err("a negative index").to_string(),
            "index -1 is out of range, there are 3"
        );
        assert!(wide::<f32>(&tensor).is_err());
        assert_eq!(
            scales::<f32>(&Tensor::new([1], Data::Int64(vec![1_056_964_608])).expect("one element")).expect("a scale"),
            [0.5]
        );
    }
}
