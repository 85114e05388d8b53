//! The call on the host that launched each kernel.

use crate::columns::{Columns, Kernel, Launch};
use crate::id::Id;
use crate::id_index::IdIndex;

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

    /// The launch of a kernel.
    pub(crate) fn of(&self, kernel: &Kernel) -> Option<&'a Launch> {
        self.number(kernel.correlation).map(|number| self.get(number))
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
