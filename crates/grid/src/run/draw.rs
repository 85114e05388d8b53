//! Which candidates are taken.

use num_bigint::BigInt;

use perfdb_pycompat::random::Random;

/// The draws of a run.
pub(super) struct Draw {
    cap: Option<u64>,
    generator: Random,
}

impl Draw {
    pub(super) fn new(cap: Option<u64>, seed: &BigInt) -> Self {
        Self { cap, generator: Random::from_seed(seed) }
    }

    /// The positions to take of `count`, in the order drawn; `None` for all of them, which touches no generator.
    pub(super) fn positions(&mut self, count: u64) -> Option<Vec<u64>> {
        let cap = self.cap.filter(|cap| count > *cap)?;
        Some(self.generator.sample(count, cap))
    }
}
