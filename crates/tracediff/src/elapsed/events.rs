//! What a timeline is made of: kernels and copies in the order of their starts, looked at where they lie.

use super::timeline::{Activity, ActivityKind};
use crate::classify::COLLECTIVES;
use crate::context::classes::Classes;
use crate::context::launches::Launches;
use crate::context::passes::KernelPass;
use crate::copies::GpuCopy;
use crate::family::Family;
use crate::names::NO_NAME;
use crate::rows::KernelRows;
use crate::time::Picoseconds;
use crate::time_order::{TimeOrder, by_device};

/// Kernels with their passes and classes.
pub(crate) struct Kernels<'a> {
    pub(crate) kernels: &'a KernelRows,
    /// Beside the kernels.
    pub(crate) passes: &'a [KernelPass],
    /// Likewise, the numbers of their launches.
    pub(crate) launch_of: &'a [u32],
    pub(crate) classes: &'a Classes,
}

/// What a timeline is made of.
pub(crate) struct Events<'a> {
    /// What is counted, and the lead.
    pub(crate) kernels: [Kernels<'a>; 2],
    /// Of what is counted.
    pub(crate) order: &'a TimeOrder,
    pub(crate) copies: &'a [GpuCopy],
    /// Beside the copies.
    pub(crate) copy_passes: &'a [KernelPass],
    /// Likewise, the numbers of their launches.
    pub(crate) launch_of_copies: &'a [u32],
    /// Beside the copies, or empty where none belongs to the lead.
    pub(crate) lead_copies: &'a [bool],
    pub(crate) launches: &'a Launches<'a>,
    /// Passes that lack kernels, ascending.
    pub(crate) incomplete: Vec<u32>,
    /// Whether pieces of time are wanted.
    pub(crate) pieces: bool,
}

impl Events<'_> {
    /// Numbers of the events of each device by start; on ties kernels, the lead and copies, each in the order of the file.
    pub(super) fn by_device(&self, devices: usize) -> Vec<Vec<u32>> {
        let [counted, lead] = self.kernels.each_ref().map(|set| set.kernels);
        let ordered = self.order.numbers(counted.len()).map(|number| (counted.at(number).device, number as u32));
        let others = lead.iter().map(|kernel| kernel.device).chain(self.copies.iter().map(|copy| copy.device));
        by_device(devices, ordered, others.zip(counted.len() as u32..), |number| self.start(number))
    }

    #[inline]
    fn start(&self, number: u32) -> Picoseconds {
        match self.at(number) {
            (Some(set), at) => self.kernels[set].kernels.at(at).start,
            (None, at) => self.copies[at].start,
        }
    }

    /// The set of kernels that an event is in, none for a copy, and its place there.
    #[inline]
    fn at(&self, number: u32) -> (Option<usize>, usize) {
        let mut at = number as usize;
        for (set, kernels) in self.kernels.iter().enumerate() {
            match at.checked_sub(kernels.kernels.len()) {
                None => return (Some(set), at),
                Some(behind) => at = behind,
            }
        }
        (None, at)
    }

    /// Made when it is looked at: a list of all would be larger than the rest of the trace.
    #[inline]
    pub(super) fn activity(&self, number: u32, kinds: &[Vec<ActivityKind>; 2]) -> Activity {
        match self.at(number) {
            (Some(set), at) => {
                let Kernels { kernels, passes, launch_of, classes } = &self.kernels[set];
                let kernel = kernels.at(at);
                Activity {
                    start: kernel.start,
                    end: kernel.end(),
                    device: kernel.device,
                    pass: passes[at],
                    kind: kinds[set][classes.groups[classes.of_kernels[at] as usize].operation as usize],
                    launch: launch_of[at],
                    name: kernel.name,
                    is_lead: set > 0,
                }
            }
            (None, at) => {
                let copy = &self.copies[at];
                Activity {
                    start: copy.start,
                    end: copy.start + copy.duration,
                    device: copy.device,
                    pass: self.copy_passes[at],
                    kind: ActivityKind::Copy { kind: copy.kind, bytes: copy.bytes },
                    launch: self.launch_of_copies[at],
                    name: NO_NAME,
                    is_lead: self.lead_copies.get(at).copied().unwrap_or(false),
                }
            }
        }
    }
}

/// What the kernels of each class are; families that are not known yet join them.
pub(super) fn kinds(operations: &[String], families: &mut Vec<String>) -> Vec<ActivityKind> {
    let kind = |operation: &String| {
        if COLLECTIVES.contains(&operation.as_str()) {
            return ActivityKind::Communication;
        }
        let family = Family::of(operation).label();
        let known = families.iter().position(|known| known == family);
        ActivityKind::Compute(known.unwrap_or_else(|| {
            families.push(family.to_owned());
            families.len() - 1
        }) as u32)
    };
    operations.iter().map(kind).collect()
}
