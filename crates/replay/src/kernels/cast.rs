//! Conversion between element types.

use half::{bf16, f16};

use crate::kernels::error::KernelError;
use crate::kernels::stored::Stored;
use crate::kernels::tensor::Tensor;
use crate::kernels::with_type;
use perfdb_store::dtype::DType;

/// An element that can be turned into any other type: integers by way of `i64`, the rest by way of `f64`.
pub(crate) trait Convert: Stored {
    /// The value as a double.
    fn to_f64(self) -> f64;
    /// The value as an integer; fractions are cut off.
    fn to_i64(self) -> i64;
    /// The nearest value; integers cut fractions off and saturate.
    fn from_f64(value: f64) -> Self;
    /// The nearest value; smaller integers keep the low bits.
    fn from_i64(value: i64) -> Self;
}

macro_rules! convert {
    (integer: $($type:ty),*) => {
        $(impl Convert for $type {
            fn to_f64(self) -> f64 {
                self as f64
            }

            fn to_i64(self) -> i64 {
                self as i64
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn from_i64(value: i64) -> Self {
                value as Self
            }
        })*
    };
    (float: $($type:ty, $widen:expr, $round:expr);*) => {
        $(impl Convert for $type {
            fn to_f64(self) -> f64 {
                $widen(self)
            }

            fn to_i64(self) -> i64 {
                $widen(self) as i64
            }

            fn from_f64(value: f64) -> Self {
                $round(value)
            }

            fn from_i64(value: i64) -> Self {
                $round(value as f64)
            }
        })*
    };
}

convert!(integer: i8, u8, i16, i32, i64);
convert!(float: f32, f64::from, |value| value as f32; f64, std::convert::identity, std::convert::identity; f16, f64::from, f16::from_f64; bf16, f64::from, bf16::from_f64);

impl Convert for bool {
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }

    fn to_i64(self) -> i64 {
        i64::from(self)
    }

    fn from_f64(value: f64) -> Self {
        value != 0.0
    }

    fn from_i64(value: i64) -> Self {
        value != 0
    }
}

/// The tensor in another type, laid out in the same way (`unsupported` if tensors have no such type).
pub fn cast(tensor: &Tensor, to: DType) -> Result<Tensor, KernelError> {
    let data = with_type!(to, T => elements::<T>(tensor).map(T::wrap))?;
    tensor.with_data(data).ok_or_else(|| KernelError::Internal("a cast of another size".to_owned()))
}

fn elements<T: Convert>(tensor: &Tensor) -> Result<Vec<T>, KernelError> {
    with_type!(tensor.dtype(), From => {
        let values = From::slice(tensor.data()).unwrap_or_default();
        Ok(if tensor.dtype().is_float() {
            values.iter().map(|value| T::from_f64(value.to_f64())).collect()
        } else {
            values.iter().map(|value| T::from_i64(value.to_i64())).collect()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tensor::Data;

    #[test]
    fn exact_where_it_can_be() {
        let large = Tensor::new([2], Data::Int64(vec![i64::MAX, -3])).expect("two elements");
        let cast = |tensor: &Tensor, to| cast(tensor, to).expect("a type of tensors").data().clone();
        assert_eq!(cast(&large, DType::Int64), Data::Int64(vec![i64::MAX, -3]));
        assert_eq!(cast(&large, DType::Int8), Data::Int8(vec![-1, -3]));
        assert_eq!(cast(&large, DType::Bool), Data::Bool(vec![true, true]));
        let halves =
            Tensor::new([2], Data::Float16(vec![f16::from_f32(0.1), f16::from_f32(-2.5)])).expect("two elements");
        assert_eq!(cast(&halves, DType::Float32), Data::Float32(vec![0.099_975_586, -2.5]));
        assert_eq!(cast(&halves, DType::Int32), Data::Int32(vec![0, -2]));
    }

    #[test]
    fn views_stay_views_and_other_types_are_refused() {
        let view = Tensor::new([1, 2], Data::Int8(vec![1, 2])).expect("two elements").transposed_view();
        let wide = cast(&view, DType::Int64).expect("a type of tensors");
        assert_eq!((wide.shape(), wide.is_transposed()), (&[2, 1][..], true));
        let error = cast(&view, DType::Float8E5M2).expect_err("tensors have no such type");
        assert_eq!(error, KernelError::Unsupported("tensors of float8_e5m2".to_owned()));
        for dtype in Data::DTYPES {
            assert_eq!(cast(&view, dtype).map(|tensor| tensor.dtype()), Ok(dtype));
        }
    }
}
