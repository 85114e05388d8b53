//! What an event is, where a cut depends on it.

use rustc_hash::FxHashMap;

use super::{MEMBER, Piece, Spans};
use crate::chrome::{Event, Field, ReadOptions};
use crate::id::{Id, IdTable};
use crate::scan::Value;
use crate::time::{Picoseconds, picoseconds};

/// Members of `args` that are used.
const ARGS: [&str; 2] = ["correlation", "device"];
const CORRELATION: usize = 0;
const DEVICE: usize = 1;

pub(super) fn options() -> ReadOptions {
    ReadOptions::profiler().args(ARGS).all_members()
}

/// Whether a member of the top of the trace is copied.
pub(super) fn is_kept(member: &str) -> bool {
    member != MEMBER
}

/// In which of the two an event is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) piece: bool,
    pub(super) rest: bool,
}

impl Sides {
    pub(super) const BOTH: Sides = Sides { piece: true, rest: true };

    pub(super) fn or(self, other: Sides) -> Sides {
        Sides { piece: self.piece || other.piece, rest: self.rest || other.rest }
    }
}

/// What an event is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Row {
    /// Of no time, such as the name of a process.
    Metadata,
    /// Something on a device; what launched it.
    Device { sides: Sides, correlation: Id },
    /// A call that can launch something.
    Launch { correlation: Id },
    /// One end of an arrow; `launch` says whether its id is that of a launch.
    Flow { launch: bool, is_start: bool, id: Id, category: Id },
    /// Anything else; whether it is a Python frame, and whether launches happen within it.
    Host { sides: Sides, is_frame: bool, encloses: bool },
}

/// Sorts events by what they are. Ids are those of one table over all passes.
#[derive(Debug, Default)]
pub(super) struct Rows {
    ids: IdTable,
    devices: FxHashMap<Id, Spans>,
}

/// The start of an event.
pub(super) fn start(event: &Event<'_>) -> Option<Picoseconds> {
    picoseconds(event.timestamp()?.raw())
}

/// The end of an event that starts then.
fn end(event: &Event<'_>, start: Picoseconds) -> Picoseconds {
    let duration = event.duration().and_then(|duration| picoseconds(duration.raw()));
    start + duration.unwrap_or(0).max(0)
}

/// The time that an event takes.
pub(super) fn times(event: &Event<'_>) -> Option<(Picoseconds, Picoseconds)> {
    let start = start(event)?;
    Some((start, end(event, start)))
}

impl Rows {
    pub(super) fn of(&mut self, event: &Event<'_>, piece: &Piece) -> Row {
        let Some(start) = start(event).filter(|_| !event.has_phase("M")) else { return Row::Metadata };
        let category = event.category().unwrap_or_default();
        let category = category.as_ref();
        if ["s", "t", "f"].iter().any(|phase| event.has_phase(phase)) {
            let launch = matches!(category, "ac2g" | "async_cpu_to_gpu" | "async");
            let (id, category) = (self.ids.value(event.id()), self.ids.text(category));
            return Row::Flow { launch, is_start: event.has_phase("s"), id, category };
        }
        let end = end(event, start);
        match category {
            "kernel" | "Kernel" | "gpu_memcpy" | "Memcpy" | "gpu_memset" | "Memset" | "cuda_sync" => {
                let spans = self.device(event.arg(DEVICE), piece);
                let sides = Sides {
                    piece: spans.reaches(start, end) || spans.end_at(start),
                    rest: spans.leaves(start, end) || spans.begin_at(start),
                };
                Row::Device { sides, correlation: self.ids.value(event.arg(CORRELATION)) }
            }
            "gpu_user_annotation" => {
                let sides = match &piece.device_annotations {
                    Some(spans) => beginning(spans, start),
                    None => {
                        let device = event.arg(DEVICE).or_else(|| event.process());
                        let spans = self.device(device, piece);
                        if piece.whole_annotations { beginning(spans, start) } else { overlapping(spans, start, end) }
                    }
                };
                Row::Host { sides, is_frame: false, encloses: false }
            }
            "user_annotation" if piece.whole_annotations => {
                Row::Host { sides: beginning(&piece.host, start), is_frame: false, encloses: false }
            }
            name if name.ends_with("_runtime") || name.ends_with("_driver") || name == "Runtime" => {
                match self.ids.value(event.arg(CORRELATION)) {
                    correlation if correlation.is_there() => Row::Launch { correlation },
                    _ => Row::Host { sides: overlapping(&piece.host, start, end), is_frame: false, encloses: false },
                }
            }
            name => {
                let is_frame = name == "python_function";
                let encloses = is_frame || matches!(name, "cpu_op" | "Operator");
                Row::Host { sides: overlapping(&piece.host, start, end), is_frame, encloses }
            }
        }
    }

    /// The thread of an event.
    pub(super) fn thread(&mut self, event: &Event<'_>) -> (Id, Id) {
        (self.ids.value(event.field(Field::Process)), self.ids.value(event.field(Field::Thread)))
    }

    /// The spans of a device.
    fn device(&mut self, device: Option<Value<'_>>, piece: &Piece) -> &Spans {
        let id = match self.ids.value(device) {
            id if id.is_there() => id,
            _ => Id::ZERO,
        };
        let ids = &self.ids;
        let spans = || piece.devices.get(&ids.shown(id)).unwrap_or(&piece.other_devices).clone();
        self.devices.entry(id).or_insert_with(spans)
    }
}

/// Where something belongs that is not divided.
fn beginning(spans: &Spans, start: Picoseconds) -> Sides {
    let piece = spans.holds(start);
    Sides { piece, rest: !piece }
}

/// Where something on the host belongs.
pub(super) fn overlapping(spans: &Spans, start: Picoseconds, end: Picoseconds) -> Sides {
    Sides { piece: spans.reaches(start, end), rest: spans.leaves(start, end) }
}
