//! The standard deviation as the simulator's reader computes it.

/// A number as the sum of two, with twice the digits.
#[derive(Clone, Copy)]
struct Double {
    high: f64,
    low: f64,
}

impl Double {
    const ZERO: Double = Double { high: 0.0, low: 0.0 };

    fn sum(a: f64, b: f64) -> Double {
        let high = a + b;
        let of_b = high - a;
        Double { high, low: (a - (high - of_b)) + (b - of_b) }
    }

    fn product(a: f64, b: f64) -> Double {
        let high = a * b;
        Double { high, low: a.mul_add(b, -high) }
    }

    fn plus(self, other: Double) -> Double {
        let sum = Double::sum(self.high, other.high);
        let low = Double::sum(self.low, other.low);
        let first = Double::sum(sum.high, sum.low + low.high);
        Double::sum(first.high, first.low + low.low)
    }

    fn minus(self, other: Double) -> Double {
        self.plus(Double { high: -other.high, low: -other.low })
    }

    fn times(self, other: Double) -> Double {
        let product = Double::product(self.high, other.high);
        Double::sum(product.high, product.low + (self.high * other.low + self.low * other.high))
    }

    fn over(self, divisor: f64) -> Double {
        let high = self.high / divisor;
        let rest = self.minus(Double::product(high, divisor));
        Double::sum(high, rest.high / divisor)
    }
}

/// Python's `statistics.pstdev`: the standard deviation of numbers that are all there are. Python computes it exactly and rounds once; here sums have
/// twice the digits, so that only the last bit may differ, and hardly ever does. 0 of no numbers.
pub(super) fn pstdev(numbers: &[f64]) -> f64 {
    let count = numbers.len() as f64;
    if numbers.is_empty() {
        return 0.0;
    }
    let sum = numbers.iter().fold(Double::ZERO, |sum, number| sum.plus(Double { high: *number, low: 0.0 }));
    let mean = sum.over(count);
    let squares = numbers.iter().fold(Double::ZERO, |squares, number| {
        let from_mean = Double { high: *number, low: 0.0 }.minus(mean);
        squares.plus(from_mean.times(from_mean))
    });
    let variance = squares.over(count);
    let root = variance.high.sqrt();
    if root == 0.0 || !root.is_finite() {
        return root;
    }
    // One step of Newton's from the rounded root.
    root + variance.minus(Double::product(root, root)).high / (2.0 * root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_pythons_to_the_last_bit() {
        for (numbers, python) in [
            (&[5.0][..], 0.0),
            (&[1.663, 84.766], 41.551500000000004),
            (&[9.765, 97.4, 12.1], 40.77231556665217),
            (&[0.1, 0.2, 0.3, 0.4, 0.7], 0.20591260281974),
            (&[1e6 + 0.1, 1e6 + 0.2, 1e6 + 0.4], 0.12472191291528113),
        ] {
            assert_eq!(pstdev(numbers), python, "{numbers:?}");
        }
        assert_eq!(pstdev(&[]), 0.0);
    }
}
