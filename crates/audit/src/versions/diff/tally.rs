//! Figures of a table or of a database.

use super::rows::RowDiff;
use super::side::Side;
use super::verdict::Outcome;
use crate::versions::Case;

/// Fewest rows, and the share of them, that make a common movement.
const MANY_ROWS: usize = 50;
const NEARLY_ALL_PERCENT: usize = 98;

/// Numbers of rows, and how durations changed on the whole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tally {
    /// Rows of the first and of the second database.
    pub rows: [usize; 2],
    /// Rows whose duration is the same.
    pub same: usize,
    /// Rows that became slower.
    pub slower: usize,
    /// Rows that became faster.
    pub faster: usize,
    /// Rows of both whose durations say nothing.
    pub cannot_tell: usize,
    /// Rows of both whose duration the second database lacks.
    pub lost_durations: usize,
    /// Cases of the first database alone.
    pub only_a: usize,
    /// Cases of the second database alone.
    pub only_b: usize,
    /// Rows of both that are described differently.
    pub other_metadata: usize,
    /// The row that became slower by the largest factor.
    pub slowest: Option<Slowest>,
    /// Sum of the logarithms of the ratios of rows that are judged.
    logarithms: f64,
}

/// The row that became slower by the largest factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Slowest {
    /// Its kernel type.
    pub kernel_type: String,
    pub case: Case,
    /// The second duration by the first.
    pub ratio: f64,
}

impl Tally {
    pub(super) fn count(&mut self, row: &RowDiff, kernel_type: &str) {
        let counter = match row.outcome {
            Outcome::Same => &mut self.same,
            Outcome::Slower => &mut self.slower,
            Outcome::Faster => &mut self.faster,
            Outcome::CannotTell(_) => &mut self.cannot_tell,
            Outcome::OnlyA => &mut self.only_a,
            Outcome::OnlyB => &mut self.only_b,
        };
        *counter += 1;
        let has_duration = |side: Option<Side>| side.is_some_and(|side| side.duration_us.is_some());
        self.lost_durations += usize::from(row.b.is_some() && has_duration(row.a) && !has_duration(row.b));
        self.other_metadata += usize::from(!row.metadata.is_empty());
        let Some(ratio) = row.ratio.filter(|_| row.outcome.is_judged()) else { return };
        self.logarithms += ratio.ln();
        let is_slowest = self.slowest.as_ref().is_none_or(|slowest| ratio > slowest.ratio);
        if row.outcome == Outcome::Slower && is_slowest {
            self.slowest = Some(Slowest { kernel_type: kernel_type.to_owned(), case: row.case.clone(), ratio });
        }
    }

    /// Adds the figures of a table.
    pub fn add(&mut self, table: &Tally) {
        for (total, rows) in self.rows.iter_mut().zip(table.rows) {
            *total += rows;
        }
        self.same += table.same;
        self.slower += table.slower;
        self.faster += table.faster;
        self.cannot_tell += table.cannot_tell;
        self.lost_durations += table.lost_durations;
        self.only_a += table.only_a;
        self.only_b += table.only_b;
        self.other_metadata += table.other_metadata;
        self.logarithms += table.logarithms;
        if let Some(slowest) = &table.slowest
            && self.slowest.as_ref().is_none_or(|known| slowest.ratio > known.ratio)
        {
            self.slowest = Some(slowest.clone());
        }
    }

    /// Rows whose durations were compared and say something.
    pub fn compared(&self) -> usize {
        self.same + self.slower + self.faster
    }

    /// Rows that the second database lost: those that are gone, and those without a duration.
    pub fn lost(&self) -> usize {
        self.only_a + self.lost_durations
    }

    /// Whether nothing differs that a lookup could return.
    pub fn is_unchanged(&self) -> bool {
        self.slower + self.faster + self.only_a + self.only_b + self.lost_durations == 0
    }

    /// Rows that moved the same way, where nearly all of many did: `Some(true)` for slower. The measuring method may have changed then.
    pub fn moved_together(&self) -> Option<bool> {
        let (rows, moved) = (self.compared(), self.slower.max(self.faster));
        (rows >= MANY_ROWS && moved * 100 >= rows * NEARLY_ALL_PERCENT).then_some(self.slower > self.faster)
    }

    /// Cases of either database.
    pub fn cases(&self) -> usize {
        self.compared() + self.cannot_tell + self.only_a + self.only_b
    }

    /// The geometric mean of the second durations by the first, over the rows that were compared; `None` of no row.
    pub fn mean_ratio(&self) -> Option<f64> {
        (self.compared() > 0).then(|| (self.logarithms / self.compared() as f64).exp())
    }
}
