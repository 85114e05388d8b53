//! The annotated steps: whether they are apart, complete, and did anything.

use perfdb_trace::time::Picoseconds;

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use crate::gpu::collect::STEPS;
use crate::gpu::columns::Step;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    let steps = &trace.columns.steps;
    if steps.is_empty() {
        if !trace.kernels.is_empty() {
            found.note(Code::NoSteps, None, Evidence::new());
        }
        return;
    }
    overlapping(trace, steps, found);
    missing(trace, steps, found);
    empty(trace, steps, found);
}

fn kind(trace: &Prepared, step: &Step) -> Option<usize> {
    let name = trace.name(step.name);
    STEPS.iter().position(|kind| name.starts_with(kind))
}

fn overlapping(trace: &Prepared, steps: &[Step], found: &mut Findings) {
    let mut order: Vec<&Step> = steps.iter().collect();
    order.sort_by_key(|step| (kind(trace, step), step.thread, step.start, step.end));
    let (mut pairs, mut worst) = (0_u64, 0);
    for pair in order.windows(2) {
        let (one, next) = (pair[0], pair[1]);
        let same = (kind(trace, one), one.thread) == (kind(trace, next), next.thread);
        if same && one.end > next.start + trace.tolerance && one.end < next.end {
            pairs += 1;
            worst = worst.max(one.end - next.start);
        }
    }
    if pairs > 0 {
        found.warning(Code::StepsOverlap, None, Evidence::new().with("pairs", pairs).time("worst_us", worst));
    }
}

fn missing(trace: &Prepared, steps: &[Step], found: &mut Findings) {
    let number = |step: &Step| trace.name(step.name).strip_prefix(STEPS[0])?.parse::<u64>().ok();
    let mut numbers: Vec<u64> = steps.iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last())
        && last - first + 1 > numbers.len() as u64
    {
        let missing = last - first + 1 - numbers.len() as u64;
        let evidence = Evidence::new().with("missing", missing).with("first", *first).with("last", *last);
        found.warning(Code::StepMissing, None, evidence);
    }
}

fn empty(trace: &Prepared, steps: &[Step], found: &mut Findings) {
    let mut starts: Vec<Picoseconds> = steps.iter().map(|step| step.start).collect();
    starts.sort_unstable();
    // From each start on, the first launch.
    let mut first = vec![Picoseconds::MAX; starts.len()];
    let mut any = false;
    for launch in (0..trace.rows().len() as u32).filter_map(|at| trace.launch(at)) {
        any = true;
        if let Some(last) = starts.partition_point(|start| *start <= launch.start).checked_sub(1) {
            first[last] = launch.start.min(first[last]);
        }
    }
    if !any {
        return;
    }
    for at in (1..first.len()).rev() {
        first[at - 1] = first[at - 1].min(first[at]);
    }
    let launched = |step: &Step| {
        let at = starts.partition_point(|start| *start < step.start);
        first.get(at).is_some_and(|launch| *launch <= step.end)
    };
    let empty = steps.iter().filter(|step| !launched(step)).count();
    if empty > 0 {
        found.note(Code::EmptySteps, None, Evidence::new().with("steps", empty).with("of", steps.len()));
    }
}
