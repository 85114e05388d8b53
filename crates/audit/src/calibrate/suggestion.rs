//! Which rows to measure next.

use super::Calibrated;
use super::case::Rows;
use super::hierarchy::{DEPTH, Estimate, Hierarchy};
use super::widths::Widths;
use std::collections::BTreeMap;

/// A row that is worth measuring.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The kernel type.
    pub table: String,
    /// Input shapes, as they stand in the table.
    pub shapes: String,
    /// Input types, as they stand in the table.
    pub types: String,
    /// What it is expected to take.
    pub expected: Calibrated,
    /// Rows of the same range, whose intervals it narrows.
    pub rows: usize,
    /// Half of their interval now, and what it would be, as factors.
    pub within: [f64; 2],
}

/// Rows of one leaf.
struct Leaf {
    rows: Vec<(f64, usize, usize)>,
    known: Estimate,
    /// By what the interval is wider than the model has it.
    width: f64,
    /// Rows chosen here.
    chosen: usize,
}

/// The row in the middle of the leaf that narrows most intervals by most, again and again.
pub(super) fn best(
    public: &[Rows],
    hierarchy: &Hierarchy,
    widths: &Widths,
    calibrated: impl Fn(usize, usize) -> Option<Calibrated>,
    count: usize,
) -> Vec<Suggestion> {
    let mut leaves: BTreeMap<String, Leaf> = BTreeMap::new();
    for (table, rows) in public.iter().enumerate() {
        for (row, us) in rows.durations() {
            let Some(path) = rows.path(row) else { continue };
            let leaf = leaves.entry(path.levels[DEPTH - 1].clone()).or_insert_with(|| {
                let known = hierarchy.estimate(&path);
                Leaf { rows: Vec::new(), known, width: widths.of(&path, known.support), chosen: 0 }
            });
            leaf.rows.push((us, table, row));
        }
    }
    leaves.values_mut().for_each(|leaf| leaf.rows.sort_by(|one, other| one.0.total_cmp(&other.0)));
    let mut found = Vec::new();
    while found.len() < count {
        let best = leaves.values_mut().filter(|leaf| leaf.chosen < leaf.rows.len());
        let Some(leaf) = best.max_by(|one, other| one.gain().total_cmp(&other.gain())) else { break };
        let within = leaf.within();
        // The middle one, then those around it.
        let offset = leaf.chosen.div_ceil(2);
        let middle = leaf.rows.len() / 2;
        let at = if leaf.chosen % 2 == 1 { middle.checked_sub(offset) } else { Some(middle + offset) };
        let chosen = at.and_then(|at| leaf.rows.get(at)).copied().unwrap_or(leaf.rows[0]);
        leaf.chosen += 1;
        let (_, table, row) = chosen;
        let [shapes, types] = public[table].call(row);
        let Some(expected) = calibrated(table, row) else { continue };
        found.push(Suggestion {
            table: public[table].name.clone(),
            shapes: shapes.to_owned(),
            types: types.to_owned(),
            expected,
            rows: leaf.rows.len(),
            within,
        });
    }
    found
}

impl Leaf {
    /// The standard deviation of a row after this many more were measured.
    fn deviation(&self, more: usize) -> f64 {
        let Estimate { variance, scatter, .. } = self.known;
        let left = variance * scatter / (scatter + variance * more as f64);
        (left + scatter).sqrt() * self.width
    }

    fn gain(&self) -> f64 {
        self.rows.len() as f64 * (self.deviation(self.chosen) - self.deviation(self.chosen + 1))
    }

    fn within(&self) -> [f64; 2] {
        [self.chosen, self.chosen + 1].map(|more| (super::NINE_OF_TEN * self.deviation(more)).exp())
    }
}
