//! Element types of floating-point tensors and the wider types that their arithmetic is done in.
//!
//! Inputs are widened exactly, results rounded once, half to even: float16, bfloat16 and float32 work in `f32`,
//! float64 in `f64`.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::kernels::exponential;

/// A type that floating-point work is done in: `f32` or `f64`.
pub trait Wide:
    num_traits::Float
    + std::ops::AddAssign
    + std::ops::MulAssign
    + std::iter::Sum
    + Default
    + Send
    + Sync
    + std::fmt::Debug
    + 'static
{
    /// The nearest value to `value`.
    fn from_f64(value: f64) -> Self;
    /// e to the power of `self`, to about one unit in the last place.
    fn exponential(self) -> Self;
    /// The integer nearest to `self` between `low` and `high`, half to even; NaN gives zero.
    fn saturate(self, low: i32, high: i32) -> i32;
}

impl Wide for f32 {
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn exponential(self) -> Self {
        exponential::exp(self)
    }

    fn saturate(self, low: i32, high: i32) -> i32 {
        // Beyond 2^24 an f32 bound is not the integer bound, the cast's own saturation is.
        (self.clamp(low as f32, high as f32).round_ties_even() as i32).clamp(low, high)
    }
}

impl Wide for f64 {
    fn from_f64(value: f64) -> Self {
        value
    }

    fn exponential(self) -> Self {
        self.exp()
    }

    fn saturate(self, low: i32, high: i32) -> i32 {
        self.clamp(f64::from(low), f64::from(high)).round_ties_even() as i32
    }
}

/// An element type of a floating-point tensor.
pub trait Element: Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    /// What arithmetic is done in.
    type Wide: Wide;

    /// The exact value in the wider type.
    fn widen(self) -> Self::Wide;

    /// The nearest value of this type, half to even.
    fn round(value: Self::Wide) -> Self;

    /// [`widen`](Self::widen) for each element. Both slices have the same length.
    fn widen_slice(from: &[Self], to: &mut [Self::Wide]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.widen();
        }
    }

    /// [`round`](Self::round) for each element. Both slices have the same length.
    fn round_slice(from: &[Self::Wide], to: &mut [Self]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = Self::round(*from);
        }
    }
}

impl Element for f32 {
    type Wide = f32;

    fn widen(self) -> f32 {
        self
    }

    fn round(value: f32) -> Self {
        value
    }
}

impl Element for f64 {
    type Wide = f64;

    fn widen(self) -> f64 {
        self
    }

    fn round(value: f64) -> Self {
        value
    }
}

impl Element for bf16 {
    type Wide = f32;

    fn widen(self) -> f32 {
        // A bfloat16 is the upper half of a float32; written so that loops over it become vector code.
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    fn round(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Element for f16 {
    type Wide = f32;

    fn widen(self) -> f32 {
        self.to_f32()
    }

    fn round(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn widen_slice(from: &[Self], to: &mut [f32]) {
        from.convert_to_f32_slice(to);
    }

    fn round_slice(from: &[f32], to: &mut [Self]) {
        to.convert_from_f32_slice(from);
    }
}

/// All of `from`, widened.
pub fn widened<E: Element>(from: &[E]) -> Vec<E::Wide> {
    let mut to = vec![E::Wide::default(); from.len()];
    E::widen_slice(from, &mut to);
    to
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_round_to_even() {
        // 1 + 2^-8 lies between the bfloat16 values 1 and 1 + 2^-7, 1 + 3·2^-8 between 1 + 2^-7 and 1 + 2^-6.
        assert_eq!(bf16::round(1.0 + 0.003_906_25).widen(), 1.0);
        assert_eq!(bf16::round(1.0 + 3.0 * 0.003_906_25).widen(), 1.015_625);
        assert_eq!(f16::round(2049.0).widen(), 2048.0);
        assert_eq!(f16::round(2051.0).widen(), 2052.0);
        assert_eq!(f16::round(65520.0).widen(), f32::INFINITY);
    }

    #[test]
    fn saturation_clips_after_rounding() {
        assert_eq!(
            [0.5f32, 1.5, -0.5, -1.5, 126.5, 127.4, 1e9, -1e9, f32::NAN].map(|x| x.saturate(-128, 127)),
            [0, 2, 0, -2, 126, 127, 127, -128, 0]
        );
        assert_eq!(3e9f32.saturate(i32::MIN, i32::MAX), i32::MAX);
        assert_eq!((-3e9f64).saturate(i32::MIN, i32::MAX), i32::MIN);
    }

    proptest! {
        #[test]
        fn halves_survive_widening(bits: u16) {
            for (back, nan) in [
                (bf16::round(bf16::from_bits(bits).widen()).to_bits(), bf16::from_bits(bits).is_nan()),
                (f16::round(f16::from_bits(bits).widen()).to_bits(), f16::from_bits(bits).is_nan()),
            ] {
                prop_assert!(nan || back == bits);
            }
        }

        #[test]
        fn rounding_takes_the_nearest_bfloat16(value in -1e30f32..1e30) {
            let rounded = bf16::round(value);
            let error = (rounded.widen() - value).abs();
            for neighbour in [bf16::from_bits(rounded.to_bits() + 1), bf16::from_bits(rounded.to_bits().wrapping_sub(1))] {
                prop_assert!(!neighbour.is_finite() || error <= (neighbour.widen() - value).abs());
            }
        }

        #[test]
        fn slices_convert_like_single_elements(values in proptest::collection::vec(-1e5f32..1e5, 0..40)) {
            let mut rounded = vec![f16::default(); values.len()];
            f16::round_slice(&values, &mut rounded);
            for (rounded, value) in rounded.iter().zip(&values) {
                prop_assert_eq!(*rounded, f16::round(*value));
            }
            prop_assert_eq!(widened(&rounded), rounded.iter().map(|x| x.widen()).collect::<Vec<_>>());
        }
    }
}
