//! Random numbers that are the same everywhere.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    /// A number from `low` up to and without `high`.
    pub(crate) fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low)
    }

    /// `value` times something between 0.97 and 1.03.
    pub(crate) fn about(&mut self, value: i64) -> i64 {
        value * (970 + self.below(61) as i64) / 1000
    }

    pub(crate) fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at + 1));
        }
    }
}
