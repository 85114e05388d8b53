//! Calls on the host that put nothing on a device: most only ask for something, and more of them than launches are in a profile.

use rustc_hash::FxHashMap;

use super::model::{Launch, Profile};
use super::rows::Launches;
use crate::coverage::Coverage;
use crate::names::{NameId, Names};
use crate::time::MICROSECOND;

/// What is kept of calls that put nothing on a device.
#[derive(Debug, Default)]
pub struct IdleCalls {
    /// How many there were.
    pub count: u64,
    /// Whether any of them started within a microsecond.
    pub has_fractions: bool,
    /// When any of them was under way.
    pub covered: Coverage,
}

impl IdleCalls {
    pub(super) fn add(&mut self, launch: &Launch) {
        self.count += 1;
        self.has_fractions |= launch.start % MICROSECOND != 0;
        self.covered.add(launch.start, launch.start + launch.duration);
    }
}

/// What the name of a call of a runtime says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallName {
    /// It launches a graph.
    pub graph: bool,
    /// It launches something on a device.
    pub launch: bool,
    /// It allocates memory, loads a module or makes a stream.
    pub sets_up: bool,
    /// It begins the capture of a graph.
    pub begins_capture: bool,
    /// It ends one.
    pub ends_capture: bool,
    /// It returns when the device has done all of its work.
    pub waits: bool,
}

/// Parts of the names of calls that set something up. `cudaFree` comes first where a library wants to be sure of its context.
const SETS_UP: [&str; 7] =
    ["malloc", "cudafree", "hipfree", "streamcreate", "moduleload", "libraryload", "modulegetfunction"];

impl CallName {
    /// What a name says.
    pub fn of(name: &str) -> CallName {
        let (begins_capture, ends_capture) = (name.contains("BeginCapture"), name.contains("EndCapture"));
        let waits = name.ends_with("DeviceSynchronize") || name.ends_with("CtxSynchronize");
        let name = name.to_lowercase();
        CallName {
            graph: name.contains("graph"),
            launch: name.contains("launch") && !name.contains("host"),
            sets_up: SETS_UP.iter().any(|word| name.contains(word)),
            begins_capture,
            ends_capture: ends_capture && !begins_capture,
            waits,
        }
    }

    /// Whether such a call says something even where it put nothing on a device.
    pub fn matters(self) -> bool {
        self != CallName::default()
    }
}

/// [`CallName::matters`], asked once per name.
#[derive(Debug, Default)]
pub(super) struct Matter {
    by_name: FxHashMap<NameId, bool>,
}

impl Matter {
    pub(super) fn has(&mut self, name: NameId, names: &Names) -> bool {
        *self.by_name.entry(name).or_insert_with(|| CallName::of(names.get(name)).matters())
    }
}

impl Profile {
    /// Takes calls out that put nothing on a device and say nothing.
    pub(super) fn leave_out_idle_calls(&mut self) {
        let has_work = self.has_work();
        let mut matter = Matter::default();
        let is_kept =
            |at: usize, launch: &Launch, matter: &mut Matter| has_work[at] || matter.has(launch.name, &self.names);
        if self.launches.iter().enumerate().all(|(at, launch)| is_kept(at, &launch, &mut matter)) {
            return;
        }
        let mut numbers = vec![None; self.launches.len()];
        let mut kept = Launches::default();
        for (at, launch) in self.launches.iter().enumerate() {
            if is_kept(at, &launch, &mut matter) {
                numbers[at] = Some(kept.len() as u32);
                kept.push(launch);
            } else {
                self.idle.add(&launch);
            }
        }
        self.launches = kept;
        let number = |launch: u32| numbers.get(launch as usize).copied().flatten();
        self.kernels.relaunch(number);
        for copy in &mut self.copies {
            copy.launch = copy.launch.and_then(number);
        }
    }
}
