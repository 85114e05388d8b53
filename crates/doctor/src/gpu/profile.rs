//! Profiles of other forms than Kineto's JSON, checked by the rules for GPU traces.

use perfdb_trace::id::Id;
use perfdb_trace::packed::Span;
use perfdb_trace::profile::{Kernels, Kind, Launches, Mark, Profile};
use perfdb_trace::time::{MICROSECOND, Picoseconds};

use super::Collector;
use super::category::Category;
use super::collect::STEPS;
use super::columns::{Columns, Row, RowKind, Step};
use crate::code::Code;
use crate::finding::{Evidence, Findings, share};
use crate::report::{Report, Selection};

/// Findings about a profile, with no more in the certificate than the number of kernels: for those who go on with the profile and sum on
/// their own. Its kernels and calls are looked at where they lie.
pub fn findings_of_profile(profile: &mut Profile, file: &str) -> Report {
    Collector::of_profile(profile).findings_and_rows(file, profile)
}

/// The whole report on a profile.
pub(crate) fn report_of_profile(profile: &mut Profile, file: &str, selection: &Selection) -> Report {
    Collector::of_profile(profile).report_with(file, Findings::default(), selection)
}

impl Collector {
    /// What the rules need of a profile, out of which kernels and calls are taken. Kernels keep their order, copies follow them.
    fn of_profile(profile: &mut Profile) -> Collector {
        let mut collector = Collector::default();
        for (name, value) in profile.members() {
            collector.members.take(name, Some(value), true);
        }
        if profile.kind == Kind::Nsys {
            check_recording(profile, &mut collector.found);
        }
        collector.columns.take_profile(profile);
        collector
    }
}

/// Kernels and calls of a profile, looked at where they lie: copies of millions of them would be larger than the profile.
#[derive(Debug)]
pub(crate) struct Given {
    kernels: Kernels,
    calls: Launches,
    /// Numbers of device and stream by place of a kernel.
    places: Vec<(u32, u32)>,
    /// Numbers of the threads of calls.
    threads: Vec<u32>,
}

impl Given {
    pub(super) fn row_count(&self) -> usize {
        self.kernels.len()
    }

    pub(super) fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// A kernel as the rules see it. Its launch has a negative number: positive ones are those of a profiler, in the order of calls.
    #[inline(always)]
    pub(super) fn row(&self, at: usize) -> Option<Row> {
        let kernel = self.kernels.get(at)?;
        let (device, stream) = *self.places.get(self.kernels.key(at)? as usize)?;
        Some(Row {
            start: kernel.start,
            duration: length(kernel.duration),
            correlation: self.correlation(kernel.launch, at),
            external: Id::MISSING,
            name: kernel.name,
            device,
            stream,
            kind: RowKind::Kernel,
        })
    }

    /// A call as the rules see it.
    #[inline(always)]
    pub(super) fn call(&self, at: usize) -> Option<Span> {
        let call = self.calls.get(at)?;
        Some(Span {
            start: call.start,
            duration: call.duration,
            id: Id::negative(at as u32),
            name: call.name,
            thread: *self.threads.get(self.calls.key(at)? as usize)?,
        })
    }

    /// Of what has no launch, the launch was lost.
    #[inline(always)]
    fn correlation(&self, launch: Option<u32>, row: usize) -> Id {
        Id::negative(launch.unwrap_or((self.calls.len() + row) as u32))
    }

    /// Gives the profile back what was taken out of it.
    pub(super) fn give_back(self, profile: &mut Profile) {
        (profile.kernels, profile.launches) = (self.kernels, self.calls);
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
    fn take_profile(&mut self, profile: &mut Profile) {
        // Nothing had a name so far: names keep their numbers.
        self.names.adopt(&profile.names);
        for launch in profile.launches.iter() {
            self.saw(Category::Call, launch.start, launch.start + launch.duration);
        }
        self.events += profile.idle.count;
        self.has_times |= profile.idle.count > 0;
        self.has_fractions |= profile.idle.has_fractions;
        self.worked.join(&profile.idle.covered);
        self.has_calls = !profile.launches.is_empty() || profile.idle.count > 0;
        for kernel in profile.kernels.iter() {
            self.saw(Category::Kernel, kernel.start, kernel.start + Picoseconds::from(length(kernel.duration)));
        }
        let threads = profile.launches.keys().iter().map(|(process, thread)| {
            let key = (self.ids.integer(*process), self.ids.integer(*thread));
            self.threads.number(key)
        });
        let threads = threads.collect();
        let places = profile.kernels.keys().iter().map(|(device, stream, _)| self.place((*device, *stream))).collect();
        let given = Given {
            kernels: std::mem::take(&mut profile.kernels),
            calls: std::mem::take(&mut profile.launches),
            places,
            threads,
        };
        for copy in &profile.copies {
            let (device, stream) = self.place((copy.device, copy.stream));
            let row = Row {
                start: copy.start,
                duration: length(copy.duration),
                correlation: given.correlation(copy.launch, given.row_count() + self.rows.len()),
                external: Id::MISSING,
                name: copy.name,
                device,
                stream,
                kind: RowKind::Copy,
            };
            self.saw(Category::Kernel, row.start, row.end());
            self.rows.push(row);
        }
        self.given = Some(Box::new(given));
        for range in &profile.annotations {
            if STEPS.iter().any(|step| profile.names.get(range.name).starts_with(step)) {
                let process = self.number(range.process.unwrap_or(0));
                let thread = self.threads.number((process, Id::MISSING));
                let (start, end) = (range.start, range.start + range.duration);
                self.saw(Category::Annotation, start, end);
                self.steps.push(Step { start, end, name: range.name, thread });
            }
        }
        self.skipped_kernels = profile.skipped;
    }

    /// Numbers of a device and a stream of it.
    fn place(&mut self, (device, stream): (i64, i64)) -> (u32, u32) {
        let (device, stream) = (self.number(device), self.number(stream));
        let device = self.devices.number(device);
        (device, self.streams.number((device, stream)))
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
