//! From the events of a trace file to [`Columns`].

mod of_profile;
mod operators;
mod piece;
mod taken;

use std::convert::Infallible;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

use perfdb_doctor::{Collector, Report, Taken};
use perfdb_files::escape::shown;
use perfdb_trace::chrome::{Event, Field, Part, ReadOptions, read_ordered};
use perfdb_trace::packed::Span;
use perfdb_trace::profile;
use perfdb_trace::scan::{Number, Text, Value};
use perfdb_trace::source::Source;

use crate::columns::{Annotation, Columns, Frame, Kernel, Launch, LaunchSize};
use crate::copies::{CopyKind, GpuCopy};
use crate::device::{MEMBERS, Members};
use crate::error::Error;
use crate::id::Id;
use crate::legacy::times::Doubles;
use crate::names::{NO_NAME, NameId, Names};
use crate::steps::may_be_step;
use crate::time::{Picoseconds, picoseconds};
use piece::{Piece, Tables};
use taken::TakenEvent;

/// Members of `args` that are used; they follow those of the trace doctor, which has the first four too.
const ARGS: [&str; 13] = [
    "Python id",
    "Python parent id",
    "bytes",
    "Input Dims",
    "Input type",
    "Concrete Inputs",
    "Collective name",
    "dtype",
    "Out msg nelems",
    "Group size",
    "kernel",
    "grid",
    "block",
];
const CORRELATION: usize = 0;
const EXTERNAL: usize = 1;
const DEVICE: usize = 2;
const STREAM: usize = 3;
const OLD_EXTERNAL: usize = 4;
const ELEMENTS_IN: usize = 5;
const PYTHON_ID: usize = Collector::ARGS.len();
const PYTHON_PARENT: usize = PYTHON_ID + 1;
const BYTES: usize = PYTHON_ID + 2;
const DIMS: usize = PYTHON_ID + 3;
const TYPES: usize = PYTHON_ID + 4;
const VALUES: usize = PYTHON_ID + 5;
const COLLECTIVE: usize = PYTHON_ID + 6;
const MESSAGE_TYPE: usize = PYTHON_ID + 7;
const ELEMENTS_OUT: usize = PYTHON_ID + 8;
const RANKS: usize = PYTHON_ID + 9;
const KERNEL: usize = PYTHON_ID + 10;
const GRID: usize = PYTHON_ID + 11;
const BLOCK: usize = PYTHON_ID + 12;

/// What a trace file holds.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) columns: Columns,
    pub(crate) members: Members,
    pub(crate) doctor: Check,
}

/// What the trace doctor says of a file.
#[derive(Debug)]
pub(crate) enum Check {
    /// What it saw and has yet to judge; nothing where nobody asked it.
    Pending(Option<Box<Collector>>),
    /// Its report.
    Done(Box<Report>),
}

impl Default for Check {
    fn default() -> Check {
        Check::Pending(None)
    }
}

/// Reads a trace file, or under the present rules a profile of another form.
pub(crate) fn open(path: &Path, wanted: Wanted) -> Result<Contents, Error> {
    if wanted.findings
        && let Some(profile) = profile::open(path, wanted.threads)?
    {
        return Ok(Contents::of_profile(path, profile, wanted.every_annotation));
    }
    let every_annotation = wanted.every_annotation;
    let contents = read(&mut Source::open(path)?, wanted)?;
    if contents.columns.is_of_ascend
        && let Some(profile) = profile::open_ascend_timeline(path)?
    {
        return Ok(Contents::of_profile(path, profile, every_annotation));
    }
    Ok(contents)
}

/// Reads a trace from a reader.
pub(crate) fn reader(path: &Path, reader: impl Read + Send + 'static, wanted: Wanted) -> Result<Contents, Error> {
    read(&mut Source::from_reader(path, reader)?, wanted)
}

fn read(source: &mut Source, wanted: Wanted) -> Result<Contents, Error> {
    let started = Instant::now();
    let mut columns = Columns::default();
    let mut members = Members::default();
    let mut doctor = Collector::default();
    // Sizes of launches come last, as they are seldom wanted.
    let own = if wanted.sizes { &ARGS[..] } else { &ARGS[..GRID - PYTHON_ID] };
    let args = Collector::ARGS.iter().chain(own).copied();
    let read_options = ReadOptions::profiler().args(args).members(MEMBERS);
    let read_options = if wanted.findings { read_options.with_forms() } else { read_options };
    let tables = Tables::default();
    read_ordered(
        source,
        &read_options,
        wanted.threads.max(1),
        |piece: &mut Piece, event| {
            piece.begin(&tables);
            let taken = if wanted.check { piece.doctor.take(event) } else { Taken::default() };
            let mut taken = TakenEvent::new(event, taken, &mut piece.numbers);
            piece.columns.take(&mut taken, &mut piece.has_formula, wanted);
            Ok::<(), Infallible>(())
        },
        |part| {
            match part {
                Part::Chunk(piece) => doctor.append(tables.append(&mut columns, piece)),
                Part::Restart => {
                    // Pieces that are under way know the numbers of names.
                    let Columns { names, arguments, .. } = std::mem::take(&mut columns);
                    columns = Columns { names, arguments, ..Columns::default() };
                    doctor = Collector::default();
                }
                Part::Member { name, value } => {
                    take_member(&mut members, &name, &value);
                    doctor.take_member(&name, &value);
                }
            }
            Ok::<(), Infallible>(())
        },
    )
    .map_err(perfdb_trace::Error::from)?;
    if wanted.legacy_times {
        columns.legacy_times.get_or_insert_default();
    }
    tracing::debug!(
        "{}: {} kernels, {} launches, {} host operators, {} Python frames, {} annotations read in {:.3} s",
        shown(source.path()),
        columns.kernels.len(),
        columns.launches.len(),
        columns.operators.len(),
        columns.frames.len() + columns.lone_frames.len(),
        columns.annotations.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(Contents { columns, members, doctor: Check::Pending(wanted.check.then(|| Box::new(doctor))) })
}

/// Takes a top-level member.
pub(crate) fn take_member(members: &mut Members, name: &Text<'_>, value: &Value<'_>) {
    // Texts are decoded leniently under the profiler's preset, so this does not fail.
    members.take(&name.decode_lossy(), value.to_value().ok(), value.is_truthy());
}

/// What is kept beside the essentials.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// Calls of Python functions.
    pub(crate) stacks: bool,
    /// Of those only what tells the innermost around a launch.
    pub(crate) lone_frames: bool,
    /// Times as doubles.
    pub(crate) legacy_times: bool,
    /// Categories that old profilers wrote, and profiles of other forms.
    pub(crate) findings: bool,
    /// The trace doctor's report.
    pub(crate) check: bool,
    /// Operators of the host.
    pub(crate) operators: bool,
    /// Names of the kernels that launches say they launch.
    pub(crate) launched: bool,
    /// Sizes of launches.
    pub(crate) sizes: bool,
    /// Every operator with its shapes.
    pub(crate) shaped: bool,
    /// Annotations of any name, not only those that can be steps.
    pub(crate) every_annotation: bool,
    /// Threads that read.
    pub(crate) threads: usize,
}

impl Columns {
    fn take(&mut self, taken: &mut TakenEvent<'_, '_>, has_formula: &mut Vec<Option<bool>>, wanted: Wanted) {
        let event = taken.event;
        let index = self.events;
        self.events += 1;
        let Some(Value::Text(category)) = event.field(Field::Category) else {
            // The names of processes have none.
            if wanted.findings && !self.is_of_ascend && event.has_phase("M") {
                self.is_of_ascend = profile::names_ascend(event.raw());
            }
            return;
        };
        let decoded;
        let category = if category.is_escaped() {
            decoded = category.decode_lossy();
            decoded.as_bytes()
        } else {
            category.raw()
        };
        let kernels = self.kernels.len();
        let old = category == b"Kernel";
        // Old profilers knew no annotations. The report on one trace goes by annotations alone, unless it is told which are steps.
        let may_annotate = category == b"Operator" && wanted.findings;
        let category = if wanted.findings { present_name(category) } else { category };
        // They are compared one after the other: what comes often is in front.
        match category {
            b"python_function" => {
                self.has_frames = true;
                if wanted.stacks {
                    self.take_frame(taken, wanted);
                }
            }
            b"cpu_op" if may_annotate && is_profiler_step(event) => {
                if wanted.shaped && !wanted.every_annotation {
                    self.has_old_steps = true;
                    self.take_operator(taken, has_formula, wanted);
                } else {
                    self.take_annotation(taken, wanted);
                }
            }
            b"cpu_op" if wanted.operators => self.take_operator(taken, has_formula, wanted),
            b"cpu_instant_event" => {}
            b"ac2g" | b"async_cpu_to_gpu" if event.has_phase("s") => self.take_flow(taken),
            b"ac2g" | b"async_cpu_to_gpu" => {}
            b"kernel" => self.take_kernel(taken, index, wanted),
            b"cuda_runtime" | b"cuda_driver" => {
                self.runtimes.gpu = true;
                self.take_call(taken, wanted);
            }
            b"mlu_runtime"
            | b"xpu_runtime"
            | b"xpu_driver"
            | b"mtia_runtime"
            | b"privateuse1_runtime"
            | b"privateuse1_driver"
                if wanted.findings =>
            {
                self.runtimes.other = true;
                self.take_call(taken, wanted);
            }
            b"gpu_memcpy" | b"Memcpy" => self.take_copy(taken, CopyKind::of_copy),
            b"gpu_memset" | b"Memset" => self.take_copy(taken, |_| CopyKind::Set),
            b"user_annotation" => self.take_annotation(taken, wanted),
            b"gpu_user_annotation" if wanted.findings => self.take_device_annotation(taken, wanted),
            _ => {}
        }
        if old && self.kernels.len() > kernels {
            self.old_kernels.push(kernels as u32);
        }
    }

    fn take_kernel(&mut self, taken: &mut TakenEvent<'_, '_>, index: u32, wanted: Wanted) {
        let name = taken.name(|event| name(&mut self.names, event));
        let is_usable = name != NO_NAME && (!wanted.findings || taken.event.is_complete());
        let (true, Some(start), Some(duration)) = (is_usable, taken.start(), taken.kernel_duration()) else {
            self.skipped_kernels += 1;
            return;
        };
        let device = taken.device(|event| self.device(event));
        let kernel = Kernel {
            start,
            duration,
            correlation: self.correlation(taken),
            external: self.external(taken, wanted),
            name,
            device,
            stream: taken.stream(|event| self.stream(device, event)),
            index,
        };
        self.kernels.push(kernel);
        if wanted.sizes
            && let Some(size) = launch_size(taken.event)
        {
            self.kernel_sizes.insert(index, size);
        }
        if wanted.legacy_times {
            self.legacy_times.get_or_insert_default().kernels.push(doubles(taken.event));
        }
    }

    fn take_copy(&mut self, taken: &mut TakenEvent<'_, '_>, kind: impl Fn(&str) -> CopyKind) {
        let duration = taken.duration().unwrap_or(0);
        let Some(start) = taken.start().filter(|_| duration >= 0) else { return };
        let name = taken.event.name();
        let bytes = taken.event.number_arg(BYTES);
        let device = taken.device(|event| self.device(event));
        let copy = GpuCopy {
            start,
            duration,
            correlation: self.correlation(taken),
            device,
            stream: taken.stream(|event| self.stream(device, event)),
            kind: kind(name.as_deref().unwrap_or_default()),
            bytes: bytes.and_then(|bytes| bytes.to_i64()).and_then(|bytes| bytes.try_into().ok()).unwrap_or(0),
        };
        self.copies.push(copy);
    }

    fn take_call(&mut self, taken: &mut TakenEvent<'_, '_>, wanted: Wanted) {
        let correlation = self.correlation(taken);
        if !correlation.is_there() && !wanted.findings {
            return;
        }
        if let Some(start) = taken.start() {
            let call = Launch {
                start,
                duration: taken.duration().unwrap_or(0).max(0),
                correlation,
                external: self.external(taken, wanted),
                name: taken.name(|event| name(&mut self.names, event)),
                thread: self.thread(taken),
            };
            if !correlation.is_there() {
                if call.external.is_there() {
                    self.unlinked.push(call);
                }
                return;
            }
            self.launches.push(call);
            if wanted.launched {
                let kernel = match taken.event.arg(KERNEL) {
                    Some(Value::Text(text)) => self.names.source(text.raw(), || text.decode_lossy()),
                    _ => NO_NAME,
                };
                self.launched.push(kernel);
                self.launched_sizes.push(launch_size(taken.event));
            }
        }
    }

    fn take_flow(&mut self, taken: &mut TakenEvent<'_, '_>) {
        let correlation = self.ids.value(taken.event.id());
        // Nearly every flow starts at the call just read, which goes first anyway.
        if !correlation.is_there() || self.launches.last().is_some_and(|call| call.correlation == correlation) {
            return;
        }
        if let Some(start) = taken.start() {
            let thread = self.thread(taken);
            self.flows.push(Launch { start, duration: 0, correlation, external: Id::MISSING, name: NO_NAME, thread });
        }
    }

    fn take_frame(&mut self, taken: &mut TakenEvent<'_, '_>, wanted: Wanted) {
        let Some(start) = taken.start() else { return };
        let event = taken.event;
        if wanted.lone_frames {
            let frame = Span {
                start,
                duration: taken.duration().unwrap_or(0),
                id: self.ids.value(event.arg(PYTHON_ID)),
                name: taken.name(|event| name(&mut self.names, event)),
                thread: self.thread(taken),
            };
            self.lone_frames.push(frame);
            return;
        }
        let frame = Frame {
            start,
            duration: taken.duration().unwrap_or(0),
            id: self.ids.value(event.arg(PYTHON_ID)),
            parent: self.ids.value(event.arg(PYTHON_PARENT)),
            name: taken.name(|event| name(&mut self.names, event)),
            thread: self.thread(taken),
        };
        self.frames.push(frame);
        if wanted.legacy_times {
            self.legacy_times.get_or_insert_default().frames.push(doubles(event));
        }
    }

    fn take_annotation(&mut self, taken: &mut TakenEvent<'_, '_>, wanted: Wanted) {
        let (Some(name), Some(start)) = (taken.event.name(), taken.start()) else { return };
        if !wanted.every_annotation && !may_be_step(&name) {
            return;
        }
        let duration = taken.duration().unwrap_or(0);
        self.annotations.push(Annotation { start, duration, name: name.into_owned(), process: None });
        if wanted.legacy_times {
            self.legacy_times.get_or_insert_default().annotations.push(doubles(taken.event));
        }
    }

    fn take_device_annotation(&mut self, taken: &mut TakenEvent<'_, '_>, wanted: Wanted) {
        let (Some(name), Some(start)) = (taken.event.name(), taken.start()) else { return };
        if wanted.every_annotation || may_be_step(&name) {
            let duration = taken.duration().unwrap_or(0);
            self.device_annotations.push(Annotation { start, duration, name: name.into_owned(), process: None });
        }
    }

    fn stream(&mut self, device: u32, event: &Event<'_>) -> u32 {
        let stream = self.ids.value(event.arg(STREAM));
        self.streams.number((device, stream))
    }

    fn device(&mut self, event: &Event<'_>) -> u32 {
        let device = self.ids.value(event.arg(DEVICE));
        self.devices.number(if device.is_there() { device } else { Id::ZERO })
    }

    fn thread(&mut self, taken: &mut TakenEvent<'_, '_>) -> u32 {
        taken.thread(|event| {
            let key = (self.ids.value(event.process()), self.ids.value(event.thread()));
            self.threads.number(key)
        })
    }

    fn correlation(&mut self, taken: &TakenEvent<'_, '_>) -> Id {
        taken.correlation(|| self.ids.value(taken.event.arg(CORRELATION)))
    }

    /// `External id`, which old profilers wrote in another case.
    fn external(&mut self, taken: &TakenEvent<'_, '_>, wanted: Wanted) -> Id {
        taken.external(|| {
            let old = || taken.event.arg(OLD_EXTERNAL).filter(|_| wanted.findings);
            self.ids.value(taken.event.arg(EXTERNAL).or_else(old))
        })
    }
}

fn is_profiler_step(event: &Event<'_>) -> bool {
    event.name().is_some_and(|name| name.starts_with("ProfilerStep#"))
}

/// The present name of a category that old profilers named otherwise.
fn present_name(category: &[u8]) -> &[u8] {
    match category {
        b"Kernel" => b"kernel",
        b"Operator" => b"cpu_op",
        b"Runtime" => b"cuda_runtime",
        b"async" => b"ac2g",
        other => other,
    }
}

fn name(names: &mut Names, event: &Event<'_>) -> NameId {
    match event.field(Field::Name) {
        Some(Value::Text(text)) => names.source(text.raw(), || text.decode_lossy()),
        _ => NO_NAME,
    }
}

fn launch_size(event: &Event<'_>) -> Option<LaunchSize> {
    let list = |at| {
        let Some(Value::List(list)) = event.arg(at) else { return None };
        serde_json::from_slice(list.text()).ok()
    };
    Some(LaunchSize { grid: list(GRID)?, block: list(BLOCK)? })
}

fn time(number: Option<Number<'_>>) -> Option<Picoseconds> {
    picoseconds(number?.raw())
}

/// Start and duration as doubles, for the legacy rules; events without a start are not asked.
fn doubles(event: &Event<'_>) -> Doubles {
    let double = |number: Option<Number<'_>>| {
        number.filter(|number| picoseconds(number.raw()).is_some()).map_or(0.0, |number| number.to_f64())
    };
    Doubles { start: double(event.timestamp()), duration: double(event.duration()) }
}
