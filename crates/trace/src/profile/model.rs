//! The events of a profile.

use super::ascend_classes;
use super::calls::IdleCalls;
use super::rows::{Kernels, Launches};
use crate::names::{NameId, Names};
use crate::time::Picoseconds;
use perfdb_pycompat::value::Value;

/// Who wrote a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `nsys export --type sqlite`.
    Nsys,
    /// ROCm's rocmProfileData.
    Rpd,
    /// rocprofv3's database.
    Rocpd,
    /// `kernel_details.csv` or `op_summary.csv` of Ascend's profiler.
    AscendTable,
    /// `trace_view.json` of Ascend's profiler.
    AscendTimeline,
}

impl Kind {
    /// As results show it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nsys => "nsys",
            Kind::Rpd => "rpd",
            Kind::Rocpd => "rocpd",
            Kind::AscendTable => "ascend-csv",
            Kind::AscendTimeline => "ascend-timeline",
        }
    }

    /// The class of a kernel where the profile says more of it than a name that is like others: collectives, graphs in one
    /// row, and everything of Ascend's profiler.
    pub fn class_of(self, mark: Mark, name: &str) -> Option<&'static str> {
        match (mark, self) {
            (Mark::Graph, _) => Some("CUDA Graph"),
            (Mark::Collective, _) => Some(ascend_classes::COMMUNICATION),
            (Mark::Nothing, Kind::AscendTable) => Some(ascend_classes::of_type(name)),
            (Mark::Nothing, Kind::AscendTimeline) => Some(ascend_classes::of_name(name)),
            (Mark::Nothing, Kind::Nsys | Kind::Rpd | Kind::Rocpd) => None,
        }
    }

    /// Whether Ascend's profiler wrote it.
    pub(crate) fn is_ascend(self) -> bool {
        matches!(self, Kind::AscendTable | Kind::AscendTimeline)
    }
}

/// What the profile says of a kernel beside its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Nothing: the name decides.
    #[default]
    Nothing,
    /// It stands for all kernels of a replayed graph.
    Graph,
    /// It communicates.
    Collective,
}

/// A kernel on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// Start.
    pub start: Picoseconds,
    /// How long it ran.
    pub duration: Picoseconds,
    /// Number of its name.
    pub name: NameId,
    /// Device.
    pub device: i64,
    /// Stream of the device.
    pub stream: i64,
    /// Number of the call that launched it, in [`Profile::launches`].
    pub launch: Option<u32>,
    /// What the profile says of it beside its name.
    pub mark: Mark,
}

/// A copy or a set on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// Start.
    pub start: Picoseconds,
    /// How long it ran.
    pub duration: Picoseconds,
    /// Number of its name.
    pub name: NameId,
    /// Whether it sets memory.
    pub is_set: bool,
    /// Device.
    pub device: i64,
    /// Stream of the device.
    pub stream: i64,
    /// Number of the call that started it, in [`Profile::launches`].
    pub launch: Option<u32>,
    /// Bytes; 0 where the file has none.
    pub bytes: u64,
}

/// A call on the host that put work on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Start.
    pub start: Picoseconds,
    /// How long it ran.
    pub duration: Picoseconds,
    /// Process.
    pub process: i64,
    /// Thread.
    pub thread: i64,
    /// Number of its name.
    pub name: NameId,
    /// Number of the operator that made the call, in [`Profile::operators`], where the file links them.
    pub operator: Option<u32>,
}

/// An operator of the program, on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operator {
    /// Start.
    pub start: Picoseconds,
    /// How long it lasted.
    pub duration: Picoseconds,
    /// Number of its name.
    pub name: NameId,
    /// Process.
    pub process: i64,
    /// Thread.
    pub thread: i64,
    /// Number of the text of its shapes, a JSON list; [`NO_NAME`](crate::names::NO_NAME) where they are not recorded.
    pub dims: NameId,
    /// Likewise of the types of its arguments.
    pub types: NameId,
}

/// A range that the program marked on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotation {
    /// Start.
    pub start: Picoseconds,
    /// How long it lasted.
    pub duration: Picoseconds,
    /// Number of its text.
    pub name: NameId,
    /// Process; nothing where launches of any process belong to the range.
    pub process: Option<i64>,
}

/// What the file says of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Name.
    pub name: String,
    /// Multiprocessors.
    pub multiprocessors: Option<i64>,
    /// Bytes of memory.
    pub memory: Option<i64>,
    /// Compute capability.
    pub capability: Option<(i64, i64)>,
}

impl DeviceInfo {
    /// An element of Kineto's `deviceProperties`.
    fn properties(&self) -> Value {
        let (major, minor) = self.capability.unzip();
        let numbers = [
            ("numSms", self.multiprocessors),
            ("totalGlobalMem", self.memory),
            ("computeMajor", major),
            ("computeMinor", minor),
        ];
        let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), Value::Int(number?))));
        Value::Dict([("name".to_owned(), Value::Text(self.name.clone()))].into_iter().chain(numbers).collect())
    }
}

/// How a profile without launches separates its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepBasis {
    /// A column names the step of each row.
    Column,
    /// Pauses of more than 1 ms between equally many rows.
    Pause,
}

/// Steps that kernels are assigned to without launches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSteps {
    /// What separates them.
    pub basis: StepBasis,
    /// Their names.
    pub names: Vec<String>,
    /// The step of each kernel; a kernel may belong to none.
    pub of_kernels: Vec<Option<u32>>,
}

/// A profile.
#[derive(Debug)]
pub struct Profile {
    /// Who wrote it.
    pub kind: Kind,
    /// Texts.
    pub names: Names,
    /// Kernels, in file order.
    pub kernels: Kernels,
    /// Copies and sets, in file order.
    pub copies: Vec<Copy>,
    /// Calls that put work on a device that is in the profile, and those that are [matter](super::CallName::matters) without.
    pub launches: Launches,
    /// The other calls.
    pub idle: IdleCalls,
    /// Operators of the program.
    pub operators: Vec<Operator>,
    /// Ranges on the host.
    pub annotations: Vec<Annotation>,
    /// Devices, where the file describes them.
    pub devices: Vec<DeviceInfo>,
    /// Steps of a table, which has no launches.
    pub steps: Option<RowSteps>,
    /// Rows of collectives that repeat an earlier one, and are left out.
    pub repeated: u64,
    /// Events on a device without a usable start and end.
    pub skipped: u64,
    /// How long nsys recorded.
    pub session: Option<Picoseconds>,
    /// What nsys reported as a warning or an error while it recorded.
    pub diagnostics: Vec<String>,
    /// What was missing in the file or left out of it, in whole sentences.
    pub notes: Vec<String>,
}

impl Profile {
    /// The members at the top of a Kineto trace of these devices.
    pub fn members(&self) -> Vec<(&'static str, Value)> {
        let mut members = Vec::new();
        if matches!(self.kind, Kind::Rpd | Kind::Rocpd) {
            members.push(("roctracer_version", Value::Int(1)));
        }
        let mut devices: Vec<Value> = self.devices.iter().map(DeviceInfo::properties).collect();
        if self.kind.is_ascend() {
            devices.push(DeviceInfo { name: "Ascend NPU".to_owned(), ..DeviceInfo::default() }.properties());
        }
        if !devices.is_empty() {
            members.push(("deviceProperties", Value::List(devices)));
        }
        members
    }

    /// Per call whether it put something on a device that is in the profile.
    pub fn has_work(&self) -> Vec<bool> {
        let mut has_work = vec![false; self.launches.len()];
        let launches =
            self.kernels.iter().map(|kernel| kernel.launch).chain(self.copies.iter().map(|copy| copy.launch));
        for launch in launches.flatten() {
            if let Some(has_work) = has_work.get_mut(launch as usize) {
                *has_work = true;
            }
        }
        has_work
    }

    pub(super) fn new(kind: Kind) -> Profile {
        Profile {
            kind,
            names: Names::default(),
            kernels: Kernels::default(),
            copies: Vec::new(),
            launches: Launches::default(),
            idle: IdleCalls::default(),
            operators: Vec::new(),
            annotations: Vec::new(),
            devices: Vec::new(),
            steps: None,
            repeated: 0,
            skipped: 0,
            session: None,
            diagnostics: Vec::new(),
            notes: Vec::new(),
        }
    }
}
