//! From a trace file to a [`Trace`]: events are read, then contexts found.

mod contexts;

use std::path::{Path, PathBuf};
use std::time::Instant;

use perfdb_doctor::{Code, Kind, Report, Selection};
use perfdb_files::escape::shown;
use regex::Regex;

use crate::classify::Registry;
use crate::columns::Columns;
use crate::context::KernelContext;
use crate::corrections::{self, Corrections};
use crate::device::{Members, Platform};
use crate::error::Error;
use crate::names::Names;
use crate::overlaps::{self, Overlaps};
use crate::read::{self, Check, Contents, Wanted};
use crate::rows::KernelRows;
use crate::rules::Rules;
use crate::time_order::TimeOrder;
use crate::trace::Trace;
use contexts::Contexts;

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
    /// Whether passes that nobody annotated are steps of a trace that is looked at alone; else it is only said that there are some.
    pub repeated_passes: bool,
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
            rules: Rules::Perfdb,
            stacks: true,
            registry: Registry::default(),
            clip_overlaps: false,
            unwindowed: false,
            collective_kinds: false,
            accept: Vec::new(),
            alone: false,
            repeated_passes: false,
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
            sizes: false,
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
        let wanted = Wanted { sizes: capture.is_some(), ..options.wanted() };
        let contents = read::open(&path, wanted).map_err(|error| mendable(error, &path, options))?;
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
        let wanted = Wanted { launched: true, check: false, ..wanted };
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
    if path.is_dir() && !options.rules.is_legacy() {
        Ok(perfdb_trace::profile::file_in(path)?)
    } else {
        Ok(path.to_path_buf())
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
    Err(no_steps(if names.is_empty() {
        "it has no annotations".to_owned()
    } else {
        format!("its annotations are {}{more}", names[..shown].join(", "))
    }))
}

/// What a trace is made of, before it is known what its kernels belong to.
struct Loading<'a> {
    path: PathBuf,
    options: &'a LoadOptions,
    members: &'a Members,
    report: Option<Report>,
    platform: Platform,
    columns: Columns,
    kernels: KernelRows,
    names: Names,
    order: TimeOrder,
    overlaps: Overlaps,
    corrections: Corrections,
}

fn load(
    path: PathBuf,
    columns: Columns,
    members: &Members,
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
    let mut loading = Loading::new(path, columns, members, report, options);
    let contexts = match loading.columns.legacy_times.take() {
        Some(times) => Contexts::legacy(&mut loading, times),
        None => Contexts::find(&mut loading, capture)?,
    };
    tracing::debug!(
        "{}: {} kernels, {} passes, {} layers, {} distinct names; contexts found in {:.3} s",
        shown(&loading.path),
        loading.kernels.len(),
        contexts.bounds.passes.count,
        contexts.layers.count,
        loading.names.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(loading.into_trace(contexts))
}

impl<'a> Loading<'a> {
    fn new(
        path: PathBuf,
        mut columns: Columns,
        members: &'a Members,
        report: Option<Report>,
        options: &'a LoadOptions,
    ) -> Loading<'a> {
        let platform = members.device(options.rules).0.of_runtimes(columns.runtimes);
        let mut names = std::mem::take(&mut columns.names);
        names.finish();
        let mut kernels = std::mem::take(&mut columns.kernels);
        columns.leave_out_old_kernels(&mut kernels);
        let corrections = match &report {
            Some(report) => corrections::apply(&mut kernels, report, options.clip_overlaps),
            None => Corrections::default(),
        };
        let order = TimeOrder::of(&kernels);
        let overlaps = overlaps::find(&mut kernels, &order, options.clip_overlaps);
        Loading { path, options, members, report, platform, columns, kernels, names, order, overlaps, corrections }
    }

    fn into_trace(self, contexts: Contexts) -> Trace {
        let Loading { path, options, members, report, platform, columns, kernels, names, order, overlaps, corrections } =
            self;
        // Launches are as many as kernels, and not needed any more.
        let kept = |columns: Columns| (columns.has_frames, columns.skipped_kernels, columns.ids, columns.notes);
        let (has_frames, skipped_kernels, ids, notes) = kept(columns);
        let Contexts { bounds, host, classes, layers, notes: more, .. } = contexts;
        Trace {
            path,
            rules: options.rules,
            platform,
            device: members.device(options.rules).1,
            has_device_properties: members.has_properties(),
            launch_count_gpu: members.device(Rules::Wafer0133).1.name,
            contexts: KernelContext::of_kernels(&bounds.passes, &host.operators, &classes, &layers),
            names,
            ids,
            notes: notes.into_iter().chain(more).collect(),
            lead: contexts.lead.summary(&kernels),
            kernels,
            groups: classes.groups,
            operations: classes.operations,
            stacks: host.operators.stacks,
            calls: host.calls,
            joined: host.joined,
            replayed: host.replayed,
            order,
            boundaries: bounds.boundaries,
            found_passes: bounds.repeated,
            passes: bounds.passes.count,
            layers: layers.count,
            layer_count: contexts.layer_count,
            layer_runs: contexts.layer_runs,
            has_steps: bounds.passes.has_steps,
            has_frames,
            skipped_kernels,
            overlaps,
            report,
            corrections,
            structure: contexts.structure,
            timeline: contexts.timeline,
            facts: contexts.facts,
            legacy: contexts.legacy,
        }
    }
}
