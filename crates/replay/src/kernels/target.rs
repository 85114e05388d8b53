//! Result types of products that are scaled: floating-point types rounded once, integers rounded and saturated.

use half::{bf16, f16};

use crate::kernels::element::Wide;
use crate::kernels::stored::Stored;

/// A type that finished sums are stored in.
pub trait Target: Stored {
    /// The nearest value of this type; integers saturate.
    fn nearest<W: Wide>(value: W) -> Self;
}

impl Target for f32 {
    fn nearest<W: Wide>(value: W) -> Self {
        value.to_f32().unwrap_or(f32::NAN)
    }
}

impl Target for f64 {
    fn nearest<W: Wide>(value: W) -> Self {
        value.to_f64().unwrap_or(f64::NAN)
    }
}

impl Target for f16 {
    fn nearest<W: Wide>(value: W) -> Self {
        f16::from_f32(value.to_f32().unwrap_or(f32::NAN))
    }
}

impl Target for bf16 {
    fn nearest<W: Wide>(value: W) -> Self {
        bf16::from_f32(value.to_f32().unwrap_or(f32::NAN))
    }
}

impl Target for i8 {
    fn nearest<W: Wide>(value: W) -> Self {
        value.saturate(-128, 127) as i8
    }
}

impl Target for i32 {
    fn nearest<W: Wide>(value: W) -> Self {
        value.saturate(i32::MIN, i32::MAX)
    }
}

/// Evaluates an expression with `$target` naming the result type `$dtype`; types that no scaled product has are
/// answered with an `unsupported` error.
macro_rules! with_target {
    ($dtype:expr, $target:ident => $body:expr) => {
        match $dtype {
            $crate::kernels::DType::Int8 => {
                type $target = i8;
                $body
            }
            $crate::kernels::DType::Int32 => {
                type $target = i32;
                $body
            }
            other => $crate::kernels::with_float!(other, $target => $body),
        }
    };
}
pub(crate) use with_target;
