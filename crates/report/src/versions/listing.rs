//! The rows that changed most, however many there are.

use perfdb_audit::versions::diff::{Outcome, TableDiff};

/// A row that became slower or faster.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// The kernel type.
    pub kernel_type: String,
    pub case: String,
    /// The lines in both tables.
    pub lines: [u64; 2],
    /// Both durations.
    pub durations_us: [f64; 2],
    /// The standard deviations of the calls behind them, where they are known.
    pub spreads_us: [Option<f64>; 2],
    /// The second duration by the first.
    pub ratio: f64,
    /// What came of it.
    pub outcome: Outcome,
}

/// Keeps a number of rows that changed most.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    most: usize,
    rows: Vec<Listed>,
}

impl Listing {
    /// Will keep this number of rows.
    pub fn new(most: usize) -> Listing {
        Listing { most, rows: Vec::new() }
    }

    /// Takes the rows of a table.
    pub fn add(&mut self, table: &TableDiff) {
        self.add_where(table, |outcome| matches!(outcome, Outcome::Slower | Outcome::Faster));
    }

    /// Takes those rows of a table that came out so, of the ones whose durations can be compared.
    pub fn add_where(&mut self, table: &TableDiff, is_wanted: impl Fn(Outcome) -> bool) {
        for row in table.rows.iter().filter(|row| is_wanted(row.outcome)) {
            let (Some(a), Some(b), Some(ratio)) = (row.a, row.b, row.ratio) else { continue };
            self.rows.push(Listed {
                kernel_type: table.summary.kernel_type.clone(),
                case: row.case.to_string(),
                lines: [a.line, b.line],
                durations_us: [a, b].map(|side| side.duration_us.unwrap_or(f64::NAN)),
                spreads_us: [a.spread_us, b.spread_us],
                ratio,
                outcome: row.outcome,
            });
        }
        if self.rows.len() > 2 * self.most {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        // Rows that changed alike stay in their order.
        self.rows.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
        self.rows.truncate(self.most);
    }

    /// The rows, those that changed most first.
    pub fn into_rows(mut self) -> Vec<Listed> {
        self.shorten();
        self.rows
    }
}
