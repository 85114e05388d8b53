//! From the time of trace 1 to that of trace 2, in parts and families of operations.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Compared;
use crate::steps::Basis;
use crate::time::{Picoseconds, milliseconds};

/// Share of the time of trace 1 below which a difference is none.
pub(crate) const THRESHOLD: f64 = 0.01;

/// One reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WaterfallRow {
    /// Part of time, or family of operations.
    pub row: String,
    /// Which of these.
    pub kind: WaterfallKind,
    /// Time of trace 1 per pass.
    pub trace1_ms: f64,
    /// Time of trace 2 per pass.
    pub trace2_ms: f64,
    /// Trace 2 less trace 1.
    pub difference_ms: f64,
    /// Of the time of trace 1 per pass; nothing where that is 0.
    pub share: Option<f64>,
}

/// What a row of a waterfall is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WaterfallKind {
    /// Part of the elapsed time.
    Part,
    /// Own time of the kernels of a family.
    Family,
}

/// The rows, and the verdict on them.
pub(super) fn waterfall(compared: &[Compared<'_>; 2], basis: Basis) -> (Vec<WaterfallRow>, String) {
    let mut times: BTreeMap<(&str, bool), [Picoseconds; 2]> = BTreeMap::new();
    for (side, compared) in compared.iter().enumerate() {
        let parts = &compared.parts;
        for (name, time) in [
            ("exposed communication", parts.exposed_communication),
            ("exposed copies", parts.exposed_copies),
            ("host late", parts.host_late),
            ("device idle", parts.device_idle),
        ] {
            times.entry((name, false)).or_default()[side] += time;
        }
        for window in &compared.windows {
            for (family, own) in compared.timeline.families.iter().zip(&window.own) {
                times.entry((family, true)).or_default()[side] += own;
            }
        }
    }
    let per_pass = |side: usize, time: Picoseconds| milliseconds(time) / compared[side].per_pass();
    let whole = [0, 1].map(|side| per_pass(side, compared[side].parts.total()));
    let mut rows: Vec<WaterfallRow> = times
        .into_iter()
        .filter(|(_, times)| *times != [0, 0])
        .map(|((row, is_family), times)| {
            let [trace1_ms, trace2_ms] = [0, 1].map(|side| per_pass(side, times[side]));
            let difference_ms = trace2_ms - trace1_ms;
            WaterfallRow {
                row: row.to_owned(),
                kind: if is_family { WaterfallKind::Family } else { WaterfallKind::Part },
                trace1_ms,
                trace2_ms,
                difference_ms,
                share: (whole[0] > 0.0).then(|| difference_ms / whole[0]),
            }
        })
        .collect();
    // Names are in order already.
    rows.sort_by(|a, b| b.difference_ms.abs().total_cmp(&a.difference_ms.abs()));
    let verdict = verdict(&rows, whole, basis);
    (rows, verdict)
}

/// The largest rows until four fifths of all differences are named, three at most.
fn verdict(rows: &[WaterfallRow], [first, second]: [f64; 2], basis: Basis) -> String {
    let difference = second - first;
    let per = match basis {
        Basis::Pass => " per forward pass",
        Basis::Step => " per step",
        Basis::Whole => "",
    };
    let all: f64 = rows.iter().map(|row| row.difference_ms.abs()).sum();
    let mut named = 0.0;
    let mut reasons = Vec::new();
    for row in rows.iter().take(3) {
        if named >= 0.8 * all || row.share.is_some_and(|share| share.abs() < THRESHOLD) {
            break;
        }
        named += row.difference_ms.abs();
        reasons.push(format!("{} {:+.3} ms", row.row, row.difference_ms));
    }
    let percent = 100.0 * difference.abs() / first;
    let mut text = if first <= 0.0 {
        format!("trace 1 has no elapsed time{per}")
    } else if percent < 100.0 * THRESHOLD {
        format!("both take the same time{per} within 1 % ({difference:+.3} ms)")
    } else {
        let word = if difference > 0.0 { "more" } else { "less" };
        format!("trace 2 takes {percent:.1} % {word} time{per} ({difference:+.3} ms)")
    };
    if !reasons.is_empty() {
        text.push_str(": ");
        text.push_str(&reasons.join(", "));
    }
    text
}
