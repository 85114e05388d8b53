//! Durations with their intervals, with as many digits as the interval bears.

use perfdb_pycompat::format::fixed_grouped;

/// A duration in microseconds: three decimals where it was measured, else as its interval bears, which stands behind it.
pub(super) fn microseconds(us: f64, interval_us: Option<[f64; 2]>) -> String {
    let Some([low, high]) = interval_us.filter(|[low, high]| low <= high && (high - low).is_finite()) else {
        return format!("{us:.3}");
    };
    let digits = Digits::of((high - low) / 2.0);
    format!("{} ({}–{})", digits.text(us), digits.text(low), digits.text(high))
}

/// A sum of microseconds, grouped by thousands: one decimal where all of it was measured, else as its interval bears; and the interval's ends.
pub(crate) fn total(us: f64, interval_us: Option<[f64; 2]>) -> [String; 2] {
    let Some([low, high]) = interval_us.filter(|[low, high]| low <= high && (high - low).is_finite()) else {
        return [fixed_grouped(us, 1), String::new()];
    };
    let digits = Digits::of((high - low) / 2.0);
    let text = |number: f64| match digits {
        Digits::Decimals(count) => fixed_grouped(number, count.min(1)),
        Digits::Multiples(of) => fixed_grouped((number / of).round() * of, 0),
    };
    [text(us), format!("{}–{}", text(low), text(high))]
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

    #[test]
    fn totals_follow_their_interval_too() {
        for (us, interval, expected) in [
            (25509.6, None, ["25,509.6", ""]),
            (25509.6, Some([16401.6, 44596.0]), ["26,000", "16,000–45,000"]),
            (1445.6, Some([1390.0, 1500.0]), ["1,446", "1,390–1,500"]),
            (92.34, Some([92.3, 92.4]), ["92.3", "92.3–92.4"]),
        ] {
            assert_eq!(total(us, interval), expected.map(str::to_owned), "{us}");
        }
    }
}
