//! Limits for continuous integration: no kernel type that matters may be off by more than this.

use super::rows::{OpRow, measured_total_us, share_pct};

/// A limit for the latency errors of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// Largest accepted absolute latency error, in percent.
    pub fail_above_pct: f64,
    /// Kernel types below this share of the measured time are not looked at, in percent.
    pub min_share_pct: f64,
}

/// Why a scenario does not pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GateFinding<'r> {
    /// Kernel types are off by more than the limit.
    Beyond {
        /// The one that is off most, the first on ties.
        worst: &'r OpRow,
        /// How many are.
        count: usize,
    },
    /// No kernel type has the minimum share, so nothing was looked at.
    NothingToLookAt,
}

impl Gate {
    /// What is wrong with the rows of a scenario. An error that is not a number is beyond every limit.
    pub fn check<'r>(&self, rows: &'r [OpRow]) -> Option<GateFinding<'r>> {
        let total_us = measured_total_us(rows);
        let mut looked_at = false;
        let mut worst: Option<(&OpRow, f64)> = None;
        let mut count = 0;
        for row in rows.iter().filter(|row| share_pct(row, total_us) >= self.min_share_pct) {
            looked_at = true;
            let error = match row.error_pct.value().abs() {
                error if error.is_nan() => f64::INFINITY,
                error => error,
            };
            if error > self.fail_above_pct {
                count += 1;
                if worst.is_none_or(|(_, largest)| error > largest) {
                    worst = Some((row, error));
                }
            }
        }
        match worst {
            Some((worst, _)) => Some(GateFinding::Beyond { worst, count }),
            None if looked_at => None,
            None => Some(GateFinding::NothingToLookAt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::{Figure, RowStatus};

    fn row(name: &str, measured_us: f64, error_pct: f64) -> OpRow {
        OpRow {
            kernel_type: name.to_owned(),
            tc_funcs: String::new(),
            tc_total_us: Figure::Zero,
            tc_count: 0,
            prof_per_fwd_us: Figure::Double(measured_us),
            prof_count: 1.0,
            error_pct: Figure::Double(error_pct),
            count_error_pct: Figure::Zero,
            status: RowStatus::Hit,
        }
    }

    #[test]
    fn the_worst_row_that_matters_is_named() {
        let rows = [row("a", 90.0, -20.0), row("b", 9.5, 20.0), row("c", 0.5, 500.0)];
        let gate = Gate { fail_above_pct: 19.9, min_share_pct: 1.0 };
        assert_eq!(gate.check(&rows), Some(GateFinding::Beyond { worst: &rows[0], count: 2 }));
        assert_eq!(Gate { fail_above_pct: 20.0, ..gate }.check(&rows), None, "the limit itself is accepted");
        let all = Gate { min_share_pct: 0.5, ..gate }.check(&rows);
        assert_eq!(all, Some(GateFinding::Beyond { worst: &rows[2], count: 3 }));
    }

    #[test]
    fn nothing_to_look_at_does_not_pass() {
        let gate = Gate { fail_above_pct: 10.0, min_share_pct: 1.0 };
        assert_eq!(gate.check(&[]), Some(GateFinding::NothingToLookAt));
        assert_eq!(gate.check(&[row("a", 0.0, 0.0)]), Some(GateFinding::NothingToLookAt));
        let everything = Gate { min_share_pct: 0.0, ..gate };
        assert_eq!(everything.check(&[row("a", 0.0, 0.0)]), None);
        assert!(everything.check(&[row("a", 1.0, f64::NAN)]).is_some());
    }
}
