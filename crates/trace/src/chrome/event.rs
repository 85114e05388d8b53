//! One event, borrowed from the bytes it was read from.

use super::form::Form;
use super::layout::Layouts;
use super::seen::Seen;
use crate::scan::{Kind, Number, Span, Text, TextRule, Value};
use std::borrow::Cow;

/// Where the fields and wanted args of an event stand.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) start: usize,
    /// One past the event's `}`.
    pub(super) end: usize,
    pub(super) fields: [Span; Field::COUNT],
    pub(super) args: Span,
    pub(super) wanted: Vec<Span>,
    /// Where the keys of the members of `args` start; only while an event is taken.
    pub(super) keys: Vec<usize>,
    pub(super) seen: Seen,
    pub(super) layouts: Layouts,
    /// Number of the args among those that are kept.
    pub(super) repeated: Option<u64>,
    pub(super) form: Form,
}

/// A field that every event can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// `name`
    Name,
    /// `cat`
    Category,
    /// `ph`
    Phase,
    /// `ts`, in microseconds
    Timestamp,
    /// `dur`, in microseconds
    Duration,
    /// `pid`
    Process,
    /// `tid`
    Thread,
    /// `id`
    Id,
}

impl Field {
    pub(super) const COUNT: usize = 8;
}

impl Record {
    pub(super) fn new(wanted_args: usize) -> Record {
        Record {
            start: 0,
            end: 0,
            fields: [Span::ABSENT; Field::COUNT],
            args: Span::ABSENT,
            wanted: vec![Span::ABSENT; wanted_args],
            keys: Vec::new(),
            seen: Seen::new(),
            layouts: Layouts::new(),
            repeated: None,
            form: Form::UNKNOWN,
        }
    }

    #[inline]
    pub(super) fn clear(&mut self, start: usize) {
        self.start = start;
        for field in &mut self.fields {
            field.kind = Kind::Absent;
        }
        // The wanted members and their number are cleared when args come.
        self.args.kind = Kind::Absent;
    }

    #[inline]
    pub(super) fn clear_args(&mut self) {
        for arg in &mut self.wanted {
            arg.kind = Kind::Absent;
        }
        self.repeated = None;
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

/// One event of a trace. Of equal keys the last one counts, `args` included.
///
/// Any field can be of any type. [`Event::name`] and the like give a field if it is of the type that it should be;
/// [`Event::field`] and [`Event::arg`] give it as it is.
#[derive(Debug, Clone, Copy)]
pub struct Event<'r> {
    pub(super) window: &'r [u8],
    pub(super) record: &'r Record,
    pub(super) rule: TextRule,
    pub(super) base: u64,
    pub(super) index: u64,
}

impl<'r> Event<'r> {
    /// `name`, if it is a text; what is not text in it becomes U+FFFD.
    #[inline]
    pub fn name(&self) -> Option<Cow<'r, str>> {
        self.text(Field::Name).map(|name| name.decode_lossy())
    }

    /// `cat`, if it is a text; what is not text in it becomes U+FFFD.
    #[inline]
    pub fn category(&self) -> Option<Cow<'r, str>> {
        self.text(Field::Category).map(|category| category.decode_lossy())
    }

    /// `ts` in microseconds, if it is a number.
    #[inline]
    pub fn timestamp(&self) -> Option<Number<'r>> {
        self.number(Field::Timestamp)
    }

    /// `dur` in microseconds, if it is a number.
    #[inline]
    pub fn duration(&self) -> Option<Number<'r>> {
        self.number(Field::Duration)
    }

    /// `pid`, which can be a number or a text
    #[inline]
    pub fn process(&self) -> Option<Value<'r>> {
        self.field(Field::Process)
    }

    /// `tid`, which can be a number or a text
    #[inline]
    pub fn thread(&self) -> Option<Value<'r>> {
        self.field(Field::Thread)
    }

    /// `id`, which can be a number or a text
    #[inline]
    pub fn id(&self) -> Option<Value<'r>> {
        self.field(Field::Id)
    }

    /// The member of `args` at a position, if it is a text; what is not text in it becomes U+FFFD. See [`Event::arg`].
    #[inline]
    pub fn text_arg(&self, position: usize) -> Option<Cow<'r, str>> {
        self.arg(position)?.as_text().map(|text| text.decode_lossy())
    }

    /// The member of `args` at a position, if it is a number. See [`Event::arg`].
    #[inline]
    pub fn number_arg(&self, position: usize) -> Option<Number<'r>> {
        self.arg(position)?.as_number()
    }

    /// A field, of any kind; `None` where it is absent.
    #[inline]
    pub fn field(&self, field: Field) -> Option<Value<'r>> {
        self.record.fields[field as usize].of(self.window, self.rule)
    }

    #[inline]
    fn text(&self, field: Field) -> Option<Text<'r>> {
        self.field(field)?.as_text()
    }

    #[inline]
    fn number(&self, field: Field) -> Option<Number<'r>> {
        self.field(field)?.as_number()
    }

    /// Whether it lasts from its own start to its own end, as all do that name no phase.
    pub fn is_complete(&self) -> bool {
        self.has_phase("X") || self.field(Field::Phase).is_none()
    }

    /// Whether `ph` is the text `phase`: `X` complete events, `M` metadata, `s` and `f` flows.
    #[inline]
    pub fn has_phase(&self, phase: &str) -> bool {
        let span = self.record.fields[Field::Phase as usize];
        match span.kind {
            Kind::PlainText => self.window.get(span.start..span.end) == Some(phase.as_bytes()),
            Kind::EscapedText => self.has_escaped_phase(phase),
            _ => false,
        }
    }

    #[cold]
    fn has_escaped_phase(&self, phase: &str) -> bool {
        self.text(Field::Phase).is_some_and(|text| text.is(phase))
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

    /// A number that identifies args which the reader has seen before: in one chunk of [`read_ordered`](super::read_ordered), or for
    /// one [`Reader`](super::Reader), args of the same number are equal byte for byte. Equal args mostly have one, as layers
    /// repeat; none means nothing.
    #[inline]
    pub fn args_number(&self) -> Option<u64> {
        self.record.repeated.filter(|_| self.record.args.kind == Kind::Object)
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
    pub fn raw(&self) -> &'r [u8] {
        self.window.get(self.record.start..self.record.end).unwrap_or_default()
    }

    /// The form of the event. Where the reader was not [asked](super::ReadOptions::with_forms) for forms, every one is odd.
    #[inline]
    pub fn form(&self) -> Form {
        self.record.form
    }
}
