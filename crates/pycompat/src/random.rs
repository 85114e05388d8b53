//! `random.Random` of CPython 3.11, draw for draw.
//!
//! The generator itself (MT19937) is the `rand_mt` crate's; what is CPython's own, and therefore here, is how a seed
//! of any size becomes a key, how bits become integers below a bound, and how a sample is taken.
//!
//! ```
//! use perfdb_pycompat::random::Random;
//!
//! // random.Random(20260409).sample(range(481), 3)
//! let mut generator = Random::from_seed(&20260409.into());
//! assert_eq!(generator.sample(481, 3).len(), 3);
//! ```

use std::collections::HashSet;

use num_bigint::{BigInt, BigUint};
use rand_mt::Mt;

/// A generator in the state that `random.Random(seed)` has.
#[derive(Clone, Debug)]
pub struct Random {
    words: Mt,
}

impl Random {
    /// The generator of `random.Random(seed)`. The sign of the seed does not matter, its size is unlimited.
    #[must_use]
    pub fn from_seed(seed: &BigInt) -> Self {
        // The key is the absolute value in 32-bit words, lowest first. Zero has one word, not none.
        let mut key = seed.magnitude().to_u32_digits();
        if key.is_empty() {
            key.push(0);
        }
        Self { words: Mt::new_with_key(key) }
    }

    /// `getrandbits(bits)` for 1 to 32 bits.
    fn word(&mut self, bits: u32) -> u32 {
        self.words.next_u32() >> (32 - bits)
    }

    /// `getrandbits(bits)` for at most 64 bits; no bits give 0 and draw nothing.
    ///
    /// # Panics
    ///
    /// When more than 64 bits are asked for; see [`Random::big_bits`].
    pub fn bits(&mut self, bits: u32) -> u64 {
        assert!(bits <= 64, "at most 64 bits, not {bits}");
        match bits {
            0 => 0,
            1..=32 => u64::from(self.word(bits)),
            _ => u64::from(self.word(32)) | (u64::from(self.word(bits - 32)) << 32),
        }
    }

    /// `getrandbits(bits)` for any number of bits.
    pub fn big_bits(&mut self, bits: u32) -> BigUint {
        let words = bits.div_ceil(32);
        // The lowest word comes first; only the last one is cut to the bits that are still missing.
        let digits = (0..words).map(|index| self.word((bits - index * 32).min(32))).collect();
        BigUint::new(digits)
    }

    /// `_randbelow(limit)`: a number below `limit`, each equally likely.
    ///
    /// # Panics
    ///
    /// When `limit` is zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        assert!(limit > 0, "the limit must be above zero");
        let bits = u64::BITS - limit.leading_zeros();
        loop {
            let number = self.bits(bits);
            if number < limit {
                return number;
            }
        }
    }

    /// `_randbelow(limit)` for a limit of any size.
    ///
    /// # Panics
    ///
    /// When `limit` is zero.
    pub fn big_below(&mut self, limit: &BigUint) -> BigUint {
        assert!(limit.bits() > 0, "the limit must be above zero");
        let bits = u32::try_from(limit.bits()).unwrap_or(u32::MAX);
        loop {
            let number = self.big_bits(bits);
            if number < *limit {
                return number;
            }
        }
    }

    /// `random()`: a number from 0 up to but not including 1, in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        const TWO_TO_26: f64 = 67_108_864.0;
        const TWO_TO_53: f64 = 9_007_199_254_740_992.0;
        let high = f64::from(self.words.next_u32() >> 5);
        let low = f64::from(self.words.next_u32() >> 6);
        (high * TWO_TO_26 + low) / TWO_TO_53
    }

    /// `sample(range(population), count)`: distinct positions, in the order drawn.
    ///
    /// # Panics
    ///
    /// When `count` is above `population`.
    pub fn sample(&mut self, population: u64, count: u64) -> Vec<u64> {
        assert!(count <= population, "a sample of {count} from {population}");
        if population <= pool_limit(count) {
            self.sample_from_pool(population, count)
        } else {
            self.sample_by_set(population, count)
        }
    }

    fn sample_from_pool(&mut self, population: u64, count: u64) -> Vec<u64> {
        let mut pool: Vec<u64> = (0..population).collect();
        let mut taken = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        for _ in 0..count {
            let position = self.below(pool.len() as u64);
            // The last of the pool moves into the gap.
            taken.push(pool.swap_remove(usize::try_from(position).unwrap_or(0)));
        }
        taken
    }

    fn sample_by_set(&mut self, population: u64, count: u64) -> Vec<u64> {
        let mut seen = HashSet::with_capacity(usize::try_from(count).unwrap_or(0));
        let mut taken = Vec::with_capacity(seen.capacity());
        for _ in 0..count {
            let mut position = self.below(population);
            while !seen.insert(position) {
                position = self.below(population);
            }
            taken.push(position);
        }
        taken
    }

    /// `shuffle(items)`, in place.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}

/// Up to this population a sample of `count` is taken from a list of all positions, beyond it with a set of those taken.
fn pool_limit(count: u64) -> u64 {
    let mut limit = 21;
    if count > 5 {
        let mut power: u64 = 1;
        while power < count.saturating_mul(3) {
            power = power.saturating_mul(4);
        }
        limit += power;
    }
    limit
}
