//! Two pieces of work at once, where that is worth a thread.

use crate::parallel::join;
use std::ops::Range;

/// Rows below which a thread costs more than it saves.
const WORTH_A_THREAD: usize = 10_000;

/// Whether two pieces of work that do not need each other are done at once. What comes of them does not depend on it.
///
/// ```
/// use perfdb_files::parallel::AtOnce;
///
/// for at_once in [AtOnce::NEVER, AtOnce::of(20_000)] {
///     assert_eq!(at_once.both(|| 1 + 1, || "two"), (2, "two"));
///     assert_eq!(at_once.halves(5, |numbers| numbers.map(|number| number * number).collect()), [0, 1, 4, 9, 16]);
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct AtOnce(bool);

impl AtOnce {
    /// One after the other.
    pub const NEVER: AtOnce = AtOnce(false);

    /// For work on this many rows.
    pub fn of(rows: usize) -> AtOnce {
        AtOnce(rows >= WORTH_A_THREAD)
    }

    /// Does both. A panic of either goes on in the caller.
    pub fn both<A, B: Send>(self, first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B) {
        if self.0 { join(first, second) } else { (first(), second()) }
    }

    /// Does the numbers up to `count` in two halves, and puts the second behind the first.
    pub fn halves<T: Send>(self, count: usize, part: impl Fn(Range<usize>) -> Vec<T> + Sync) -> Vec<T> {
        let (mut all, behind) = self.both(|| part(0..count / 2), || part(count / 2..count));
        all.extend(behind);
        all
    }
}
