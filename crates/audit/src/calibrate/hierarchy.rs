//! Partial pooling of logarithms of ratios along a tree.

use std::collections::BTreeMap;

/// Levels of the tree, the topmost one included.
pub(super) const DEPTH: usize = 6;
/// The level of tables: from the next one on, and for the scatter within leaves, each table has variances of its own.
const TABLE: usize = 2;
/// For how many observations of its own the variance of all tables stands in that of a table.
const PRIOR: f64 = 2.0;
/// Between the nodes of each level, from the top, and within leaves: what versions of a framework, and devices, usually differ by. Root mean
/// squares between versions of vLLM and SGLang on L40S, H200 and B200, and between H100 and H200, rounded up: 20 % of all rows and of classes,
/// 40 % of tables, 30 and 14 % of their ranges of durations, 35 % of their ranges of sizes, 20 % of rows.
const USUAL: [f64; DEPTH] = [0.04, 0.04, 0.16, 0.09, 0.02, 0.12];
const USUAL_SCATTER: f64 = 0.04;
/// For how many nodes, and how many rows beyond the first of a leaf, these stand: of a few that happen to agree nothing follows for others.
const USUAL_NODES: f64 = 3.0;
const USUAL_ROWS: f64 = 1.0;
/// No level is known to differ by nothing from the one above it.
const LEAST: f64 = 1e-6;

/// Where a row stands: the names of its nodes, from the top to its leaf.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) levels: [String; DEPTH],
}

/// What is known of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    /// Logarithm of the ratio.
    pub(super) mean: f64,
    /// How far the mean itself can be off.
    pub(super) variance: f64,
    /// How far rows scatter around it.
    pub(super) scatter: f64,
    /// The deepest level on which rows of the same node were measured.
    pub(super) support: usize,
}

impl Estimate {
    /// The standard deviation of a row's logarithm, as the model has it.
    pub(super) fn deviation(&self) -> f64 {
        (self.variance + self.scatter).sqrt()
    }
}

/// A node with rows below it.
#[derive(Debug, Clone, Default)]
struct Node {
    parent: Option<String>,
    samples: Vec<f64>,
    mean: f64,
    variance: f64,
}

/// The tree, fitted.
#[derive(Debug)]
pub(super) struct Hierarchy {
    levels: [BTreeMap<String, Node>; DEPTH],
    /// Scatter within leaves, by table.
    scatter: BTreeMap<String, f64>,
    scatter_of_all: f64,
    /// Variance between the nodes of a level and those above them, of all tables.
    between: [f64; DEPTH],
}

impl Hierarchy {
    pub(super) fn fit(samples: impl Iterator<Item = (Path, f64)>) -> Hierarchy {
        let mut levels: [BTreeMap<String, Node>; DEPTH] = Default::default();
        let mut table_of: BTreeMap<String, String> = BTreeMap::new();
        for (path, ratio) in samples {
            for (depth, name) in path.levels.iter().enumerate() {
                let node = levels[depth].entry(name.clone()).or_default();
                node.parent = depth.checked_sub(1).map(|above| path.levels[above].clone());
                node.samples.push(ratio);
                if depth > TABLE {
                    table_of.entry(name.clone()).or_insert_with(|| path.levels[TABLE].clone());
                }
            }
        }
        let (scatter, scatter_of_all) = scatter(&levels[DEPTH - 1], &table_of);
        let mut tree = Hierarchy { levels, scatter, scatter_of_all, between: [LEAST; DEPTH] };
        for depth in 0..DEPTH {
            tree.fit_level(depth, &table_of);
        }
        tree
    }

    fn fit_level(&mut self, depth: usize, table_of: &BTreeMap<String, String>) {
        let above = |name: &Option<String>| match (depth.checked_sub(1), name) {
            (Some(above), Some(name)) => {
                self.levels[above].get(name).map_or((0.0, 0.0), |node| (node.mean, node.variance))
            }
            _ => (0.0, 0.0),
        };
        // Of every node its table, count, mean, scatter, and what stands above it.
        let mut nodes = Vec::new();
        for (name, node) in &self.levels[depth] {
            let table = if depth == TABLE { Some(name) } else { table_of.get(name) };
            let scatter = table.and_then(|table| self.scatter.get(table)).copied().unwrap_or(self.scatter_of_all);
            let count = node.samples.len() as f64;
            let mean = node.samples.iter().sum::<f64>() / count;
            let group = table.filter(|_| depth > TABLE).cloned().unwrap_or_default();
            nodes.push((name.clone(), group, count, mean, scatter, above(&node.parent)));
        }
        let moments = |group: Option<&str>| {
            let (mut sum, mut weights, mut count) = (0.0, 0.0, 0.0);
            for (_, own, samples, mean, scatter, (above, _)) in &nodes {
                if group.is_none_or(|group| group == own) {
                    sum += samples * ((mean - above).powi(2) - scatter / samples);
                    weights += samples;
                    count += 1.0;
                }
            }
            ((sum / f64::max(weights, 1.0)).max(LEAST), count)
        };
        let (found, count) = moments(None);
        let of_all = (found * count + USUAL[depth] * USUAL_NODES) / (count + USUAL_NODES);
        let mut between: BTreeMap<&str, f64> = BTreeMap::new();
        for (_, group, ..) in &nodes {
            between.entry(group).or_insert_with(|| {
                let (own, count) = moments(Some(group));
                (own * count + of_all * PRIOR) / (count + PRIOR)
            });
        }
        let fitted: Vec<(String, f64, f64)> = nodes
            .iter()
            .map(|(name, group, count, mean, scatter, (above, doubt))| {
                let prior = between.get(group.as_str()).copied().unwrap_or(of_all) + doubt;
                let weight = prior / (prior + scatter / count);
                (name.clone(), above + weight * (mean - above), (1.0 - weight) * prior)
            })
            .collect();
        self.between[depth] = of_all;
        for (name, mean, variance) in fitted {
            if let Some(node) = self.levels[depth].get_mut(&name) {
                (node.mean, node.variance) = (mean, variance);
            }
        }
    }

    /// What is known of a row: of the lowest node that has samples, and less where those of the levels below it have none.
    pub(super) fn estimate(&self, path: &Path) -> Estimate {
        let scatter = self.scatter.get(&path.levels[TABLE]).copied().unwrap_or(self.scatter_of_all);
        let mut found = Estimate { mean: 0.0, variance: 0.0, scatter, support: 0 };
        for (depth, name) in path.levels.iter().enumerate() {
            match self.levels[depth].get(name) {
                Some(node) => {
                    (found.mean, found.variance) = (node.mean, node.variance);
                    found.support = depth;
                }
                None => found.variance += self.between[depth],
            }
        }
        found
    }
}

/// The variance within leaves: of each table, drawn to that of all.
fn scatter(leaves: &BTreeMap<String, Node>, table_of: &BTreeMap<String, String>) -> (BTreeMap<String, f64>, f64) {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (name, node) in leaves {
        let table = table_of.get(name).map_or("", String::as_str);
        let count = node.samples.len() as f64;
        let mean = node.samples.iter().sum::<f64>() / count;
        let squares: f64 = node.samples.iter().map(|ratio| (ratio - mean).powi(2)).sum();
        let sum = sums.entry(table).or_default();
        sum.0 += squares;
        sum.1 += count - 1.0;
    }
    let (squares, freedom) = sums.values().fold((0.0, 0.0), |all, sum| (all.0 + sum.0, all.1 + sum.1));
    let of_all = (squares + USUAL_SCATTER * USUAL_ROWS) / (freedom + USUAL_ROWS);
    let of_table = |(squares, freedom): &(f64, f64)| (squares + of_all * PRIOR) / (freedom + PRIOR);
    (sums.iter().map(|(table, sum)| ((*table).to_owned(), of_table(sum))).collect(), of_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(class: &str, table: &str, bin: &str) -> Path {
        let leaf = format!("{class}/{table}/{bin}");
        let levels = [String::new(), class.to_owned(), format!("{class}/{table}"), leaf.clone(), leaf.clone(), leaf];
        Path { levels }
    }

    #[test]
    fn many_rows_say_what_they_say_and_few_are_drawn_to_no_change() {
        let many = (0..200).map(|at| (path("a", "t", "1"), 0.5 + 0.01 * f64::from(at % 5 - 2)));
        let fitted = Hierarchy::fit(many).estimate(&path("a", "t", "1"));
        assert!((fitted.mean - 0.5).abs() < 0.01, "{fitted:?}");
        assert!(fitted.variance < 1e-4 && (0.0142..0.03).contains(&fitted.scatter.sqrt()), "{fitted:?}");
        // One row: between no change and what it says, and the interval holds both.
        let one = Hierarchy::fit(std::iter::once((path("a", "t", "1"), 0.5))).estimate(&path("a", "t", "1"));
        assert!(one.mean > 0.0 && one.mean < 0.5, "{one:?}");
        assert!(1.645 * (one.variance + one.scatter).sqrt() > 0.5 - one.mean, "{one:?}");
    }

    #[test]
    fn a_few_rows_that_agree_say_little_of_a_table_that_nobody_measured() {
        let six =
            [("a", "t", "1"), ("a", "t", "2"), ("a", "u", "1"), ("b", "v", "1"), ("b", "v", "2"), ("b", "w", "1")];
        let tree = Hierarchy::fit(six.into_iter().map(|(class, table, bin)| (path(class, table, bin), 0.1)));
        let (own, other) = (tree.estimate(&path("a", "t", "1")), tree.estimate(&path("a", "x", "1")));
        assert!((0.02..0.12).contains(&own.mean) && own.deviation() > 0.1, "{own:?}");
        assert!(other.deviation() > 0.25, "{other:?}");
        // Of a hundred tables that agree it follows.
        let many = (0..200).map(|at| (path("a", &format!("t{}", at % 100), "1"), 0.1 + 0.01 * f64::from(at % 3)));
        let sure = Hierarchy::fit(many).estimate(&path("a", "x", "1"));
        assert!((sure.mean - 0.11).abs() < 0.02 && sure.deviation() < 0.2, "{sure:?}");
    }

    #[test]
    fn what_has_no_rows_takes_the_level_above_with_more_doubt() {
        let samples = ["t", "u", "v"].into_iter().flat_map(|table| {
            (0..30)
                .map(move |at| (path("a", table, "1"), if table == "t" { 0.4 } else { 0.2 } + 0.01 * f64::from(at % 3)))
        });
        let tree = Hierarchy::fit(samples);
        let (known, other) = (tree.estimate(&path("a", "t", "1")), tree.estimate(&path("a", "w", "1")));
        assert!((known.mean - 0.41).abs() < 0.02, "{known:?}");
        assert!(other.mean > 0.15 && other.mean < 0.4 && other.variance > 10.0 * known.variance, "{other:?}");
        assert_eq!((known.support, other.support), (DEPTH - 1, 1));
    }
}
