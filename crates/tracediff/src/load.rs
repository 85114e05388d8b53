//! From a trace file to a [`Trace`]: events are read, then contexts found one after the other, each from what is known
//! already.

use std::path::{Path, PathBuf};
use std::time::Instant;

use perfdb_doctor::{Code, Kind, Report, Selection};
use perfdb_files::escape::shown;
use regex::Regex;

use crate::classify::Registry;
use crate::columns::Columns;
use crate::context::attention;
use crate::context::calls::{self, Calls};
use crate::context::captures::{self, Replays};
use crate::context::classes::{self, Classifier};
use crate::context::launches::Launches;
use crate::context::operators::{self, Decision, KernelOperator};
use crate::context::passes::{Boundaries, PassFinder, Passes};
use crate::context::repetition::{self, FoundPasses};
use crate::context::{KernelContext, layers};
use crate::corrections::{self, Corrections};
use crate::elapsed::events::{Events, Kernels};
use crate::elapsed::timeline::Timeline;
use crate::error::Error;
use crate::lead::Lead;
use crate::legacy;
use crate::legacy::columns::LegacyColumns;
use crate::one_trace::facts::{self, Facts};
use crate::overlaps;
use crate::read::{self, Check, Contents, Wanted};
use crate::rules::{DeviceRule, LayerRule, PERFDB, PhaseRule, Rules};
use crate::steps::Basis;
use crate::structure::{self, Sources, Structure};
use crate::time_order::TimeOrder;
use crate::trace::Trace;

/// Kernels below which a thread costs more than it saves.
const WORTH_A_THREAD: usize = 10_000;

/// Names of annotations that an error lists.
const ANNOTATIONS: usize = 10;

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
    /// Whether no layer of the model hides far keys behind a window, where the trace itself does not say.
    pub unwindowed: bool,
    /// Whether collectives whose kernels do not name their kind take it from the host; else their class is `Communication`.
    pub collective_kinds: bool,
    /// Findings that would be errors and are none.
    pub accept: Vec<Code>,
    /// Whether the trace is to be looked at alone: what [`explain`](crate::explain()) needs is kept.
    pub alone: bool,
    /// Whether nothing but the windows of its steps is wanted, as for [`piece`](crate::piece()): neither operators nor findings are kept.
    pub windows: bool,
    /// Regular expression of annotations that are steps, in place of those that are known.
    pub steps: Option<String>,
    /// Whether it is kept what each device did at every instant: what [`tracks`](crate::tracks()) needs.
    pub pieces: bool,
    /// Threads that read one trace.
    pub threads: usize,
}

impl Default for LoadOptions {
    fn default() -> Self {
        LoadOptions {
            rules: PERFDB,
            stacks: true,
            registry: Registry::default(),
            clip_overlaps: false,
            unwindowed: false,
            collective_kinds: false,
            accept: Vec::new(),
            alone: false,
            windows: false,
            steps: None,
            pieces: false,
            threads: 1,
        }
    }
}

impl LoadOptions {
    fn wanted(&self) -> Wanted {
        let legacy = self.rules.is_legacy();
        let launched = false;
        Wanted {
            stacks: self.stacks,
            lone_frames: self.alone && !legacy,
            legacy_times: legacy,
            findings: !legacy,
            check: !legacy && !self.windows,
            operators: !self.windows,
            launched,
            shaped: self.alone && !legacy,
            every_annotation: self.steps.is_some() && !legacy,
            threads: self.threads,
        }
    }
}

impl Trace {
    /// Loads a trace file: JSON, plain or gzip.
    ///
    /// # Errors
    /// When the file cannot be read, is not a trace, has no kernels, or times in another unit than microseconds.
    pub fn open(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Trace, Error> {
        Trace::open_with_capture(path, None, options)
    }

    /// Loads a trace file; kernels of replayed graphs get operator, stack and shapes from the trace of their capture, where one is
    /// given.
    ///
    /// # Errors
    /// As [`Trace::open`], of either file; a capture needs no kernels.
    pub fn open_with_capture(
        path: impl AsRef<Path>,
        capture: Option<&Path>,
        options: &LoadOptions,
    ) -> Result<Trace, Error> {
        let path = file_of(path.as_ref(), options)?;
        let _span = tracing::debug_span!("open", path = %shown(&path)).entered();
        let contents = read::open(&path, options.wanted()).map_err(|error| mendable(error, &path, options))?;
        let read_again = || {
            let regular = std::fs::metadata(&path).is_ok_and(|data| data.is_file());
            let options = perfdb_doctor::Options { selection: Selection::default(), threads: options.threads };
            let report = regular.then(|| perfdb_doctor::check(&path, &options))?;
            report.ok().filter(|report| report.kind == Kind::GpuTrace)
        };
        let report = match contents.columns.written_by {
            Some(perfdb_trace::profile::Kind::AscendTable) => perfdb_doctor::check(&path, &Default::default()).ok(),
            _ => report(contents.doctor, &path, read_again),
        };
        let wanted = Wanted { launched: true, check: false, ..options.wanted() };
        let capture = capture.map(|capture| read::open(capture, wanted)).transpose()?;
        let capture = capture.map(|capture| capture.columns);
        load(path, contents.columns, &contents.members, report, capture, options)
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
        let Contents { columns, members, doctor } = read::reader(&path, reader, options.wanted())?;
        let report = report(doctor, &path, || None);
        load(path, columns, &members, report, None, options)
    }
}

/// The file that is meant: of a folder of a profiler, the profile in it.
fn file_of(path: &Path, options: &LoadOptions) -> Result<PathBuf, Error> {
    match path.is_dir() && !options.rules.is_legacy() {
        true => Ok(perfdb_trace::profile::file_in(path)?),
        false => Ok(path.to_path_buf()),
    }
}

/// The report of the trace doctor. Only a file whose text is odd is read a second time.
fn report(check: Check, path: &Path, read_again: impl FnOnce() -> Option<Report>) -> Option<Report> {
    let doctor = match check {
        Check::Pending(doctor) => doctor?,
        Check::Done(report) => return Some(*report),
    };
    let again = if doctor.needs_a_closer_look() { read_again() } else { None };
    Some(again.unwrap_or_else(|| doctor.findings(&path.to_string_lossy())))
}

/// Marks an error about the text of a file that a repair fixes.
fn mendable(error: Error, path: &Path, options: &LoadOptions) -> Error {
    let Error::Trace(source) = error else { return error };
    let regular = !options.rules.is_legacy() && std::fs::metadata(path).is_ok_and(|data| data.is_file());
    let report = regular.then(|| perfdb_doctor::check(path, &perfdb_doctor::Options::default()).ok()).flatten();
    let mendable = report.is_some_and(|report| {
        let mut findings = report.findings.iter();
        report.kind == Kind::GpuTrace
            && findings.any(|finding| corrections::is_about_text(finding.code) && finding.repair().is_some())
    });
    if mendable { Error::Mendable(source) } else { Error::Trace(source) }
}

/// The pattern, which an annotation has to match.
fn step_pattern(pattern: &str, columns: &Columns, path: &Path) -> Result<Regex, Error> {
    let no_steps = |reason| Error::NoSteps { path: path.to_path_buf(), pattern: pattern.to_owned(), reason };
    let regex = Regex::new(pattern)
        .map_err(|error| no_steps(error.to_string().lines().last().unwrap_or_default().trim().to_owned()))?;
    let annotations = || columns.annotations.iter().chain(&columns.device_annotations);
    if annotations().any(|annotation| regex.is_match(&annotation.name)) {
        return Ok(regex);
    }
    let mut names: Vec<&str> = annotations().map(|annotation| annotation.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let shown = names.len().min(ANNOTATIONS);
    let more = if names.len() > shown { format!(" and {} more", names.len() - shown) } else { String::new() };
    Err(no_steps(match names.is_empty() {
        true => "it has no annotations".to_owned(),
        false => format!("its annotations are {}{more}", names[..shown].join(", ")),
    }))
}

fn load(
    path: PathBuf,
    mut columns: Columns,
    members: &crate::device::Members,
    report: Option<Report>,
    capture: Option<Columns>,
    options: &LoadOptions,
) -> Result<Trace, Error> {
    if columns.kernels.is_empty() {
        return Err(Error::NoKernels { path });
    }
    if let Some(report) = &report
        && report.finding(Code::WrongUnit).is_some()
        && !options.accept.contains(&Code::WrongUnit)
    {
        return Err(Error::WrongUnit { path });
    }
    let started = Instant::now();
    let rules = &options.rules;
    let (platform, device) = members.device(rules.device);
    let platform = platform.of_runtimes(columns.runtimes);

    let mut names = std::mem::take(&mut columns.names);
    names.finish();
    let mut kernels = std::mem::take(&mut columns.kernels);
    columns.leave_out_old_kernels(&mut kernels);
    let legacy_times = columns.legacy_times.take();
    let classifier = Classifier { registry: &options.registry, rules, platform, given: &columns };
    let mut corrections = match &report {
        Some(report) => corrections::apply(&mut kernels, report, options.clip_overlaps),
        None => Corrections::default(),
    };
    let mut order = TimeOrder::of(&kernels);
    let overlaps = overlaps::find(&mut kernels, &order, options.clip_overlaps);

    let (mut passes, mut operators, classes, layers, timeline, structure, legacy);
    let mut found_passes: Option<FoundPasses> = None;
    let mut layer_count = None;
    let (mut calls, mut joined) = (Calls::default(), None);
    let mut replayed = Vec::new();
    let (mut facts, mut old_steps) = (None, None);
    let (mut lead, mut boundaries) = (Lead::default(), Boundaries::Whole);
    match (rules.phases, legacy_times) {
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
            structure = None;
            legacy = Some(LegacyColumns { times: times.kernels, labels, windows });
        }
        _ => {
            let pattern = options.steps.as_deref().map(|pattern| step_pattern(pattern, &columns, &path)).transpose()?;
            let launches = Launches::new(&columns);
            let finder = PassFinder::new(&columns, &kernels, &launches, pattern.as_ref());
            let devices: Vec<String> = columns.devices.keys().iter().map(|device| columns.ids.shown(*device)).collect();
            let cut = members.cut_windows(&devices);
            let mut owned = finder.find(&kernels, &columns.copies);
            owned.leave_out(&kernels, &columns.copies, &cut);
            lead = Lead::take(&mut kernels, &mut owned, &mut corrections);
            if !lead.kernels.is_empty() {
                order = TimeOrder::of(&kernels);
            }
            passes = finder.passes(std::mem::take(&mut owned.kernels));
            boundaries = finder.boundaries();
            let impossible = report.as_ref().is_some_and(|report| report.finding(Code::ExternalIdImpossible).is_some());
            let decision = if impossible { Decision::ByNesting } else { Decision::ByExternalId };
            let launch_of = launches.of_kernels(&kernels);
            calls = calls::find(&kernels, &columns, &launches, &launch_of, &names);
            operators =
                operators::find(&kernels, &columns, &launches, &launch_of, decision, options.stacks, &mut names);
            let copies = &columns.copies;
            let replays = Replays { kernels: &kernels, copies, launches: &launches, launch_of: &launch_of };
            let (found_joined, captured_shapes) = capture
                .map(|mut capture| {
                    captures::join(&replays, &mut capture, options.stacks, &mut names, &mut operators, &mut calls)
                })
                .unzip();
            joined = found_joined;
            if boundaries == Boundaries::Whole && columns.has_old_steps {
                old_steps = Some(
                    "an old profiler wrote its steps as operators: --steps '^ProfilerStep#' takes them".to_owned(),
                );
            }
            attention::resolve(&mut calls, &kernels, &passes, &finder.lengths(), &names, options.unwindowed);
            replayed = replays.kernels_of_graphs(&names);
            let mut found = classes::find(&kernels, &operators.of_kernels, &names, classifier);
            if options.collective_kinds {
                found.tell_collectives(&operators.of_kernels, &calls, &names);
            }
            classes = found;
            let mut basis = finder.basis();
            let mut incomplete = finder.incomplete(&passes, &corrections);
            // The report on one trace has steps where they are annotated, and nowhere else. A table separates its passes itself.
            let is_table = columns.written_by == Some(perfdb_trace::profile::Kind::AscendTable);
            if basis == Basis::Whole && !options.alone && !rules.is_legacy() && !is_table {
                let copies = &columns.copies;
                let sources = repetition::Sources {
                    kernels: &kernels,
                    copies,
                    classes: &classes,
                    names: &names,
                    replayed: &replayed,
                };
                if let Some(repetition) = repetition::find(&sources) {
                    (basis, boundaries) = (Basis::Pass, Boundaries::Repetition);
                    passes = Passes {
                        of_kernels: repetition.kernels,
                        count: repetition.count,
                        has_steps: repetition.found.decode + repetition.found.prefill > 0,
                    };
                    owned.copies = repetition.copies;
                    incomplete = repetition.incomplete;
                    found_passes = Some(repetition.found);
                }
            }
            let incomplete_passes = incomplete.clone();
            let sources = Sources {
                kernels: &kernels,
                order: &order,
                passes: &passes.of_kernels,
                classes: &classes,
                names: &names,
                corrections: &corrections,
                streams: columns.streams.keys().iter().map(|(_, stream)| columns.ids.shown(*stream)).collect(),
                is_cut: boundaries == Boundaries::Whole,
                incomplete: &incomplete_passes,
            };
            // Only a comparison looks at the blocks again.
            let layering = || {
                let found = (!options.alone).then(|| Structure::new(&sources));
                let of_structure = match &found {
                    Some(found) => found.layers(&sources),
                    None => structure::layers(&sources),
                };
                let layers = match of_structure.numbers {
                    // Nothing repeats, for example in a very short trace: attention opens layers.
                    0 => layers::find(&kernels, &order, &passes.of_kernels, &classes),
                    count => layers::Layers { of_kernels: of_structure.of_kernels, count },
                };
                (found, layers, of_structure.count)
            };
            let timing = || {
                let of_lead = vec![KernelOperator::NONE; lead.kernels.len()];
                let lead_classes = classes::find(&lead.kernels, &of_lead, &names, classifier);
                let events = Events {
                    kernels: [
                        Kernels { kernels: &kernels, passes: &passes.of_kernels, classes: &classes },
                        Kernels { kernels: &lead.kernels, passes: &lead.passes, classes: &lead_classes },
                    ],
                    copies: &columns.copies,
                    copy_passes: &owned.copies,
                    lead_copies: &owned.is_lead_copy,
                    launches: &launches,
                    incomplete,
                    pieces: options.pieces,
                };
                let found = Timeline::new(&events, devices, basis, &cut);
                let facts = options.alone.then(|| {
                    let mut facts = Facts::new(&facts::Sources {
                        columns: &columns,
                        kernels: &kernels,
                        passes: &passes.of_kernels,
                        classes: &classes,
                        lead: &lead,
                        lead_classes: &lead_classes,
                        copy_passes: &owned.copies,
                        lead_copies: &owned.is_lead_copy,
                        launches: &launches,
                        launch_of: &launch_of,
                        finder: &finder,
                        timeline: &found,
                    });
                    if let Some(shapes) = captured_shapes {
                        shapes.add_to(&mut facts.shaped);
                    }
                    facts
                });
                (found, facts)
            };
            // Neither needs the other.
            let found = match options.threads > 1 && kernels.len() >= WORTH_A_THREAD {
                true => perfdb_files::parallel::join(layering, timing),
                false => (layering(), timing()),
            };
            let ((found_structure, found_layers, found_count), (found_timeline, found_facts)) = found;
            (structure, layers, layer_count) = (found_structure, found_layers, found_count);
            (timeline, facts) = (Some(found_timeline), found_facts);
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
    // What contexts were found from makes room for them.
    let Columns { has_frames, skipped_kernels, .. } = columns;
    let (ids, notes) = (std::mem::take(&mut columns.ids), std::mem::take(&mut columns.notes));
    drop(columns);
    Ok(Trace {
        path,
        rules: rules.clone(),
        platform,
        device,
        has_device_properties: members.has_properties(),
        launch_count_gpu: members.device(DeviceRule::Mi300x).1.name,
        contexts: KernelContext::of_kernels(&passes, &operators, &classes, &layers),
        names,
        ids,
        notes: notes.into_iter().chain(old_steps).collect(),
        lead: lead.summary(&kernels),
        kernels,
        groups: classes.groups,
        operations: classes.operations,
        stacks: operators.stacks,
        calls,
        joined,
        replayed,
        order,
        boundaries,
        found_passes,
        passes: passes.count,
        layers: layers.count,
        layer_count,
        has_steps: passes.has_steps,
        has_frames,
        skipped_kernels,
        overlaps,
        report,
        corrections,
        structure,
        timeline,
        facts,
        legacy,
    })
}
