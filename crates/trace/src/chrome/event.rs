//! One event, borrowed from the bytes it was read from.

use super::form::Form;
use super::seen::Seen;
use crate::scan::{Kind, Span, TextRule, Value};

/// Where the fields and wanted args of an event stand.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) start: usize,
    /// One past the event's `}`.
    pub(super) end: usize,
    pub(super) fields: [Span; FIELDS],
    pub(super) args: Span,
    pub(super) wanted: Vec<Span>,
    /// Where the keys of the members of `args` start; only while an event is taken.
    pub(super) keys: Vec<usize>,
    pub(super) seen: Seen,
    pub(super) form: Form,
}

pub(super) const FIELDS: usize = 8;
pub(super) const NAME: usize = 0;
pub(super) const CATEGORY: usize = 1;
pub(super) const PHASE: usize = 2;
pub(super) const TIMESTAMP: usize = 3;
pub(super) const DURATION: usize = 4;
pub(super) const PROCESS: usize = 5;
pub(super) const THREAD: usize = 6;
pub(super) const ID: usize = 7;

impl Record {
    pub(super) fn new(wanted_args: usize) -> Record {
        Record {
            start: 0,
            end: 0,
            fields: [Span::ABSENT; FIELDS],
            args: Span::ABSENT,
            wanted: vec![Span::ABSENT; wanted_args],
            keys: Vec::new(),
            seen: Seen::new(),
            form: Form::UNKNOWN,
        }
    }

    #[inline]
    pub(super) fn clear(&mut self, start: usize) {
        self.start = start;
        for field in &mut self.fields {
            field.kind = Kind::Absent;
        }
        // The wanted members are cleared when args come.
        self.args.kind = Kind::Absent;
    }

    #[inline]
    pub(super) fn clear_args(&mut self) {
        for arg in &mut self.wanted {
            arg.kind = Kind::Absent;
        }
    }
}

/// What an event's `args` are.
#[derive(Debug, Clone, Copy)]
pub enum Args<'r> {
    /// There are none.
    Absent,
    /// An object; its members are [`Event::arg`].
    Object,
    /// Something else, `null` included.
    Other(Value<'r>),
}

/// One event of a trace. Of equal keys the last one counts, `args` included. All fields can be of any type.
#[derive(Debug, Clone, Copy)]
pub struct Event<'r> {
    pub(super) window: &'r [u8],
    pub(super) record: &'r Record,
    pub(super) rule: TextRule,
    pub(super) base: u64,
    pub(super) index: u64,
}

impl<'r> Event<'r> {
    /// `name`
    #[inline]
    pub fn name(&self) -> Option<Value<'r>> {
        self.field(NAME)
    }

    /// `cat`
    #[inline]
    pub fn category(&self) -> Option<Value<'r>> {
        self.field(CATEGORY)
    }

    /// `ph`
    #[inline]
    pub fn phase(&self) -> Option<Value<'r>> {
        self.field(PHASE)
    }

    /// `ts`, in microseconds
    #[inline]
    pub fn timestamp(&self) -> Option<Value<'r>> {
        self.field(TIMESTAMP)
    }

    /// `dur`, in microseconds
    #[inline]
    pub fn duration(&self) -> Option<Value<'r>> {
        self.field(DURATION)
    }

    /// `pid`
    #[inline]
    pub fn process(&self) -> Option<Value<'r>> {
        self.field(PROCESS)
    }

    /// `tid`
    #[inline]
    pub fn thread(&self) -> Option<Value<'r>> {
        self.field(THREAD)
    }

    /// `id`
    #[inline]
    pub fn id(&self) -> Option<Value<'r>> {
        self.field(ID)
    }

    /// Whether `ph` is the text `phase`: `X` complete events, `M` metadata, `s` and `f` flows.
    #[inline]
    pub fn has_phase(&self, phase: &str) -> bool {
        let span = self.record.fields[PHASE];
        match span.kind {
            Kind::PlainText => self.window.get(span.start..span.end) == Some(phase.as_bytes()),
            Kind::EscapedText => self.has_escaped_phase(phase),
            _ => false,
        }
    }

    #[cold]
    fn has_escaped_phase(&self, phase: &str) -> bool {
        self.phase().and_then(|value| value.as_text()).is_some_and(|text| text.is(phase))
    }

    /// What `args` is.
    #[inline]
    pub fn args(&self) -> Args<'r> {
        match self.record.args.kind {
            Kind::Absent => Args::Absent,
            Kind::Object => Args::Object,
            _ => self.record.args.of(self.window, self.rule).map_or(Args::Absent, Args::Other),
        }
    }

    /// The member of `args` that stands at `position` in [`ReadOptions::args`](super::ReadOptions::args); `None` where it is
    /// absent, or `args` is no object.
    #[inline]
    pub fn arg(&self, position: usize) -> Option<Value<'r>> {
        if self.record.args.kind != Kind::Object {
            return None;
        }
        self.record.wanted.get(position)?.of(self.window, self.rule)
    }

    /// Position in `traceEvents`, from 0. In [`read_ordered`](super::read_ordered) it counts from the start of the chunk.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Position of the event's `{` in the (inflated) file, in bytes from 0.
    pub fn offset(&self) -> u64 {
        self.base + self.record.start as u64
    }

    /// The event as it stands in the file, from brace to brace.
    #[inline]
    pub fn text(&self) -> &'r [u8] {
        self.window.get(self.record.start..self.record.end).unwrap_or_default()
    }

    /// The form of the event. Where the reader was not [asked](super::ReadOptions::with_forms) for forms, every one is odd.
    #[inline]
    pub fn form(&self) -> Form {
        self.record.form
    }

    #[inline]
    fn field(&self, field: usize) -> Option<Value<'r>> {
        self.record.fields[field].of(self.window, self.rule)
    }
}
