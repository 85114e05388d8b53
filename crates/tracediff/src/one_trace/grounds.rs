//! What advice is based on beside the report.

use perfdb_doctor::Code;

use super::View;
use super::advice::Grounds;
use super::facts::Facts;
use super::shapes::NO_OPERATOR;
use crate::elapsed::ColdStart;
use crate::elapsed::timeline::late_after;
use crate::late_host::LateHost;
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;

pub(super) fn of(trace: &Trace, facts: &Facts, view: &View<'_>, small_part_of_roof: Option<f64>) -> Grounds {
    let late = late_after(trace, view.chosen.iter().map(|number| &view.timeline.windows[*number]));
    let late_cause = late_cause(trace, view, late.first().copied());
    let without = |at: usize| facts.shaped.of_kernels.get(at).is_none_or(|call| *call == NO_OPERATOR);
    let replayed = trace
        .kernels
        .iter()
        .enumerate()
        .filter(|(at, _)| trace.replayed.get(*at) == Some(&true) && without(*at) && view.of_kernel(*at).is_some());
    let replayed: Picoseconds = replayed.map(|(_, kernel)| kernel.duration).sum();
    Grounds {
        late_cause,
        late_after: late.into_iter().take(3).map(|(name, time)| (name.to_owned(), milliseconds(time))).collect(),
        replayed_ms: milliseconds(replayed),
        waiting_ms: waiting_ms(trace, view),
        has_operators: facts.has_operators,
        small_part_of_roof,
    }
}

/// What makes the host late, most of all behind the kernel `after`; calls that set something up are known of the whole file alone.
fn late_cause(trace: &Trace, view: &View<'_>, after: Option<(&str, Picoseconds)>) -> Option<String> {
    let windows = || view.chosen.iter().map(|number| &view.timeline.windows[*number]);
    let steps = (view.step_count().max(1) * view.devices()) as f64;
    let cold = ColdStart::of(trace).filter(|_| view.is_all());
    let in_view = || (0..trace.kernels.len()).filter(|at| view.of_kernel(*at).is_some());
    let is_replayed = |at: &usize| trace.replayed.get(*at) == Some(&true);
    let replays_graphs =
        trace.replayed.contains(&true) && 2 * in_view().filter(is_replayed).count() > in_view().count();
    let late = LateHost {
        late_ms: milliseconds(windows().map(|window| window.parts.host_late).sum()) / steps,
        cold_start: cold.as_ref().map(|cold| (cold, cold.stall_ms / steps)),
        between_ms: milliseconds(windows().map(|window| window.late_behind).sum()) / steps,
        between: "steps",
        replays_graphs,
        after: after.map(|(name, time)| (name, milliseconds(time) / steps)),
    };
    late.cause()
}

/// Time that collectives wait for other devices, where all steps are looked at: the trace check knows it of the whole file alone.
fn waiting_ms(trace: &Trace, view: &View<'_>) -> f64 {
    let finding = trace.report.as_ref().and_then(|report| report.finding(Code::WaitingCollectives));
    let wait = finding.filter(|_| view.is_all()).and_then(|finding| finding.evidence.as_map().get("wait_us"));
    wait.and_then(serde_json::Value::as_f64).unwrap_or(0.0) / 1e3
}
