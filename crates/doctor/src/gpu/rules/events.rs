//! Events that cannot be used, and what is odd about all of them.

use crate::code::Code;
use crate::finding::{Evidence, Findings};
use crate::gpu::Prepared;
use perfdb_files::severity::Severity;

/// Names that are listed.
const NAMES: usize = 5;

pub(super) fn check(trace: &Prepared, found: &mut Findings) {
    negative_durations(trace, found);
    bad_events(trace, found);
    nothing_to_compare(trace, found);
    let columns = &trace.columns;
    if columns.text_times > 0 {
        found.warning(Code::TextTimes, None, Evidence::new().with("events", columns.text_times));
    }
    if columns.old_categories > 0 {
        found.note(Code::OldCategories, None, Evidence::new().with("events", columns.old_categories));
    }
    let secrets = &trace.members.secrets;
    if !secrets.is_empty() {
        found.note(Code::Secrets, None, Evidence::new().with("variables", secrets.clone()));
    }
    if trace.integer_clock && !trace.kernels.is_empty() {
        let zero = trace.kernel_rows().filter(|(_, row)| row.duration == 0).count();
        found.note(Code::IntegerClock, None, Evidence::new().with("zero_kernels", zero));
    }
}

fn negative_durations(trace: &Prepared, found: &mut Findings) {
    let negative = trace.columns.negative;
    if negative.events > 0 {
        let share = (negative.kernels > 0).then(|| trace.share_of_kernels(negative.kernels as usize));
        let evidence = Evidence::new()
            .with("events", negative.events)
            .with("kernels", negative.kernels)
            .time("worst_us", negative.worst)
            .with("first_event", negative.first_event);
        found.error(Code::NegativeDuration, share, evidence);
    }
}

fn bad_events(trace: &Prepared, found: &mut Findings) {
    let skipped = trace.columns.skipped_kernels;
    if skipped > 0 {
        let of = trace.kernels.len() as u64 + skipped;
        let mut evidence = Evidence::new().with("kernels", skipped);
        let incomplete = &trace.columns.incomplete_kernels;
        if !incomplete.is_empty() {
            let mut names: Vec<&str> = Vec::new();
            for name in incomplete.iter().map(|name| trace.name(*name)) {
                if names.len() < NAMES && !names.contains(&name) {
                    names.push(name);
                }
            }
            evidence = evidence.with("no_complete_events", incomplete.len()).with("names", names);
        }
        found.add_unmended(Code::BadEvents, Severity::Warning, skipped as f64 / of as f64, evidence);
    }
}

fn nothing_to_compare(trace: &Prepared, found: &mut Findings) {
    if trace.kernels.is_empty() {
        let evidence = Evidence::new().with("events", trace.columns.events).with("reason", why_no_kernels(trace));
        found.error(Code::NoKernels, 1.0, evidence);
    }
}

/// Why a trace has no kernels, from what it does have.
fn why_no_kernels(trace: &Prepared) -> &'static str {
    let columns = &trace.columns;
    if columns.skipped_kernels > 0 {
        return "none of its kernel events can be used";
    }
    if columns.of_other_devices > 0 {
        return "the device is an accelerator whose events (mtia_ccp_events, hpu_op) are not read";
    }
    let launches = columns.calls().any(|call| trace.facts(call.name).call.launch);
    match (columns.row_count() == 0, !columns.has_calls, columns.operators.is_empty()) {
        (false, _, _) => "only copies ran on the device",
        (true, false, _) if launches => {
            "the host launched kernels, but the profiler recorded no activity of the device (ProfilerActivity.CUDA, CUPTI or its permissions)"
        }
        (true, false, _) => "the host called the runtime of the device, but launched nothing while the profiler ran",
        (true, true, false) => {
            "operators ran on the CPU alone, or on a device whose kernels the profiler does not record"
        }
        (true, true, true) => "neither operators nor calls of a device's runtime were recorded",
    }
}
