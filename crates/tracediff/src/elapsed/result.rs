//! The elapsed time of a trace, as it is reported.

use perfdb_doctor::Code;
use serde::Serialize;

use super::timeline::TimeParts;
use crate::context::passes::Boundaries;
use crate::context::repetition::FoundPasses;
use crate::time::milliseconds;
use crate::trace::Trace;

/// Elapsed time of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceElapsed {
    /// From the first to the last event on the GPU, of the windows that are compared; the mean over devices.
    pub elapsed_ms: f64,
    /// Passes that are compared; 1 where the whole is.
    pub passes: u64,
    /// Elapsed time per pass.
    pub per_pass_ms: f64,
    /// Layers of the model; nothing where their number is not certain.
    pub layers_per_pass: Option<u64>,
    /// How many of them run in a pass; more than there are where the model runs several times in it.
    pub layer_runs_per_pass: Option<u64>,
    /// Passes that lack kernels and are in none of these numbers, where a whole one remains.
    pub left_out_passes: u64,
    /// Codes of findings after which times between events cannot be trusted.
    pub not_trusted: Vec<&'static str>,
    /// The parts of `elapsed_ms`.
    pub parts_ms: PartsMs,
    /// The middle one of the times of the passes, where there are three or more; the mean over devices.
    pub median_pass_ms: Option<f64>,
    /// What separates the passes.
    pub boundaries: Boundaries,
    /// How passes were found that nobody annotated.
    pub found_passes: Option<FoundPasses>,
    /// Passes by phase, where passes of several phases are compared.
    pub phases: Vec<PhasePasses>,
    /// Time before the first pass; no part of `elapsed_ms`.
    pub lead_ms: f64,
    /// Kernels before the first pass; in no sum and no count.
    pub lead_kernels: u64,
    /// Their summed durations.
    pub lead_kernel_ms: f64,
    /// Time without anything on the GPU in front of an event whose launch is not known; within `device_idle_ms`.
    pub unknown_launch_ms: f64,
    /// Part of `host_late_ms` that lies between passes: nobody had asked for the next one yet, or its preparation took that long.
    pub between_passes_ms: f64,
    /// Calls that set up what came first while the device stood still.
    pub cold_start: Option<ColdStart>,
    /// Copies and sets.
    pub copies: Vec<CopyTotal>,
    /// Each device.
    pub devices: Vec<DeviceElapsed>,
    /// Gaps that are more than half of a pass, although what ends them had been launched before half of them was over.
    pub large_gaps: Vec<LargeGap>,
    /// Each pass on each device.
    pub windows: Vec<WindowElapsed>,
}

/// Calls that set up what came first while the device stood still: a module that is loaded, a library that prepares itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColdStart {
    /// The longest one.
    pub call: String,
    /// The kernel that came next.
    pub kernel: String,
    /// The operator around it; empty where it is not known.
    pub operator: String,
    /// How long the device stood still for all of them.
    pub stall_ms: f64,
}

impl ColdStart {
    pub(crate) fn of(trace: &Trace) -> Option<ColdStart> {
        let finding = trace.report.as_ref()?.finding(Code::ColdStart)?;
        let evidence = finding.evidence.as_map();
        let text = |key: &str| evidence.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
        let stall_ms = evidence.get("stall_us").and_then(|value| value.as_f64())? / 1000.0;
        Some(ColdStart { call: text("call"), kernel: text("kernel"), operator: text("operator"), stall_ms })
    }
}

/// The passes of one phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhasePasses {
    /// `prefill`, `decode` or `mixed`.
    pub phase: &'static str,
    /// How many there are.
    pub passes: u64,
    /// The middle one of their times; the mean over devices.
    pub median_pass_ms: f64,
}

/// A gap that is more than half of a pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LargeGap {
    /// Number of the pass; nothing for the time before the first.
    pub pass: Option<u32>,
    /// Id of the device as it stands in the trace.
    pub device: String,
    /// Length.
    pub gap_ms: f64,
    /// What ends it; empty for a copy.
    pub kernel: String,
    /// How long before its start that had been launched.
    pub launched_before_ms: f64,
}

/// What a GPU did in some time, in ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct PartsMs {
    /// A kernel ran that does not communicate.
    pub compute_ms: f64,
    /// Only kernels ran that communicate.
    pub exposed_communication_ms: f64,
    /// No kernel ran, but a copy or a set.
    pub exposed_copies_ms: f64,
    /// Nothing ran, because the call that launched what came next had not ended.
    pub host_late_ms: f64,
    /// Nothing ran, though the next kernel or copy had been launched, or nobody knows when.
    pub device_idle_ms: f64,
}

impl TraceElapsed {
    /// Time per pass without the gaps that are more than half of one.
    pub(super) fn per_pass_without_gaps(&self) -> f64 {
        let gaps: f64 = self.large_gaps.iter().map(|gap| gap.gap_ms).sum();
        let passes = (self.passes as usize * self.devices.len().max(1)) as f64;
        (self.per_pass_ms - gaps / passes).max(0.0)
    }
}

impl PartsMs {
    pub(crate) fn of(parts: &TimeParts, divisor: f64) -> PartsMs {
        let ms = |time| milliseconds(time) / divisor;
        PartsMs {
            compute_ms: ms(parts.compute),
            exposed_communication_ms: ms(parts.exposed_communication),
            exposed_copies_ms: ms(parts.exposed_copies),
            host_late_ms: ms(parts.host_late),
            device_idle_ms: ms(parts.device_idle),
        }
    }
}

/// Copies of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyTotal {
    /// `HtoD`, `DtoH`, `DtoD`, `PtoP`, `set` or `other`.
    pub kind: &'static str,
    /// How many.
    pub count: u64,
    /// Bytes, where the trace has them.
    pub bytes: u64,
    /// Sum of the durations.
    pub total_ms: f64,
    /// Time in which no kernel ran.
    pub exposed_ms: f64,
    /// Bytes (10⁹) per second of `total_ms`; nothing where bytes or times are missing.
    pub gb_per_s: Option<f64>,
}

/// Elapsed time on a device, of the windows that are compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceElapsed {
    /// Id as it stands in the trace.
    pub device: String,
    /// Elapsed time.
    pub elapsed_ms: f64,
    /// Its parts.
    pub parts_ms: PartsMs,
}

/// A pass on a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WindowElapsed {
    /// Number of the pass; nothing for the time before the first.
    pub pass: Option<u32>,
    /// Id of the device as it stands in the trace.
    pub device: String,
    /// Phase, if one was annotated.
    pub phase: Option<&'static str>,
    /// Start, from the first event of the trace.
    pub start_ms: f64,
    /// Length.
    pub elapsed_ms: f64,
    /// What the time went into.
    pub parts_ms: PartsMs,
}
