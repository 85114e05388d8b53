//! From a profile of another form than JSON to [`Columns`].

use perfdb_pycompat::value::Value;
use perfdb_trace::profile::{DeviceInfo, Kind, Profile};

use super::Contents;
use crate::columns::{Annotation, Columns, Kernel, Launch};
use crate::copies::{CopyKind, GpuCopy};
use crate::device::Members;
use crate::id::Id;
use crate::steps::may_be_step;

impl Contents {
    pub(super) fn of_profile(mut profile: Profile, every_annotation: bool) -> Contents {
        let mut columns = Columns { names: std::mem::take(&mut profile.names), ..Columns::default() };
        columns.skipped_kernels = profile.skipped;
        columns.written_by = Some(profile.kind);
        columns.take_profile(&profile, every_annotation);
        Contents { columns, members: members(&profile), doctor: None }
    }
}

impl Columns {
    fn take_profile(&mut self, profile: &Profile, every_annotation: bool) {
        for launch in &profile.launches {
            let thread = (self.number(launch.process), self.number(launch.thread));
            self.launches.push(Launch {
                start: launch.start,
                duration: launch.duration,
                correlation: correlation(Some(self.launches.len() as u32)),
                external: Id::MISSING,
                name: launch.name,
                thread: self.threads.number(thread),
            });
        }
        for kernel in &profile.kernels {
            let (device, stream) = self.place(kernel.device, kernel.stream);
            self.kernels.push(Kernel {
                start: kernel.start,
                duration: kernel.duration,
                correlation: correlation(kernel.launch),
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
            let kind = if copy.is_set { CopyKind::Set } else { CopyKind::of_copy(self.names.get(copy.name)) };
            self.copies.push(GpuCopy {
                start: copy.start,
                duration: copy.duration,
                correlation: correlation(copy.launch),
                device,
                stream,
                kind,
                bytes: copy.bytes,
            });
            self.events += 1;
        }
        for range in &profile.annotations {
            let name = self.names.get(range.name);
            if every_annotation || may_be_step(name) {
                let name = name.to_owned();
                self.annotations.push(Annotation { start: range.start, duration: range.duration, name });
            }
        }
    }

    fn place(&mut self, device: i64, stream: i64) -> (u32, u32) {
        let (device, stream) = (self.number(device), self.number(stream));
        let device = self.devices.number(device);
        (device, self.streams.number((device, stream)))
    }

    fn number(&mut self, number: i64) -> Id {
        self.ids.number(number.to_string().as_bytes())
    }
}

/// Launches are numbered in the profile, so equal ids of two processes stay apart.
fn correlation(launch: Option<u32>) -> Id {
    launch.map_or(Id::MISSING, |launch| Id::of(launch + 1))
}

fn members(profile: &Profile) -> Members {
    let mut members = Members::default();
    if profile.kind == Kind::Rpd {
        members.take("roctracer_version", None, true);
    }
    if !profile.devices.is_empty() {
        let devices = profile.devices.iter().map(properties).collect();
        members.take("deviceProperties", Some(Value::List(devices)), true);
    }
    members
}

fn properties(device: &DeviceInfo) -> Value {
    let (major, minor) = device.capability.unzip();
    let numbers = [
        ("numSms", device.multiprocessors),
        ("totalGlobalMem", device.memory),
        ("computeMajor", major),
        ("computeMinor", minor),
    ];
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name.to_owned(), Value::Int(number?))));
    Value::Dict([("name".to_owned(), Value::Text(device.name.clone()))].into_iter().chain(numbers).collect())
}
