//! By how much runs of the same thing vary.

use perfdb_model::statistics;

/// By how many percent the times of runs of the same thing vary (standard deviation). What is assumed counts where passes are too few
/// to be samples; what somebody knows and gives counts for any number of passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunVariation {
    percent: f64,
    is_given: bool,
}

impl Default for RunVariation {
    fn default() -> RunVariation {
        RunVariation { percent: 2.0, is_given: false }
    }
}

impl RunVariation {
    /// Of this many percent; nothing below 0 or above 100.
    pub fn of_percent(percent: f64) -> Option<RunVariation> {
        (0.0..=100.0).contains(&percent).then_some(RunVariation { percent, is_given: true })
    }

    /// In percent.
    pub fn percent(self) -> f64 {
        self.percent
    }

    /// Whether somebody gave it.
    pub fn is_given(self) -> bool {
        self.is_given
    }

    pub(crate) fn as_difference(self) -> statistics::RunVariation {
        let runs = statistics::RunVariation::of_percent(self.percent);
        if self.is_given { runs.for_many_passes() } else { runs }
    }
}
