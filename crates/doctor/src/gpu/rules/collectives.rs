//! Collectives that stand there twice, and those that wait instead of work.

use std::collections::BTreeMap;

use perfdb_trace::id::Id;
use perfdb_trace::names::NO_NAME;
use perfdb_trace::time::{MICROSECOND, Picoseconds};
use serde_json::json;

use crate::code::Code;
use crate::finding::{Evidence, Findings, microseconds};
use crate::gpu::Prepared;
use crate::gpu::collect::STEPS as ANNOTATIONS;
use crate::gpu::columns::Step;
use crate::order::{median, percentile};
use crate::report::Marks;

/// Calls of one size from which a usual time is taken.
const CALLS: usize = 4;
/// Calls before one, and behind it, among which it is compared where no sizes are known.
const AROUND: usize = 8;
/// Steps from which on calls of one place are compared.
const STEPS: usize = 3;

pub(super) fn check(trace: &Prepared, found: &mut Findings, marks: &mut Marks) {
    let mut collectives: Vec<((u32, u32, Id), Picoseconds, u32)> = Vec::new();
    for (at, row) in trace.kernel_rows() {
        if trace.facts(row.name).collective {
            collectives.push(((row.device, row.name, trace.elements(at)), row.start, at));
        }
    }
    if collectives.is_empty() {
        return;
    }
    collectives.sort_unstable();
    doubled(trace, &collectives, found, marks);
    waiting(trace, &collectives, found);
    skewed_start(trace, &collectives, found);
}

type Collectives = [((u32, u32, Id), Picoseconds, u32)];

fn doubled(trace: &Prepared, collectives: &Collectives, found: &mut Findings, marks: &mut Marks) {
    let near = |a: Picoseconds, b: Picoseconds| (a - b).abs() <= MICROSECOND;
    let (mut doubled, mut time) = (0_u64, 0);
    for pair in collectives.windows(2) {
        let (one, other) = (trace.row(pair[0].2), trace.row(pair[1].2));
        if pair[0].0 == pair[1].0
            && one.stream != other.stream
            && near(one.start, other.start)
            && near(one.time(), other.time())
            && one.time().min(other.time()) > 2 * MICROSECOND
        {
            doubled += 1;
            time += other.time();
            marks.doubled_collectives.push(trace.kernel_number(pair[1].2));
        }
    }
    if doubled > 0 {
        marks.doubled_collectives.sort_unstable();
        let evidence = Evidence::new().with("collectives", doubled).with("of", collectives.len());
        found.warning(Code::DoubleCollective, trace.share(time), evidence);
    }
}

/// Calls are compared with those of the same place in other steps, where steps hold equally many of them; else with those of the
/// same size. Where the trace knows no sizes, with those of the same operator, and those around it: long ones in a row are larger
/// messages, say of a prompt.
fn waiting(trace: &Prepared, collectives: &Collectives, found: &mut Findings) {
    let steps = steps(trace);
    let (mut wait, mut waiting) = (0, 0_u64);
    let mut sizes_known = true;
    let mut longest = (0, 0);
    let operators = Operators::of(trace, collectives);
    for named in collectives.chunk_by(|a, b| (a.0.0, a.0.1) == (b.0.0, b.0.1)) {
        let some_sizes = named.iter().any(|(key, ..)| key.2.is_there());
        for calls in named.chunk_by(|a, b| a.0 == b.0) {
            let has_size = calls[0].0.2.is_there();
            // Calls of no size beside others: those that the profiler did not see launched.
            if some_sizes && !has_size {
                continue;
            }
            let (alike, fewest, knows) = match by_place(trace, calls, &steps) {
                Some(places) => (places, STEPS, true),
                None if has_size => (vec![calls.iter().map(|(.., at)| *at).collect()], CALLS, true),
                None => (operators.apart(trace, calls), CALLS, false),
            };
            for (calls, usual) in alike.iter().filter_map(|calls| Some((calls, usual(trace, calls, fewest)?))) {
                for (place, at) in calls.iter().enumerate() {
                    let duration = trace.row(*at).time();
                    let is_alone = || knows || duration > 10 * usual_around(trace, calls, place);
                    if duration > 10 * usual && is_alone() {
                        wait += duration - 3 * usual;
                        waiting += 1;
                        sizes_known &= knows;
                        longest = longest.max((duration, trace.row(*at).name));
                    }
                }
            }
        }
    }
    let share = trace.share(wait);
    if waiting > 0 && share >= 0.05 {
        let evidence = Evidence::new()
            .time("wait_us", wait)
            .with("collectives", waiting)
            .with("sizes_known", sizes_known)
            .with("longest", json!({"name": trace.name(longest.1), "us": microseconds(longest.0)}));
        found.warning(Code::WaitingCollectives, share, evidence);
    }
}

/// How long the calls right before or right behind one take, by those that take longer.
fn usual_around(trace: &Prepared, calls: &[u32], place: usize) -> Picoseconds {
    let around = [&calls[place.saturating_sub(AROUND)..place], &calls[place + 1..calls.len().min(place + 1 + AROUND)]];
    let usual = |calls: &&[u32]| {
        let mut durations: Vec<Picoseconds> = calls.iter().map(|at| trace.row(*at).time()).collect();
        percentile(&mut durations, 25)
    };
    around.iter().filter_map(usual).max().unwrap_or(0)
}

/// The operators that asked for collectives, by External id.
struct Operators(BTreeMap<Id, u32>);

impl Operators {
    fn of(trace: &Prepared, collectives: &Collectives) -> Operators {
        // Where sizes are known nobody asks.
        let unsized_ones = collectives.iter().filter(|(key, ..)| !key.2.is_there());
        let externals = unsized_ones.map(|(.., at)| trace.row(*at).external);
        let mut found: BTreeMap<Id, u32> = externals.filter(|id| id.is_there()).map(|id| (id, NO_NAME)).collect();
        if !found.is_empty() {
            for operator in trace.columns.operators.iter() {
                if let Some(name) = found.get_mut(&operator.id) {
                    *name = operator.name;
                }
            }
        }
        Operators(found)
    }

    /// Calls of each operator for themselves, in the order of time.
    fn apart(&self, trace: &Prepared, calls: &Collectives) -> Vec<Vec<u32>> {
        let mut apart: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (.., at) in calls {
            let external = trace.row(*at).external;
            apart.entry(self.0.get(&external).copied().unwrap_or(NO_NAME)).or_default().push(*at);
        }
        apart.into_values().collect()
    }
}

/// How long calls that are alike usually take, if there are enough of them.
fn usual(trace: &Prepared, calls: &[u32], fewest: usize) -> Option<Picoseconds> {
    let mut durations: Vec<Picoseconds> = calls.iter().map(|at| trace.row(*at).time()).collect();
    // Few calls of one place: the fastest waited least.
    let usual = if calls.len() < CALLS { durations.iter().min().copied() } else { percentile(&mut durations, 25) }?;
    (calls.len() >= fewest && usual >= MICROSECOND).then_some(usual)
}

/// Start and end of each step of the profiler, by start.
fn steps(trace: &Prepared) -> Vec<(Picoseconds, Picoseconds)> {
    let is_step = |step: &&Step| trace.name(step.name).starts_with(ANNOTATIONS[0]);
    let mut steps: Vec<_> = trace.columns.steps.iter().filter(is_step).map(|step| (step.start, step.end)).collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// The calls of each place in a step; nothing where steps hold different numbers of them.
fn by_place(
    trace: &Prepared,
    calls: &[((u32, u32, Id), Picoseconds, u32)],
    steps: &[(Picoseconds, Picoseconds)],
) -> Option<Vec<Vec<u32>>> {
    let step_of = |at: u32| {
        let time = trace.launch(at)?.start;
        let step = steps.partition_point(|(start, _)| *start <= time).checked_sub(1)?;
        (time <= steps[step].1).then_some(step)
    };
    let mut of_steps: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (.., at) in calls {
        if let Some(step) = step_of(*at) {
            of_steps.entry(step).or_default().push(*at);
        }
    }
    let count = of_steps.values().next()?.len();
    let is_even = of_steps.len() >= STEPS && of_steps.values().all(|calls| calls.len() == count);
    is_even.then(|| (0..count).map(|place| of_steps.values().map(|calls| calls[place]).collect()).collect())
}

/// A collective among the first hundredth of the kernels that takes a twentieth of the kernel time and ten times as long as
/// similar ones do.
fn skewed_start(trace: &Prepared, collectives: &Collectives, found: &mut Findings) {
    if collectives.is_empty() {
        return;
    }
    let mut order = trace.kernels.clone();
    order.sort_unstable_by_key(|at| (trace.row(*at).start, *at));
    for at in order.iter().take(trace.kernels.len().div_ceil(100)) {
        let row = trace.row(*at);
        if !trace.facts(row.name).collective || 20 * row.time() <= trace.kernel_time {
            continue;
        }
        let same = collectives.iter().filter(|((_, name, _), _, _)| *name == row.name);
        let typical = median(&mut same.map(|(_, _, at)| trace.row(*at).time()).collect::<Vec<_>>());
        let typical = typical.unwrap_or(0);
        if row.time() > 10 * typical {
            let evidence =
                Evidence::new().with("name", trace.name(row.name)).time("us", row.time()).time("typical_us", typical);
            found.warning(Code::SkewedStart, trace.share(row.time()), evidence);
            return;
        }
    }
}
