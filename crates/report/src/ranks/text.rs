//! The report for people: who is late, where, and what it costs.

use std::fmt::Write as _;

use perfdb_ranks::{RankResult, Ranks, Straggler};

use super::Sides;
use crate::layout::cut;
use crate::tracediff::counted;

/// A figure of a rank and its name.
type Figure = (&'static str, fn(&RankResult) -> f64);

/// Steps that are shown.
const STEPS: usize = 5;
/// Ranks that are shown.
const RANKS: usize = 16;

/// The report.
pub fn text(sides: &Sides, show_all: bool) -> String {
    let mut out = String::new();
    match sides {
        Sides::One(ranks) => side(&mut out, ranks, show_all),
        Sides::Two(both) => {
            comparison(&mut out, both);
            for (number, ranks) in (1..).zip(both.iter()) {
                let _ = writeln!(out, "\nSIDE {number}\n{}", "=".repeat(120));
                side(&mut out, ranks, show_all);
            }
        }
    }
    out
}

// Writing to a String cannot fail: results of `write!` are dropped throughout.
fn side(out: &mut String, ranks: &Ranks, show_all: bool) {
    headline(out, ranks);
    rank_table(out, ranks, show_all);
    collectives(out, ranks);
    steps(out, ranks, show_all);
}

fn per(ranks: &Ranks) -> &'static str {
    if ranks.per == "step" { " per step" } else { " in all" }
}

fn headline(out: &mut String, ranks: &Ranks) {
    match &ranks.straggler {
        Some(found) => straggler(out, ranks, found),
        None => {
            let _ = writeln!(out, "no rank is late by 1 % of the time{}", per(ranks));
        }
    }
    let unlike = ranks.ranks.iter().filter(|rank| !rank.outlier.is_empty());
    let unlike: Vec<String> = unlike.map(|rank| format!("{} ({})", rank.rank, rank.outlier.join(", "))).collect();
    if !unlike.is_empty() {
        let _ = writeln!(out, "unlike the other ranks: {}", unlike.join("; "));
    }
    let _ = write!(
        out,
        "{}, {}, {}",
        counted(ranks.ranks.len() as u64, "rank", "ranks"),
        counted(ranks.matched_collectives, "collective", "collectives"),
        if ranks.per == "step" { counted(ranks.steps, "step", "steps") } else { "steps not known".to_owned() }
    );
    if ranks.unmatched_calls > 0 {
        let _ = write!(out, "; {} in one trace alone", counted(ranks.unmatched_calls, "collective", "collectives"));
    }
    out.push('\n');
    let there = ranks.ranks.len() as u64;
    if let Some(all) = ranks.world_size.map(u64::from).filter(|all| *all > there) {
        let _ = writeln!(out, "traces of {there} of {all} ranks: waiting for the others counts as transfer");
    }
}

fn straggler(out: &mut String, ranks: &Ranks, found: &Straggler) {
    let share = found.share.map_or_else(String::new, |share| {
        let of = if ranks.per == "step" { "a step" } else { "the whole" };
        format!(" ({:.1} % of {of}, {:.3} ms)", 100.0 * share, ranks.elapsed_ms)
    });
    let _ = writeln!(
        out,
        "rank {} is late: {:.3} ms{}{share}; it comes last to {:.0} % of its collectives",
        found.rank,
        found.late_ms,
        per(ranks),
        100.0 * found.last_share
    );
    let _ = writeln!(
        out,
        "  cost: all others wait {:.3} ms{} for it alone; that is what mending it can save",
        found.held_up_ms,
        per(ranks)
    );
    let longer: Vec<String> =
        found.longer_ms.iter().take(3).map(|(what, more_ms)| format!("{what} {more_ms:+.3} ms")).collect();
    if !longer.is_empty() {
        let _ = writeln!(out, "  why: longer than the median of the others by {}", longer.join(", "));
    }
    for (word, place) in std::iter::once("where:").chain(std::iter::repeat("      ")).zip(&found.places) {
        let before = if place.before.is_empty() { "nothing" } else { &place.before };
        let _ = writeln!(
            out,
            "  {word} {:.3} ms before {} {}{}, behind {}",
            place.late_ms,
            place.kind,
            place.number,
            if ranks.per == "step" { " of the step" } else { "" },
            cut(before, 60)
        );
    }
    beginning(out, ranks, found);
}

/// A remark where the traces may only have begun at different times.
fn beginning(out: &mut String, ranks: &Ranks, found: &Straggler) {
    if 2.0 * found.first_ms > found.late_ms {
        let _ = writeln!(
            out,
            "  note: {:.3} ms{} of it at the first collective of the traces; profilers that begin at different times look so too",
            found.first_ms,
            per(ranks)
        );
    }
}

fn rank_table(out: &mut String, ranks: &Ranks, show_all: bool) {
    let _ = writeln!(
        out,
        "\nRANKS, ms{}\n{:>4}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>11}{:>8}{:>14}",
        per(ranks),
        "rank",
        "elapsed",
        "busy",
        "compute",
        "exposed",
        "host late",
        "idle",
        "waiting",
        "transfer",
        "late",
        "last %",
        "clock us"
    );
    let mut rows: Vec<&RankResult> = ranks.ranks.iter().collect();
    let shown = if show_all { rows.len() } else { RANKS };
    if rows.len() > shown {
        // Those that matter, in the order of their numbers.
        rows.sort_by(|a, b| b.late_ms.total_cmp(&a.late_ms));
        rows.truncate(shown);
        rows.sort_by_key(|rank| rank.rank);
    }
    for rank in &rows {
        let clock = rank.clock_ahead_us.map_or_else(|| "-".to_owned(), |ahead| format!("{ahead:+.3}"));
        let _ = writeln!(
            out,
            "{:>4}{:>11.3}{:>11.3}{:>11.3}{:>11.3}{:>11.3}{:>11.3}{:>11.3}{:>11.3}{:>+11.3}{:>8.0}{:>14}",
            rank.rank,
            rank.elapsed_ms,
            rank.busy_ms,
            rank.compute_ms,
            rank.exposed_communication_ms,
            rank.host_late_ms,
            rank.device_idle_ms,
            rank.waiting_ms,
            rank.transfer_ms,
            rank.late_ms,
            100.0 * rank.last as f64 / rank.collectives.max(1) as f64,
            clock
        );
    }
    if ranks.ranks.len() > rows.len() {
        let _ = writeln!(out, "(the {} latest of {}; --show-all shows all)", rows.len(), ranks.ranks.len());
    }
}

fn collectives(out: &mut String, ranks: &Ranks) {
    let _ = writeln!(
        out,
        "\nCOLLECTIVES, us of a rank in one\n{:<16}{:<26}{:>6}{:>8}{:>12}{:>12}  latest on average",
        "kind", "group", "ranks", "count", "waiting", "transfer"
    );
    for row in &ranks.collectives {
        let _ = writeln!(
            out,
            "{:<16}{:<26}{:>6}{:>8}{:>12.2}{:>12.2}  rank {}, by {:.2} us; last to {:.0} %",
            cut(&row.kind, 15),
            cut(if row.group.is_empty() { "-" } else { &row.group }, 25),
            row.ranks.len(),
            row.count,
            row.waiting_us,
            row.transfer_us,
            row.latest_rank,
            row.late_us,
            100.0 * row.last_share
        );
    }
}

fn steps(out: &mut String, ranks: &Ranks, show_all: bool) {
    if ranks.per != "step" || ranks.steps_ms.len() < 2 {
        return;
    }
    let _ = writeln!(
        out,
        "\nSTEPS, the latest first, ms\n{:>6}{:>13}{:>11}{:>19}",
        "step", "latest rank", "late", "waiting per rank"
    );
    let mut rows: Vec<_> = ranks.steps_ms.iter().collect();
    rows.sort_by(|a, b| b.late_ms.total_cmp(&a.late_ms));
    for row in rows.iter().take(if show_all { usize::MAX } else { STEPS }) {
        let step = row.step.map_or_else(|| "-".to_owned(), |step| step.to_string());
        let _ = writeln!(out, "{step:>6}{:>13}{:>11.3}{:>19.3}", row.rank, row.late_ms, row.waiting_ms);
    }
}

/// What both sides have per step.
fn comparison(out: &mut String, sides: &[Ranks; 2]) {
    let _ = writeln!(
        out,
        "FROM SIDE 1 TO SIDE 2, ms per {}, mean of the ranks\n{:<26}{:>13}{:>13}{:>13}",
        if sides.iter().all(|side| side.per == "step") { "step" } else { "trace" },
        "",
        "side 1",
        "side 2",
        "difference"
    );
    let mean = |side: &Ranks, time: fn(&RankResult) -> f64| {
        side.ranks.iter().map(time).sum::<f64>() / side.ranks.len().max(1) as f64
    };
    let rows: [Figure; 7] = [
        ("compute", |rank| rank.compute_ms),
        ("exposed communication", |rank| rank.exposed_communication_ms),
        ("host late", |rank| rank.host_late_ms),
        ("device idle", |rank| rank.device_idle_ms),
        ("elapsed", |rank| rank.elapsed_ms),
        ("collectives: waiting", |rank| rank.waiting_ms),
        ("collectives: transfer", |rank| rank.transfer_ms),
    ];
    let mut line = |name: &str, [first, second]: [f64; 2]| {
        let _ = writeln!(out, "{name:<26}{first:>13.3}{second:>13.3}{:>+13.3}", second - first);
    };
    for (name, time) in rows {
        line(name, [mean(&sides[0], time), mean(&sides[1], time)]);
    }
    let held_up = |side: &Ranks| side.straggler.as_ref().map_or(0.0, |straggler| straggler.held_up_ms);
    line("waiting for one rank alone", [held_up(&sides[0]), held_up(&sides[1])]);
}
