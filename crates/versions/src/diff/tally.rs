//! Figures of a table or of a database.

use super::rows::RowDiff;
use super::verdict::Outcome;
use crate::Case;

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
    /// Its case.
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
        self.other_metadata += usize::from(!row.metadata.is_empty());
        let Some(ratio) = row.ratio.filter(|_| row.outcome.is_judged()) else { return };
        self.logarithms += ratio.ln();
        let is_slowest = self.slowest.as_ref().is_none_or(|slowest| ratio > slowest.ratio);
        if row.outcome == Outcome::Slower && is_slowest {
            self.slowest = Some(Slowest { kernel_type: kernel_type.to_owned(), case: row.case.clone(), ratio });
        }
    }

    /// Adds the figures of a table.
    pub(super) fn add(&mut self, table: &Tally) {
        for (total, rows) in self.rows.iter_mut().zip(table.rows) {
            *total += rows;
        }
        self.same += table.same;
        self.slower += table.slower;
        self.faster += table.faster;
        self.cannot_tell += table.cannot_tell;
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

    /// Cases of either database.
    pub fn cases(&self) -> usize {
        self.compared() + self.cannot_tell + self.only_a + self.only_b
    }

    /// The geometric mean of the second durations by the first, over the rows that were compared; `None` of no row.
    pub fn mean_ratio(&self) -> Option<f64> {
        (self.compared() > 0).then(|| (self.logarithms / self.compared() as f64).exp())
    }
}
