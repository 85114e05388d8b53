//! Scenarios: what is compared with what, one after the other or several at once.

use crate::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

mod file;
mod m6_file;
mod missing_m6;
mod run;

pub use file::{ScenarioList, read_scenarios};
pub use run::{Options, ScenarioOutcome, ScenarioReport, compare_scenarios};
pub(crate) use run::{in_order, scenario_span};

/// One forward pass: a simulator's trace and the profile it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Title of its table and its key in the JSON.
    pub name: String,
    /// Path of the simulator's trace.
    pub tc_trace: PathBuf,
    /// Path of the forward-pass CSV.
    pub trace_csv: PathBuf,
    /// How many forward passes the CSV holds.
    pub forward_passes: ForwardPasses,
}

/// Where the number of forward passes stands.
#[derive(Debug, Clone, PartialEq)]
pub enum ForwardPasses {
    /// Here.
    Number(f64),
    /// In an M6 file, which counts 1 if it does not say.
    M6File(PathBuf),
    /// In an M6 file that was missing and could not be computed: why.
    NotComputed(String),
}

impl ForwardPasses {
    /// The number, from wherever it stands.
    ///
    /// # Errors
    /// When the M6 file can't be read, is not a JSON object, or its number is none.
    pub fn read(&self) -> Result<f64, Error> {
        match self {
            ForwardPasses::Number(number) => Ok(*number),
            ForwardPasses::M6File(path) => m6_file::read_forward_passes(path),
            ForwardPasses::NotComputed(reason) => Err(Error::M6NotComputed(reason.clone())),
        }
    }
}

impl Scenario {
    /// The files that are read for it.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let m6 = match &self.forward_passes {
            ForwardPasses::M6File(path) => Some(path.as_path()),
            ForwardPasses::Number(_) | ForwardPasses::NotComputed(_) => None,
        };
        [self.tc_trace.as_path(), self.trace_csv.as_path()].into_iter().chain(m6)
    }

    /// One trace and one CSV with this number of forward passes.
    pub fn of_files(name: impl Into<String>, tc_trace: &Path, trace_csv: &Path, forward_passes: f64) -> Scenario {
        Scenario {
            name: name.into(),
            tc_trace: tc_trace.to_owned(),
            trace_csv: trace_csv.to_owned(),
            forward_passes: ForwardPasses::Number(forward_passes),
        }
    }

    /// The four scenarios that are compared when no others are named: traces and M6 files below `results/`, CSVs in `trace_dir`.
    pub fn defaults(trace_dir: &Path) -> Vec<Scenario> {
        [
            ("Qwen3 PF", "qwen3_prefill_m6", "qwen3-32b_pf_4112tok", "qwen3_pf_trace"),
            ("Qwen3 DC", "qwen3_decode_m6", "qwen3-32b_dc_16tok", "qwen3_dc_trace"),
            ("DSv3 PF", "dsv3_prefill_m6", "dsv3_pf_4099tok", "dsv3_pf_trace"),
            ("DSv3 DC", "dsv3_decode_m6", "dsv3_dc_1tok", "dsv3_dc_trace"),
        ]
        .map(|(name, m6, csv, trace)| Scenario {
            name: name.to_owned(),
            tc_trace: format!("results/{trace}.json").into(),
            trace_csv: in_folder(trace_dir, &format!("{csv}.csv")),
            forward_passes: ForwardPasses::M6File(format!("results/{m6}.json").into()),
        })
        .into()
    }
}

/// `folder/name`, the folder as it was written: an empty one gives `/name`.
fn in_folder(folder: &Path, name: &str) -> PathBuf {
    let mut path = OsString::from(folder);
    path.push("/");
    path.push(name);
    path.into()
}
