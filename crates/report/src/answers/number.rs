//! Durations with their intervals, with as many digits as the interval bears.

/// A duration in microseconds: three decimals where it was measured, else as its interval bears, which stands behind it.
pub(super) fn microseconds(us: f64, interval_us: Option<[f64; 2]>) -> String {
    let Some([low, high]) = interval_us.filter(|[low, high]| low <= high && (high - low).is_finite()) else {
        return format!("{us:.3}");
    };
    let digits = Digits::of((high - low) / 2.0);
    format!("{} ({}–{})", digits.text(us), digits.text(low), digits.text(high))
}

/// How a number is rounded.
#[derive(Debug, Clone, Copy)]
enum Digits {
    Decimals(usize),
    /// To a multiple of a power of ten.
    Multiples(f64),
}

impl Digits {
    /// For a number that may be off by `half_width`.
    fn of(half_width: f64) -> Digits {
        if half_width <= 0.0 {
            return Digits::Decimals(3);
        }
        let magnitude = half_width.log10();
        if magnitude >= 2.0 {
            return Digits::Multiples(10f64.powf(magnitude.floor() - 1.0));
        }
        Digits::Decimals((0.5 - magnitude).ceil().clamp(0.0, 3.0) as usize)
    }

    fn text(self, number: f64) -> String {
        match self {
            Digits::Decimals(count) => format!("{number:.count$}"),
            Digits::Multiples(of) => format!("{:.0}", (number / of).round() * of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_interval() {
        for (us, interval, expected) in [
            (9.603, None, "9.603"),
            (15.758, Some([5.2, 46.9]), "16 (5–47)"),
            (10.9401, Some([10.17, 11.71]), "10.9 (10.2–11.7)"),
            (0.123456, Some([0.12, 0.13]), "0.123 (0.120–0.130)"),
            (12448.2, Some([11700.0, 13100.0]), "12450 (11700–13100)"),
            (5.0, Some([5.0, 5.0]), "5.000 (5.000–5.000)"),
            (5.0, Some([f64::NAN, 6.0]), "5.000"),
        ] {
            assert_eq!(microseconds(us, interval), expected, "{us}");
        }
    }
}
