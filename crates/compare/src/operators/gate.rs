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

/// How a kernel type fails the limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Offence {
    /// Its error, in percent, is beyond the limit.
    Error(f64),
    /// It is predicted and was never measured, which no percentage can say.
    NeverMeasured,
}

/// Why a scenario does not pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GateFinding<'r> {
    /// Kernel types are off by more than the limit.
    Beyond {
        /// The one that is off most, the first on ties.
        worst: &'r OpRow,
        /// How it is off.
        offence: Offence,
        /// How many are.
        count: usize,
    },
    /// No kernel type has the minimum share, so nothing was looked at.
    NothingToLookAt,
}

impl Gate {
    /// What is wrong with the rows of a scenario. An error that is not a number is beyond every limit, and so is a kernel
    /// type that was never measured, which weighs what its predicted time is of the measured time.
    pub fn check<'r>(&self, rows: &'r [OpRow]) -> Option<GateFinding<'r>> {
        let total_us = measured_total_us(rows);
        let mut looked_at = false;
        let mut worst: Option<(&OpRow, f64)> = None;
        let mut count = 0;
        for row in rows.iter().filter(|row| weight_pct(row, total_us) >= self.min_share_pct) {
            looked_at = true;
            let error = match row.error_pct.value().abs() {
                _ if row.is_predicted_only() => f64::INFINITY,
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
            Some((worst, _)) => {
                let offence = if worst.is_predicted_only() {
                    Offence::NeverMeasured
                } else {
                    Offence::Error(worst.error_pct.value())
                };
                Some(GateFinding::Beyond { worst, offence, count })
            }
            None if looked_at => None,
            None => Some(GateFinding::NothingToLookAt),
        }
    }
}

/// A row's part of the measured time in percent; of one that was never measured, the predicted time over the measured one.
fn weight_pct(row: &OpRow, measured_total_us: f64) -> f64 {
    if !row.is_predicted_only() {
        share_pct(row, measured_total_us)
    } else if measured_total_us > 0.0 {
        row.tc_total_us.value() / measured_total_us * 100.0
    } else {
        100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators::{Number, RowStatus};

    fn row(name: &str, measured_us: f64, error_pct: f64) -> OpRow {
        OpRow {
            kernel_type: name.to_owned(),
            tc_funcs: String::new(),
            tc_total_us: Number::Zero,
            tc_count: 0,
            prof_per_fwd_us: Number::Double(measured_us),
            prof_count: 1.0,
            error_pct: Number::Double(error_pct),
            count_error_pct: Number::Zero,
            status: RowStatus::Hit,
        }
    }

    #[test]
    fn the_worst_row_that_matters_is_named() {
        let rows = [row("a", 90.0, -20.0), row("b", 9.5, 20.0), row("c", 0.5, 500.0)];
        let gate = Gate { fail_above_pct: 19.9, min_share_pct: 1.0 };
        assert_eq!(
            gate.check(&rows),
            Some(GateFinding::Beyond { worst: &rows[0], offence: Offence::Error(-20.0), count: 2 })
        );
        assert_eq!(Gate { fail_above_pct: 20.0, ..gate }.check(&rows), None, "the limit itself is accepted");
        let all = Gate { min_share_pct: 0.5, ..gate }.check(&rows);
        assert_eq!(all, Some(GateFinding::Beyond { worst: &rows[2], offence: Offence::Error(500.0), count: 3 }));
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

    #[test]
    fn a_kernel_type_that_was_never_measured_does_not_pass() {
        let mut rows = [row("a", 1000.0, 1.0), row("b", 0.0, 0.0)];
        rows[1].error_pct = Number::Zero;
        let gate = Gate { fail_above_pct: 20.0, min_share_pct: 1.0 };
        assert_eq!(gate.check(&rows), None, "no time on either side");
        for (status, predicted_us, fails) in
            [(RowStatus::Hit, 5000.0, true), (RowStatus::Miss, 5000.0, true), (RowStatus::Hit, 9.9, false)]
        {
            rows[1].status = status;
            rows[1].tc_total_us = Number::Double(predicted_us);
            let expected =
                fails.then_some(GateFinding::Beyond { worst: &rows[1], offence: Offence::NeverMeasured, count: 1 });
            assert_eq!(gate.check(&rows), expected, "{status:?} {predicted_us}");
        }
        assert!(gate.check(&rows[1..]).is_some(), "nothing else was measured");
    }
}
