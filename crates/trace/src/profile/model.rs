//! The events of a profile.

use crate::names::{NameId, Names};
use crate::time::Picoseconds;

/// Who wrote a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `nsys export --type sqlite`.
    Nsys,
    /// ROCm's rocmProfileData.
    Rpd,
}

impl Kind {
    /// As results show it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Nsys => "nsys",
            Kind::Rpd => "rpd",
        }
    }
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
    /// Whether it stands for all kernels of a replayed graph.
    pub is_graph: bool,
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
    /// Process.
    pub process: i64,
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

/// A profile.
#[derive(Debug)]
pub struct Profile {
    /// Who wrote it.
    pub kind: Kind,
    /// Texts.
    pub names: Names,
    /// Kernels, in file order.
    pub kernels: Vec<Kernel>,
    /// Copies and sets, in file order.
    pub copies: Vec<Copy>,
    /// Calls that put work on a device.
    pub launches: Vec<Launch>,
    /// Ranges on the host.
    pub annotations: Vec<Annotation>,
    /// Devices, where the file describes them.
    pub devices: Vec<DeviceInfo>,
    /// Events on a device without a usable start and end.
    pub skipped: u64,
}

impl Profile {
    pub(super) fn new(kind: Kind) -> Profile {
        Profile {
            kind,
            names: Names::default(),
            kernels: Vec::new(),
            copies: Vec::new(),
            launches: Vec::new(),
            annotations: Vec::new(),
            devices: Vec::new(),
            skipped: 0,
        }
    }
}
