//! The rules for simulator traces. Shares are of the time of a process; of several the largest counts.

use perfdb_trace::names::NO_NAME;
use perfdb_trace::time::{MICROSECOND, Picoseconds};
use rustc_hash::FxHashMap;
use serde_json::Map;

use super::collect::Parts;
use super::layers::odd_layers;
use super::prepared::{Process, TcPrepared};
use crate::code::Code;
use crate::finding::{Evidence, Findings, share};
use perfdb_severity::Severity;

/// Names that are listed.
const NAMES: usize = 5;

pub(super) fn check_all(trace: &TcPrepared, found: &mut Findings) {
    events(trace, found);
    sources(trace, found);
    kernel_types(trace, found);
    composites(trace, found);
    layers(trace, found);
    times(trace, found);
    copies(trace, found);
    processes(trace, found);
}

fn events(trace: &TcPrepared, found: &mut Findings) {
    let events = &trace.trace;
    if events.text_times > 0 {
        found.warning(Code::TextTimes, None, Evidence::new().with("events", events.text_times));
    }
    if events.bad_events > 0 {
        let evidence = Evidence::new().with("events", events.bad_events);
        found.add_unmended(Code::BadEvents, Severity::Error, None, evidence);
    }
    if events.negative > 0 {
        let of = events.operations.len() as f64 + events.negative as f64;
        let evidence = Evidence::new().with("events", events.negative).time("worst_us", events.worst);
        found.error(Code::NegativeDuration, events.negative as f64 / of, evidence);
    }
    if events.operations.is_empty() {
        found.error(Code::NoKernels, 1.0, Evidence::new().with("events", events.events));
    }
}

/// Operations of a process and their time.
#[derive(Default)]
struct Touched {
    operations: usize,
    share: f64,
    /// Operations by what they are listed under, in order of appearance.
    listed: Vec<(u32, u64)>,
}

impl Touched {
    /// Adds the operations of one process that `is` applies to.
    fn add(&mut self, trace: &TcPrepared, process: &Process, is: impl Fn(u32) -> bool, listed: impl Fn(u32) -> u32) {
        let mut time = 0;
        for at in process.operations.iter().copied().filter(|at| is(*at)) {
            self.operations += 1;
            time += trace.operation(at).duration;
            let name = listed(at);
            match self.listed.iter_mut().find(|(other, _)| *other == name) {
                Some((_, count)) => *count += 1,
                None => self.listed.push((name, 1)),
            }
        }
        self.share = self.share.max(share(time, process.time));
    }
}

fn sources(trace: &TcPrepared, found: &mut Findings) {
    let mut without = Touched::default();
    for process in &trace.processes {
        let lacks = |at: u32| trace.operation(at).source == NO_NAME;
        // An analytic process has none at all.
        if !process.operations.iter().all(|at| lacks(*at)) {
            without.add(trace, process, lacks, |at| trace.operation(at).name);
        }
    }
    if without.operations > 0 {
        let severity = if without.share >= 0.01 { Severity::Warning } else { Severity::Note };
        let names: Vec<&str> = without.listed.iter().take(NAMES).map(|(name, _)| trace.name(*name)).collect();
        let evidence = Evidence::new().with("events", without.operations).with("names", names);
        found.add(Code::NoSource, severity, without.share, evidence);
    }
}

fn kernel_types(trace: &TcPrepared, found: &mut Findings) {
    let mut without = Touched::default();
    for process in &trace.processes {
        without.add(trace, process, |at| trace.operation(at).lacks_kernel_type, |at| trace.operation(at).source);
    }
    if without.operations > 0 && without.share >= 0.001 {
        let sources: Map<_, _> =
            without.listed.iter().map(|(source, count)| (trace.name(*source).to_owned(), (*count).into())).collect();
        let evidence = Evidence::new().with("events", without.operations).with("sources", sources);
        found.warning(Code::NoKernelType, without.share, evidence);
    }
}

fn composites(trace: &TcPrepared, found: &mut Findings) {
    let (mut events, mut worst, mut largest) = (0_u64, 0, 0.0_f64);
    for process in &trace.processes {
        let mut off = 0;
        for at in &process.operations {
            let operation = trace.operation(*at);
            let difference = match operation.parts {
                Parts::None => continue,
                Parts::Unreadable => 0,
                Parts::Sum { picoseconds, count } => {
                    // A whole microsecond of the whole, two decimals of each part.
                    let rounding = 550_000 + 10_000 * Picoseconds::from(count);
                    let difference = (operation.duration - Picoseconds::from(picoseconds)).abs();
                    if difference <= rounding {
                        continue;
                    }
                    difference
                }
            };
            events += 1;
            off += difference;
            worst = worst.max(difference);
        }
        largest = largest.max(share(off, process.time));
    }
    if events > 0 {
        let evidence = Evidence::new().with("events", events).time("worst_us", worst);
        found.warning(Code::CompositeSum, largest, evidence);
    }
}

fn layers(trace: &TcPrepared, found: &mut Findings) {
    let odd: Vec<_> = trace.processes.iter().filter_map(|process| odd_layers(trace, process)).collect();
    let Some(first) = odd.first() else { return };
    let layers: usize = odd.iter().map(|odd| odd.layers).sum();
    let of: usize = odd.iter().map(|odd| odd.attentions).sum();
    let largest = odd.iter().map(|odd| odd.layers as f64 / (odd.attentions - 1) as f64).fold(0.0, f64::max);
    let evidence = Evidence::new().with("layers", layers).with("of_layers", of).with("first_layer", first.first);
    found.warning(Code::LayerCounts, largest, evidence);
}

fn times(trace: &TcPrepared, found: &mut Findings) {
    let (mut backwards, mut fall) = (0_u64, 0);
    let (mut pairs, mut largest) = (0_u64, 0.0_f64);
    for process in &trace.processes {
        let mut order = process.operations.clone();
        order.sort_by_key(|at| trace.operation(*at).thread);
        let mut overlap = 0;
        for thread in order.chunk_by(|a, b| trace.operation(*a).thread == trace.operation(*b).thread) {
            let mut fell = 0;
            for pair in thread.windows(2) {
                let (one, next) = (trace.operation(pair[0]), trace.operation(pair[1]));
                if one.start - next.start > MICROSECOND {
                    fell += 1;
                    fall = fall.max(one.start - next.start);
                }
            }
            backwards += fell;
            if fell == 0 {
                let (found, time) = overlaps(trace, thread);
                pairs += found;
                overlap += time;
            }
        }
        largest = largest.max(share(overlap, process.time));
    }
    if backwards > 0 {
        let evidence = Evidence::new().with("events", backwards).time("worst_us", fall);
        found.error(Code::TimeBackwards, None, evidence);
    }
    if pairs > 0 {
        found.warning(Code::OverlapImpossible, largest, Evidence::new().with("pairs", pairs));
    }
}

/// Operations of a thread that start before an earlier one ends, and for how long.
fn overlaps(trace: &TcPrepared, thread: &[u32]) -> (u64, Picoseconds) {
    let mut order: Vec<u32> = thread.iter().copied().filter(|at| trace.operation(*at).duration > 0).collect();
    order.sort_by_key(|at| trace.operation(*at).start);
    let (mut pairs, mut time, mut end) = (0, 0, Picoseconds::MIN);
    for at in order {
        let operation = trace.operation(at);
        if end > operation.start + 2 * MICROSECOND {
            pairs += 1;
            time += end.min(operation.start + operation.duration) - operation.start;
        }
        end = end.max(operation.start + operation.duration);
    }
    (pairs, time)
}

fn copies(trace: &TcPrepared, found: &mut Findings) {
    let (mut events, mut largest) = (0_u64, 0.0_f64);
    for process in &trace.processes {
        let mut seen: FxHashMap<_, ()> = FxHashMap::default();
        let mut time = 0;
        for at in &process.operations {
            let operation = trace.operation(*at);
            let key = (operation.start, operation.duration, operation.name, operation.thread);
            if operation.duration > MICROSECOND && seen.insert(key, ()).is_some() {
                events += 1;
                time += operation.duration;
            }
        }
        largest = largest.max(share(time, process.time));
    }
    if events > 0 {
        let evidence = Evidence::new().with("events", events);
        found.add_unmended(Code::DuplicateEvents, Severity::Error, largest, evidence);
    }
}

fn processes(trace: &TcPrepared, found: &mut Findings) {
    let Some((first, others)) = trace.processes.split_first() else { return };
    let name = |at: &u32| trace.operation(*at).name;
    let differing: usize = others
        .iter()
        .map(|other| {
            let pairs = first.operations.iter().zip(&other.operations);
            pairs.filter(|(one, other)| name(one) != name(other)).count()
                + first.operations.len().abs_diff(other.operations.len())
        })
        .sum();
    if differing > 0 {
        found.warning(Code::ProcessMismatch, None, Evidence::new().with("events", differing));
    }
}
