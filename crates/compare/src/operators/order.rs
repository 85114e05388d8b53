//! The order of the rows of a table.

use super::rows::OpRow;

/// What the rows are ordered by, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Predicted or measured time, whichever is larger: the order in which [`op_rows`](super::op_rows) gives them.
    #[default]
    Time,
    /// Difference in microseconds.
    Delta,
    /// Error in percent; kernel types that were never measured lead.
    Error,
    /// Share of the measured time.
    Share,
}

/// Orders rows that [`op_rows`](super::op_rows) gave; equal ones stay as they are.
pub fn sort_rows(rows: &mut [OpRow], order: Order) {
    let by: fn(&OpRow) -> f64 = match order {
        Order::Time => return,
        Order::Delta => |row| row.delta_us().abs(),
        Order::Error => |row| if row.is_predicted_only() { f64::INFINITY } else { row.error_pct.value().abs() },
        Order::Share => |row| row.prof_per_fwd_us.value(),
    };
    rows.sort_by(|a, b| by(b).total_cmp(&by(a)));
}
