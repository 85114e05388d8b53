//! Taking the events of a GPU trace, from whoever reads it.

use std::collections::TryReserveError;
use std::time::Instant;

use perfdb_files::parallel::AtOnce;
use perfdb_trace::chrome::{Event, Field};
use perfdb_trace::coverage::PAUSE;
use perfdb_trace::id::Id;
use perfdb_trace::names::{NO_NAME, NameId};
use perfdb_trace::packed::Span;
use perfdb_trace::profile::Profile;
use perfdb_trace::scan::{Number, Text, Value};
use perfdb_trace::time::{MICROSECOND, Picoseconds, picoseconds_up_to};

use super::category::{Category, category};
use super::columns::{Columns, Row, RowKind, Step};
use super::device::{DeviceMembers, MEMBERS};
use super::{Prepared, Replays, check_rows, check_work};
use crate::certificate::Certificate;
use crate::finding::Findings;
use crate::lint::Lint;
use crate::report::{Kind, Marks, Report, Selection};

const CORRELATION: usize = 0;
const EXTERNAL: usize = 1;
const DEVICE: usize = 2;
const STREAM: usize = 3;
const OLD_EXTERNAL: usize = 4;
const ELEMENTS: usize = 5;

/// Takes the events of a GPU trace while someone reads it for other purposes too, and reports on them.
///
/// One collector per chunk of events, put together in file order. The reader hands over the `args` of [`Collector::ARGS`]
/// first, then what else it wants, and asks the reader for forms.
///
/// ```
/// use perfdb_doctor::{Code, Collector, Selection};
/// use perfdb_trace::chrome::{Part, ReadOptions, read_ordered};
/// use perfdb_trace::source::Source;
///
/// let trace = r#"{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 0.5, "dur": -1}]}"#;
/// let mut source = Source::from_bytes("t.json", trace)?;
/// let options = ReadOptions::profiler().args(Collector::ARGS).members(Collector::MEMBERS).with_forms();
/// let mut collector = Collector::default();
/// read_ordered(
///     &mut source,
///     &options,
///     2,
///     |piece: &mut Collector, event| {
///         piece.take(event);
///         Ok::<(), std::convert::Infallible>(())
///     },
///     |part| {
///         match part {
///             Part::Chunk(piece) => collector.append(piece),
///             Part::Restart => collector = Collector::default(),
///             Part::Member { name, value } => collector.take_member(&name, &value),
///         }
///         Ok::<(), std::convert::Infallible>(())
///     },
/// )?;
/// assert!(!collector.needs_a_closer_look());
/// let report = collector.report("t.json", &Selection::default());
/// assert!(report.finding(Code::NegativeDuration).is_some());
/// # Ok::<(), perfdb_trace::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Collector {
    pub(crate) columns: Columns,
    pub(crate) members: DeviceMembers,
    pub(crate) lint: Lint,
    /// What was found before the rules look at the rows.
    pub(crate) found: Findings,
}

/// What [`Collector::take`] read of an event, for those who keep the event too and need not read it again.
///
/// What was not looked at is `None`. Ids that do not stand for themselves, and the numbers of names, devices, streams and
/// threads, are those of one collector: equal ones mean the same within a piece of the trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken {
    /// `ts` and `dur` in picoseconds.
    pub times: Option<Times>,
    /// `name`; [`NO_NAME`] where it is no text.
    pub name: Option<NameId>,
    /// `correlation` in `args`.
    pub correlation: Option<Id>,
    /// `External id` in `args`, or `external id`.
    pub external: Option<Id>,
    /// `device` in `args`; where there is none, that of 0.
    pub device: Option<u32>,
    /// `stream` in `args`, together with the device.
    pub stream: Option<u32>,
    /// `pid` and `tid`.
    pub thread: Option<u32>,
}

/// Times of an event in picoseconds; `None` where it has no such number, or one beyond 1e24 µs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// `ts`
    pub start: Option<Picoseconds>,
    /// `dur`, which can be negative.
    pub duration: Option<Picoseconds>,
}

impl Collector {
    /// The members of `args` that are looked at.
    pub const ARGS: [&'static str; 6] =
        ["correlation", "External id", "device", "stream", "external id", "In msg nelems"];

    /// The top-level members that are looked at.
    pub const MEMBERS: [&'static str; 7] = MEMBERS;

    /// Takes the next event.
    #[inline]
    pub fn take(&mut self, event: &Event<'_>) -> Taken {
        self.lint.look_at_event(event);
        self.columns.take(event)
    }

    /// Takes a top-level member.
    pub fn take_member(&mut self, name: &Text<'_>, value: &Value<'_>) {
        // Texts are decoded leniently under the profiler's preset, so this does not fail.
        self.members.take(&name.decode_lossy(), value.to_value().ok(), value.is_truthy());
    }

    /// Makes room for the events of a piece of the trace, if there is memory for them: [`Collector::append`] aborts where there is none.
    pub fn reserve(&mut self, piece: &Collector) -> Result<(), TryReserveError> {
        self.columns.reserve(&piece.columns)
    }

    /// Puts the events of the piece of the trace that follows behind these.
    pub fn append(&mut self, piece: Collector) {
        self.columns.append(piece.columns);
        self.lint.join(piece.lint);
        self.found.append(piece.found);
    }

    /// Whether the text of some event has something that only [`check`](crate::check) reports in full: a key that stands
    /// twice in an object, a word such as `NaN`, bytes that are not UTF-8.
    pub fn needs_a_closer_look(&self) -> bool {
        self.lint.is_suspicious()
    }

    /// Findings about the events; those about the file as such are [`check`](crate::check)'s.
    pub fn report(self, file: &str, selection: &Selection) -> Report {
        self.report_with(file, Findings::default(), selection)
    }

    /// [`Collector::report`] with no more in the certificate than the number of kernels: for those who go on with the trace and
    /// sum on their own.
    pub fn findings(self, file: &str) -> Report {
        self.report_and(file, Findings::default(), &Selection::default(), |trace, _| trace.kernel_count()).0
    }

    /// [`Collector::findings`]; a profile gets its rows back.
    pub(super) fn findings_and_rows(self, file: &str, profile: &mut Profile) -> Report {
        let kernel_count = |trace: &Prepared, _: &Replays| trace.kernel_count();
        let (report, prepared) = self.report_and(file, Findings::default(), &Selection::default(), kernel_count);
        if let Some(given) = prepared.columns.given {
            given.give_back(profile);
        }
        report
    }

    pub(crate) fn report_with(self, file: &str, found: Findings, selection: &Selection) -> Report {
        self.report_and(file, found, selection, Prepared::certificate).0
    }

    fn report_and(
        self,
        file: &str,
        mut found: Findings,
        selection: &Selection,
        certificate: impl Fn(&Prepared, &Replays) -> Certificate,
    ) -> (Report, Prepared) {
        let started = Instant::now();
        found.append(self.found);
        let prepared = Prepared::new(self.columns, self.members);
        let prepared_after = started.elapsed();
        let of_work = || {
            let replays = Replays::new(&prepared);
            let (mut found, mut marks) = (Findings::default(), Marks::default());
            check_work(&prepared, &replays, &mut found, &mut marks);
            (found, marks, certificate(&prepared, &replays))
        };
        let of_rows = || {
            let mut marks = Marks::default();
            check_rows(&prepared, &mut found, &mut marks);
            marks
        };
        let ((found_in_work, marks, certificate), marks_of_rows) =
            AtOnce::of(prepared.rows().len()).both(of_work, of_rows);
        found.append(found_in_work);
        tracing::debug!(
            "{file}: {} rows of devices, {} calls, {} operators and {} steps prepared in {:.3} s, checked in {:.3} s",
            prepared.rows().len(),
            prepared.columns.call_count(),
            prepared.columns.operators.len(),
            prepared.columns.steps.len(),
            prepared_after.as_secs_f64(),
            (started.elapsed() - prepared_after).as_secs_f64()
        );
        let mut report = Report::new(file, Kind::GpuTrace, found, certificate, prepared.kernel_time, selection);
        report.marks = marks.join(marks_of_rows);
        (report, prepared)
    }
}

impl Columns {
    #[inline]
    pub(crate) fn take(&mut self, event: &Event<'_>) -> Taken {
        let index = self.events;
        self.events += 1;
        let start = event.timestamp().and_then(time);
        if start.is_none() && matches!(event.field(Field::Timestamp), Some(Value::Text(_))) {
            self.text_times += 1;
        }
        if let Some(start) = start {
            self.has_times = true;
            self.has_fractions = self.has_fractions || start % MICROSECOND != 0;
        }
        let (category, old) = category(event);
        self.old_categories += u64::from(old);
        let duration = Duration::of(event);
        if let Duration::Negative(duration) = duration {
            if self.negative.events == 0 {
                self.negative.first_event = index;
            }
            self.negative.events += 1;
            self.negative.kernels += u64::from(category == Category::Kernel);
            self.negative.worst = self.negative.worst.min(duration);
        }
        if let Some(start) = start {
            self.cover(category, start, start + Picoseconds::from(duration.or_zero()));
        }
        let times = Some(Times { start, duration: duration.number() });
        let taken = match category {
            Category::Kernel => self.take_row(event, RowKind::Kernel, start, duration),
            Category::Copy => self.take_row(event, RowKind::Copy, start, duration),
            Category::Call => self.take_call(event, start, duration),
            // Old profilers knew no annotations.
            Category::Operator if old && event.name().is_some_and(|name| name.starts_with(STEPS[0])) => {
                self.take_step(event, start, duration);
                Taken::default()
            }
            Category::Operator => self.take_operator(event, start, duration),
            Category::Annotation => {
                self.take_step(event, start, duration);
                Taken::default()
            }
            Category::Frame => {
                self.take_frame(event, start, duration);
                Taken::default()
            }
            Category::OtherDevice => {
                self.of_other_devices += 1;
                Taken::default()
            }
            Category::Other => Taken::default(),
        };
        Taken { times, ..taken }
    }

    fn take_row(&mut self, event: &Event<'_>, kind: RowKind, start: Option<Picoseconds>, duration: Duration) -> Taken {
        let name = self.name(event);
        let correlation = self.ids.value(event.arg(CORRELATION));
        let taken = Taken { name: Some(name), correlation: Some(correlation), ..Taken::default() };
        let (true, Some(start), Some(duration)) = (name != NO_NAME, start, duration.usable()) else {
            self.skip_row(kind, correlation);
            return taken;
        };
        if kind == RowKind::Kernel && !event.is_complete() {
            self.incomplete_kernels.push(name);
            self.skip_row(kind, correlation);
            return taken;
        }
        let device = self.ids.value(event.arg(DEVICE));
        let device = self.devices.number(if device.is_there() { device } else { Id::ZERO });
        let stream = self.ids.value(event.arg(STREAM));
        let stream = self.streams.number((device, stream));
        let external = self.external(event);
        if event.arg(ELEMENTS).is_some() {
            let count = self.ids.value(event.arg(ELEMENTS));
            self.elements.push((self.rows.len() as u32, count));
        }
        self.rows.push(Row { start, duration, correlation, external, name, device, stream, kind });
        Taken { external: Some(external), device: Some(device), stream: Some(stream), ..taken }
    }

    fn skip_row(&mut self, kind: RowKind, correlation: Id) {
        self.skipped_kernels += u64::from(kind == RowKind::Kernel);
        if correlation.is_there() {
            self.skipped_correlations.push(correlation);
        }
    }

    fn take_call(&mut self, event: &Event<'_>, start: Option<Picoseconds>, duration: Duration) -> Taken {
        self.has_calls = true;
        let correlation = self.ids.value(event.arg(CORRELATION));
        let taken = Taken { correlation: Some(correlation), ..Taken::default() };
        let Some(start) = start else { return taken };
        let (name, thread) = (self.name(event), self.thread(event));
        self.calls.push(Span { start, duration: duration.or_zero().into(), id: correlation, name, thread });
        Taken { name: Some(name), thread: Some(thread), ..taken }
    }

    fn take_operator(&mut self, event: &Event<'_>, start: Option<Picoseconds>, duration: Duration) -> Taken {
        let external = self.external(event);
        let taken = Taken { external: Some(external), ..Taken::default() };
        let (true, Some(start)) = (external.is_there(), start) else { return taken };
        let (name, thread, duration) = (self.name(event), self.thread(event), duration.or_zero().into());
        self.operators.push(Span { start, duration, id: external, name, thread });
        let end = start + duration;
        if end - start >= PAUSE {
            self.long_operators.push(Step { start, end, name, thread });
        }
        Taken { name: Some(name), thread: Some(thread), ..taken }
    }

    fn take_step(&mut self, event: &Event<'_>, start: Option<Picoseconds>, duration: Duration) {
        let (Some(name), Some(start)) = (event.name(), start) else { return };
        if !STEPS.iter().any(|step| name.starts_with(step)) {
            return;
        }
        let (name, thread) = (self.name(event), self.thread(event));
        self.steps.push(Step { start, end: start + Picoseconds::from(duration.or_zero()), name, thread });
    }

    fn take_frame(&mut self, event: &Event<'_>, start: Option<Picoseconds>, duration: Duration) {
        let length = Picoseconds::from(duration.or_zero());
        if let (Some(start), true) = (start, length >= PAUSE) {
            let (name, thread) = (self.name(event), self.thread(event));
            self.long_frames.push(Step { start, end: start + length, name, thread });
        }
    }

    fn name(&mut self, event: &Event<'_>) -> NameId {
        match event.field(Field::Name) {
            Some(Value::Text(text)) => self.names.source(text.raw(), || text.decode_lossy()),
            _ => NO_NAME,
        }
    }

    fn thread(&mut self, event: &Event<'_>) -> u32 {
        let key = (self.ids.value(event.process()), self.ids.value(event.thread()));
        self.threads.number(key)
    }

    fn external(&mut self, event: &Event<'_>) -> Id {
        self.ids.value(event.arg(EXTERNAL).or_else(|| event.arg(OLD_EXTERNAL)))
    }
}

/// Beginnings of the annotations that are steps.
pub(super) const STEPS: [&str; 3] = ["ProfilerStep#", "step[", "execute_"];

/// Largest magnitude of a time: 1e24 µs, so that stamps since 1970 in another unit are still recognised.
const LIMIT: Picoseconds = 1_000_000_000_000_000_000_000_000 * MICROSECOND;

#[inline(always)]
fn time(number: Number<'_>) -> Option<Picoseconds> {
    picoseconds_up_to(number.raw(), LIMIT)
}

/// `dur` of an event.
#[derive(Debug, Clone, Copy)]
enum Duration {
    Missing,
    Usable(Picoseconds),
    Negative(Picoseconds),
    NoTime,
}

impl Duration {
    fn of(event: &Event<'_>) -> Duration {
        match event.field(Field::Duration) {
            None | Some(Value::Null) => Duration::Missing,
            Some(Value::Number(number)) => match time(number) {
                Some(duration) if duration < 0 => Duration::Negative(duration),
                Some(duration) => Duration::Usable(duration),
                None => Duration::NoTime,
            },
            Some(_) => Duration::NoTime,
        }
    }

    fn or_zero(self) -> i64 {
        match self {
            Duration::Usable(duration) => cut(duration),
            _ => 0,
        }
    }

    fn usable(self) -> Option<i64> {
        match self {
            Duration::Missing => Some(0),
            Duration::Usable(duration) => Some(cut(duration)),
            Duration::Negative(_) | Duration::NoTime => None,
        }
    }

    fn number(self) -> Option<Picoseconds> {
        match self {
            Duration::Usable(duration) | Duration::Negative(duration) => Some(duration),
            Duration::Missing | Duration::NoTime => None,
        }
    }
}

/// A duration as rows have it.
fn cut(duration: Picoseconds) -> i64 {
    duration.try_into().unwrap_or(i64::MAX)
}
