//! Databases of rocprofv3 (rocpd): tables named `rocpd_NAME_UUID`, one set per process.
//!
//! There are two layouts. In the older one rows have their start, end, agent, stream, process and thread themselves; in the newer
//! one `start_id` and `end_id` are rows of `rocpd_timestamp`, and `track_id` is one of `rocpd_track`, which has the rest.

use rustc_hash::FxHashMap;

use super::model::{Annotation, Copy, DeviceInfo, Kernel, Kind, Launch, Mark, Profile};
use super::rows::{Kernels, Launches};
use super::sqlite::{Database, Fields};
use crate::Error;
use crate::names::{NO_NAME, NameId};
use crate::time::Picoseconds;

/// Categories of calls that put work on a device, and of what the program marks.
const CALLS: [&str; 3] = ["HIP_RUNTIME_API", "HIP_COMPILER_API", "HSA_CORE_API"];
const MARKER: &str = "MARKER";

/// Whether a table is one that rocprofv3 writes.
pub(super) fn has_table(table: &str) -> bool {
    table.starts_with("rocpd_kernel_dispatch")
}

/// Reads a profile.
pub(super) fn read(database: &Database<'_>) -> Result<Profile, Error> {
    let mut reader = Reader::new(database);
    reader.strings()?;
    reader.agents()?;
    reader.placement()?;
    reader.events()?;
    reader.regions()?;
    reader.kernels()?;
    reader.copies()?;
    reader.profile.leave_out_idle_calls();
    Ok(reader.profile)
}

/// The number of a row within its set of tables.
type Key = (u32, i64);

/// What a row is about, from its own columns or those of its track.
#[derive(Clone, Copy, Default)]
struct Track {
    agent: Option<i64>,
    queue: Option<i64>,
    stream: Option<i64>,
    process: Option<i64>,
    thread: Option<i64>,
}

/// What a row is linked to.
#[derive(Clone, Copy)]
struct Link {
    category: NameId,
    stack: Option<i64>,
    correlation: Option<i64>,
    message: NameId,
}

struct Agent {
    index: i64,
    is_gpu: bool,
}

struct Reader<'a> {
    database: &'a Database<'a>,
    profile: Profile,
    /// Sets of tables by their end, `_UUID`.
    sets: Vec<String>,
    strings: FxHashMap<Key, NameId>,
    symbols: FxHashMap<Key, NameId>,
    agents: FxHashMap<Key, Agent>,
    times: FxHashMap<Key, i64>,
    tracks: FxHashMap<Key, Track>,
    links: FxHashMap<Key, Link>,
    /// The innermost call by stack id and by correlation id, with its start.
    by_stack: FxHashMap<Key, (Picoseconds, u32)>,
    by_correlation: FxHashMap<Key, (Picoseconds, u32)>,
}

/// Columns that rows of devices and of the host have in both layouts.
const PLACED: [&str; 11] =
    ["start", "end", "start_id", "end_id", "track_id", "agent_id", "queue_id", "stream_id", "pid", "tid", "event_id"];

/// What [`PLACED`] says of a row.
struct Placed {
    start: Picoseconds,
    duration: Picoseconds,
    track: Track,
    link: Option<Link>,
}

impl<'a> Reader<'a> {
    fn new(database: &'a Database<'a>) -> Reader<'a> {
        let ends = database.tables().filter_map(|table| table.strip_prefix("rocpd_kernel_dispatch"));
        Reader {
            database,
            profile: Profile::new(Kind::Rocpd),
            sets: ends.map(str::to_owned).collect(),
            strings: FxHashMap::default(),
            symbols: FxHashMap::default(),
            agents: FxHashMap::default(),
            times: FxHashMap::default(),
            tracks: FxHashMap::default(),
            links: FxHashMap::default(),
            by_stack: FxHashMap::default(),
            by_correlation: FxHashMap::default(),
        }
    }

    /// Goes through the rows of a table of every set.
    fn each(&self, table: &str, columns: &[&str], mut take: impl FnMut(u32, Fields<'_>)) -> Result<(), Error> {
        for (set, end) in (0..).zip(&self.sets) {
            self.database.each(&format!("rocpd_{table}{end}"), columns, |row| take(set, row))?;
        }
        Ok(())
    }

    fn strings(&mut self) -> Result<(), Error> {
        let mut names = std::mem::take(&mut self.profile.names);
        let mut strings = FxHashMap::default();
        self.each("string", &["id", "string"], |set, row| {
            if let Some(id) = row.integer(0) {
                row.with_text(1, |text| strings.insert((set, id), names.text(text)));
            }
        })?;
        let mut symbols = FxHashMap::default();
        self.each("info_kernel_symbol", &["id", "display_name", "kernel_name"], |set, row| {
            let Some(id) = row.integer(0) else { return };
            let mut named = |at| row.with_text(at, |text| if text.is_empty() { NO_NAME } else { names.text(text) });
            let name = named(1).filter(|name| *name != NO_NAME).or_else(|| named(2));
            symbols.insert((set, id), name.unwrap_or(NO_NAME));
        })?;
        (self.strings, self.symbols, self.profile.names) = (strings, symbols, names);
        Ok(())
    }

    fn agents(&mut self) -> Result<(), Error> {
        let (mut agents, mut devices) = (FxHashMap::default(), Vec::new());
        let columns = ["id", "type", "absolute_index", "product_name", "model_name", "name"];
        self.each("info_agent", &columns, |set, row| {
            let Some(id) = row.integer(0) else { return };
            let is_gpu = row.with_text(1, |kind| kind == "GPU").unwrap_or(true);
            agents.insert((set, id), Agent { index: row.integer(2).unwrap_or(id), is_gpu });
            if is_gpu {
                let name = (3..6).find_map(|at| row.text(at).filter(|name| !name.is_empty()));
                devices.push(DeviceInfo { name: name.unwrap_or_default(), ..DeviceInfo::default() });
            }
        })?;
        (self.agents, self.profile.devices) = (agents, devices);
        Ok(())
    }

    fn placement(&mut self) -> Result<(), Error> {
        let (mut times, mut tracks) = (FxHashMap::default(), FxHashMap::default());
        self.each("timestamp", &["id", "value"], |set, row| {
            if let (Some(id), Some(value)) = (row.integer(0), row.integer(1)) {
                times.insert((set, id), value);
            }
        })?;
        self.each("track", &["id", "agent_id", "queue_id", "stream_id", "pid", "tid"], |set, row| {
            if let Some(id) = row.integer(0) {
                tracks.insert((set, id), Track::of(&row, 1));
            }
        })?;
        (self.times, self.tracks) = (times, tracks);
        Ok(())
    }

    fn events(&mut self) -> Result<(), Error> {
        let mut names = std::mem::take(&mut self.profile.names);
        let mut categories = FxHashMap::default();
        self.each("info_category", &["id", "name"], |set, row| {
            if let Some(id) = row.integer(0) {
                row.with_text(1, |text| categories.insert((set, id), names.text(text)));
            }
        })?;
        let categories = if categories.is_empty() { &self.strings } else { &categories };
        let mut links = FxHashMap::default();
        let columns = ["id", "category_id", "stack_id", "correlation_id", "extdata"];
        self.each("event", &columns, |set, row| {
            let Some(id) = row.integer(0) else { return };
            let category = row.integer(1).and_then(|category| categories.get(&(set, category)).copied());
            let message = row.with_text(4, |data| message(data).map(|message| names.text(&message)));
            let link = Link {
                category: category.unwrap_or(NO_NAME),
                stack: row.integer(2).filter(|stack| *stack != 0),
                correlation: row.integer(3).filter(|correlation| *correlation != 0),
                message: message.flatten().unwrap_or(NO_NAME),
            };
            links.insert((set, id), link);
        })?;
        (self.links, self.profile.names) = (links, names);
        Ok(())
    }

    /// Calls and what the program marked.
    fn regions(&mut self) -> Result<(), Error> {
        let (mut launches, mut annotations) = (Launches::default(), Vec::new());
        let (mut by_stack, mut by_correlation) = (FxHashMap::default(), FxHashMap::default());
        let columns: Vec<&str> = PLACED.into_iter().chain(["name_id"]).collect();
        self.each("region", &columns, |set, row| {
            let Some(Placed { start, duration, track, link: Some(link) }) = self.placed(set, &row) else { return };
            let category = self.profile.names.get(link.category);
            let name = row.integer(PLACED.len()).and_then(|id| self.strings.get(&(set, id)).copied());
            let name = name.unwrap_or(NO_NAME);
            let process = track.process.unwrap_or(0);
            if category.contains(MARKER) {
                let name = if link.message == NO_NAME { name } else { link.message };
                if name != NO_NAME {
                    annotations.push(Annotation { start, duration, name, process: Some(process) });
                }
            } else if CALLS.iter().any(|start| category.starts_with(start)) {
                let number = launches.len() as u32;
                let thread = track.thread.unwrap_or(0);
                launches.push(Launch { start, duration, process, thread, name, operator: None });
                let ids = [(&mut by_stack, link.stack), (&mut by_correlation, link.correlation)];
                for (calls, id) in ids.into_iter().filter_map(|(calls, id)| Some((calls, id?))) {
                    let innermost = calls.entry((set, id)).or_insert((start, number));
                    *innermost = (*innermost).max((start, number));
                }
            }
        })?;
        (self.by_stack, self.by_correlation) = (by_stack, by_correlation);
        (self.profile.launches, self.profile.annotations) = (launches, annotations);
        Ok(())
    }

    fn kernels(&mut self) -> Result<(), Error> {
        let unnamed = self.profile.names.text("unnamed kernel");
        let (mut kernels, mut skipped) = (Kernels::default(), 0);
        let columns: Vec<&str> = PLACED.into_iter().chain(["kernel_id"]).collect();
        self.each("kernel_dispatch", &columns, |set, row| {
            let Some(Placed { start, duration, track, link }) = self.placed(set, &row) else {
                skipped += 1;
                return;
            };
            let name = row.integer(PLACED.len()).and_then(|id| self.symbols.get(&(set, id)).copied());
            let name = name.filter(|name| *name != NO_NAME).unwrap_or(unnamed);
            let (device, stream) = (self.device(set, track.agent), track.lane());
            let launch = self.launch(set, link);
            kernels.push(Kernel { start, duration, name, device, stream, launch, mark: Mark::Nothing });
        })?;
        self.profile.kernels = kernels;
        self.profile.skipped += skipped;
        Ok(())
    }

    fn copies(&mut self) -> Result<(), Error> {
        let (mut copies, mut skipped) = (Vec::new(), 0);
        let columns: Vec<&str> =
            PLACED.into_iter().chain(["name_id", "size", "dst_agent_id", "src_agent_id"]).collect();
        let at = PLACED.len();
        self.each("memory_copy", &columns, |set, row| {
            let Some(Placed { start, duration, track, link }) = self.placed(set, &row) else {
                skipped += 1;
                return;
            };
            let name = row.integer(at).and_then(|id| self.strings.get(&(set, id)).copied()).unwrap_or(NO_NAME);
            let ends = [row.integer(at + 2), row.integer(at + 3)];
            let is_gpu = |agent: &i64| self.agents.get(&(set, *agent)).is_some_and(|agent| agent.is_gpu);
            let agent = ends.into_iter().flatten().find(is_gpu).or(track.agent).or(ends[0]);
            let bytes = row.integer(at + 1).and_then(|bytes| bytes.try_into().ok()).unwrap_or(0);
            let (device, stream) = (self.device(set, agent), track.lane());
            let (launch, is_set) = (self.launch(set, link), false);
            copies.push(Copy { start, duration, name, is_set, device, stream, launch, bytes });
        })?;
        self.profile.copies = copies;
        self.profile.skipped += skipped;
        Ok(())
    }

    fn device(&self, set: u32, agent: Option<i64>) -> i64 {
        let known = agent.and_then(|agent| self.agents.get(&(set, agent)));
        known.map_or(agent.unwrap_or(0), |agent| agent.index)
    }

    fn launch(&self, set: u32, link: Option<Link>) -> Option<u32> {
        let link = link?;
        let by_stack = link.stack.and_then(|stack| self.by_stack.get(&(set, stack)));
        let found = by_stack.or_else(|| self.by_correlation.get(&(set, link.correlation?)));
        found.map(|(_, number)| *number)
    }

    fn placed(&self, set: u32, row: &Fields<'_>) -> Option<Placed> {
        let time = |own: usize, by_id: usize| {
            row.integer(own).or_else(|| self.times.get(&(set, row.integer(by_id)?)).copied())
        };
        let (start, end) = (time(0, 2)?, time(1, 3)?);
        let duration = end.checked_sub(start).filter(|duration| *duration >= 0)?;
        let of_track = row.integer(4).and_then(|track| self.tracks.get(&(set, track)).copied()).unwrap_or_default();
        let own = Track::of(row, 5);
        Some(Placed {
            start: Picoseconds::from(start) * 1000,
            duration: Picoseconds::from(duration) * 1000,
            track: Track {
                agent: own.agent.or(of_track.agent),
                queue: own.queue.or(of_track.queue),
                stream: own.stream.or(of_track.stream),
                process: own.process.or(of_track.process),
                thread: own.thread.or(of_track.thread),
            },
            link: row.integer(10).and_then(|event| self.links.get(&(set, event)).copied()),
        })
    }
}

impl Track {
    /// From five columns: agent, queue, stream, process, thread.
    fn of(row: &Fields<'_>, first: usize) -> Track {
        let [agent, queue, stream, process, thread] = [0, 1, 2, 3, 4].map(|at| row.integer(first + at));
        Track { agent, queue, stream, process, thread }
    }

    fn lane(&self) -> i64 {
        self.stream.or(self.queue).unwrap_or(0)
    }
}

/// What `$.message` of a JSON object says.
fn message(data: &str) -> Option<String> {
    if !data.contains("\"message\"") {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(data).ok()?;
    value.get("message")?.as_str().map(str::to_owned)
}
