//! Two sequences side by side: what stands for what, in order, at the least cost.

use std::ops::Range;

/// The most entries of one sequence that may stand for one of the other.
pub const MOST: usize = 4;

/// What stands for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alignment {
    /// The least cost.
    pub cost: u64,
    /// Ranges of both sequences, in order; together they are all entries. One of the two may be empty.
    pub groups: Vec<(Range<usize>, Range<usize>)>,
}

/// Aligns two sequences of these lengths by dynamic programming.
///
/// An entry stands for one or up to [`MOST`] neighbours of the other sequence, or for nothing. `pair` says what a group costs,
/// `None` where it must not be; `alone` what an entry of side 0 or 1 costs that stands for nothing. Of equally cheap ways the
/// one is taken that comes from the earliest entries, so the result depends on the costs alone. Time and memory grow with the
/// product of the lengths.
///
/// ```
/// use perfdb_trace::sequence::align;
/// let (first, second) = (["norm", "matmul", "matmul", "add"], ["norm", "matmul", "copy", "add"]);
/// let found = align(
///     [first.len(), second.len()],
///     |_, _| 10,
///     |one, two| (one.clone().all(|at| first[at] == second[two.start]) && two.len() == 1).then_some(one.len() as u64 - 1),
/// );
/// assert_eq!(found.groups, [(0..1, 0..1), (1..3, 1..2), (3..3, 2..3), (3..4, 3..4)]);
/// assert_eq!(found.cost, 11);
/// ```
pub fn align(
    [first, second]: [usize; 2],
    alone: impl Fn(usize, usize) -> u64,
    pair: impl Fn(Range<usize>, Range<usize>) -> Option<u64>,
) -> Alignment {
    let width = second + 1;
    let mut cells: Vec<Cell> = vec![Cell::UNREACHED; (first + 1) * width];
    cells[0].cost = 0;
    for x in 0..=first {
        for y in 0..=second {
            let cost = cells[x * width + y].cost;
            let mut reach = |dx: usize, dy: usize, more: u64| {
                let cell = &mut cells[(x + dx) * width + y + dy];
                let cost = cost.saturating_add(more);
                // Cells come row by row, so that the earliest way stays.
                if cost < cell.cost {
                    *cell = Cell { cost, step: (dx as u8, dy as u8) };
                }
            };
            if x < first {
                reach(1, 0, alone(0, x));
            }
            if y < second {
                reach(0, 1, alone(1, y));
            }
            if x == first || y == second {
                continue;
            }
            for dx in 1..=MOST.min(first - x) {
                if let Some(cost) = pair(x..x + dx, y..y + 1) {
                    reach(dx, 1, cost);
                }
            }
            for dy in 2..=MOST.min(second - y) {
                if let Some(cost) = pair(x..x + 1, y..y + dy) {
                    reach(1, dy, cost);
                }
            }
        }
    }
    let (mut x, mut y) = (first, second);
    let mut groups = Vec::new();
    while (x, y) != (0, 0) {
        let (dx, dy) = cells[x * width + y].step;
        let from = (x - usize::from(dx), y - usize::from(dy));
        groups.push((from.0..x, from.1..y));
        (x, y) = from;
    }
    groups.reverse();
    Alignment { cost: cells[first * width + second].cost, groups }
}

/// The least cost of the way to a pair of places, and its last step.
#[derive(Debug, Clone, Copy)]
struct Cell {
    cost: u64,
    step: (u8, u8),
}

impl Cell {
    const UNREACHED: Cell = Cell { cost: u64::MAX, step: (0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn by_symbols(first: &[u8], second: &[u8]) -> Alignment {
        align(
            [first.len(), second.len()],
            |_, _| 6,
            |one, two| {
                let same = one.clone().all(|x| two.clone().all(|y| first[x] == second[y]));
                same.then_some(2 * (one.len() + two.len() - 2) as u64)
            },
        )
    }

    #[test]
    fn nothing_stands_for_nothing() {
        assert_eq!(by_symbols(&[], &[]), Alignment { cost: 0, groups: Vec::new() });
        assert_eq!(by_symbols(&[1], &[]).groups, [(0..1, 0..0)]);
    }

    proptest! {
        #[test]
        fn every_entry_is_in_one_group(first in prop::collection::vec(0u8..4, 0..20), second in prop::collection::vec(0u8..4, 0..20)) {
            let found = by_symbols(&first, &second);
            let (mut x, mut y) = (0, 0);
            for (one, two) in &found.groups {
                prop_assert_eq!((one.start, two.start), (x, y));
                (x, y) = (one.end, two.end);
            }
            prop_assert_eq!((x, y), (first.len(), second.len()));
        }

        #[test]
        fn a_sequence_stands_for_itself(one in prop::collection::vec(0u8..4, 0..20)) {
            let found = by_symbols(&one, &one);
            prop_assert_eq!(found.cost, 0);
            prop_assert!(found.groups.iter().all(|(first, second)| first == second && first.len() == 1));
        }

        #[test]
        fn costs_do_not_depend_on_the_side(first in prop::collection::vec(0u8..4, 0..12), second in prop::collection::vec(0u8..4, 0..12)) {
            prop_assert_eq!(by_symbols(&first, &second).cost, by_symbols(&second, &first).cost);
        }
    }
}
