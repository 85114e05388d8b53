//! From a profile of another form than JSON to [`Columns`].

use std::path::Path;

use perfdb_doctor::findings_of_profile;
use perfdb_trace::profile::{Kind, Profile};

use super::{Check, Contents};
use crate::columns::{Annotation, Columns, HostOperator, Kernel, Launch};
use crate::copies::{CopyKind, GpuCopy};
use crate::device::Members;
use crate::id::Id;
use crate::names::NO_NAME;
use crate::steps::may_be_step;

impl Contents {
    pub(super) fn of_profile(path: &Path, mut profile: Profile, every_annotation: bool) -> Contents {
        // A table is checked row by row, with more than is kept of it here. The check comes first: what it needs and what is kept need not
        // be there at one time.
        let doctor = match profile.kind {
            Kind::AscendTable => Check::Pending(None),
            _ => Check::Done(Box::new(findings_of_profile(&mut profile, &path.to_string_lossy()))),
        };
        let mut columns =
            Columns { skipped_kernels: profile.skipped, written_by: Some(profile.kind), ..Columns::default() };
        columns.take_profile(&mut profile, every_annotation);
        columns.row_steps = profile.steps.take();
        columns.notes = std::mem::take(&mut profile.notes);
        let mut members = Members::default();
        for (name, value) in profile.members() {
            members.take(name, Some(value), true);
        }
        columns.names = std::mem::take(&mut profile.names);
        Contents { columns, members, doctor }
    }
}

impl Columns {
    fn take_profile(&mut self, profile: &mut Profile, every_annotation: bool) {
        // Calls that put nothing on a device are of no use here.
        let has_work = profile.has_work();
        self.launches.reserve_exact(has_work.iter().filter(|has_work| **has_work).count());
        let is_linked = profile.launches.iter().any(|launch| launch.operator.is_some());
        for (at, launch) in std::mem::take(&mut profile.launches).into_rows().enumerate() {
            if !has_work[at] {
                continue;
            }
            let thread = (self.number(launch.process), self.number(launch.thread));
            if is_linked {
                self.linked.push(launch.operator);
            }
            self.launches.push(Launch {
                start: launch.start,
                duration: launch.duration,
                correlation: number(Some(at as u32)),
                external: number(launch.operator),
                name: launch.name,
                thread: self.threads.number(thread),
            });
        }
        self.take_operators(profile);
        self.marks = profile.kernels.iter().map(|kernel| kernel.mark).collect();
        self.kernels.reserve_exact(profile.kernels.len());
        for kernel in std::mem::take(&mut profile.kernels).into_rows() {
            let (device, stream) = self.place(kernel.device, kernel.stream);
            self.kernels.push(Kernel {
                start: kernel.start,
                duration: kernel.duration,
                correlation: number(kernel.launch),
                external: Id::MISSING,
                name: kernel.name,
                device,
                stream,
                index: self.events,
            });
            self.events += 1;
        }
        for copy in &profile.copies {
            let (device, stream) = self.place(copy.device, copy.stream);
            let kind = if copy.is_set { CopyKind::Set } else { CopyKind::of_copy(profile.names.get(copy.name)) };
            self.copies.push(GpuCopy {
                start: copy.start,
                duration: copy.duration,
                correlation: number(copy.launch),
                device,
                stream,
                kind,
                bytes: copy.bytes,
            });
            self.events += 1;
        }
        for range in &profile.annotations {
            let name = profile.names.get(range.name);
            if every_annotation || may_be_step(name) {
                let name = name.to_owned();
                let process = range.process.map(|process| self.number(process));
                self.annotations.push(Annotation { start: range.start, duration: range.duration, name, process });
            }
        }
    }

    fn take_operators(&mut self, profile: &Profile) {
        for operator in &profile.operators {
            let thread = (self.number(operator.process), self.number(operator.thread));
            let thread = self.threads.number(thread);
            let mut argument = |name| match name {
                NO_NAME => NO_NAME,
                name => self.arguments.text(profile.names.get(name)),
            };
            let (dims, types) = (argument(operator.dims), argument(operator.types));
            let (start, duration, name) = (operator.start, operator.duration, operator.name);
            let external = number(Some(self.operators.len() as u32));
            self.operators.push(HostOperator { external, name, thread, start, duration, dims, types });
        }
    }

    fn place(&mut self, device: i64, stream: i64) -> (u32, u32) {
        let (device, stream) = (self.number(device), self.number(stream));
        let device = self.devices.number(device);
        (device, self.streams.number((device, stream)))
    }

    fn number(&mut self, number: i64) -> Id {
        self.ids.integer(number)
    }
}

/// The id of the launch or operator at a place of the profile: equal ids of two processes stay apart.
fn number(at: Option<u32>) -> Id {
    at.map_or(Id::MISSING, |at| Id::of(at + 1))
}
