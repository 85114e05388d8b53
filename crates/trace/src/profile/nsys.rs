//! Profiles that `nsys export --type sqlite` writes.

use rustc_hash::FxHashMap;

use super::calls::Matter;
use super::model::{Annotation, Copy, DeviceInfo, Kernel, Kind, Launch, Mark, Operator, Profile};
use super::rows::Kernels;
use super::sqlite::{Database, Integers};
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
    // Of the calls, those are kept that put something on a device: that is known first.
    reader.kernels()?;
    reader.graphs()?;
    reader.copies()?;
    reader.calls()?;
    reader.link();
    reader.annotations()?;
    reader.session()?;
    if !reader.profile.kernels.is_empty() && reader.profile.launches.is_empty() && reader.profile.idle.count == 0 {
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
    calls: Calls,
    /// Devices by process id and number within the process.
    gpus: FxHashMap<(i64, i64), i64>,
    /// Directions of copies by their number, as the file lists them.
    directions: FxHashMap<i64, &'static str>,
}

/// Ids of one process that lie together.
const PAGE: usize = 64;
/// What is known of an id that no device event and no call has.
const NOTHING: u32 = u32::MAX;
/// A device event has the id, and no call so far.
const WANTED: u32 = u32::MAX - 1;
/// A call has the id that is not kept.
const IDLE: u32 = u32::MAX - 2;

/// Calls by process, where the device event has one, and correlation id. Ids of a process follow each other: a few of them share a page,
/// and the page that was looked at last is the likely one.
#[derive(Default)]
struct Calls {
    numbers: FxHashMap<PageKey, u32>,
    /// The number of the call with each id, or what is known instead.
    pages: Vec<[u32; PAGE]>,
    last: Option<(PageKey, u32)>,
}

/// A process, and ids of it that share a page.
type PageKey = (Option<i64>, i64);

impl Calls {
    /// The place of an id; until all calls are read, it stands for the call.
    fn place(&mut self, process: Option<i64>, correlation: i64) -> u32 {
        let key = (process, correlation.div_euclid(PAGE as i64));
        let page = match self.last {
            Some((last, page)) if last == key => page,
            _ => *self.numbers.entry(key).or_insert_with(|| {
                self.pages.push([NOTHING; PAGE]);
                self.pages.len() as u32 - 1
            }),
        };
        self.last = Some((key, page));
        page * PAGE as u32 + correlation.rem_euclid(PAGE as i64) as u32
    }

    fn known(&mut self, place: u32) -> &mut u32 {
        &mut self.pages[place as usize / PAGE][place as usize % PAGE]
    }

    /// Notes that a device event has an id.
    fn want(&mut self, process: Option<i64>, correlation: i64) -> u32 {
        let place = self.place(process, correlation);
        let known = self.known(place);
        if *known == NOTHING {
            *known = WANTED;
        }
        place
    }

    /// The call at a place.
    fn get(&self, place: u32) -> Option<u32> {
        let known = self.pages.get(place as usize / PAGE)?[place as usize % PAGE];
        (known < IDLE).then_some(known)
    }
}

/// What device events of all kinds have.
struct Common {
    start: Picoseconds,
    duration: Picoseconds,
    device: i64,
    stream: i64,
    /// Process and correlation id.
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

    /// Calls are found by process, and without it for tables of device events that name none; the first one counts.
    fn calls(&mut self) -> Result<(), Error> {
        let tables = [KERNELS, COPIES, SETS, GRAPHS];
        let without = tables.iter().any(|table| !self.database.has(table, "globalPid"));
        let mut matter = Matter::default();
        for table in CALLS {
            let (profile, calls, texts) = (&mut self.profile, &mut self.calls, &self.texts);
            self.database.each_of_integers(
                table,
                &["start", "end", "globalTid", "correlationId", "nameId"],
                |row| {
                    let (Some((start, duration)), Some(correlation)) = (row.span(0, 1), row.integer(3)) else { return };
                    let thread = row.integer(2).unwrap_or(0);
                    let process = process(thread);
                    let places = [
                        Some(calls.place(Some(process), correlation)),
                        without.then(|| calls.place(None, correlation)),
                    ];
                    let mut is_open =
                        |wanted: u32| places.into_iter().flatten().any(|place| *calls.known(place) == wanted);
                    let (is_new, is_wanted) = (is_open(NOTHING), is_open(WANTED));
                    if !is_new && !is_wanted {
                        return;
                    }
                    let name = row.integer(4).and_then(|id| texts.get(&id).copied()).unwrap_or(NO_NAME);
                    let launch = Launch { start, duration, process, thread, name, operator: None };
                    let number = if is_wanted || matter.has(name, &profile.names) {
                        profile.launches.len() as u32
                    } else {
                        IDLE
                    };
                    for place in places.into_iter().flatten() {
                        let known = calls.known(place);
                        if matches!(*known, NOTHING | WANTED) {
                            *known = number;
                        }
                    }
                    match number {
                        IDLE => profile.idle.add(&launch),
                        _ => profile.launches.push(launch),
                    }
                },
            )?;
        }
        Ok(())
    }

    /// Puts calls in place of the ids that device events have.
    fn link(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        self.profile.kernels.relaunch(|place| calls.get(place));
        for copy in &mut self.profile.copies {
            copy.launch = copy.launch.and_then(|place| calls.get(place));
        }
    }

    fn kernels(&mut self) -> Result<(), Error> {
        let (database, mut kernels, mut skipped) = (self.database, Kernels::default(), 0);
        let unnamed = self.profile.names.text("unnamed kernel");
        let Reader { profile, texts, calls, gpus, .. } = self;
        let known = |id: Option<i64>| {
            let name = *texts.get(&id?)?;
            (!profile.names.get(name).is_empty()).then_some(name)
        };
        let columns: Vec<&str> = COMMON.into_iter().chain(["demangledName", "shortName"]).collect();
        database.each_of_integers(KERNELS, &columns, |row| {
            let Some(common) = Common::of(&row, gpus) else {
                skipped += 1;
                return;
            };
            let launch = Some(common.launch(calls));
            let Common { start, duration, device, stream, .. } = common;
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
            database.each_of_integers(KERNELS, &["graphNodeId", "globalPid", "correlationId"], |row| {
                if let (Some(_), Some(correlation)) = (row.integer(0), row.integer(2)) {
                    recorded.insert((row.integer(1).map(process).filter(|_| with_process), correlation));
                }
            })?;
        }
        let columns: Vec<&str> = COMMON.into_iter().chain(["graphId"]).collect();
        database.each_of_integers(GRAPHS, &columns, |row| {
            let common = Common::of(&row, &self.gpus).filter(|common| common.start != 0 || common.duration != 0);
            let Some(common) = common else {
                skipped += 1;
                return;
            };
            if !recorded.contains(&common.correlation) {
                graphs.push((row.integer(6), common));
            }
        })?;
        for (graph, common) in graphs {
            let launch = Some(common.launch(&mut self.calls));
            let Common { start, duration, device, stream, .. } = common;
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
            database.each_of_integers(table, &columns, |row| match Common::of(&row, &self.gpus) {
                Some(common) => rows.push((common, row.integer(6), row.integer(7))),
                None => skipped += 1,
            })?;
            for (common, bytes, kind) in rows {
                let launch = Some(common.launch(&mut self.calls));
                let Common { start, duration, device, stream, .. } = common;
                let direction = kind.and_then(|kind| self.directions.get(&kind).copied());
                let name =
                    if is_set { "Memset".to_owned() } else { format!("Memcpy {}", direction.unwrap_or(DIRECTIONS[0])) };
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
}

impl Common {
    fn of(row: &Integers<'_>, gpus: &FxHashMap<(i64, i64), i64>) -> Option<Common> {
        let (start, duration) = row.span(0, 1)?;
        let global = row.integer(5);
        let device = row.integer(2).unwrap_or(0);
        let gpu = global.filter(|_| !gpus.is_empty());
        let gpu = gpu.and_then(|global| gpus.get(&(process(global) & 0xFF_FFFF, device)));
        Some(Common {
            start,
            duration,
            device: gpu.copied().unwrap_or(device),
            stream: row.integer(3).unwrap_or(0),
            correlation: (global.map(process), row.integer(4).unwrap_or(i64::MIN)),
        })
    }

    /// The place of the call that launched it.
    fn launch(&self, calls: &mut Calls) -> u32 {
        calls.want(self.correlation.0, self.correlation.1)
    }
}
