//! Steps of one kind, and the sentence about them.

use super::result::OneTrace;

/// Steps that are alike: of one phase, or of similar length.
#[derive(Debug, Clone, PartialEq)]
pub struct KindOfStep {
    /// Phase, where it is known.
    pub phase: Option<&'static str>,
    /// Rows of `steps`.
    pub rows: Vec<usize>,
    /// The middle one of their lengths.
    pub median_ms: f64,
    /// Sum of their lengths.
    pub total_ms: f64,
}

/// Letters of the sentence.
const LINE: usize = 120;
/// Kinds that are listed.
const KINDS: usize = 4;
/// A new kind begins where the next step is that much longer.
const MUCH_LONGER: f64 = 1.5;

/// The kinds of steps, most time first; none where the whole trace is looked at.
pub fn kinds(one: &OneTrace) -> Vec<KindOfStep> {
    if one.step_count == 0 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..one.steps.len()).collect();
    let phased = one.steps.iter().any(|step| step.phase.is_some());
    let length = |row: &usize| one.steps[*row].elapsed_ms;
    order.sort_by(|a, b| length(a).total_cmp(&length(b)));
    if phased {
        order.sort_by_key(|row| one.steps[*row].phase);
    }
    let alike = |a: &usize, b: &usize| {
        if phased { one.steps[*a].phase == one.steps[*b].phase } else { length(b) <= MUCH_LONGER * length(a) }
    };
    let kind = |rows: &[usize]| {
        let middle = (length(&rows[rows.len() / 2]) + length(&rows[(rows.len() - 1) / 2])) / 2.0;
        let mut sorted = rows.to_vec();
        sorted.sort_unstable();
        KindOfStep {
            phase: one.steps[rows[0]].phase,
            median_ms: middle,
            total_ms: rows.iter().map(length).sum(),
            rows: sorted,
        }
    };
    let mut found: Vec<KindOfStep> = order.chunk_by(alike).map(kind).collect();
    found.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    found
}

/// How many steps there are of each kind and how long they take, at most four kinds.
pub fn listed(kinds: &[KindOfStep]) -> String {
    let name = |kind: &KindOfStep| kind.phase.map_or_else(String::new, |phase| format!(" {phase}"));
    let one = |kind: &KindOfStep| format!("{}{} of {:.3} ms", kind.rows.len(), name(kind), kind.median_ms);
    kinds.iter().take(KINDS).map(one).collect::<Vec<_>>().join(", ")
}

/// All of it in one sentence. Steps of several kinds have no length in common: each kind has its own.
pub(super) fn verdict(one: &OneTrace) -> String {
    let count = one.steps.len();
    let time = match (one.step_count, kinds(one).as_slice()) {
        (0, _) => format!("{:.3} ms of the whole trace on the device", one.per_step_ms),
        (_, [kind]) if count >= 3 => {
            format!("one step takes {:.3} ms on the device (median of {count})", kind.median_ms)
        }
        (_, several @ [first, second, ..]) => {
            let more = if several.len() > 2 { ", …" } else { "" };
            format!("{count} steps on the device, {}{more} (medians)", listed(&[first.clone(), second.clone()]))
        }
        _ => format!("one step takes {:.3} ms on the device", one.per_step_ms),
    };
    let parts = &one.parts_ms;
    let mut named = [
        (parts.compute_ms, "computes"),
        (parts.exposed_communication_ms, "communicates"),
        (parts.exposed_copies_ms, "copies"),
        (parts.host_late_ms, "waits for the host"),
        (parts.device_idle_ms, "idle"),
    ];
    named.sort_by(|a, b| b.0.total_cmp(&a.0));
    let share = |ms: f64| if one.elapsed_ms > 0.0 { 100.0 * ms / one.elapsed_ms } else { 0.0 };
    let shown: Vec<String> = named
        .iter()
        .filter(|(ms, _)| share(*ms) >= 1.0)
        .map(|(ms, text)| format!("{:.1} % {text}", share(*ms)))
        .collect();
    let most = one.classes.iter().max_by(|a, b| a.own_ms.total_cmp(&b.own_ms));
    let most = most.map_or_else(String::new, |row| format!("; most: {} {:.0} %", row.class, share(row.own_ms)));
    let doubt = if one.times_not_trusted.is_empty() { "" } else { "not trusted: " };
    // The smallest parts are left out where the line gets too long.
    let line = |parts: &[String]| format!("{doubt}{time}: {}{most}", parts.join(", "));
    let fits = |count: &usize| line(&shown[..*count]).chars().count() <= LINE;
    let count = (1..=shown.len()).rev().find(fits).unwrap_or(shown.len().min(1));
    line(&shown[..count])
}
