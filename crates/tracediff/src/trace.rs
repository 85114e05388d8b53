//! A trace, ready to be compared: one compact row per kernel, names interned, classes, phases and layers known.

use std::path::{Path, PathBuf};

use perfdb_doctor::Report;

use crate::classify::COLLECTIVES;
use crate::context::KernelContext;
use crate::context::calls::Calls;
use crate::context::captures::Joined;
use crate::context::classes::Group;
use crate::context::passes::Boundaries;
use crate::context::repetition::FoundPasses;
use crate::corrections::Corrections;
use crate::device::models::inferred_name;
use crate::device::{Device, Platform};
use crate::elapsed::timeline::Timeline;
use crate::error::Error;
use crate::frames::Stacks;
use crate::id::IdTable;
use crate::lead::LeadSum;
use crate::legacy::columns::LegacyColumns;
use crate::names::{NameId, Names};
use crate::one_trace::facts::Facts;
use crate::overlaps::Overlaps;
use crate::rows::KernelRows;
use crate::rules::Rules;
use crate::steps::{Phase, PhaseFilter};
use crate::structure::{LayerCount, Structure};
use crate::time::{Picoseconds, milliseconds};
use crate::time_order::TimeOrder;

/// A loaded trace.
#[derive(Debug)]
pub struct Trace {
    pub(crate) path: PathBuf,
    pub(crate) rules: Rules,
    pub(crate) platform: Platform,
    pub(crate) device: Device,
    pub(crate) has_device_properties: bool,
    /// Name of the GPU in the report of launch counts.
    pub(crate) launch_count_gpu: String,
    pub(crate) names: Names,
    pub(crate) ids: IdTable,
    /// What the profile lacks or has twice, where it is not a JSON trace.
    pub(crate) notes: Vec<String>,
    pub(crate) kernels: KernelRows,
    /// Beside `kernels`.
    pub(crate) contexts: Vec<KernelContext>,
    pub(crate) groups: Vec<Group>,
    /// Names of the classes.
    pub(crate) operations: Vec<String>,
    pub(crate) stacks: Stacks,
    /// Calls of operators of which a formula says what they must do, under the default rules.
    pub(crate) calls: Calls,
    /// What became of replayed graphs, where a capture was given.
    pub(crate) joined: Option<Joined>,
    /// Per kernel, whether a graph launched it; empty where none did.
    pub(crate) replayed: Vec<bool>,
    pub(crate) order: TimeOrder,
    /// What ran before the first step.
    pub(crate) lead: LeadSum,
    /// What separates the steps.
    pub(crate) boundaries: Boundaries,
    /// How passes that nobody annotated were found.
    pub(crate) found_passes: Option<FoundPasses>,
    pub(crate) passes: u64,
    /// Numbers that layers have.
    pub(crate) layers: u64,
    /// How many layers each pass runs, where that is certain.
    pub(crate) layer_count: Option<LayerCount>,
    /// How many layers all passes run.
    pub(crate) layer_runs: u64,
    pub(crate) has_steps: bool,
    pub(crate) has_frames: bool,
    pub(crate) skipped_kernels: u64,
    pub(crate) overlaps: Overlaps,
    /// The report of the trace doctor, under the default rules.
    pub(crate) report: Option<Report>,
    pub(crate) corrections: Corrections,
    /// Blocks and layers, under the default rules.
    pub(crate) structure: Option<Structure>,
    /// What the devices did at every instant, under the default rules.
    pub(crate) timeline: Option<Timeline>,
    /// What the report about this trace alone needs beside, where it was loaded for that.
    pub(crate) facts: Option<Facts>,
    /// What the rules of wafer-core need beside, where the trace was loaded under them.
    pub(crate) legacy: Option<LegacyColumns>,
}

impl Trace {
    /// Where the trace came from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Vendor of the GPU.
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// The GPU.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Name of the GPU; where the trace has none, the model that its properties identify.
    pub(crate) fn gpu_inferred(&self) -> String {
        inferred_name(&self.device, self.platform)
    }

    /// What a profile of another form than JSON lacks or has twice, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The trace doctor's report about it; none under the rules of old releases.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Rule set under which the trace was loaded.
    pub fn rules(&self) -> Rules {
        self.rules
    }

    /// Number of kernels.
    pub fn kernel_count(&self) -> usize {
        self.kernels.len()
    }

    /// Checks that there are kernels of the wanted phase.
    ///
    /// # Errors
    /// [`Error::NoPhase`] when there are none.
    pub fn require_phase(&self, filter: PhaseFilter) -> Result<(), Error> {
        let Some(wanted) = filter.phase() else { return Ok(()) };
        let mut counts = [0_u64; 4];
        for context in &self.contexts {
            counts[context.phase.map_or(3, |phase| phase as usize)] += 1;
        }
        if counts[wanted as usize] > 0 {
            return Ok(());
        }
        let found: Vec<String> = [Phase::Prefill, Phase::Decode, Phase::Mixed]
            .iter()
            .map(|phase| (phase.name(), counts[*phase as usize]))
            .chain([("none", counts[3])])
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        Err(Error::NoPhase { path: self.path.clone(), phase: wanted.name(), found: found.join(", ") })
    }

    /// Names of kernels, each at least once.
    pub(crate) fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|group| self.name(group.name))
    }

    /// Text of an interned name.
    pub(crate) fn name(&self, id: NameId) -> &str {
        self.names.get(id)
    }

    /// Class of a kernel.
    pub(crate) fn operation(&self, kernel: usize) -> u32 {
        self.groups[self.contexts[kernel].group as usize].operation
    }

    /// Whether the kernels of each class communicate.
    pub(crate) fn communicating(&self) -> Vec<bool> {
        self.operations.iter().map(|operation| COLLECTIVES.contains(&operation.as_str())).collect()
    }

    /// Duration of each kernel without what it waits for the one before it.
    pub(crate) fn working_times(&self) -> impl Iterator<Item = Picoseconds> + '_ {
        let mut waiting = self.corrections.waiting.iter().peekable();
        self.kernels.iter().zip(0..).map(move |(kernel, at)| {
            let wait = waiting.next_if(|(kernel, _)| *kernel == at).map_or(0, |(_, wait)| *wait);
            kernel.duration - wait
        })
    }

    /// Kernel numbers by start, file order on ties.
    pub(crate) fn in_time_order(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.order.numbers(self.kernels.len())
    }

    /// Kernel time of a phase in ms.
    pub(crate) fn total_ms(&self, filter: PhaseFilter) -> f64 {
        let kernels = self.kernels.iter().zip(&self.contexts).filter(|(_, context)| filter.lets(context.phase));
        milliseconds(kernels.map(|(kernel, _)| kernel.duration).sum())
    }
}
