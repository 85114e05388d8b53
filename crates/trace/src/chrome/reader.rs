//! Reading a trace event by event on one thread.

use super::event::{Event, Record};
use super::machine::{Machine, Step};
use super::options::ReadOptions;
use crate::Error;
use crate::error::Location;
use crate::scan::{FaultKind, Text, Value};
use crate::source::{Refill, Source, Window};

/// What [`Reader::next_item`] comes to.
#[derive(Debug, Clone, Copy)]
pub enum Item<'r> {
    /// An event.
    Event(Event<'r>),
    /// A second `traceEvents` begins: everything from the first one is as if it had not been there.
    Restart,
    /// A top-level member that was asked for. Of equal names the last one counts.
    Member {
        /// Its key.
        name: Text<'r>,
        /// Its value.
        value: Value<'r>,
    },
}

/// Reads a trace event by event.
///
/// ```
/// use perfdb_trace::chrome::{Item, ReadOptions, Reader};
/// use perfdb_trace::source::Source;
///
/// let trace = r#"{"traceEvents": [{"ph": "X", "dur": 3, "args": {"source": "MEASURED"}}, {"ph": "M"}]}"#;
/// let mut source = Source::from_bytes("trace.json", trace)?;
/// let options = ReadOptions::simulator().args(["source"]);
/// let mut reader = Reader::new(&mut source, &options);
/// let mut sources = Vec::new();
/// while let Some(item) = reader.next_item()? {
///     match item {
///         Item::Event(event) => sources.extend(event.text_arg(0).map(|source| source.into_owned())),
///         Item::Restart => sources.clear(),
///         Item::Member { .. } => {}
///     }
/// }
/// assert_eq!(sources, ["MEASURED"]);
/// # Ok::<(), perfdb_trace::Error>(())
/// ```
pub struct Reader<'s, 'o> {
    window: Window<'s>,
    machine: Machine<'o>,
    options: &'o ReadOptions,
    record: Record,
    events: u64,
    deferred: Option<Error>,
}

impl<'s, 'o> Reader<'s, 'o> {
    /// A reader at the start of `source`.
    pub fn new(source: &'s mut Source, options: &'o ReadOptions) -> Reader<'s, 'o> {
        Reader {
            window: Window::new(source),
            machine: Machine::new(options),
            options,
            record: Record::new(options.args.len()),
            events: 0,
            deferred: None,
        }
    }

    /// The next event, member or restart; `None` once the whole file has been read and checked.
    ///
    /// An element that is no object, or a `traceEvents` that is no list, is reported at the end of the file, because a
    /// later `traceEvents` makes it good.
    pub fn next_item(&mut self) -> Result<Option<Item<'_>>, Error> {
        let step = self.advance()?;
        let (bytes, rule) = (self.window.bytes(), self.options.text_rule);
        Ok(match step {
            Step::Event => {
                let (base, index) = (self.window.base(), self.events - 1);
                Some(Item::Event(Event { window: bytes, record: &self.record, rule, base, index }))
            }
            Step::Member { name, value } => {
                let name = name.0.of(bytes, rule).and_then(|name| name.as_text());
                name.zip(value.0.of(bytes, rule)).map(|(name, value)| Item::Member { name, value })
            }
            Step::Events { .. } => Some(Item::Restart),
            _ => None,
        })
    }

    /// Goes on to the next step that the caller is to see, or to the end.
    fn advance(&mut self) -> Result<Step, Error> {
        loop {
            match self.machine.step(self.window.bytes(), &mut self.record) {
                Ok(Step::Event) => {
                    self.events += 1;
                    return Ok(Step::Event);
                }
                Ok(Step::NoEvent(at)) => {
                    self.defer(at, Some(self.events));
                    self.events += 1;
                }
                Ok(step @ (Step::Events { again } | Step::NoList { again, .. })) => {
                    self.events = 0;
                    self.deferred = None;
                    if let Step::NoList { at, .. } = step {
                        self.defer(at, None);
                    }
                    if again {
                        return Ok(Step::Events { again });
                    }
                }
                Ok(Step::ListEnd) => {}
                Ok(step @ Step::Member { .. }) => return Ok(step),
                // A stream may hold more behind the end.
                Ok(Step::End) => {
                    if !self.refill()? {
                        return self.deferred.take().map_or(Ok(Step::End), Err);
                    }
                }
                Err(fault) => {
                    if fault.kind != FaultKind::End || !self.refill()? {
                        let event = self.machine.in_events().then_some(self.events);
                        return Err(self.window.error(fault.kind, fault.at, event));
                    }
                }
            }
        }
    }

    /// Takes in more; false at the end of the file.
    fn refill(&mut self) -> Result<bool, Error> {
        let done = self.machine.position();
        let event = self.machine.in_events().then_some(self.events);
        let more = self.window.refill(done, event)? == Refill::Moved;
        if more {
            self.machine.drop_front(done);
        }
        Ok(more)
    }

    /// Where an event stands that this reader has just handed over, for a message of the caller's own.
    pub fn location(&self, offset: u64, event: Option<u64>) -> Location {
        let at = usize::try_from(offset.saturating_sub(self.window.base())).unwrap_or(usize::MAX);
        self.window.location(at, event)
    }

    fn defer(&mut self, at: usize, event: Option<u64>) {
        let location = self.window.location(at, event);
        let path = self.window.path().to_owned();
        self.deferred.get_or_insert(Error::Shape { path, location });
    }
}
