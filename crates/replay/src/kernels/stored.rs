//! Rust types of tensors' elements.

use half::{bf16, f16};

use crate::kernels::element::Element;
use crate::kernels::tensor::Data;

/// An element type of tensors.
pub trait Stored: Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    /// These elements as tensor data.
    fn wrap(values: Vec<Self>) -> Data;
    /// The elements, if they are of this type.
    fn slice(data: &Data) -> Option<&[Self]>;
    /// The elements, if they are of this type, to be changed.
    fn slice_mut(data: &mut Data) -> Option<&mut [Self]>;
}

macro_rules! stored {
    ($($variant:ident($element:ty)),* $(,)?) => {
        $(impl Stored for $element {
            fn wrap(values: Vec<Self>) -> Data {
                Data::$variant(values)
            }

            fn slice(data: &Data) -> Option<&[Self]> {
                if let Data::$variant(values) = data { Some(values) } else { None }
            }

            fn slice_mut(data: &mut Data) -> Option<&mut [Self]> {
                if let Data::$variant(values) = data { Some(values) } else { None }
            }
        })*
    };
}

stored! {
    Float32(f32), Float16(f16), BFloat16(bf16), Float64(f64),
    Int8(i8), UInt8(u8), Int16(i16), Int32(i32), Int64(i64), Bool(bool),
}

/// A floating-point element type of tensors.
pub trait Float: Stored + Element {}
impl Float for f32 {}
impl Float for f16 {}
impl Float for bf16 {}
impl Float for f64 {}
