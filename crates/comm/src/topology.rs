//! The grid of devices and its tiers.

/// A grid of devices, outermost dimension first; the last dimension counts fastest.
///
/// Tier t is the level at which two ranks first differ: with `48 8 2`, 0 = between pods, 1 = inside a pod,
/// 2 = inside a die pair.
///
/// ```
/// use perfdb_comm::topology::Grid;
/// let grid = Grid::new(vec![48, 8, 2]).unwrap();
/// assert_eq!(grid.tier_of_first_ranks(2), 2);
/// assert_eq!(grid.tier_of_first_ranks(16), 1);
/// assert_eq!(grid.tier_of_first_ranks(17), 0);
/// assert_eq!(grid.span(1), 16);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    dimensions: Vec<u64>,
}

impl Grid {
    /// A grid of these dimensions; `None` when there is none or one is 0.
    pub fn new(dimensions: Vec<u64>) -> Option<Self> {
        (!dimensions.is_empty() && !dimensions.contains(&0)).then_some(Self { dimensions })
    }

    /// The dimensions, outermost first.
    pub fn dimensions(&self) -> &[u64] {
        &self.dimensions
    }

    /// How many ranks a group at `tier` may have: the product of the dimensions from `tier` on (cut off at the
    /// largest integer).
    pub fn span(&self, tier: usize) -> u64 {
        self.dimensions.iter().skip(tier).fold(1, |product: u64, d| product.saturating_mul(*d))
    }

    /// The tier of ranks 0 to `devices` - 1: the outermost dimension in which their coordinates differ, the last one
    /// when they do not. Ranks beyond the grid wrap around.
    pub fn tier_of_first_ranks(&self, devices: u64) -> usize {
        let last = self.dimensions.len() - 1;
        (0..=last).find(|&tier| self.dimensions[tier] > 1 && devices > self.span(tier + 1)).unwrap_or(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coordinates(grid: &[u64], rank: u64) -> Vec<u64> {
        let mut rest = rank;
        let mut reversed: Vec<u64> = Vec::new();
        for d in grid.iter().rev() {
            reversed.push(rest % d);
            rest /= d;
        }
        reversed.reverse();
        reversed
    }

    /// The definition, rank by rank.
    fn tier_by_definition(grid: &[u64], devices: u64) -> usize {
        let all: Vec<Vec<u64>> = (0..devices).map(|rank| coordinates(grid, rank)).collect();
        (0..grid.len()).find(|&k| all.iter().any(|c| c[k] != all[0][k])).unwrap_or(grid.len() - 1)
    }

    #[test]
    fn tiers_of_the_standard_grid() {
        let grid = Grid::new(vec![48, 8, 2]).unwrap();
        let tiers: Vec<usize> = [1, 2, 3, 16, 17, 768, 769, u64::MAX].map(|n| grid.tier_of_first_ranks(n)).into();
        assert_eq!(tiers, [2, 2, 1, 1, 0, 0, 0, 0]);
        assert_eq!([0, 1, 2].map(|t| grid.span(t)), [768, 16, 2]);
    }

    #[test]
    fn grids_without_devices_are_refused() {
        assert_eq!(Grid::new(vec![]), None);
        assert_eq!(Grid::new(vec![2, 0]), None);
    }

    proptest::proptest! {
        #[test]
        fn the_shortcut_agrees_with_the_definition(
            grid in proptest::collection::vec(1u64..5, 1..5),
            devices in 1u64..200,
        ) {
            let shortcut = Grid::new(grid.clone()).unwrap().tier_of_first_ranks(devices);
            proptest::prop_assert_eq!(shortcut, tier_by_definition(&grid, devices));
        }
    }
}
