//! What measured servers show beyond the sum of their operators, per framework.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

const BUILT_IN: &str = include_str!("calibration.json");

/// Constants of frameworks.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Relative deviation of the operators' sum in the forecasts behind the intervals.
    pub usual_deviation: f64,
    /// By the framework's folder name; `other` is for all that have none.
    pub frameworks: BTreeMap<String, Constants>,
}

/// Constants of a framework.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    /// What a step takes, as a multiple of the sum of its operators.
    pub factor: f64,
    /// Milliseconds of a step that no device is busy.
    pub host_ms: f64,
    /// Microseconds that the devices of a sum wait for the last of them, beyond what a table of sums says.
    pub collective_us: f64,
    /// Microseconds a layer of experts takes beyond its table: small kernels that choose experts, sort tokens and sum results.
    #[serde(default)]
    pub routing_us: f64,
    /// Whether prefills run within the steps that decode, and not between them.
    #[serde(default)]
    pub mixes: bool,
    /// The share of other requests' prefills that delays a decode step.
    pub interference: f64,
    /// The share of each other request's prefill that a first token waits for.
    pub waiting: f64,
    /// Milliseconds before a prompt is prefilled: its way through the server's front end and its tokens.
    pub start_ms: f64,
    /// Decode steps before the first token.
    pub steps: f64,
    /// Logarithms of measured over forecast times per output token.
    pub tpot: Interval,
    /// The same of times to the first token.
    pub ttft: Interval,
    /// Measured points and models behind the constants.
    pub points: [u64; 2],
}

/// The middle nine tenths of residuals.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Calibration {
    /// The constants that come with the program.
    ///
    /// # Errors
    /// Never, unless the program was built with a broken file.
    pub fn built_in() -> Result<Calibration, Error> {
        Calibration::parse(Path::new("calibration.json"), BUILT_IN)
    }

    /// Reads constants of one's own.
    ///
    /// # Errors
    /// A file that cannot be read, or is no calibration.
    pub fn read(path: &Path) -> Result<Calibration, Error> {
        let bytes = perfdb_trace::source::Source::open(path)?.read_all()?;
        Calibration::parse(path, &String::from_utf8_lossy(&bytes))
    }

    fn parse(path: &Path, text: &str) -> Result<Calibration, Error> {
        let malformed = |reason: String| Error::Malformed { path: path.to_owned(), reason };
        let read: Calibration = serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?;
        if read.frameworks.contains_key("other") {
            Ok(read)
        } else {
            Err(malformed("frameworks.other is missing".to_owned()))
        }
    }

    /// The constants of a framework.
    pub fn of(&self, framework: &str) -> &Constants {
        let found = self.frameworks.get(framework).or_else(|| self.frameworks.get("other"));
        found.unwrap_or_else(|| unreachable!("checked when the calibration was read"))
    }
}
