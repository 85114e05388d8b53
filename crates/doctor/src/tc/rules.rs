//! The rules for simulator traces. Shares are of the time of a process; of several the largest counts.

use std::collections::TryReserveError;

use perfdb_trace::names::NO_NAME;
use perfdb_trace::time::{MICROSECOND, Picoseconds};
use serde_json::Map;

use super::layers::odd_layers;
use super::operations::{Operations, Parts};
use super::prepared::{Process, TcPrepared, room_for};
use crate::code::Code;
use crate::finding::{Evidence, Findings, share};
use perfdb_files::severity::Severity;

/// Names that are listed.
const NAMES: usize = 5;

/// What the rules find, if there is memory for the orders that they look in.
pub(super) fn check_all(trace: &TcPrepared, found: &mut Findings) -> Result<(), TryReserveError> {
    events(trace, found);
    sources(trace, found);
    kernel_types(trace, found);
    composites(trace, found);
    layers(trace, found);
    times(trace, found)?;
    copies(trace, found)?;
    processes(trace, found);
    Ok(())
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
        for at in trace.of(process).iter().copied().filter(|at| is(*at)) {
            self.operations += 1;
            time += trace.operations().duration(at);
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
        let lacks = |at: u32| trace.operations().origin(at).source == NO_NAME;
        // An analytic process has none at all.
        if !trace.of(process).iter().all(|at| lacks(*at)) {
            without.add(trace, process, lacks, |at| trace.operations().name(at));
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
        let origin = |at| trace.operations().origin(at);
        without.add(trace, process, |at| origin(at).lacks_kernel_type, |at| origin(at).source);
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
        for at in trace.of(process) {
            let operation = trace.operations().get(*at);
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

fn times(trace: &TcPrepared, found: &mut Findings) -> Result<(), TryReserveError> {
    let (mut backwards, mut fall) = (0_u64, 0);
    let (mut pairs, mut largest) = (0_u64, 0.0_f64);
    let operations = trace.operations();
    let thread_of = |at: u32| operations.origin(at).thread;
    for process in &trace.processes {
        let mut order = room_for(trace.of(process).len())?;
        order.extend_from_slice(trace.of(process));
        order.sort_unstable_by_key(|at| (thread_of(*at), *at));
        let mut overlap = 0;
        for thread in order.chunk_by_mut(|a, b| thread_of(*a) == thread_of(*b)) {
            let mut fell = 0;
            for pair in thread.windows(2) {
                let back = operations.start(pair[0]) - operations.start(pair[1]);
                if back > MICROSECOND {
                    fell += 1;
                    fall = fall.max(back);
                }
            }
            backwards += fell;
            if fell == 0 {
                let (found, time) = overlaps(operations, thread);
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
    Ok(())
}

/// Operations of a thread that start before an earlier one ends, and for how long. Brings the thread into the order of starts.
fn overlaps(operations: &Operations, thread: &mut [u32]) -> (u64, Picoseconds) {
    thread.sort_unstable_by_key(|at| (operations.start(*at), *at));
    let (mut pairs, mut time, mut end) = (0, 0, Picoseconds::MIN);
    for at in &*thread {
        let (start, duration) = (operations.start(*at), operations.duration(*at));
        if duration == 0 {
            continue;
        }
        if end > start + 2 * MICROSECOND {
            pairs += 1;
            time += end.min(start + duration) - start;
        }
        end = end.max(start + duration);
    }
    (pairs, time)
}

fn copies(trace: &TcPrepared, found: &mut Findings) -> Result<(), TryReserveError> {
    let (mut events, mut largest) = (0_u64, 0.0_f64);
    let operations = trace.operations();
    let is_long = |at: &&u32| operations.duration(**at) > MICROSECOND;
    let key =
        |at: u32| (operations.start(at), operations.duration(at), operations.name(at), operations.origin(at).thread);
    for process in &trace.processes {
        let mut order = room_for(trace.of(process).iter().filter(is_long).count())?;
        order.extend(trace.of(process).iter().filter(is_long));
        // Equal ones stand side by side then, and a hash table of the keys would be larger than the trace.
        order.sort_unstable_by_key(|at| key(*at));
        let mut time = 0;
        for pair in order.windows(2).filter(|pair| key(pair[0]) == key(pair[1])) {
            events += 1;
            time += operations.duration(pair[1]);
        }
        largest = largest.max(share(time, process.time));
    }
    if events > 0 {
        let evidence = Evidence::new().with("events", events);
        found.add_unmended(Code::DuplicateEvents, Severity::Error, largest, evidence);
    }
    Ok(())
}

fn processes(trace: &TcPrepared, found: &mut Findings) {
    let Some((first, others)) = trace.processes.split_first() else { return };
    let name = |at: &u32| trace.operations().name(*at);
    let first = trace.of(first);
    let differing: usize = others
        .iter()
        .map(|other| trace.of(other))
        .map(|other| {
            let pairs = first.iter().zip(other);
            pairs.filter(|(one, other)| name(one) != name(other)).count() + first.len().abs_diff(other.len())
        })
        .sum();
    if differing > 0 {
        found.warning(Code::ProcessMismatch, None, Evidence::new().with("events", differing));
    }
}
