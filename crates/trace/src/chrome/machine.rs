//! The way through a trace: one step per event, top-level member or start of `traceEvents`.
//!
//! A step takes whole values only. Where the bytes end inside one, it fails with [`FaultKind::End`] and leaves the machine
//! as it was, so that the caller can come again with more bytes.

use super::event::Record;
use super::keys::WantedArgs;
use super::options::{Members, ReadOptions, TopLevel};
use super::take::take_event;
use crate::scan::{Fast, Fault, FaultKind, Kind, Scanner, Skip, Span};

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The record holds an event.
    Event,
    /// An element of `traceEvents` that is not an object stood at this position.
    NoEvent(usize),
    /// A `traceEvents` begins; this is not the first one if `again`.
    Events { again: bool },
    /// A `traceEvents` begins that is no list; its value stands at this position.
    NoList { at: usize, again: bool },
    /// `traceEvents` ends.
    ListEnd,
    /// A wanted top-level member.
    Member { name: SpanOf, value: SpanOf },
    /// The trace is complete.
    End,
}

/// A [`Span`] that can be compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpanOf(pub(super) Span);

impl PartialEq for SpanOf {
    fn eq(&self, other: &SpanOf) -> bool {
        (self.0.start, self.0.end) == (other.0.start, other.0.end)
    }
}

impl Eq for SpanOf {}

#[derive(Debug, Clone)]
enum State {
    Start,
    FirstMember,
    NextMember,
    AfterMember,
    /// Behind the colon of a `traceEvents`, which is not the first one if `again`.
    EventsValue {
        again: bool,
    },
    FirstEvent,
    Event,
    AfterEvent,
    /// Inside a value that nobody asked for.
    Skipping(Box<Skip>),
    Done,
}

/// State of the way through one trace.
#[derive(Debug, Clone)]
pub(super) struct Machine<'o> {
    options: &'o ReadOptions,
    wanted: WantedArgs<'o>,
    state: State,
    at: usize,
    bare_list: bool,
    events_seen: bool,
}

impl<'o> Machine<'o> {
    /// At the start of a trace.
    pub(super) fn new(options: &'o ReadOptions) -> Machine<'o> {
        Machine {
            options,
            wanted: WantedArgs::new(&options.args),
            state: State::Start,
            at: 0,
            bare_list: false,
            events_seen: false,
        }
    }

    /// In front of an event inside `traceEvents`, at `at`.
    pub(super) fn at_event(options: &'o ReadOptions, at: usize) -> Machine<'o> {
        Machine { state: State::Event, at, events_seen: true, ..Machine::new(options) }
    }

    /// Goes on in front of an event at `at`, or behind the end of `traceEvents`.
    pub(super) fn resume(&mut self, at: usize, list_ended: bool) {
        self.at = at;
        self.state = if !list_ended {
            State::Event
        } else if self.bare_list {
            State::Done
        } else {
            State::AfterMember
        };
    }

    /// Where the next step begins: in front of an event if [`Machine::before_event`].
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Whether the next step takes an event.
    pub(super) fn before_event(&self) -> bool {
        matches!(self.state, State::Event)
    }

    /// Whether the machine is inside `traceEvents`.
    pub(super) fn in_events(&self) -> bool {
        matches!(self.state, State::FirstEvent | State::Event | State::AfterEvent)
    }

    /// The bytes in front of `dropped` are gone; positions count from there from now on.
    pub(super) fn drop_front(&mut self, dropped: usize) {
        self.at = self.at.saturating_sub(dropped);
    }

    /// Goes one step on in `bytes`.
    // Compiled here once, not with everything in it for each caller of the readers above.
    #[inline(never)]
    pub(super) fn step(&mut self, bytes: &[u8], record: &mut Record) -> Result<Step, Fault> {
        let mut scanner = Scanner::starting_at(bytes, self.at, self.options.text_rule);
        loop {
            match self.state {
                State::AfterEvent => {
                    self.after_event(&mut scanner)?;
                    if !self.in_events() {
                        return Ok(Step::ListEnd);
                    }
                }
                State::Event => return self.event(&mut scanner, record),
                _ => {
                    if let Some(step) = self.outside_events(&mut scanner)? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    fn commit(&mut self, scanner: &Scanner<'_>, state: State) {
        self.at = scanner.at;
        self.state = state;
    }

    #[inline]
    fn event(&mut self, scanner: &mut Scanner<'_>, record: &mut Record) -> Result<Step, Fault> {
        let start = scanner.at;
        let step = if scanner.peek() == Some(b'{') {
            let fast = Fast::new(scanner.bytes, self.options.text_rule);
            match take_event(fast, start, &self.wanted, self.options.forms, record) {
                Some(end) => {
                    record.end = end;
                    scanner.at = end;
                    // The way to the next event is short mostly.
                    let to_next = match fast.from(end) {
                        [b',', b'\n' | b' ', b'{', ..] => 2,
                        [b',', b'{', ..] => 1,
                        _ => 0,
                    };
                    if to_next > 0 {
                        self.at = end + to_next;
                        return Ok(Step::Event);
                    }
                }
                None => return Err(fault_of(scanner)),
            }
            Step::Event
        } else {
            let span = scanner.value_span()?;
            if !matches!(span.kind, Kind::List) && scanner.peek().is_none() {
                return Err(Fault { at: scanner.at, kind: FaultKind::End });
            }
            Step::NoEvent(start)
        };
        self.commit(scanner, State::AfterEvent);
        // Where the bytes do not end here, stand in front of the next event already: chunks are matched by that position.
        let _ = self.after_event(scanner);
        Ok(step)
    }

    #[inline]
    fn after_event(&mut self, scanner: &mut Scanner<'_>) -> Result<(), Fault> {
        scanner.space();
        match scanner.peek() {
            Some(b',') => {
                scanner.at += 1;
                scanner.space();
                if scanner.peek().is_none() {
                    return scanner.fault(FaultKind::End);
                }
                self.commit(scanner, State::Event);
            }
            Some(b']') => self.list_end(scanner),
            _ => return scanner.fault(FaultKind::ExpectedCommaOrBracket),
        }
        Ok(())
    }

    fn list_end(&mut self, scanner: &mut Scanner<'_>) {
        scanner.at += 1;
        self.commit(scanner, if self.bare_list { State::Done } else { State::AfterMember });
    }

    #[inline(never)]
    fn outside_events(&mut self, scanner: &mut Scanner<'_>) -> Result<Option<Step>, Fault> {
        if let State::Skipping(skip) = &mut self.state {
            let result = skip.run(scanner);
            self.at = skip.position();
            result?;
            self.commit(scanner, State::AfterMember);
            return Ok(None);
        }
        scanner.space();
        match self.state {
            State::Start => return self.start(scanner),
            State::FirstMember if scanner.peek() == Some(b'}') => self.object_end(scanner),
            State::FirstMember | State::NextMember => return self.member(scanner),
            State::AfterMember => match scanner.peek() {
                Some(b',') => {
                    scanner.at += 1;
                    self.commit(scanner, State::NextMember);
                }
                Some(b'}') => self.object_end(scanner),
                _ => return scanner.fault(FaultKind::ExpectedCommaOrBrace),
            },
            State::EventsValue { again } => return self.events_value(scanner, again),
            State::FirstEvent => match scanner.peek() {
                Some(b']') => {
                    self.list_end(scanner);
                    return Ok(Some(Step::ListEnd));
                }
                Some(_) => self.commit(scanner, State::Event),
                None => return scanner.fault(FaultKind::End),
            },
            State::Done | State::Event | State::AfterEvent | State::Skipping(_) => {
                self.at = scanner.at;
                return if scanner.peek().is_none() { Ok(Some(Step::End)) } else { scanner.fault(FaultKind::Trailing) };
            }
        }
        Ok(None)
    }

    fn object_end(&mut self, scanner: &mut Scanner<'_>) {
        scanner.at += 1;
        self.commit(scanner, State::Done);
    }

    fn start(&mut self, scanner: &mut Scanner<'_>) -> Result<Option<Step>, Fault> {
        match scanner.peek() {
            Some(b'{') => {
                scanner.at += 1;
                self.commit(scanner, State::FirstMember);
                Ok(None)
            }
            Some(b'[') if self.options.top_level == TopLevel::ObjectOrList => {
                self.bare_list = true;
                self.events_seen = true;
                scanner.at += 1;
                self.commit(scanner, State::FirstEvent);
                Ok(Some(Step::Events { again: false }))
            }
            Some(b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I') => {
                Err(Fault { at: scanner.at, kind: FaultKind::ExpectedObject })
            }
            _ => scanner.fault(FaultKind::ExpectedValue),
        }
    }

    fn member(&mut self, scanner: &mut Scanner<'_>) -> Result<Option<Step>, Fault> {
        let key = scanner.key_span()?;
        let name = key.of(scanner.bytes, self.options.text_rule).and_then(|key| key.as_text());
        let is = |wanted: &str| name.is_some_and(|name| name.is(wanted));
        if is("traceEvents") {
            let again = std::mem::replace(&mut self.events_seen, true);
            self.commit(scanner, State::EventsValue { again });
            return Ok(None);
        }
        let wanted = match &self.options.members {
            Members::All => true,
            Members::Named(names) => names.iter().any(|wanted| is(wanted)),
        };
        if !wanted {
            self.commit(scanner, State::Skipping(Box::new(Skip::new())));
            return Ok(None);
        }
        let value = scanner.value_span()?;
        if scanner.peek().is_none() {
            return scanner.fault(FaultKind::End);
        }
        self.commit(scanner, State::AfterMember);
        Ok(Some(Step::Member { name: SpanOf(key), value: SpanOf(value) }))
    }

    fn events_value(&mut self, scanner: &mut Scanner<'_>, again: bool) -> Result<Option<Step>, Fault> {
        match scanner.peek() {
            Some(b'[') => {
                scanner.at += 1;
                self.commit(scanner, State::FirstEvent);
                Ok(Some(Step::Events { again }))
            }
            Some(_) => {
                let at = scanner.at;
                self.commit(scanner, State::Skipping(Box::new(Skip::new())));
                Ok(Some(Step::NoList { at, again }))
            }
            None => scanner.fault(FaultKind::End),
        }
    }
}

/// Why the object at the scanner's position could not be taken.
#[cold]
fn fault_of(scanner: &Scanner<'_>) -> Fault {
    match scanner.clone().skip_value() {
        Err(fault) => fault,
        Ok(()) => Fault { at: scanner.at, kind: FaultKind::ExpectedValue },
    }
}
