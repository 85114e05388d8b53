//! What is known of one trace, in the form in which it is written.

use std::collections::BTreeMap;

use serde::Serialize;

use super::advice::Advice;
use crate::context::passes::Boundaries;
use crate::context::repetition::FoundPasses;
use crate::elapsed::PartsMs;

/// Where the time of the steps of a trace goes. Sums are over steps and devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneTrace {
    /// Version of this form.
    pub format_version: u32,
    /// The file.
    pub file: String,
    /// What kind of file it is.
    pub kind: &'static str,
    /// Name of the device.
    pub device: String,
    /// `high`, `medium` or `low`.
    pub trust: &'static str,
    /// Codes of what keeps it from being high.
    pub trust_reasons: Vec<&'static str>,
    /// All of it in one sentence.
    pub verdict: String,
    /// What to do next, by the time that is to be had.
    pub next: Vec<Advice>,
    /// What separates the steps.
    pub boundaries: Boundaries,
    /// Steps of the device that has most; 0 where the whole trace is looked at.
    pub step_count: u64,
    /// Devices that are looked at.
    pub devices: u64,
    /// Elapsed time.
    pub elapsed_ms: f64,
    /// Time in which something ran.
    pub busy_ms: f64,
    /// The parts of `elapsed_ms`.
    pub parts_ms: PartsMs,
    /// Idle time in front of an event whose launch is not known; within `device_idle_ms`.
    pub unknown_launch_ms: f64,
    /// Elapsed time per step and device.
    pub per_step_ms: f64,
    /// Each step on each device.
    pub steps: Vec<StepRow>,
    /// What belongs to the step before the first; in no other number.
    pub lead: LeadRow,
    /// What has no launch in the file.
    pub unlaunched: Idle,
    /// Time of replayed graphs that are recorded as one row.
    pub graph_collapsed_ms: f64,
    /// Kernels.
    pub kernel_count: u64,
    /// Sum of their durations.
    pub kernel_ms: f64,
    /// How many names they have.
    pub distinct_names: u64,
    /// Copies and sets.
    pub copies: CopyCount,
    /// By total, then name.
    pub classes: Vec<ClassRow>,
    /// By total, then name.
    pub top_kernels: Vec<KernelRow>,
    /// By total.
    pub operators: Vec<OperatorRow>,
    /// Kernel time that no operator owns.
    pub without_operator_ms: f64,
    /// The layers of the model, where they were found.
    pub layers: Option<LayersRow>,
    /// Passes that nobody annotated, where the trace has some.
    #[serde(skip)]
    pub found_passes: Option<FoundPasses>,
    /// Rows that were left out of lists so that the answer fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<BTreeMap<&'static str, usize>>,
    /// Codes of findings after which times between events cannot be trusted.
    #[serde(skip)]
    pub times_not_trusted: Vec<&'static str>,
}

/// A step on a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    /// Its annotation.
    pub name: Option<String>,
    /// Id of the device.
    pub device: String,
    /// Its phase.
    pub phase: Option<&'static str>,
    /// Length.
    pub elapsed_ms: f64,
    /// Time in which something ran.
    pub busy_ms: f64,
    /// Kernels that start in it.
    pub kernels: u64,
    /// Copies that start in it.
    pub copies: u64,
    /// The parts of its length.
    pub parts_ms: PartsMs,
    /// Length on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_ms: Option<f64>,
    /// From its start on the host to its first launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_launch_after_ms: Option<f64>,
    /// From its start on the host to its first event on the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_kernel_after_ms: Option<f64>,
}

/// What ran before the first step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeadRow {
    /// Kernels.
    pub kernels: u64,
    /// Copies.
    pub copies: u64,
    /// Sum of the durations of the kernels.
    pub kernel_ms: f64,
    /// From the first event to the first step.
    pub elapsed_ms: f64,
}

/// What has no launch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Idle {
    /// Kernels.
    pub kernels: u64,
    /// Copies.
    pub copies: u64,
    /// Sum of the durations of the kernels.
    pub kernel_ms: f64,
}

/// Copies and sets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyCount {
    /// How many.
    pub count: u64,
    /// Sum of their durations.
    pub total_ms: f64,
}

/// A class of kernels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassRow {
    /// Its name.
    pub class: String,
    /// Kernels.
    pub kernels: u64,
    /// Sum of their durations.
    pub total_ms: f64,
    /// Time that no other class has; adds up to compute and exposed communication.
    pub own_ms: f64,
    /// What the host asked for, where the names of the kernels do not say which collective they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveRow>,
    /// Whether its kernels communicate.
    #[serde(skip)]
    pub communicates: bool,
}

/// A kind of collective, by the operator of the host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectiveRow {
    /// The class that its kernels have where their names tell it.
    pub class: &'static str,
    /// Kernels.
    pub kernels: u64,
    /// Sum of their durations.
    pub total_ms: f64,
}

/// Kernels of one name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRow {
    /// The name.
    pub name: String,
    /// How many.
    pub count: u64,
    /// Sum of their durations.
    pub total_ms: f64,
}

/// An operator with its shapes. What is not known is nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorRow {
    /// Name of the operator.
    pub operator: String,
    /// Shapes of its arguments.
    pub shapes: Option<String>,
    /// Types of its arguments.
    pub types: Option<String>,
    /// Calls that have kernels.
    pub calls: u64,
    /// Kernels.
    pub kernels: u64,
    /// Sum of their durations.
    pub total_ms: f64,
    /// Part of all kernel time.
    pub share: f64,
    /// Operations of one call, in 10⁹.
    pub gflop: Option<f64>,
    /// Bytes of one call, in 2²⁰.
    pub mib: Option<f64>,
    /// `compute` or `memory`.
    pub bound: Option<&'static str>,
    /// The part of the device's peak that it makes use of.
    pub percent_of_roof: Option<f64>,
    /// The innermost frame of Python around its first launch.
    #[serde(skip)]
    pub frame: Option<String>,
    /// Shapes as they stand in the file.
    #[serde(skip)]
    pub dims: String,
}

/// The layers of the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayersRow {
    /// Layers of the model.
    pub count: u64,
    /// How many of them run in a step; more than there are where the model runs several times in it.
    pub runs: u64,
    /// What a layer consists of.
    #[serde(rename = "type")]
    pub kind: String,
    /// Kernel time of one run of a layer, the mean.
    pub per_layer_ms: f64,
    /// Kernel time of a step outside of layers.
    pub between_layers_ms: f64,
    /// What one layer spends its time in.
    pub rows: Vec<LayerFamily>,
}

/// A family of operations in a layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerFamily {
    /// Its name.
    pub family: String,
    /// Time per run of a layer.
    pub us: f64,
    /// Kernels per run of a layer.
    pub kernels: f64,
    /// Names of its kernels, longest time first, at most three.
    pub names: Vec<String>,
}
