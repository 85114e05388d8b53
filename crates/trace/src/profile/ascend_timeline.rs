//! `trace_view.json` of Ascend's profiler: one list of events of the program, of CANN and of the devices, told apart by the names of
//! their processes. All numbers may be texts.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ascend_classes;
use super::model::{Annotation, Copy, Kernel, Kind, Launch, Mark, Operator, Profile};
use crate::Error;
use crate::chrome::{Event, Field, Item, ReadOptions, Reader};
use crate::id::{Id, IdTable};
use crate::kernel_table::time;
use crate::names::{NO_NAME, NameId, Names};
use crate::numbering::Numbering;
use crate::scan::Value;
use crate::source::Source;
use crate::time::{Picoseconds, picoseconds};

const ARGS: [&str; 4] = ["name", "Task Type", "Input Dims", "Input type"];
const PROCESS_NAME: usize = 0;
const TASK_TYPE: usize = 1;
const DIMS: usize = 2;
const TYPES: usize = 3;

/// What waits or records, and works on nothing.
const NO_WORK: [&str; 3] = ["EVENT_", "NOTIFY_", "CAPTURE_"];

/// Flows to a device: from the call that put the work there, and from the operator of the program.
const LAUNCH_FLOW: &str = "HostToDevice";
const OPERATOR_FLOW: &str = "async_npu";

/// Names of processes that only Ascend's profiler writes.
pub(super) const PROCESSES: [&str; 2] = ["Ascend Hardware", "Overlap Analysis"];

/// Reads a timeline; nothing where no process of it is Ascend's.
pub(super) fn read(mut source: Source) -> Result<Option<Profile>, Error> {
    let options = ReadOptions::profiler().args(ARGS);
    let mut events = Events::default();
    let mut reader = Reader::new(&mut source, &options);
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Event(event) => events.take(&event),
            Item::Restart => events = Events::default(),
            Item::Member { .. } => {}
        }
    }
    let is_timeline = events.processes.values().any(|name| PROCESSES.contains(&name.as_str()));
    Ok(is_timeline.then(|| events.profile()))
}

/// Where an event stands: process and thread.
type Place = (Id, Id);

/// What a process is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Device,
    Communication,
    Calls,
    Analysis,
    Program,
}

/// An event with a duration.
struct Row {
    start: Picoseconds,
    duration: Picoseconds,
    name: NameId,
    task: NameId,
    dims: NameId,
    types: NameId,
    /// Number of its place.
    place: u32,
    is_operator: bool,
}

#[derive(Default)]
struct Events {
    ids: IdTable,
    names: Names,
    places: Numbering<Place>,
    processes: FxHashMap<Id, String>,
    threads: FxHashMap<Place, String>,
    rows: Vec<Row>,
    /// Rows of a place without a usable start and duration.
    unusable: Vec<u32>,
    launches: Flows,
    operators: Flows,
}

/// One kind of flow.
#[derive(Default)]
struct Flows {
    /// By id, the place and time of the start; the first one counts.
    starts: FxHashMap<Id, (u32, Picoseconds)>,
    /// By place and time of the end, the id.
    ends: FxHashMap<(u32, Picoseconds), Id>,
}

impl Flows {
    /// Where the flow starts that ends at a place and time.
    fn start_of(&self, place: u32, start: Picoseconds) -> Option<(u32, Picoseconds)> {
        self.starts.get(self.ends.get(&(place, start))?).copied()
    }
}

impl Events {
    fn take(&mut self, event: &Event<'_>) {
        if event.has_phase("X") {
            self.take_row(event);
        } else if event.has_phase("M") {
            self.take_name(event);
        } else if event.has_phase("s") || event.has_phase("f") {
            self.take_flow(event);
        }
    }

    fn take_row(&mut self, event: &Event<'_>) {
        let place = self.place(event);
        let time_of = |field| event.field(field).and_then(number);
        let (Some(start), Some(duration @ 0..)) = (time_of(Field::Timestamp), time_of(Field::Duration)) else {
            self.unusable.push(place);
            return;
        };
        let text = |names: &mut Names, value: Option<Value<'_>>| match value {
            Some(Value::Text(text)) => names.source(text.raw(), || text.decode_lossy()),
            Some(Value::List(list)) => names.source(list.text(), || String::from_utf8_lossy(list.text())),
            _ => NO_NAME,
        };
        let row = Row {
            start,
            duration,
            name: text(&mut self.names, event.field(Field::Name)),
            task: text(&mut self.names, event.arg(TASK_TYPE)),
            dims: text(&mut self.names, event.arg(DIMS)),
            types: text(&mut self.names, event.arg(TYPES)),
            place,
            is_operator: event.category().is_some_and(|category| category == "cpu_op"),
        };
        self.rows.push(row);
    }

    fn take_name(&mut self, event: &Event<'_>) {
        let (Some(what), Some(name)) = (event.name(), event.text_arg(PROCESS_NAME)) else { return };
        let place = self.place(event);
        let (process, thread) = self.places.keys()[place as usize];
        match &*what {
            "process_name" => drop(self.processes.insert(process, name.into_owned())),
            "thread_name" => drop(self.threads.insert((process, thread), name.into_owned())),
            _ => {}
        }
    }

    fn take_flow(&mut self, event: &Event<'_>) {
        let is_launch = match event.category().as_deref() {
            Some(LAUNCH_FLOW) => true,
            Some(OPERATOR_FLOW) => false,
            _ => return,
        };
        let Some(start) = event.field(Field::Timestamp).and_then(number) else { return };
        let place = self.place(event);
        let id = self.ids.value(event.field(Field::Id));
        let flows = if is_launch { &mut self.launches } else { &mut self.operators };
        if event.has_phase("s") {
            flows.starts.entry(id).or_insert((place, start));
        } else {
            flows.ends.insert((place, start), id);
        }
    }

    fn place(&mut self, event: &Event<'_>) -> u32 {
        let place = (self.ids.value(event.process()), self.ids.value(event.thread()));
        self.places.number(place)
    }

    fn role(&self, (process, _): Place) -> Role {
        match self.processes.get(&process).map(String::as_str) {
            Some("Ascend Hardware") => Role::Device,
            Some("HCCL" | "Communication") => Role::Communication,
            Some("CANN") => Role::Calls,
            Some("Overlap Analysis") => Role::Analysis,
            _ => Role::Program,
        }
    }

    fn profile(self) -> Profile {
        let places = self.places.keys();
        let roles: Vec<Role> = places.iter().map(|place| self.role(*place)).collect();
        // What its lower planes repeat is in the row of a group.
        let is_group = |place: &Place| self.threads.get(place).is_some_and(|name| name.starts_with("Group"));
        let works: Vec<bool> = places
            .iter()
            .zip(&roles)
            .map(|(place, role)| *role == Role::Device || *role == Role::Communication && is_group(place))
            .collect();
        let mut profile = Profile::new(Kind::AscendTimeline);
        profile.skipped = self.unusable.iter().filter(|place| works[**place as usize]).count() as u64;
        let calls = self.calls(&roles);
        let mut linked = Linked { operators: self.operators_by_start(&roles), ..Linked::default() };
        let is_work: Vec<bool> = self.rows.iter().map(|row| works[row.place as usize]).collect();
        let name_count = self.names.len();
        let traits: Vec<NameTraits> = (0..name_count as u32).map(|name| NameTraits::of(self.names.get(name))).collect();
        let nothing = NameTraits::of("");
        for (row, is_work) in self.rows.iter().zip(is_work) {
            let named = traits.get(row.name as usize).copied().unwrap_or(nothing);
            let (start, duration, name) = (row.start, row.duration, row.name);
            let place = places[row.place as usize];
            let role = roles[row.place as usize];
            if !is_work {
                if role == Role::Program && named.is_step {
                    profile.annotations.push(Annotation { start, duration, name, process: None });
                }
                continue;
            }
            let task = traits.get(row.task as usize).copied().unwrap_or(nothing);
            if task.is_no_work {
                continue;
            }
            let launch = linked.launch(&self, row, &calls, &mut profile);
            let (device, stream) = (0, numbered(place.1));
            if named.copies || task.is_copy_task {
                profile.copies.push(Copy { start, duration, name, is_set: false, device, stream, launch, bytes: 0 });
            } else {
                let communicates = role == Role::Communication || named.communicates;
                let mark = if communicates { Mark::Collective } else { Mark::Nothing };
                profile.kernels.push(Kernel { start, duration, name, device, stream, launch, mark });
            }
        }
        profile.names = self.names;
        profile
    }

    /// The longest call of CANN at a place and time.
    fn calls(&self, roles: &[Role]) -> FxHashMap<(u32, Picoseconds), &Row> {
        let mut calls: FxHashMap<(u32, Picoseconds), &Row> = FxHashMap::default();
        for row in self.rows.iter().filter(|row| roles[row.place as usize] == Role::Calls) {
            let longest = calls.entry((row.place, row.start)).or_insert(row);
            if row.duration > longest.duration {
                *longest = row;
            }
        }
        calls
    }

    /// The innermost operator that begins at a place and time where a flow to a device starts.
    fn operators_by_start(&self, roles: &[Role]) -> FxHashMap<(u32, Picoseconds), u32> {
        let wanted: FxHashSet<(u32, Picoseconds)> = self.operators.starts.values().copied().collect();
        let mut operators: FxHashMap<(u32, Picoseconds), u32> = FxHashMap::default();
        for (row, at) in self.rows.iter().zip(0..) {
            let key = (row.place, row.start);
            if !row.is_operator || roles[row.place as usize] != Role::Program || !wanted.contains(&key) {
                continue;
            }
            let shortest = operators.entry(key).or_insert(at);
            if row.duration < self.rows[*shortest as usize].duration {
                *shortest = at;
            }
        }
        operators
    }
}

/// Launches and operators that devices' rows are linked to, by what is already in the profile.
#[derive(Default)]
struct Linked {
    /// Rows of operators by place and time.
    operators: FxHashMap<(u32, Picoseconds), u32>,
    /// Numbers of operators in the profile by row.
    numbers: FxHashMap<u32, u32>,
    /// Numbers of launches in the profile by place and time.
    launches: FxHashMap<(u32, Picoseconds), u32>,
}

impl Linked {
    fn launch(
        &mut self,
        events: &Events,
        row: &Row,
        calls: &FxHashMap<(u32, Picoseconds), &Row>,
        profile: &mut Profile,
    ) -> Option<u32> {
        let from = events.launches.start_of(row.place, row.start)?;
        if let Some(launch) = self.launches.get(&from) {
            return Some(*launch);
        }
        let operator = events.operators.start_of(row.place, row.start).and_then(|start| self.operators.get(&start));
        let operator = operator.copied().map(|row| self.operator(events, row, profile));
        let call = calls.get(&from);
        let (process, thread) = events.places.keys()[from.0 as usize];
        let number = profile.launches.len() as u32;
        profile.launches.push(Launch {
            start: from.1,
            duration: call.map_or(0, |call| call.duration),
            process: numbered(process),
            thread: numbered(thread),
            name: call.map_or(NO_NAME, |call| call.name),
            operator,
        });
        self.launches.insert(from, number);
        Some(number)
    }

    fn operator(&mut self, events: &Events, row: u32, profile: &mut Profile) -> u32 {
        let next = profile.operators.len() as u32;
        let number = *self.numbers.entry(row).or_insert(next);
        if number == next {
            let row = &events.rows[row as usize];
            let (process, thread) = events.places.keys()[row.place as usize];
            let (start, duration, name) = (row.start, row.duration, row.name);
            let (process, thread) = (numbered(process), numbered(thread));
            let (dims, types) = (row.dims, row.types);
            profile.operators.push(Operator { start, duration, name, process, thread, dims, types });
        }
        number
    }
}

/// What a name or a task type says.
#[derive(Clone, Copy)]
struct NameTraits {
    is_step: bool,
    copies: bool,
    communicates: bool,
    is_copy_task: bool,
    is_no_work: bool,
}

impl NameTraits {
    fn of(text: &str) -> NameTraits {
        let lower = text.to_lowercase();
        NameTraits {
            is_step: text.starts_with("ProfilerStep#"),
            copies: lower.contains("memcpy"),
            communicates: lower.starts_with("hcom") || ascend_classes::of_name(text) == ascend_classes::COMMUNICATION,
            is_copy_task: text.contains("MEMCPY"),
            is_no_work: NO_WORK.iter().any(|start| text.starts_with(start)),
        }
    }
}

/// A number for an id: itself where it is one.
fn numbered(id: Id) -> i64 {
    id.number().unwrap_or(-1)
}

/// A time that is a number or a text.
fn number(value: Value<'_>) -> Option<Picoseconds> {
    match value {
        Value::Number(number) => picoseconds(number.raw()),
        Value::Text(text) => time(text.decode_lossy().trim()),
        _ => None,
    }
}
