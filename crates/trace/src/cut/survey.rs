//! What belongs to a piece, found on two ways through the trace.

use std::path::Path;

use rustc_hash::FxHashMap;

use super::Piece;
use super::rows::{Row, Rows, Sides, options, overlapping, times};
use crate::Error;
use crate::chrome::{Event, Item, Reader};
use crate::id::Id;
use crate::scan::Value;
use crate::source::Source;
use crate::time::Picoseconds;

/// What is known of the trace; as large as the piece.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) rows: Rows,
    /// Lists of events that a later one replaces.
    pub(super) restarts: u64,
    /// Launches of what is on a device in the piece, and whether they launch something outside as well.
    launches: FxHashMap<Id, bool>,
    /// Launches that are in the piece on the host and launch nothing in it, and whether they launch something outside.
    idle: FxHashMap<Id, bool>,
    /// Arrows with an end in the piece, and whether they have one outside.
    flows: FxHashMap<(Id, Id), Sides>,
    /// Launches of the piece that lie outside: when, by thread, ascending.
    far: FxHashMap<(Id, Id), Vec<Picoseconds>>,
}

impl Survey {
    pub(super) fn of(path: &Path, piece: &Piece) -> Result<Survey, Error> {
        let mut survey = Survey::default();
        survey.restarts = each(path, None, |event, restarted| {
            if restarted {
                survey = Survey { rows: std::mem::take(&mut survey.rows), ..Survey::default() };
            }
            survey.take(event, piece);
        })?;
        let launches = &survey.launches;
        survey.idle.retain(|correlation, _| !launches.contains_key(correlation));
        each(path, Some(survey.restarts), |event, _| survey.take_again(event, piece))?;
        survey.far.values_mut().for_each(|times| times.sort_unstable());
        Ok(survey)
    }

    fn take(&mut self, event: &Event<'_>, piece: &Piece) {
        match self.rows.of(event, piece) {
            Row::Device { sides, correlation } if sides.piece && correlation.is_there() => {
                self.launches.insert(correlation, false);
            }
            Row::Launch { correlation } | Row::Flow { launch: true, id: correlation, is_start: true, .. }
                if on_host(event, piece).piece =>
            {
                self.idle.insert(correlation, false);
            }
            Row::Flow { launch: false, id, category, .. } if on_host(event, piece).piece => {
                self.flows.insert((category, id), Sides { piece: true, rest: false });
            }
            _ => {}
        }
    }

    fn take_again(&mut self, event: &Event<'_>, piece: &Piece) {
        match self.rows.of(event, piece) {
            Row::Device { sides, correlation } if sides.rest => {
                let known = self.launches.get_mut(&correlation).or_else(|| self.idle.get_mut(&correlation));
                if let Some(outside) = known {
                    *outside = true;
                }
            }
            Row::Launch { correlation } | Row::Flow { launch: true, id: correlation, is_start: true, .. }
                if self.launches.contains_key(&correlation) =>
            {
                let far = times(event).filter(|(start, _)| !piece.host.holds(*start));
                if let Some((start, _)) = far {
                    let thread = self.rows.thread(event);
                    self.far.entry(thread).or_default().push(start);
                }
            }
            Row::Flow { launch: false, id, category, .. } => {
                let sides = on_host(event, piece);
                if let Some(known) = self.flows.get_mut(&(category, id)) {
                    *known = known.or(sides);
                }
            }
            _ => {}
        }
    }

    /// In which of the two an event is.
    pub(super) fn sides(&mut self, event: &Event<'_>, piece: &Piece) -> (Sides, bool) {
        let sides = match self.rows.of(event, piece) {
            Row::Metadata => Sides::BOTH,
            Row::Device { sides, .. } => sides,
            Row::Launch { correlation } => self.launched(correlation).unwrap_or_else(|| on_host(event, piece)),
            Row::Flow { launch: true, id, .. } => self.launched(id).unwrap_or_else(|| {
                let piece = self.idle.contains_key(&id);
                Sides { piece, rest: !piece }
            }),
            Row::Flow { launch: false, id, category, .. } => {
                self.flows.get(&(category, id)).copied().unwrap_or(Sides { piece: false, rest: true })
            }
            Row::Host { mut sides, is_frame, encloses } => {
                if encloses && !sides.piece && self.is_around_a_launch(event) {
                    sides.piece = true;
                }
                return (sides, is_frame);
            }
        };
        (sides, false)
    }

    /// Where what a launch launches is; nothing where it launches nothing, or nothing that matters.
    fn launched(&self, correlation: Id) -> Option<Sides> {
        match (self.launches.get(&correlation), self.idle.get(&correlation)) {
            (Some(outside), _) => Some(Sides { piece: true, rest: *outside }),
            (None, Some(true)) => Some(Sides { piece: false, rest: true }),
            _ => None,
        }
    }

    fn is_around_a_launch(&mut self, event: &Event<'_>) -> bool {
        if self.far.is_empty() {
            return false;
        }
        let (Some((start, end)), thread) = (times(event), self.rows.thread(event)) else { return false };
        let launches = self.far.get(&thread).map(Vec::as_slice).unwrap_or_default();
        launches.get(launches.partition_point(|launch| *launch < start)).is_some_and(|launch| *launch <= end)
    }
}

fn on_host(event: &Event<'_>, piece: &Piece) -> Sides {
    let (start, end) = times(event).unwrap_or_default();
    overlapping(&piece.host, start, end)
}

/// Reads the events of a trace, all lists of them where it is not known which one counts. The second argument says whether
/// a new list has begun. Returns how many lists were replaced.
pub(super) fn each(path: &Path, restarts: Option<u64>, mut take: impl FnMut(&Event<'_>, bool)) -> Result<u64, Error> {
    let options = options();
    let mut source = Source::open(path)?;
    let mut reader = Reader::new(&mut source, &options);
    let (mut seen, mut restarted) = (0, false);
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Event(event) if restarts.is_none_or(|restarts| restarts == seen) => {
                take(&event, std::mem::take(&mut restarted));
            }
            Item::Restart => (seen, restarted) = (seen + 1, true),
            Item::Event(_) | Item::Member { .. } => {}
        }
    }
    Ok(seen)
}

/// The text of a value, as it stands in the file.
pub(super) fn raw(value: Value<'_>, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
        Value::Number(number) => out.extend_from_slice(number.raw()),
        Value::Text(text) => {
            out.push(b'"');
            out.extend_from_slice(text.raw());
            out.push(b'"');
        }
        Value::List(raw) | Value::Object(raw) => out.extend_from_slice(raw.text()),
    }
}
