//! M6 of scenarios that name an M6 file which is not there.

use super::{ForwardPasses, Scenario};
use crate::m6::{self, M6};
use std::path::PathBuf;

impl Scenario {
    /// Computes M6 where the M6 file is not there and trace and CSV are; gives the path of that file too.
    ///
    /// Such a file says nothing about passes, so the scenario counts one from then on. What is wrong with trace and CSV shows
    /// when they are compared; there is no M6 then.
    pub fn compute_missing_m6(&mut self, options: &m6::Options) -> Option<(PathBuf, M6)> {
        let ForwardPasses::M6File(path) = &self.forward_passes else { return None };
        if path.exists() || !self.tc_trace.exists() || !self.trace_csv.exists() {
            return None;
        }
        let outcome = m6::compare_files(&self.tc_trace, &self.trace_csv, options).ok()?;
        let path = path.clone();
        self.forward_passes = ForwardPasses::Number(1.0);
        Some((path, outcome.result))
    }
}
