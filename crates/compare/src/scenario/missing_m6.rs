//! M6 of scenarios that name an M6 file which is not there.

use super::{ForwardPasses, Scenario};
use crate::m6::{self, M6};
use std::path::PathBuf;

impl Scenario {
    /// Computes M6 where the M6 file is not there and trace and CSV are; gives the path of that file too.
    ///
    /// Such a file says nothing about passes, so the scenario counts one from then on. What is wrong with trace or CSV fails the scenario when it
    /// is compared: a missing M6 file would only skip it.
    pub fn compute_missing_m6(&mut self, options: &m6::Options) -> Option<(PathBuf, M6)> {
        let ForwardPasses::M6File(path) = &self.forward_passes else { return None };
        if path.exists() || !self.tc_trace.exists() || !self.trace_csv.exists() {
            return None;
        }
        let path = path.clone();
        match m6::compare_files(&self.tc_trace, &self.trace_csv, options) {
            Ok(outcome) => {
                self.forward_passes = ForwardPasses::Number(1.0);
                Some((path, outcome.result))
            }
            Err(error) => {
                self.forward_passes = ForwardPasses::NotComputed(error.to_string());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Semantics;

    #[test]
    fn a_trace_that_cannot_be_read_fails_the_scenario() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("t.json"), "{")?;
        std::fs::write(path("p.csv"), "Type,Start Time(us),Duration(us)\n")?;
        let mut scenario = Scenario::of_files("one", &path("t.json"), &path("p.csv"), 1.0);
        scenario.forward_passes = ForwardPasses::M6File(path("m6.json"));
        let options = m6::Options { source_filter: Default::default(), semantics: Semantics::Corrected };
        assert!(scenario.compute_missing_m6(&options).is_none());
        let error = scenario.forward_passes.read().expect_err("the trace breaks off");
        assert!(error.to_string().contains("t.json") && error.missing_file().is_none(), "{error}");
        Ok(())
    }
}
