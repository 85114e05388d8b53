//! The exponential function in single precision, free of branches so that loops over it become vector code.

/// 1/k! for k = 7, 6, … 2: the Taylor polynomial of degree 7 is exact to 6·10⁻⁹ for |r| ≤ ln 2 / 2.
const INVERSE_FACTORIALS: [f32; 6] = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 1.0 / 2.0];
/// Adding and subtracting 1.5·2²³ leaves the nearest integer.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts, the first with so few bits that its products with small integers are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// e^x, to about one unit in the last place; underflow gives zero, overflow infinity.
pub fn exp(x: f32) -> f32 {
    let x = x.clamp(-104.0, 89.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let power = shifted - ROUNDER;
    let r = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    let mut sum = INVERSE_FACTORIALS[0];
    for factor in &INVERSE_FACTORIALS[1..] {
        sum = sum * r + factor;
    }
    let mantissa = sum * r * r + r + 1.0;
    // 2^power in two factors, since one alone may lie outside the range of normal numbers.
    let power = shifted.to_bits().wrapping_sub(ROUNDER.to_bits()) as i32;
    let half = power >> 1;
    mantissa * power_of_two(half) * power_of_two(power - half)
}

fn power_of_two(power: i32) -> f32 {
    f32::from_bits(((power + 127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn limits() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(88.73), f32::INFINITY);
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(-100.0) > 0.0, "a subnormal number");
    }

    proptest! {
        #[test]
        fn close_to_double_precision(x in -87.0f32..88.7) {
            let exact = f64::from(x).exp();
            prop_assert!(((f64::from(exp(x)) - exact) / exact).abs() < 3e-7);
        }
    }
}
