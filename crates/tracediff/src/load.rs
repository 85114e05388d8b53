//! From a trace file to a [`Trace`]: events are read, then contexts found one after the other, each from what is known
//! already.

use std::path::{Path, PathBuf};
use std::time::Instant;

use perfdb_files::escape::shown;

use crate::classify::Registry;
use crate::columns::Columns;
use crate::context::classes::{self, Classifier};
use crate::context::launches::Launches;
use crate::context::passes::PassFinder;
use crate::context::{KernelContext, layers, operators};
use crate::device::Members;
use crate::elapsed::timeline::{Events, Timeline};
use crate::error::Error;
use crate::legacy;
use crate::legacy::columns::LegacyColumns;
use crate::overlaps;
use crate::read::{self, Wanted};
use crate::rules::{DeviceRule, LayerRule, PERFDB, PhaseRule, Rules};
use crate::time_order::TimeOrder;
use crate::trace::Trace;

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

impl LoadOptions {
    fn wanted(&self) -> Wanted {
        Wanted { stacks: self.stacks, legacy_times: self.rules.is_legacy(), threads: self.threads }
    }
}

impl Trace {
    /// Loads a trace file: JSON, plain or gzip.
    ///
    /// # Errors
    /// When the file cannot be read, is not a trace, or has no kernels.
    pub fn open(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Trace, Error> {
        let path = path.as_ref().to_path_buf();
        let (columns, members) = read::open(&path, options.wanted())?;
        load(path, columns, &members, options)
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
        let (columns, members) = read::reader(&path, reader, options.wanted())?;
        load(path, columns, &members, options)
    }
}

fn load(path: PathBuf, mut columns: Columns, members: &Members, options: &LoadOptions) -> Result<Trace, Error> {
    if columns.kernels.is_empty() {
        return Err(Error::NoKernels { path });
    }
    let started = Instant::now();
    let rules = &options.rules;
    let (platform, device) = members.device(rules.device);
    let classifier = Classifier { registry: &options.registry, rules, platform };

    let mut names = std::mem::take(&mut columns.names);
    names.finish();
    let mut kernels = std::mem::take(&mut columns.kernels);
    let order = TimeOrder::of(&kernels);
    let overlaps = overlaps::find(&mut kernels, &order, options.clip_overlaps);

    let (passes, operators, classes, layers, timeline, legacy);
    match (rules.phases, columns.legacy_times.take()) {
        (PhaseRule::AtKernel { prefill_tokens }, Some(times)) => {
            let windows = legacy::phases::windows(&columns.annotations, &times.annotations, prefill_tokens);
            passes = legacy::phases::find(&times.kernels, &windows);
            operators = legacy::stacks::find(&kernels, &columns, &times, options.stacks, &mut names);
            classes = classes::find(&kernels, &operators.of_kernels, &names, classifier);
            layers = match rules.layers {
                LayerRule::Markers => legacy::layers::by_markers(&kernels, &times.kernels, &names, &classes.groups),
                LayerRule::PerPass | LayerRule::CorrelationGroups => legacy::layers::by_groups(&kernels, &names),
            };
            let labels = classes.labels.clone();
            timeline = None;
            legacy = Some(LegacyColumns { times: times.kernels, labels, windows });
        }
        _ => {
            let launches = Launches::new(&columns);
            let mut finder = PassFinder::new(&columns.annotations, &launches);
            passes = finder.of_kernels(&kernels);
            operators = operators::find(&kernels, &columns, &launches, options.stacks, &mut names);
            classes = classes::find(&kernels, &operators.of_kernels, &names, classifier);
            layers = layers::find(&kernels, &order, &passes.of_kernels, &classes);
            let copy_passes = finder.of_copies(&columns.copies);
            let events = Events {
                kernels: &kernels,
                kernel_passes: &passes.of_kernels,
                classes: &classes,
                copies: &columns.copies,
                copy_passes: &copy_passes,
                launches: &launches,
            };
            let devices = columns.devices.keys().iter().map(|device| columns.ids.shown(*device)).collect();
            timeline = Some(Timeline::new(&events, devices, finder.basis()));
            legacy = None;
        }
    }
    tracing::debug!(
        "{}: {} kernels, {} passes, {} layers, {} distinct names; contexts found in {:.3} s",
        shown(&path),
        kernels.len(),
        passes.count,
        layers.count,
        names.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(Trace {
        path,
        rules: rules.clone(),
        platform,
        device,
        has_device_properties: members.has_properties(),
        launch_count_gpu: members.device(DeviceRule::Mi300x).1.name,
        contexts: KernelContext::of_kernels(&passes, &operators, &classes, &layers),
        names,
        ids: columns.ids,
        kernels,
        groups: classes.groups,
        operations: classes.operations,
        stacks: operators.stacks,
        order,
        passes: passes.count,
        layers: layers.count,
        has_steps: passes.has_steps,
        has_frames: columns.has_frames,
        skipped_kernels: columns.skipped_kernels,
        overlaps,
        timeline,
        legacy,
    })
}
