//! From the time of trace 1 to that of trace 2, in parts and families of operations.

use std::collections::BTreeMap;

use serde::Serialize;

use perfdb_model::statistics::half_width;

use super::compared::Compared;
use super::headline::Headline;
use super::timeline::Window;
use crate::steps::Basis;
use crate::time::{Picoseconds, milliseconds};

/// Share of the smaller time per pass below which a difference is none.
pub(super) const THRESHOLD: f64 = 0.01;

/// Share of reports on two equal measurements in which any row may matter.
const FALSE_ALARMS: f64 = 0.003;

/// What rows have to be beyond.
struct RowLimits<'a> {
    /// Times per pass of both traces.
    whole: [f64; 2],
    threshold_ms: f64,
    level: f64,
    headline: &'a Headline,
}

/// Names of the rows that are parts of time.
pub(super) const COMMUNICATION: &str = "exposed communication";
pub(super) const COPIES: &str = "exposed copies";
pub(super) const HOST_LATE: &str = "host late";
pub(super) const IDLE: &str = "device idle";
const COMPUTE: &str = "compute";

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
    /// Half the width of the interval of the difference, all of whose rows hold together in 997 of 1000 reports; nothing where neither passes nor
    /// runs are known to vary.
    pub noise_ms: Option<f64>,
    /// Whether the difference is at least the threshold and more than the noise, which has to be known.
    pub matters: bool,
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

/// Times of one row: by side, then by pass.
type Times = [BTreeMap<Option<u32>, Picoseconds>; 2];

/// The rows, and the verdict on them.
pub(super) fn waterfall(
    compared: &[Compared<'_>; 2],
    headline: &Headline,
    threshold_ms: f64,
    names_trusted: bool,
) -> (Vec<WaterfallRow>, String) {
    let mut rows: BTreeMap<(&str, bool), Times> = BTreeMap::new();
    for (side, compared) in compared.iter().enumerate() {
        for window in &compared.windows {
            let mut add = |row: &'static str, time| {
                *rows.entry((row, false)).or_default()[side].entry(window.pass).or_default() += time;
            };
            add(COMMUNICATION, window.parts.exposed_communication);
            add(COPIES, window.parts.exposed_copies);
            add(HOST_LATE, window.parts.host_late);
            add(IDLE, window.parts.device_idle);
            for (family, own) in compared.timeline.families.iter().zip(&window.own) {
                *rows.entry((family, true)).or_default()[side].entry(window.pass).or_default() += own;
            }
        }
    }
    let whole = [0, 1].map(|side| milliseconds(compared[side].parts.total()) / compared[side].per_pass());
    let has_time = |times: &Times| times.iter().flat_map(BTreeMap::values).any(|time| *time != 0);
    let count = rows.values().filter(|times| has_time(times)).count().max(1);
    let limits = RowLimits { whole, threshold_ms, level: FALSE_ALARMS / count as f64, headline };
    let mut found: Vec<WaterfallRow> = rows
        .iter()
        .filter(|(_, times)| has_time(times))
        .map(|((name, is_family), times)| {
            let kind = if *is_family { WaterfallKind::Family } else { WaterfallKind::Part };
            row(name, kind, times, compared, &limits)
        })
        .collect();
    // Names are in order already.
    found.sort_by(|a, b| b.difference_ms.abs().total_cmp(&a.difference_ms.abs()));
    let verdict = if names_trusted {
        verdict(&found, whole, headline)
    } else {
        // Who computed what is not known: all of it is one row.
        let mut parts: Vec<WaterfallRow> =
            found.iter().filter(|row| row.kind == WaterfallKind::Part).cloned().collect();
        let compute = [0, 1].map(|side| {
            let mut times = BTreeMap::new();
            let of = |window: &&Window| (window.pass, window.parts.compute);
            compared[side].windows.iter().map(of).for_each(|(pass, time)| *times.entry(pass).or_default() += time);
            times
        });
        parts.push(row(COMPUTE, WaterfallKind::Family, &compute, compared, &limits));
        parts.sort_by(|a, b| b.difference_ms.abs().total_cmp(&a.difference_ms.abs()));
        verdict(&parts, whole, headline)
    };
    (found, verdict)
}

fn row(
    name: &str,
    kind: WaterfallKind,
    times: &Times,
    compared: &[Compared<'_>; 2],
    limits: &RowLimits<'_>,
) -> WaterfallRow {
    let [trace1_ms, trace2_ms] =
        [0, 1].map(|side| milliseconds(times[side].values().sum()) / compared[side].per_pass());
    let difference_ms = trace2_ms - trace1_ms;
    // A kernel runs longer or shorter by what runs vary by; the host that is late may be so by that part of all.
    let mean = match kind {
        WaterfallKind::Family => (trace1_ms + trace2_ms) / 2.0,
        WaterfallKind::Part => (limits.whole[0] + limits.whole[1]) / 2.0,
    };
    let runs = limits.headline.runs.as_difference().half_width(limits.level).exp_m1() * mean;
    let of_many_passes = if limits.headline.runs.is_given() { runs } else { 0.0 };
    let noise_ms = half_width(values(times, compared), limits.level, [runs, of_many_passes]);
    let whole1 = limits.whole[0];
    WaterfallRow {
        row: name.to_owned(),
        kind,
        trace1_ms,
        trace2_ms,
        difference_ms,
        share: (whole1 > 0.0).then(|| difference_ms / whole1),
        noise_ms,
        matters: difference_ms != 0.0
            && difference_ms.abs() >= limits.threshold_ms
            && noise_ms.is_some_and(|noise| difference_ms.abs() > noise),
    }
}

/// The times of a row, with a value for every pass that is compared.
fn values(times: &Times, compared: &[Compared<'_>; 2]) -> [Vec<f64>; 2] {
    [0, 1].map(|side| {
        if compared[side].basis == Basis::Whole {
            return vec![milliseconds(times[side].values().sum()) / compared[side].per_pass()];
        }
        let mut passes: BTreeMap<Option<u32>, Picoseconds> =
            compared[side].windows.iter().map(|window| (window.pass, 0)).collect();
        passes.extend(&times[side]);
        passes.values().map(|time| milliseconds(*time) / compared[side].devices as f64).collect()
    })
}

/// The largest rows until four fifths of all differences are named, three at most.
fn verdict(rows: &[WaterfallRow], means: [f64; 2], headline: &Headline) -> String {
    // A pass that is held up moves the mean, not the middle one.
    let [first, second] = headline.medians.unwrap_or(means);
    let difference = second - first;
    let is_clear = headline.is_clear() && headline.second_is_slower().is_none_or(|slower| slower == (difference > 0.0));
    let figures = headline.figures();
    let per = match headline.basis {
        Basis::Pass => " per forward pass",
        Basis::Step => " per step",
        Basis::Whole => "",
    };
    let all: f64 = rows.iter().map(|row| row.difference_ms.abs()).sum();
    let mut named = 0.0;
    let mut reasons = Vec::new();
    for row in rows.iter().filter(|row| row.matters).take(3) {
        if named >= 0.8 * all {
            break;
        }
        named += row.difference_ms.abs();
        reasons.push(format!("{} {:+.3} ms", row.row, row.difference_ms));
    }
    let percent = 100.0 * difference.abs() / first;
    let mut text = if first <= 0.0 {
        format!("trace 1 has no elapsed time{per}")
    } else if percent < 100.0 * THRESHOLD && is_clear && headline.second_is_slower().is_none() {
        format!("both take the same time{per} within 1 % ({difference:+.3} ms{figures})")
    } else {
        let word = if percent < 0.05 {
            "as much".to_owned()
        } else {
            format!("{percent:.1} % {}", if difference > 0.0 { "more" } else { "less" })
        };
        if is_clear {
            format!("trace 2 takes {word} time{per} ({difference:+.3} ms{figures})")
        } else {
            format!("trace 2: {word} time{per} ({difference:+.3} ms{figures}) {}", headline.doubt())
        }
    };
    if !reasons.is_empty() {
        text.push_str(if is_clear { ": " } else { "; beyond the noise: " });
        text.push_str(&reasons.join(", "));
    }
    text
}
