//! Sums over rows, root-mean-square normalisation and softmax.

use crate::kernels::element::Wide;

const LANES: usize = 16;

/// Values that are summed in lanes before the total grows: long rows keep their accuracy.
const BLOCK: usize = 2048;

/// Sum of a row, in sixteen lanes: the same order of additions wherever it is computed.
pub fn sum<W: Wide>(row: &[W]) -> W {
    sum_of(row, |value| value)
}

fn sum_of<W: Wide>(row: &[W], term: impl Fn(W) -> W + Copy) -> W {
    row.chunks(BLOCK).map(|block| lanes(block, term)).sum()
}

fn lanes<W: Wide>(row: &[W], term: impl Fn(W) -> W) -> W {
    let mut lanes = [W::zero(); LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    let rest: W = rest.iter().map(|value| term(*value)).sum();
    lanes.into_iter().sum::<W>() + rest
}

/// 1 / √(mean(x²) + ε) of a row.
pub(crate) fn inverse_root_mean_square<W: Wide>(row: &[W], epsilon: W) -> W {
    let mean = sum_of(row, |value| value * value) / W::from_f64(row.len() as f64);
    W::one() / (mean + epsilon).sqrt()
}

/// `row` · r · `gamma` in place, with r = 1 / √(mean(x²) + ε); returns r.
pub(crate) fn root_mean_square_norm<W: Wide>(row: &mut [W], gamma: &[W], epsilon: W) -> W {
    let factor = inverse_root_mean_square(row, epsilon);
    for (value, gamma) in row.iter_mut().zip(gamma) {
        *value = *value * factor * *gamma;
    }
    factor
}

/// e^(x − max) / Σ e^(x − max) of a row, in place.
pub fn softmax<W: Wide>(row: &mut [W]) {
    let mut lanes = [W::neg_infinity(); LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = if *value > *lane { *value } else { *lane };
        }
    }
    let maximum = lanes.into_iter().chain(rest.iter().copied()).fold(W::neg_infinity(), W::max);
    for value in row.iter_mut() {
        *value = (*value - maximum).exponential();
    }
    let factor = W::one() / sum(row);
    for value in row.iter_mut() {
        *value *= factor;
    }
}

/// x / (1 + e^−x).
pub fn silu<W: Wide>(x: W) -> W {
    x / (W::one() + (-x).exponential())
}

/// silu of the first half times the second half, written over the first half, which is returned.
pub fn swiglu<W: Wide>(row: &mut [W]) -> &mut [W] {
    let (gate, up) = row.split_at_mut(row.len() / 2);
    for (gate, up) in gate.iter_mut().zip(&*up) {
        *gate = silu(*gate) * *up;
    }
    gate
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: &[f32], want: &[f32]) {
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() <= 1e-6 * want.abs().max(1e-3), "{got} {want}");
        }
    }

    #[test]
    fn rms_of_a_row() {
        let mut row = [3.0f32, -4.0, 0.0, 0.0];
        let factor = root_mean_square_norm(&mut row, &[1.0, 2.0, 1.0, 1.0], 0.0);
        assert_eq!(factor, 0.4);
        close(&row, &[1.2, -3.2, 0.0, 0.0]);
    }

    #[test]
    fn long_sums_stay_accurate() {
        let row = vec![0.1f32; 100_003];
        assert!((f64::from(sum(&row)) - 10_000.3).abs() < 0.01);
    }

    #[test]
    fn softmax_of_large_and_hidden_values() {
        let mut row = [1000.0f32, 1000.0 + std::f32::consts::LN_2, f32::NEG_INFINITY];
        softmax(&mut row);
        assert!((row[0] - 1.0 / 3.0).abs() < 2e-5 && (row[1] - 2.0 / 3.0).abs() < 2e-5, "{row:?}");
        assert_eq!(row[2], 0.0);
    }

    #[test]
    fn swiglu_of_a_row() {
        let mut row = [0.0f32, 1.0, -100.0, 5.0, 2.0, 3.0];
        close(swiglu(&mut row), &[0.0, 1.462_117_2, -100.0 / (1.0 + 100f32.exp()) * 3.0]);
    }
}
