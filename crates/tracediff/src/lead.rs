//! The lead of a trace: kernels and copies of the step before the first recorded one. They are in no sum and in no count;
//! where one still runs while the first step does, the device is busy with it.

use crate::columns::Kernel;
use crate::context::passes::{Found, KernelPass};
use crate::corrections::Corrections;
use crate::rows::KernelRows;
use crate::time::Picoseconds;

/// The size of a lead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LeadSum {
    pub(crate) kernels: u64,
    pub(crate) copies: u64,
    /// Summed duration of the kernels.
    pub(crate) time: Picoseconds,
    /// Time in which a device is busy with nothing else.
    pub(crate) busy: Picoseconds,
}

/// Kernels of the lead, and how many copies belong to it.
#[derive(Debug, Default)]
pub(crate) struct Lead {
    pub(crate) kernels: KernelRows,
    /// Beside `kernels`.
    pub(crate) passes: Vec<KernelPass>,
    /// Beside `kernels`, the numbers of their launches.
    pub(crate) launch_of: Vec<u32>,
    pub(crate) copies: u64,
}

impl Lead {
    /// Takes the lead out of the kernels of a trace, and of what numbers them.
    pub(crate) fn take(kernels: &mut KernelRows, found: &mut Found, corrections: &mut Corrections) -> Lead {
        let copies = found.is_lead_copy.iter().filter(|is_lead| **is_lead).count() as u64;
        if !found.is_lead.contains(&true) {
            return Lead { copies, ..Lead::default() };
        }
        let mut lead = Lead { copies, ..Lead::default() };
        let is_lead = |at: usize| found.is_lead.get(at).copied().unwrap_or(false);
        let taken: Vec<u32> = (0..kernels.len() as u32).filter(|at| is_lead(*at as usize)).collect();
        for at in taken.iter().map(|at| *at as usize) {
            lead.kernels.push(kernels.at(at));
            lead.passes.push(found.kernels[at]);
            lead.launch_of.push(found.launch_of[at]);
        }
        kernels.retain(|at| !is_lead(at));
        found.kernels = without(&found.kernels, is_lead);
        found.launch_of = without(&found.launch_of, is_lead);
        let number = |at: u32| taken.binary_search(&at).err().map(|before| at - before as u32);
        corrections.waiting = corrections.waiting.iter().filter_map(|(at, wait)| Some((number(*at)?, *wait))).collect();
        corrections.incomplete = corrections.incomplete.iter().filter_map(|at| number(*at)).collect();
        lead
    }

    /// Its size, beside the other kernels of the trace.
    pub(crate) fn summary(&self, others: &KernelRows) -> LeadSum {
        let time = self.kernels.iter().map(|kernel| kernel.duration).sum();
        // Kernels that start later share no time with the lead.
        let end = self.kernels.iter().map(|kernel| kernel.end()).max();
        let beside = || others.iter().filter(|kernel| end.is_some_and(|end| kernel.start < end));
        let busy = busy(self.kernels.iter().chain(beside())) - busy(beside());
        LeadSum { kernels: self.kernels.len() as u64, copies: self.copies, time, busy }
    }
}

/// The values of the kernels that do not belong to the lead.
fn without<T: Copy>(values: &[T], is_lead: impl Fn(usize) -> bool) -> Vec<T> {
    values.iter().enumerate().filter(|(at, _)| !is_lead(*at)).map(|(_, value)| *value).collect()
}

/// Time in which at least one kernel runs, summed over devices.
fn busy(kernels: impl Iterator<Item = Kernel>) -> Picoseconds {
    let mut spans: Vec<_> = kernels.map(|kernel| (kernel.device, kernel.start, kernel.end())).collect();
    spans.sort_unstable();
    let (mut busy, mut covered) = (0, None);
    for (device, start, end) in spans {
        let from = match covered {
            Some((known, until)) if known == device => start.max(until),
            _ => start,
        };
        busy += (end - from).max(0);
        covered = Some((device, from.max(end)));
    }
    busy
}
