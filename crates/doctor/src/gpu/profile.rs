//! Profiles of other forms than Kineto's JSON, checked by the rules for GPU traces.

use perfdb_trace::id::Id;
use perfdb_trace::names::{NO_NAME, NameId};
use perfdb_trace::profile::{Kind, Mark, Profile};
use perfdb_trace::time::{MICROSECOND, Picoseconds};

use super::Collector;
use super::category::Category;
use super::collect::STEPS;
use super::columns::{Call, Columns, Row, RowKind, Step};
use super::prepared::NameFacts;
use crate::code::Code;
use crate::finding::{Evidence, Findings, share};

impl Collector {
    /// What the rules need of a profile. Kernels keep their order, copies follow them.
    pub fn of_profile(profile: &Profile) -> Collector {
        let mut collector = Collector::default();
        for (name, value) in profile.members() {
            collector.members.take(name, Some(value), true);
        }
        collector.columns.take_profile(profile);
        if profile.kind == Kind::Nsys {
            check_recording(profile, &mut collector.found);
        }
        collector
    }
}

/// Diagnostics that are quoted.
const QUOTED: usize = 3;

/// What an export of nsys lacks, or says itself.
fn check_recording(profile: &Profile, found: &mut Findings) {
    let kernels = profile.kernels.iter().map(|kernel| (kernel.start, kernel.start + kernel.duration));
    let copies = profile.copies.iter().map(|copy| (copy.start, copy.start + copy.duration));
    let (mut first, mut last) = (Picoseconds::MAX, Picoseconds::MIN);
    for (start, end) in kernels.chain(copies) {
        (first, last) = (first.min(start), last.max(end));
    }
    let span = (last - first.min(last)).max(0);
    if let Some(session) = profile.session.filter(|session| 2 * span < *session) {
        found.note(Code::NsysCut, None, Evidence::new().time("span_us", span).time("session_us", session));
    }
    if !profile.diagnostics.is_empty() {
        let quoted: Vec<&str> = profile.diagnostics.iter().take(QUOTED).map(String::as_str).collect();
        let evidence = Evidence::new().with("texts", quoted).with("count", profile.diagnostics.len());
        found.warning(Code::NsysDiagnostic, None, evidence);
    }
    let graphs = || profile.kernels.iter().filter(|kernel| kernel.mark == Mark::Graph);
    let time: Picoseconds = graphs().map(|kernel| kernel.duration).sum();
    if graphs().next().is_some() {
        let all: Picoseconds = profile.kernels.iter().map(|kernel| kernel.duration).sum();
        let evidence = Evidence::new().with("replays", graphs().count()).time("graphs_us", time);
        found.warning(Code::GraphCollapsed, share(time, all), evidence);
    }
}

impl Columns {
    fn take_profile(&mut self, profile: &Profile) {
        let names = self.names.adopt(&profile.names);
        let name = |id: NameId| names.get(id as usize).copied().unwrap_or(NO_NAME);
        // Most calls query something: rules look at those with work on a device and at some by their names.
        let has_work = profile.has_work();
        let matters: Vec<bool> =
            (0..self.names.len() as u32).map(|name| NameFacts::of(self.names.get(name)).matters()).collect();
        let matters = |name: NameId| matters.get(name as usize).copied().unwrap_or(false);
        let kept = profile
            .launches
            .iter()
            .zip(&has_work)
            .filter(|(launch, has_work)| **has_work || matters(name(launch.name)));
        self.calls.reserve_exact(kept.count());
        self.rows.reserve_exact(profile.kernels.len() + profile.copies.len());
        // Negative numbers: positive ones are those of a profiler, in the order of calls.
        for ((launch, has_work), number) in profile.launches.iter().zip(has_work).zip(0..) {
            self.saw(Category::Call, launch.start, launch.start + launch.duration);
            if !has_work && !matters(name(launch.name)) {
                continue;
            }
            let thread = (self.number(launch.process), self.number(launch.thread));
            self.calls.push(Call {
                start: launch.start,
                duration: length(launch.duration),
                correlation: Id::negative(number),
                name: name(launch.name),
                thread: self.threads.number(thread),
            });
        }
        self.has_calls = !profile.launches.is_empty();
        let kernels = profile.kernels.iter().map(|kernel| {
            let place = (kernel.device, kernel.stream, kernel.launch);
            (RowKind::Kernel, kernel.start, kernel.duration, kernel.name, place)
        });
        let copies = profile.copies.iter().map(|copy| {
            let place = (copy.device, copy.stream, copy.launch);
            (RowKind::Copy, copy.start, copy.duration, copy.name, place)
        });
        for (kind, start, duration, of_row, (device, stream, launch)) in kernels.chain(copies) {
            let (device, stream) = (self.number(device), self.number(stream));
            let device = self.devices.number(device);
            // Of what has no launch, the launch was lost.
            let unknown = || (profile.launches.len() + self.rows.len()) as u32;
            let row = Row {
                start,
                duration: length(duration),
                correlation: Id::negative(launch.unwrap_or_else(unknown)),
                external: Id::MISSING,
                name: name(of_row),
                device,
                stream: self.streams.number((device, stream)),
                kind,
            };
            self.saw(Category::Kernel, row.start, row.end());
            self.rows.push(row);
        }
        for range in &profile.annotations {
            if STEPS.iter().any(|step| profile.names.get(range.name).starts_with(step)) {
                let process = self.number(range.process.unwrap_or(0));
                let thread = self.threads.number((process, Id::MISSING));
                let (start, end) = (range.start, range.start + range.duration);
                self.saw(Category::Annotation, start, end);
                self.steps.push(Step { start, end, name: name(range.name), thread });
            }
        }
        self.skipped_kernels = profile.skipped;
    }

    fn number(&mut self, number: i64) -> Id {
        self.ids.integer(number)
    }

    fn saw(&mut self, category: Category, start: Picoseconds, end: Picoseconds) {
        self.events += 1;
        self.has_times = true;
        self.has_fractions |= start % MICROSECOND != 0;
        self.cover(category, start, end);
    }
}

/// A duration as rows keep it.
fn length(duration: Picoseconds) -> i64 {
    i64::try_from(duration).unwrap_or(i64::MAX)
}
