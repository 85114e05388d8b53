//! Quantisation of rows to int8 and back.

use crate::kernels::element::Wide;

/// Quantises a row with a scale of its own, max|x| / 127, and returns that scale. A row of zeros gives zeros and 0.
pub(crate) fn quantise_row<W: Wide>(row: &[W], to: &mut [i8]) -> W {
    let largest = row.iter().fold(W::zero(), |largest, value| largest.max(value.abs()));
    if largest == W::zero() {
        to.fill(0);
        return W::zero();
    }
    let scale = largest / W::from_f64(127.0);
    for (to, value) in to.iter_mut().zip(row) {
        *to = (*value / scale).saturate(-128, 127) as i8;
    }
    scale
}

/// The float32 whose bits lie in the low half of a 64-bit scale.
pub(crate) fn scale_from_bits(scale: i64) -> f32 {
    f32::from_bits(scale as u32)
}

/// Packs eight 4-bit integers into one, the first in the lowest bits.
pub(crate) fn pack_int4(values: [i32; 8]) -> i32 {
    values.iter().enumerate().fold(0u32, |packed, (at, value)| packed | ((*value as u32 & 0xf) << (4 * at))) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_uses_the_whole_range() {
        let mut to = [1i8; 4];
        assert_eq!(quantise_row(&[0.5f32, -1.27, 0.005, 0.0], &mut to), 0.01);
        assert_eq!(to, [50, -127, 0, 0]);
        assert_eq!(quantise_row(&[0.0f32, -0.0], &mut to[..2]), 0.0);
        assert_eq!(to[..2], [0, 0]);
    }

    #[test]
    fn scales_in_64_bits() {
        assert_eq!(scale_from_bits(1_056_964_608), 0.5);
        assert_eq!(scale_from_bits(-1 << 32 | 1_056_964_608), 0.5);
    }

    #[test]
    fn int4_order() {
        assert_eq!(pack_int4([1, 2, 3, 4, 5, 6, 7, -8]), 0x8765_4321u32 as i32);
    }
}
