//! The call on the host that launched each kernel.

use crate::columns::{Columns, Launch};
use crate::id::Id;
use crate::id_index::IdIndex;
use crate::time::Picoseconds;

/// Finds launches by correlation id: the first runtime call with it, else the first flow that starts with it.
pub(crate) struct Launches<'a> {
    columns: &'a Columns,
    calls: IdIndex,
    flows: IdIndex,
}

impl<'a> Launches<'a> {
    pub(crate) fn new(columns: &'a Columns) -> Launches<'a> {
        let index = |launches: &'a [Launch]| {
            IdIndex::first(launches.iter().zip(0..).map(|(launch, at): (&Launch, u32)| (launch.correlation, at)))
        };
        Launches { columns, calls: index(&columns.launches), flows: index(&columns.flows) }
    }

    /// The launch with a correlation id.
    pub(crate) fn with(&self, correlation: Id) -> Option<&'a Launch> {
        self.number(correlation).map(|number| self.get(number))
    }

    /// When the launch with a correlation id had ended.
    pub(crate) fn end(&self, correlation: Id) -> Option<Picoseconds> {
        self.with(correlation).map(|launch| launch.start + launch.duration)
    }

    /// Number of the launch with a correlation id: calls first, flows behind them.
    pub(crate) fn number(&self, correlation: Id) -> Option<u32> {
        let calls = self.columns.launches.len() as u32;
        self.calls.get(correlation).or_else(|| self.flows.get(correlation).map(|flow| calls + flow))
    }

    /// Launch of a number.
    pub(crate) fn get(&self, number: u32) -> &'a Launch {
        let number = number as usize;
        let calls = self.columns.launches.len();
        if number < calls { &self.columns.launches[number] } else { &self.columns.flows[number - calls] }
    }
}
