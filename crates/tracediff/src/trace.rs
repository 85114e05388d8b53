//! A trace, ready to be compared: one compact row per kernel, names interned, classes, phases and layers known.

use std::path::{Path, PathBuf};

use crate::classify::Registry;
use crate::columns::{Columns, Doubles, Kernel};
use crate::device::{Device, Members, Platform};
use crate::error::Error;
use crate::frames::{StackId, Stacks};
use crate::id::IdTable;
use crate::names::{NameId, Names};
use crate::overlaps::{self, Overlaps};
use crate::rules::{DeviceRule, FrameRule, LayerRule, PERFDB, PhaseRule, Rules};
use crate::steps::{Phase, PhaseFilter};
use crate::time::milliseconds;
use crate::{legacy, place};

/// How a trace is loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadOptions {
    /// Rule set.
    pub rules: Rules,
    /// Whether Python stacks are read.
    pub stacks: bool,
    /// User patterns for kernel names.
    pub registry: Registry,
    /// Whether kernels that reach into their successor on the same stream end where that begins.
    pub clip_overlaps: bool,
    /// Threads that read one trace.
    pub threads: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions { rules: PERFDB, stacks: true, registry: Registry::default(), clip_overlaps: false, threads: 1 }
    }
}

/// A loaded trace.
#[derive(Debug)]
pub struct Trace {
    pub(crate) path: PathBuf,
    pub(crate) rules: Rules,
    pub(crate) platform: Platform,
    pub(crate) device: Device,
    pub(crate) has_device_properties: bool,
    /// Name of the GPU as 0.1.33 has it.
    pub(crate) legacy_gpu: String,
    pub(crate) names: Names,
    pub(crate) ids: IdTable,
    pub(crate) kernels: Vec<Kernel>,
    /// Beside `kernels`, under the legacy rules.
    pub(crate) doubles: Vec<Doubles>,
    pub(crate) places: Vec<Place>,
    pub(crate) groups: Vec<Group>,
    pub(crate) operations: Vec<String>,
    /// Labels of groups (legacy rules).
    pub(crate) labels: Vec<String>,
    pub(crate) stacks: Stacks,
    /// Kernels by start, file order on ties; `None` if that is the file order.
    pub(crate) by_start: Option<Vec<u32>>,
    pub(crate) passes: u64,
    pub(crate) layers: u64,
    pub(crate) has_steps: bool,
    pub(crate) has_frames: bool,
    pub(crate) skipped_kernels: u64,
    pub(crate) overlaps: Overlaps,
    /// Windows with their phase, under the legacy rules.
    pub(crate) legacy_windows: Vec<legacy::phases::Window>,
}

/// What is known of a kernel beside its event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Number in `Trace::groups`.
    pub(crate) group: u32,
    /// Number of the forward pass, or [`NOWHERE`].
    pub(crate) pass: u32,
    /// Layer, or [`NOWHERE`].
    pub(crate) layer: u32,
    /// Host operator or summary of the stack, if any.
    pub(crate) operator: NameId,
    /// Python stack, if any.
    pub(crate) stack: StackId,
    /// Phase, if any.
    pub(crate) phase: Option<Phase>,
    /// Whether `operator` comes from a `cpu_op` event.
    pub(crate) has_host_operator: bool,
}

/// No pass, no layer.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Kernels of one name and one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: NameId,
    /// Number in `Trace::operations`.
    pub(crate) operation: u32,
    /// Number in `Trace::labels`.
    pub(crate) label: u32,
}

impl Trace {
    /// Loads a trace file: JSON, plain or gzip.
    ///
    /// # Errors
    /// When the file cannot be read, is not a trace, or has no kernels.
    pub fn open(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Trace, Error> {
        let (columns, members) = crate::read::open(path.as_ref(), options)?;
        Trace::new(path.as_ref().to_path_buf(), columns, &members, options)
    }

    /// Loads a trace from a reader; `path` is what errors and results call it.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_reader(
        path: impl Into<PathBuf>,
        reader: impl std::io::Read + Send + 'static,
        options: &LoadOptions,
    ) -> Result<Trace, Error> {
        let path = path.into();
        let (columns, members) = crate::read::reader(&path, reader, options)?;
        Trace::new(path, columns, &members, options)
    }

    fn new(path: PathBuf, mut columns: Columns, members: &Members, options: &LoadOptions) -> Result<Trace, Error> {
        if columns.kernels.is_empty() {
            return Err(Error::NoKernels { path });
        }
        columns.names.finish();
        let rules = &options.rules;
        let (platform, device) = members.device(rules.device);
        let by_start = starts(&columns.kernels);
        let overlaps = overlaps::find(&mut columns.kernels, by_start.as_deref(), options.clip_overlaps);
        let skipped_kernels = columns.skipped_kernels;
        let has_frames = columns.has_frames;
        let mut trace = Trace {
            path,
            rules: rules.clone(),
            platform,
            device,
            has_device_properties: members.has_properties(),
            legacy_gpu: members.device(DeviceRule::Mi300x).1.name,
            names: std::mem::take(&mut columns.names),
            ids: std::mem::take(&mut columns.ids),
            kernels: std::mem::take(&mut columns.kernels),
            doubles: std::mem::take(&mut columns.kernel_doubles),
            places: Vec::new(),
            groups: Vec::new(),
            operations: Vec::new(),
            labels: Vec::new(),
            stacks: Stacks::default(),
            by_start,
            passes: 0,
            layers: 0,
            has_steps: false,
            has_frames,
            skipped_kernels,
            overlaps,
            legacy_windows: Vec::new(),
        };
        trace.place(&columns, options);
        Ok(trace)
    }

    /// Finds class, pass, phase, layer, operator and stack of every kernel.
    fn place(&mut self, columns: &Columns, options: &LoadOptions) {
        let launches = place::launches::Launches::new(columns);
        match self.rules.phases {
            PhaseRule::AtLaunch => place::passes::place(self, columns, &launches),
            PhaseRule::AtKernel { prefill_tokens } => legacy::phases::place(self, columns, prefill_tokens),
        }
        match self.rules.frames {
            FrameRule::AtLaunch => place::operators::place(self, columns, &launches, options.stacks),
            FrameRule::AtFirstKernel => legacy::stacks::place(self, columns, options.stacks),
        }
        place::classes::place(self, &options.registry);
        match self.rules.layers {
            LayerRule::PerPass => place::layers::place(self),
            LayerRule::Markers => legacy::layers::place_by_markers(self),
            LayerRule::CorrelationGroups => legacy::layers::place_by_groups(self),
        }
    }

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

    /// Rule set under which the trace was loaded.
    pub fn rules(&self) -> &Rules {
        &self.rules
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
        for place in &self.places {
            counts[place.phase.map_or(3, |phase| phase as usize)] += 1;
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

    /// Text of an interned name.
    pub(crate) fn name(&self, id: NameId) -> &str {
        self.names.get(id)
    }

    /// Class of a kernel.
    pub(crate) fn operation(&self, kernel: usize) -> u32 {
        self.groups[self.places[kernel].group as usize].operation
    }

    /// Kernel numbers by start, file order on ties.
    pub(crate) fn in_time_order(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        in_order(self.by_start.as_deref(), self.kernels.len())
    }

    /// Kernel time of a phase in ms.
    pub(crate) fn total_ms(&self, filter: PhaseFilter) -> f64 {
        let kernels = self.kernels.iter().zip(&self.places).filter(|(_, place)| filter.lets(place.phase));
        milliseconds(kernels.map(|(kernel, _)| kernel.duration).sum())
    }
}

/// Numbers `0..count` in the order of `by_start`.
pub(crate) fn in_order(by_start: Option<&[u32]>, count: usize) -> impl Iterator<Item = usize> + Clone + '_ {
    (0..count).map(move |at| by_start.map_or(at, |order| order[at] as usize))
}

/// Kernels by start, unless they stand so in the file.
fn starts(kernels: &[Kernel]) -> Option<Vec<u32>> {
    if kernels.is_sorted_by_key(|kernel| kernel.start) {
        return None;
    }
    let mut order: Vec<u32> = (0..kernels.len() as u32).collect();
    order.sort_by_key(|at| kernels[*at as usize].start);
    Some(order)
}
