//! What runs cases: in process, or a worker.

pub mod native;
pub mod start;
pub mod supervisor;
pub mod worker;

use std::sync::Arc;

use crate::kernels::number::Number;
use crate::kernels::shape::Shape;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::case::{Case, Name};
use crate::refusal::CaseError;

/// One executor, alive. It runs one case at a time.
pub trait Executor: Send {
    /// Its description of itself.
    fn greeting(&self) -> &Greeting;

    /// Runs a case. With `dump` the outputs of the last timed run come with their values.
    fn run(&mut self, id: u64, case: &Arc<Case>, dump: bool) -> Result<Measured, CaseError>;

    /// False when it has died or was ended: a new one is needed for the next case.
    fn is_alive(&self) -> bool;

    /// Ends it in an orderly way.
    fn shut_down(&mut self);
}

/// An executor's description of itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Greeting {
    /// Name of the device: `cpu`, `cuda:0`.
    #[serde(default)]
    pub device: String,
    /// Number of the device.
    #[serde(default)]
    pub device_index: u32,
    /// Where times come from.
    #[serde(default)]
    pub timing: Timing,
    /// Operators that it can run; `None` means all.
    #[serde(default)]
    pub ops: Option<Vec<String>>,
    /// Versions of what it uses, absent ones as null.
    #[serde(default)]
    pub versions: IndexMap<String, Option<String>>,
}

/// Where times come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// The executor measures.
    #[default]
    Worker,
    /// An outer profiler measures.
    Profiler,
}

/// What a case that ran gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What was really called.
    pub api: Name,
    /// Name of the attempt that was accepted, where there are attempts.
    pub attempt: Option<Name>,
    /// Outputs of the last run.
    pub outputs: Vec<OutputInfo>,
    /// One per timed run, in order; empty where a profiler measures.
    pub samples: Vec<Sample>,
}

/// One timed run: start in µs since 1970, duration in µs. A pair of numbers in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(f64, f64)", into = "(f64, f64)")]
pub struct Sample {
    /// µs since 1970.
    pub start_us: f64,
    /// µs.
    pub duration_us: f64,
}

impl From<(f64, f64)> for Sample {
    fn from((start_us, duration_us): (f64, f64)) -> Sample {
        Sample { start_us, duration_us }
    }
}

impl From<Sample> for (f64, f64) {
    fn from(sample: Sample) -> (f64, f64) {
        (sample.start_us, sample.duration_us)
    }
}

/// Shape and type of an output, with its values where they were asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputInfo {
    pub shape: Shape,
    /// Type as torch names it.
    pub dtype: Name,
    /// Flat values, row-major.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Number>>,
}

/// Why no executor could be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// It speaks another protocol.
    #[error("the worker speaks protocol {worker}, this program speaks {}", worker::PROTOCOL)]
    Protocol {
        /// What the worker sent, as JSON.
        worker: String,
    },
    /// It is not there, did not greet, or has no device.
    #[error("{0}")]
    Environment(String),
    /// The run was stopped while it started.
    #[error("stopped by signal {0}")]
    Interrupted(i32),
}

/// Starts an executor, on that local device where one is named.
pub(crate) type StartExecutor<'a> = dyn Fn(Option<&str>) -> Result<Box<dyn Executor>, StartError> + Sync + 'a;
