//! Profiles that `nsys export --type sqlite` writes.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use super::model::{Annotation, Copy, DeviceInfo, Kernel, Kind, Launch, Mark, Operator, Profile};
use super::rows::Kernels;
use super::sqlite::{Database, Fields};
use crate::Error;
use crate::names::{NO_NAME, NameId};
use crate::time::Picoseconds;

const KERNELS: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
const COPIES: &str = "CUPTI_ACTIVITY_KIND_MEMCPY";
const SETS: &str = "CUPTI_ACTIVITY_KIND_MEMSET";
const GRAPHS: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
const CALLS: [&str; 2] = ["CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"];

/// What the tables of device events have in front of their own columns.
const COMMON: [&str; 6] = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid"];

const DIRECTIONS: [&str; 14] = [
    "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "UHtoD", "UDtoH",
    "UDtoD",
];

/// Whether a table is one that nsys writes.
pub(super) fn has_table(table: &str) -> bool {
    table.starts_with("CUPTI_ACTIVITY_KIND_") || table == "NVTX_EVENTS"
}

/// Reads a profile.
pub(super) fn read(database: &Database<'_>) -> Result<Profile, Error> {
    let mut reader = Reader {
        database,
        profile: Profile::new(Kind::Nsys),
        texts: FxHashMap::default(),
        calls: Calls::default(),
        gpus: FxHashMap::default(),
        directions: (0..).zip(DIRECTIONS).collect(),
    };
    reader.texts()?;
    reader.devices()?;
    reader.directions()?;
    reader.calls()?;
    reader.kernels()?;
    reader.graphs()?;
    reader.copies()?;
    reader.annotations()?;
    reader.session()?;
    if !reader.profile.kernels.is_empty() && reader.profile.launches.is_empty() {
        let note = "no calls of CUDA in it (nsys profile --trace=cuda records them): nobody knows who launched what";
        reader.profile.notes.push(note.to_owned());
    }
    Ok(reader.profile)
}

struct Reader<'a> {
    database: &'a Database<'a>,
    profile: Profile,
    /// Names by their number in the file.
    texts: FxHashMap<i64, NameId>,
    /// Calls by process, where the device event has one, and correlation id.
    calls: Calls,
    /// Devices by process id and number within the process.
    gpus: FxHashMap<(i64, i64), i64>,
    /// Directions of copies by their number, as the file lists them.
    directions: FxHashMap<i64, &'static str>,
}

/// Ids of one process that lie together.
const PAGE: usize = 16;
/// No call.
const NO_CALL: u32 = u32::MAX;

/// Calls by process and correlation id. Ids of a process follow each other: a few of them share a page, and the page that was looked at
/// last is the likely one.
#[derive(Default)]
struct Calls {
    numbers: FxHashMap<PageKey, u32>,
    pages: Vec<[u32; PAGE]>,
    last: Cell<Option<(PageKey, u32)>>,
}

/// A process, and ids of it that share a page.
type PageKey = (Option<i64>, i64);

impl Calls {
    fn place(correlation: i64) -> (i64, usize) {
        (correlation.div_euclid(PAGE as i64), correlation.rem_euclid(PAGE as i64) as usize)
    }

    fn page(&self, key: PageKey) -> Option<u32> {
        if let Some((last, number)) = self.last.get()
            && last == key
        {
            return Some(number);
        }
        let number = *self.numbers.get(&key)?;
        self.last.set(Some((key, number)));
        Some(number)
    }

    /// Whether no call had that id; the first one counts.
    fn insert(&mut self, process: Option<i64>, correlation: i64, number: u32) -> bool {
        let (page, at) = Calls::place(correlation);
        let page = self.page((process, page)).unwrap_or_else(|| {
            self.pages.push([NO_CALL; PAGE]);
            let next = self.pages.len() as u32 - 1;
            self.numbers.insert((process, page), next);
            next
        });
        let known = &mut self.pages[page as usize][at];
        let is_new = *known == NO_CALL;
        if is_new {
            *known = number;
        }
        is_new
    }

    fn get(&self, process: Option<i64>, correlation: i64) -> Option<u32> {
        let (page, at) = Calls::place(correlation);
        let page = self.page((process, page))?;
        Some(self.pages[page as usize][at]).filter(|call| *call != NO_CALL)
    }
}

/// What device events of all kinds have.
struct Common {
    start: Picoseconds,
    duration: Picoseconds,
    device: i64,
    stream: i64,
    launch: Option<u32>,
    correlation: (Option<i64>, i64),
}

/// `globalPid` and `globalTid` share the bits above these.
fn process(global: i64) -> i64 {
    global >> 24
}

/// The operator that a range of PyTorch's `emit_nvtx` stands for, and its shapes: `NAME, seq = N, op_id = N, sizes = [[2, 3], []]`.
fn operator_in(text: &str) -> Option<(&str, Option<&str>)> {
    let (name, rest) = text.split_once(", ")?;
    let is_operator = rest.split(", ").any(|part| part.starts_with("op_id = ") || part.starts_with("seq = "));
    let sizes = || {
        let (_, list) = rest.split_once("sizes = ")?;
        let mut depth = 0_i32;
        let end = list.bytes().position(|byte| {
            depth += i32::from(byte == b'[') - i32::from(byte == b']');
            depth == 0
        })?;
        list.get(..=end).filter(|list| list.starts_with('['))
    };
    is_operator.then(|| (name, sizes()))
}

impl Reader<'_> {
    fn texts(&mut self) -> Result<(), Error> {
        let (texts, names) = (&mut self.texts, &mut self.profile.names);
        self.database.each("StringIds", &["id", "value"], |row| {
            if let (Some(id), Some(text)) = (row.integer(0), row.text(1)) {
                texts.insert(id, names.text(&text));
            }
        })
    }

    fn devices(&mut self) -> Result<(), Error> {
        let gpus = &mut self.gpus;
        self.database.each("TARGET_INFO_CUDA_DEVICE", &["gpuId", "cudaId", "pid"], |row| {
            if let (Some(gpu), Some(cuda), Some(pid)) = (row.integer(0), row.integer(1), row.integer(2)) {
                gpus.insert((pid, cuda), gpu);
            }
        })?;
        let devices = &mut self.profile.devices;
        let columns = ["name", "smCount", "totalMemory", "computeMajor", "computeMinor"];
        self.database.each("TARGET_INFO_GPU", &columns, |row| {
            devices.push(DeviceInfo {
                name: row.text(0).unwrap_or_default(),
                multiprocessors: row.integer(1),
                memory: row.integer(2),
                capability: row.integer(3).zip(row.integer(4)),
            });
        })
    }

    /// The numbers that the file itself gives to directions: `CUDA_MEMCPY_KIND_HTOD` and the like.
    fn directions(&mut self) -> Result<(), Error> {
        let directions = &mut self.directions;
        self.database.each("ENUM_CUDA_MEMCPY_OPER", &["id", "name"], |row| {
            let Some(id) = row.integer(0) else { return };
            row.with_text(1, |name| {
                let name = name.trim_start_matches("CUDA_MEMCPY_KIND_").replace("UVM_", "U").to_lowercase();
                if let Some(direction) = DIRECTIONS.into_iter().find(|direction| direction.to_lowercase() == name) {
                    directions.insert(id, direction);
                }
            });
        })
    }

    /// Calls are kept by process, and without it for tables of device events that name none; the first one counts.
    fn calls(&mut self) -> Result<(), Error> {
        let tables = [KERNELS, COPIES, SETS, GRAPHS];
        let without = tables.iter().any(|table| !self.database.has(table, "globalPid"));
        for table in CALLS {
            let (profile, calls, texts) = (&mut self.profile, &mut self.calls, &self.texts);
            self.database.each(table, &["start", "end", "globalTid", "correlationId", "nameId"], |row| {
                let (Some((start, duration)), Some(correlation)) = (row.span(0, 1), row.integer(3)) else { return };
                let thread = row.integer(2).unwrap_or(0);
                let name = row.integer(4).and_then(|id| texts.get(&id).copied()).unwrap_or(NO_NAME);
                let number = profile.launches.len() as u32;
                let mut is_new = false;
                let keys = [Some((Some(process(thread)), correlation)), without.then_some((None, correlation))];
                for (process, correlation) in keys.into_iter().flatten() {
                    is_new |= calls.insert(process, correlation, number);
                }
                if is_new {
                    profile.launches.push(Launch {
                        start,
                        duration,
                        process: process(thread),
                        thread,
                        name,
                        operator: None,
                    });
                }
            })?;
        }
        Ok(())
    }

    fn kernels(&mut self) -> Result<(), Error> {
        let (database, mut kernels, mut skipped) = (self.database, Kernels::default(), 0);
        let unnamed = self.profile.names.text("unnamed kernel");
        let known = |id: Option<i64>| {
            let name = *self.texts.get(&id?)?;
            (!self.profile.names.get(name).is_empty()).then_some(name)
        };
        let columns: Vec<&str> = COMMON.into_iter().chain(["demangledName", "shortName"]).collect();
        database.each(KERNELS, &columns, |row| {
            let Some(Common { start, duration, device, stream, launch, .. }) = self.common(&row) else {
                skipped += 1;
                return;
            };
            let name = known(row.integer(6)).or_else(|| known(row.integer(7))).unwrap_or(unnamed);
            kernels.push(Kernel { start, duration, name, device, stream, launch, mark: Mark::Nothing });
        })?;
        self.profile.kernels = kernels;
        self.profile.skipped += skipped;
        Ok(())
    }

    /// Replays that were recorded as one row each. Where the kernels of a replay were recorded too, its row is left out.
    fn graphs(&mut self) -> Result<(), Error> {
        let (database, mut graphs, mut skipped) = (self.database, Vec::new(), 0);
        let mut recorded = rustc_hash::FxHashSet::default();
        if database.has(GRAPHS, "start") && database.has(KERNELS, "graphNodeId") {
            let with_process = database.has(KERNELS, "globalPid");
            database.each(KERNELS, &["graphNodeId", "globalPid", "correlationId"], |row| {
                if let (Some(_), Some(correlation)) = (row.integer(0), row.integer(2)) {
                    recorded.insert((row.integer(1).map(process).filter(|_| with_process), correlation));
                }
            })?;
        }
        let columns: Vec<&str> = COMMON.into_iter().chain(["graphId"]).collect();
        database.each(GRAPHS, &columns, |row| {
            let common = self.common(&row).filter(|common| common.start != 0 || common.duration != 0);
            let Some(common) = common else {
                skipped += 1;
                return;
            };
            if !recorded.contains(&common.correlation) {
                graphs.push((row.integer(6), common));
            }
        })?;
        for (graph, Common { start, duration, device, stream, launch, .. }) in graphs {
            let graph = graph.map_or_else(|| "unknown".to_owned(), |graph| graph.to_string());
            let name = self.profile.names.text(&format!("CUDA graph {graph}"));
            self.profile.kernels.push(Kernel { start, duration, name, device, stream, launch, mark: Mark::Graph });
        }
        self.profile.skipped += skipped;
        Ok(())
    }

    fn copies(&mut self) -> Result<(), Error> {
        for (table, is_set) in [(COPIES, false), (SETS, true)] {
            let (database, mut rows, mut skipped) = (self.database, Vec::new(), 0);
            let columns: Vec<&str> = COMMON.into_iter().chain(["bytes", "copyKind"]).collect();
            database.each(table, &columns, |row| match self.common(&row) {
                Some(common) => rows.push((common, row.integer(6), row.integer(7))),
                None => skipped += 1,
            })?;
            for (Common { start, duration, device, stream, launch, .. }, bytes, kind) in rows {
                let direction = kind.and_then(|kind| self.directions.get(&kind).copied());
                let name = match is_set {
                    true => "Memset".to_owned(),
                    false => format!("Memcpy {}", direction.unwrap_or(DIRECTIONS[0])),
                };
                let name = self.profile.names.text(&name);
                let bytes = bytes.and_then(|bytes| bytes.try_into().ok()).unwrap_or(0);
                self.profile.copies.push(Copy { start, duration, name, is_set, device, stream, launch, bytes });
            }
            self.profile.skipped += skipped;
        }
        Ok(())
    }

    /// Ranges that were pushed and popped, or started and ended: operators as `emit_nvtx` of PyTorch writes them, and annotations.
    fn annotations(&mut self) -> Result<(), Error> {
        let by_process = self.database.has(KERNELS, "globalPid");
        let (profile, texts) = (&mut self.profile, &self.texts);
        let mut known: FxHashMap<NameId, Option<(NameId, NameId)>> = FxHashMap::default();
        let columns = ["start", "end", "eventType", "text", "textId", "globalTid"];
        self.database.each("NVTX_EVENTS", &columns, |row| {
            if !matches!(row.integer(2), Some(59 | 60)) {
                return;
            }
            let Some((start, duration)) = row.span(0, 1) else { return };
            let thread = row.integer(5).unwrap_or(0);
            let of_row = row.with_text(3, |text| match operator_in(text) {
                Some((name, dims)) => {
                    (profile.names.text(name), Some(dims.map_or(NO_NAME, |dims| profile.names.text(dims))))
                }
                None => (profile.names.text(text), None),
            });
            let (name, dims) = of_row.unwrap_or_else(|| {
                let text = row.integer(4).and_then(|id| texts.get(&id).copied()).unwrap_or(NO_NAME);
                let found = known.entry(text).or_insert_with(|| {
                    let (name, dims) = operator_in(profile.names.get(text))?;
                    let (name, dims) = (name.to_owned(), dims.map(str::to_owned));
                    let dims = dims.map_or(NO_NAME, |dims| profile.names.text(&dims));
                    Some((profile.names.text(&name), dims))
                });
                found.map_or((text, None), |(name, dims)| (name, Some(dims)))
            });
            let process = process(thread);
            if let Some(dims) = dims {
                profile.operators.push(Operator { start, duration, name, process, thread, dims, types: NO_NAME });
            } else if name != NO_NAME {
                let process = by_process.then_some(process);
                profile.annotations.push(Annotation { start, duration, name, process });
            }
        })
    }

    /// How long was recorded, and what nsys reported about that.
    fn session(&mut self) -> Result<(), Error> {
        let profile = &mut self.profile;
        self.database.each("ANALYSIS_DETAILS", &["duration"], |row| {
            profile.session = row.integer(0).map(|duration| Picoseconds::from(duration) * 1000);
        })?;
        self.database.each("DIAGNOSTIC_EVENT", &["severity", "text"], |row| {
            if matches!(row.integer(0), Some(2 | 3)) {
                profile.diagnostics.extend(row.text(1));
            }
        })
    }

    fn common(&self, row: &Fields<'_>) -> Option<Common> {
        let (start, duration) = row.span(0, 1)?;
        let global = row.integer(5);
        let device = row.integer(2).unwrap_or(0);
        let gpu = global.filter(|_| !self.gpus.is_empty());
        let gpu = gpu.and_then(|global| self.gpus.get(&(process(global) & 0xFF_FFFF, device)));
        let correlation = (global.map(process), row.integer(4).unwrap_or(i64::MIN));
        Some(Common {
            start,
            duration,
            device: gpu.copied().unwrap_or(device),
            stream: row.integer(3).unwrap_or(0),
            launch: self.calls.get(correlation.0, correlation.1),
            correlation,
        })
    }
}
