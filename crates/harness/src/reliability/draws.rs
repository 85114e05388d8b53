//! Draws that a seed and the number of a run repeat.

use rand_mt::Mt64;

/// The draws of one run.
#[derive(Debug)]
pub struct Draws(Mt64);

impl Draws {
    /// The draws of run `number` under `seed`; they do not depend on the runs before it.
    pub fn of(seed: u64, number: u64) -> Draws {
        // An odd factor, so that neighbouring seeds and runs share no sequence.
        Draws(Mt64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number)))
    }

    /// A number below `bound`; 0 where there is none.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.0.next_u64() % bound).unwrap_or_default()
    }

    /// Whether an event of chance one in `n` happens.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    ///
    /// # Panics
    ///
    /// Where there is none.
    pub fn one_of<'t, T>(&mut self, these: &'t [T]) -> &'t T {
        &these[self.below(these.len())]
    }
}
