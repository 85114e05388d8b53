//! The call on the host that launched each kernel.

use rustc_hash::FxHashMap;

use crate::columns::{Columns, Launch};
use crate::id::Id;
use crate::names::{NameId, Names};
use crate::rows::LaunchRows;
use crate::time::Picoseconds;
use perfdb_files::parallel::AtOnce;
use perfdb_trace::id_index::IdIndex;

pub(crate) const NO_LAUNCH: u32 = u32::MAX;

/// Finds launches by correlation id: the first runtime call with it, else the first flow that starts with it.
pub(crate) struct Launches<'a> {
    columns: &'a Columns,
    calls: IdIndex,
    flows: IdIndex,
}

impl<'a> Launches<'a> {
    pub(crate) fn new(columns: &'a Columns, at_once: AtOnce) -> Launches<'a> {
        let index = |launches: &'a LaunchRows| {
            IdIndex::first(launches.iter().zip(0..).map(|(launch, at)| (launch.correlation, at)))
        };
        let (calls, flows) = at_once.both(|| index(&columns.launches), || index(&columns.flows));
        Launches { columns, calls, flows }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.columns.launches.len() + self.columns.flows.len()
    }

    /// Numbers of the launches of some kernels, each once.
    pub(crate) fn used<'l>(&self, launch_of: impl IntoIterator<Item = &'l u32>) -> Vec<u32> {
        let mut used = vec![false; self.count()];
        for launch in launch_of.into_iter().filter(|launch| **launch != NO_LAUNCH) {
            used[*launch as usize] = true;
        }
        (0..self.count() as u32).filter(|launch| used[*launch as usize]).collect()
    }

    /// The launch with a correlation id.
    #[inline]
    pub(crate) fn with(&self, correlation: Id) -> Option<Launch> {
        self.number(correlation).map(|number| self.get(number))
    }

    /// When the launch of a number had ended.
    pub(crate) fn end(&self, number: u32) -> Picoseconds {
        let launch = self.get(number);
        launch.start + launch.duration
    }

    /// Number of the launch with a correlation id: calls first, flows behind them.
    #[inline]
    pub(crate) fn number(&self, correlation: Id) -> Option<u32> {
        let calls = self.columns.launches.len() as u32;
        self.calls.get(correlation).or_else(|| self.flows.get(correlation).map(|flow| calls + flow))
    }

    /// The process that a call was made in.
    pub(crate) fn process(&self, launch: Launch) -> Option<Id> {
        self.columns.threads.keys().get(launch.thread as usize).map(|(process, _)| *process)
    }

    /// Thread and start of the launch of a number.
    #[inline]
    pub(crate) fn place(&self, number: u32) -> (u32, Picoseconds) {
        let launch = self.get(number);
        (launch.thread, launch.start)
    }

    /// Launch of a number.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> Launch {
        let number = number as usize;
        let calls = self.columns.launches.len();
        if number < calls { self.columns.launches.at(number) } else { self.columns.flows.at(number - calls) }
    }
}

/// Which calls launch a whole graph, asked once per name.
#[derive(Debug, Default)]
pub(crate) struct GraphLaunches {
    by_name: FxHashMap<NameId, bool>,
}

impl GraphLaunches {
    /// Whether a call of this name does.
    pub(crate) fn has(&mut self, name: NameId, names: &Names) -> bool {
        *self.by_name.entry(name).or_insert_with(|| names.get(name).contains("GraphLaunch"))
    }
}
