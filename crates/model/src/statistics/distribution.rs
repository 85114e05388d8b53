//! Student's t and Fisher's F, by the regularised incomplete beta function.

/// Probability that |t| is above `limit` under Student's distribution with this many degrees of freedom.
pub(crate) fn t_outside(limit: f64, degrees_of_freedom: f64) -> f64 {
    incomplete_beta(degrees_of_freedom / 2.0, 0.5, degrees_of_freedom / (degrees_of_freedom + limit * limit))
}

/// The limit that |t| exceeds with that probability, which must be above 0 and below 1.
pub(crate) fn t_quantile(outside: f64, degrees_of_freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while t_outside(high, degrees_of_freedom) > outside && high < 1e9 {
        low = high;
        high *= 2.0;
    }
    // A bit of the result per round.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if t_outside(middle, degrees_of_freedom) > outside {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Probability that the ratio of two estimates of one variance, of this many degrees of freedom each, is above `ratio`.
pub(crate) fn f_above(ratio: f64, [first, second]: [f64; 2]) -> f64 {
    incomplete_beta(second / 2.0, first / 2.0, second / (second + first * ratio))
}

/// I_x(a, b), by the continued fraction of Abramowitz and Stegun 26.5.8, evaluated as Lentz does.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (a * x.ln() + b * (1.0 - x).ln() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp();
    // The fraction converges fast on this side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let kept = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / kept(1.0 - (a + b) * x / (a + 1.0));
    let mut product = d;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / kept(1.0 + even * d);
        c = kept(1.0 + even / c);
        product *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / kept(1.0 + odd * d);
        c = kept(1.0 + odd / c);
        product *= d * c;
        if (d * c - 1.0).abs() < 1e-15 {
            break;
        }
    }
    product
}

/// Natural logarithm of the gamma function of a positive number, by Lanczos' series (g = 7, nine terms).
fn ln_gamma(value: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.5203681218851,
        -1259.1392167224028,
        771.323428777653,
        -176.6150291621406,
        12.507343278686905,
        -0.13857109526572012,
        9.984369578019572e-6,
        1.5056327351493116e-7,
    ];
    if value < 0.5 {
        // Reflection.
        let pi = std::f64::consts::PI;
        return (pi / (pi * value).sin()).ln() - ln_gamma(1.0 - value);
    }
    let x = value - 1.0;
    let sum = (1..).zip(TERMS).fold(0.9999999999998099, |sum, (at, term)| sum + term / (x + f64::from(at)));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Derivative of the logarithm of the gamma function of a positive number (Abramowitz and Stegun 6.3.5 and 6.3.18).
pub(crate) fn digamma(value: f64) -> f64 {
    let (mut x, mut sum) = (value, 0.0);
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + x.ln() - 0.5 / x - square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
}

/// Derivative of [`digamma`] (Abramowitz and Stegun 6.4.6 and 6.4.12).
pub(crate) fn trigamma(value: f64) -> f64 {
    let (mut x, mut sum) = (value, 0.0);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    sum + 1.0 / x + square * (0.5 + (1.0 / x) * (1.0 / 6.0 - square * (1.0 / 30.0 - square / 42.0)))
}

/// The positive number of which [`trigamma`] is that, which must be positive.
pub(crate) fn trigamma_inverse(wanted: f64) -> f64 {
    // trigamma falls, and lies between 1 / x and 1 / x + 1 / x².
    let (mut low, mut high) = (1.0 / wanted, 0.5 * (1.0 / wanted) * (1.0 + (1.0 + 4.0 * wanted).sqrt()) + 1.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if trigamma(middle) > wanted { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::{digamma, f_above, ln_gamma, t_outside, t_quantile, trigamma, trigamma_inverse};

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-3 * expected.abs(), "{found} instead of {expected}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Two-sided, as printed in tables of Student's t.
        for (outside, degrees, expected) in
            [(0.05, 1.0, 12.706), (0.01, 4.0, 4.604), (0.01, 30.0, 2.750), (0.001, 8.0, 5.041), (0.05, 1e7, 1.960)]
        {
            near(t_quantile(outside, degrees), expected);
        }
        // Upper 1 % points of F.
        for (degrees, expected) in [([1.0, 10.0], 10.044), ([4.0, 20.0], 4.431), ([10.0, 60.0], 2.632)] {
            near(f_above(expected, degrees), 0.01);
        }
    }

    #[test]
    fn probabilities_have_their_ends() {
        assert_eq!(t_outside(0.0, 7.0), 1.0);
        assert!(t_outside(60.0, 1000.0) < 1e-300);
        near(t_outside(1.0, 1.0), 0.5);
        near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
        near(ln_gamma(10.0), 362_880_f64.ln());
    }

    #[test]
    fn derivatives_of_the_gamma_function_are_those_of_the_tables() {
        let pi_squared_by_6 = std::f64::consts::PI * std::f64::consts::PI / 6.0;
        near(digamma(1.0), -0.577_215_664_9);
        near(digamma(0.5), -1.963_510_026);
        near(trigamma(1.0), pi_squared_by_6);
        near(trigamma(2.0), pi_squared_by_6 - 1.0);
        for value in [0.01, 0.5, 2.0, 7.25, 300.0] {
            near(trigamma_inverse(trigamma(value)), value);
        }
    }

    #[test]
    fn a_quantile_is_exceeded_with_its_probability() {
        for outside in [0.3, 0.01, 1e-5, 1e-9] {
            for degrees in [3.0, 8.5, 62.0, 5000.0] {
                near(t_outside(t_quantile(outside, degrees), degrees), outside);
            }
        }
    }
}
