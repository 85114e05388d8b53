//! Sums of the values of a group's samples.

use super::rows::VALUES;
use smallvec::SmallVec;

/// Sums of the duration and of all counters. What was zero in every sample takes no room: most kernels have few counters.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// A bit for each value that some sample had.
    kept: u32,
    /// Their sums, in order.
    sums: SmallVec<[f64; 2]>,
}

const _: () = assert!(VALUES <= u32::BITS as usize);

impl Sums {
    /// Adds the values of a sample. Adding zero to a sum of zero leaves it, so that values that come later have the same sum as
    /// if they had always been there.
    pub(super) fn add(&mut self, values: &[f64; VALUES]) {
        let present = values.iter().enumerate().fold(0, |bits, (at, value)| bits | u32::from(*value != 0.0) << at);
        if present & !self.kept != 0 {
            self.make_room(present);
        }
        for (sum, at) in self.sums.iter_mut().zip(ones(self.kept)) {
            *sum += values[at];
        }
    }

    fn make_room(&mut self, present: u32) {
        let all = self.all();
        self.kept |= present;
        self.sums = SmallVec::with_capacity(self.kept.count_ones() as usize);
        self.sums.extend(ones(self.kept).map(|at| all[at]));
    }

    /// All sums.
    pub(super) fn all(&self) -> [f64; VALUES] {
        let mut all = [0.0; VALUES];
        for (sum, at) in self.sums.iter().zip(ones(self.kept)) {
            all[at] = *sum;
        }
        all
    }
}

/// The positions of the bits that are set, rising.
fn ones(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        (at < u32::BITS).then_some(at as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(set: &[(usize, f64)]) -> [f64; VALUES] {
        let mut values = [0.0; VALUES];
        set.iter().for_each(|(at, value)| values[*at] = *value);
        values
    }

    #[test]
    fn values_that_come_later_are_added_to_those_before() {
        let mut sums = Sums::default();
        for sample in [&[(0, 1.5)][..], &[(0, 2.0), (25, 8.0), (3, 0.25)], &[(3, 1.0)], &[(0, -3.5)], &[(7, 4.0)]] {
            sums.add(&values(sample));
        }
        assert_eq!(sums.all(), values(&[(3, 1.25), (7, 4.0), (25, 8.0)]));
        assert_eq!(sums.sums.len(), 4);
    }

    #[test]
    fn what_was_always_nought_takes_no_room() {
        let mut sums = Sums::default();
        (0..3).for_each(|_| sums.add(&values(&[(1, -0.0)])));
        assert_eq!((sums.all().map(f64::to_bits), sums.sums.len()), ([0; VALUES], 0));
    }
}
