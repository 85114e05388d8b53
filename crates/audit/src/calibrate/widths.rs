//! How wide intervals must be, from rows that were left out of the fit: cross-conformal prediction (Vovk, Annals of Mathematics and Artificial
//! Intelligence 74, 2015), with residuals in standard deviations, so that sure rows keep narrow intervals.
//!
//! A row with measured neighbours in its leaf is held against single rows that are left out; one whose leaf, range or table nobody measured
//! against rows of which the whole leaf, range or table is left out. Residuals of one table say one thing about tables that nobody measured,
//! however many they are.

use super::NINE_OF_TEN;
use super::hierarchy::{DEPTH, Hierarchy, Path};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Parts of the rows, each of which is left out once.
const FOLDS: usize = 10;
/// Rows that are enough to tell the widths.
const MOST_ROWS: usize = 20_000;
/// How many rows, or nodes, the width of the level above counts for: a few residuals of a node do not suffice to know what one in ten exceeds.
const PRIOR: f64 = 20.0;
/// Levels whose nodes have widths of their own: all rows, classes and tables.
const LEVELS: usize = 3;
/// The share of rows that intervals hold.
const SHARE: f64 = 0.9;

/// Factors on standard deviations.
#[derive(Debug, Default)]
pub(super) struct Widths {
    /// By the deepest level with measured rows and the name of a node.
    of_nodes: BTreeMap<(usize, String), f64>,
}

/// How far rows that were left out are from what is said of them, in standard deviations.
#[derive(Debug, Default)]
struct Residuals<'a> {
    values: Vec<f64>,
    /// The nodes that were left out with them.
    nodes: FxHashSet<&'a str>,
}

impl Widths {
    pub(super) fn fit(samples: &[(Path, f64)]) -> Widths {
        let stride = samples.len().div_ceil(MOST_ROWS).max(1);
        let samples: Vec<&(Path, f64)> = samples.iter().step_by(stride).collect();
        let mut residuals: BTreeMap<(usize, usize, String), Residuals<'_>> = BTreeMap::new();
        for level in 1..=DEPTH {
            let fold_of = folds(&samples, level);
            for fold in 0..FOLDS {
                let parts = samples.iter().zip(&fold_of);
                let (out, kept): (Vec<_>, Vec<_>) = parts.partition(|(_, own)| **own == fold);
                if out.is_empty() || kept.is_empty() {
                    continue;
                }
                let tree = Hierarchy::fit(kept.into_iter().map(|(sample, _)| (*sample).clone()));
                for ((path, ratio), _) in out {
                    let found = tree.estimate(path);
                    let residual = (ratio - found.mean).abs() / found.deviation();
                    for (depth, name) in path.levels.iter().enumerate().take(LEVELS) {
                        let known = residuals.entry((depth, found.support, name.clone())).or_default();
                        known.values.push(residual);
                        known.nodes.extend(path.levels.get(found.support + 1).map(String::as_str));
                    }
                }
            }
        }
        let above = |widths: &Widths, support: usize, path: &Path, depth: usize| {
            depth.checked_sub(1).and_then(|above| widths.node(support, &path.levels[above])).unwrap_or(1.0)
        };
        let paths: FxHashMap<&str, &Path> = samples
            .iter()
            .flat_map(|(path, _)| path.levels.iter().take(LEVELS).map(move |name| (name.as_str(), path)))
            .collect();
        let mut widths = Widths::default();
        // Levels from the top: the map is in their order.
        for ((depth, support, name), mut residuals) in residuals {
            let Some(path) = paths.get(name.as_str()) else { continue };
            let prior = above(&widths, support, path, depth);
            let Residuals { values, nodes } = &residuals;
            let count = if nodes.is_empty() { values.len() } else { nodes.len() };
            let count = count as f64;
            let own = quantile(&mut residuals.values) / NINE_OF_TEN;
            widths.of_nodes.insert((support, name), (own * count + prior * PRIOR) / (count + PRIOR));
        }
        widths
    }

    fn node(&self, support: usize, name: &str) -> Option<f64> {
        self.of_nodes.get(&(support, name.to_owned())).copied()
    }

    /// The factor for a row whose deepest node with measured rows is of this level.
    pub(super) fn of(&self, path: &Path, support: usize) -> f64 {
        path.levels.iter().take(LEVELS).rev().find_map(|name| self.node(support, name)).unwrap_or(1.0)
    }
}

/// Per sample its fold, so that nodes of a level stay together. Below the lowest level the rows of each leaf are dealt out in turn: rows of a
/// table often come back in a rhythm, and no fold may have all of a leaf.
fn folds(samples: &[&(Path, f64)], level: usize) -> Vec<usize> {
    let mut known: FxHashMap<&str, (usize, usize)> = FxHashMap::default();
    let mut found = Vec::with_capacity(samples.len());
    for (path, _) in samples {
        let next = (known.len(), 0);
        let (number, dealt) = known.entry(&path.levels[level.min(DEPTH - 1)]).or_insert(next);
        found.push((*number + *dealt) % FOLDS);
        *dealt += usize::from(level == DEPTH);
    }
    found
}

/// What one in ten residuals exceeds, and so would one more.
fn quantile(residuals: &mut [f64]) -> f64 {
    residuals.sort_by(f64::total_cmp);
    let place = (SHARE * (residuals.len() + 1) as f64).ceil() as usize;
    residuals.get(place.min(residuals.len()).saturating_sub(1)).copied().unwrap_or(NINE_OF_TEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 0 to 1 without an order.
    fn numbers() -> impl Iterator<Item = f64> {
        (1_u64..).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1_u64 << 53) as f64)
    }

    fn path(table: &str, leaf: usize) -> Path {
        let (table, leaf) = (format!("a/{table}"), format!("a/{table}/{leaf}"));
        Path { levels: [String::new(), "a".to_owned(), table, leaf.clone(), leaf.clone(), leaf] }
    }

    /// Many small ratios and one large one in 16: what a normal distribution makes of them is far too wide. In the other table all are alike.
    fn ratios(count: usize, from: usize) -> Vec<(Path, f64)> {
        let mut random = numbers().skip(from);
        let mut ratio = |(table, leaf)| {
            let sign = random.next().unwrap_or(0.0) - 0.5;
            let size = if table == "tails" && random.next().unwrap_or(0.0) < 1.0 / 16.0 { 1.0 } else { 0.02 };
            (path(table, leaf), size * sign)
        };
        (0..count).map(|at| ratio((["tails", "even"][at % 2], at % 20))).collect()
    }

    #[test]
    fn intervals_hold_nine_of_ten_rows_that_were_left_out() {
        let known = ratios(2000, 0);
        let (tree, widths) = (Hierarchy::fit(known.iter().cloned()), Widths::fit(&known));
        for table in ["a/tails", "a/even"] {
            let (mut inside, mut count) = (0, 0);
            for (path, ratio) in ratios(4000, 50_000).iter().filter(|(path, _)| path.levels[2] == table) {
                let found = tree.estimate(path);
                let half = NINE_OF_TEN * found.deviation();
                count += 1;
                inside += usize::from((ratio - found.mean).abs() <= half * widths.of(path, found.support));
            }
            let share = inside as f64 / f64::from(count);
            assert!((0.86..0.94).contains(&share), "{table}: {share}");
        }
        let tails = widths.of(&path("tails", 0), DEPTH - 1);
        assert!(tails < 0.5, "{tails}");
    }

    #[test]
    fn few_rows_leave_the_widths_as_they_are() {
        let widths = Widths::fit(&ratios(1, 0));
        assert_eq!(widths.of(&path("even", 0), DEPTH - 1), 1.0);
        // A table that nobody measured has the width of its class.
        let widths = Widths::fit(&ratios(400, 0));
        assert_eq!(widths.of(&path("new", 0), 1), widths.node(1, "a").unwrap_or(1.0));
    }
}
