//! Multisets of symbols as one number.

/// The multiset of the symbols of a segment: equal for equal multisets, and different for different ones but for one chance
/// in 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Fingerprint {
    sum: u64,
    kernels: u32,
}

impl Fingerprint {
    /// Of these symbols.
    pub fn of(symbols: impl IntoIterator<Item = u32>) -> Fingerprint {
        let mut fingerprint = Fingerprint::default();
        symbols.into_iter().for_each(|symbol| fingerprint.add(symbol));
        fingerprint
    }

    /// Takes in one more symbol.
    #[inline]
    pub fn add(&mut self, symbol: u32) {
        self.sum = self.sum.wrapping_add(mixed(symbol));
        self.kernels += 1;
    }

    /// Number of symbols.
    pub fn kernels(self) -> usize {
        self.kernels as usize
    }

    /// What is left of a sequence when its beginning is taken away.
    #[inline]
    pub(crate) fn minus(self, beginning: Fingerprint) -> Fingerprint {
        Fingerprint { sum: self.sum.wrapping_sub(beginning.sum), kernels: self.kernels - beginning.kernels }
    }
}

/// A number for a symbol that looks like chance: the output function of SplitMix64 (Steele, Lea and Flood 2014).
#[inline]
fn mixed(symbol: u32) -> u64 {
    let mut number = (u64::from(symbol) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equal_multisets_and_no_others(one in prop::collection::vec(0u32..4, 0..8), other in prop::collection::vec(0u32..4, 0..8)) {
            let sorted = |symbols: &[u32]| { let mut symbols = symbols.to_vec(); symbols.sort_unstable(); symbols };
            let equal = Fingerprint::of(one.iter().copied()) == Fingerprint::of(other.iter().copied());
            prop_assert_eq!(equal, sorted(&one) == sorted(&other));
        }

        #[test]
        fn a_beginning_can_be_taken_away(one in prop::collection::vec(0u32..9, 0..8), other in prop::collection::vec(0u32..9, 0..8)) {
            let whole = Fingerprint::of(one.iter().chain(&other).copied());
            prop_assert_eq!(whole.minus(Fingerprint::of(one)), Fingerprint::of(other));
        }
    }
}
