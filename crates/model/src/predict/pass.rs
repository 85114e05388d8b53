//! What many calls take together, such as a forward pass.

use crate::predict::estimate::Estimate;

/// How much the errors of two calls of one kernel type have in common: with less, sums over measured tables that were kept from the
/// model lay outside of their intervals too often. Calls of the same point share all of theirs; those of two kernel types none.
pub const SHARED: f64 = 0.3;

/// Calls of one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calls<'c> {
    /// The kernel type.
    pub kernel_type: &'c str,
    /// How long one of them takes.
    pub estimate: Estimate,
    /// How many there are.
    pub count: f64,
}

/// How long calls take together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// The sum of the durations.
    pub duration_us: f64,
    /// The lower end of the 90 % interval.
    pub low_us: f64,
    /// Its upper end.
    pub high_us: f64,
}

/// The halves of the intervals of one kernel type: their sum, and the sum of their squares.
#[derive(Debug, Clone, Copy, Default)]
struct Halves {
    sum: f64,
    squares: f64,
}

impl Halves {
    fn add(&mut self, half: f64) {
        self.sum += half;
        self.squares += half * half;
    }

    /// The square of the half of their sum's interval.
    fn square(self) -> f64 {
        (1.0 - SHARED) * self.squares + SHARED * self.sum * self.sum
    }
}

/// Adds calls up, with an interval for the sum.
///
/// With halves hᵢ of the intervals of the calls of one kernel type, the square of the half of their sum's interval is
/// (1 − ρ)·Σhᵢ² + ρ·(Σhᵢ)², with ρ = [`SHARED`]; those squares of all kernel types add up. Lower and upper halves are added apart.
pub fn sum<'c>(calls: impl IntoIterator<Item = Calls<'c>>) -> Sum {
    let mut total = 0.0;
    let mut types: Vec<(&str, [Halves; 2])> = Vec::new();
    for Calls { kernel_type, estimate, count } in calls {
        total += count * estimate.duration_us;
        let at = types.iter().position(|(name, _)| *name == kernel_type).unwrap_or_else(|| {
            types.push((kernel_type, Default::default()));
            types.len() - 1
        });
        let [below, above] = &mut types[at].1;
        below.add(count * (estimate.duration_us - estimate.low_us));
        above.add(count * (estimate.high_us - estimate.duration_us));
    }
    let half = |side: usize| types.iter().map(|(_, halves)| halves[side].square()).sum::<f64>().sqrt();
    Sum { duration_us: total, low_us: (total - half(0)).max(0.0), high_us: total + half(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Class;

    fn calls(kernel_type: &str, half: f64, count: f64) -> Calls<'_> {
        let estimate = Estimate { duration_us: 10.0, low_us: 10.0 - half, high_us: 10.0 + half, class: Class::Inside };
        Calls { kernel_type, estimate, count }
    }

    #[test]
    fn errors_of_two_types_average_out_and_those_of_one_call_do_not() {
        let apart = sum([calls("a", 3.0, 1.0), calls("b", 4.0, 1.0)]);
        assert_eq!((apart.duration_us, apart.low_us, apart.high_us), (20.0, 15.0, 25.0));
        let same = sum([calls("a", 3.0, 4.0)]);
        assert_eq!((same.duration_us, same.low_us, same.high_us), (40.0, 28.0, 52.0));
        let alike = sum([calls("a", 3.0, 1.0), calls("a", 4.0, 1.0)]);
        let half = (0.7 * 25.0 + 0.3 * 49.0f64).sqrt();
        assert!((alike.high_us - 20.0 - half).abs() < 1e-12);
    }

    #[test]
    fn nothing_takes_no_time() {
        assert_eq!(sum([]), Sum::default());
    }
}
