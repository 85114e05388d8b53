//! The report for people: who is late, where, and what it costs.

use std::fmt::Write as _;

use perfdb_tracediff::ranks::{Collective, RankResult, Ranks, Straggler};

use super::Sides;
use crate::layout::{Cell, Column, Layout, Table, Tone};
use crate::tracediff::{counted, escaped};

/// A figure of a rank and its name.
type Figure = (&'static str, fn(&RankResult) -> f64);

/// Steps that are shown.
const STEPS: usize = 5;
/// Ranks that are shown.
const RANKS: usize = 16;

/// Characters of a rule between sides, where a line has no end.
const RULE: usize = 120;

/// The report.
pub fn text(sides: &Sides, show_all: bool, layout: Layout) -> String {
    let mut out = String::new();
    match sides {
        Sides::One(ranks) => side(&mut out, ranks, show_all, layout),
        Sides::Two(both) => {
            escaped(&mut out, layout, |out| {
                let _ = writeln!(out, "{}\n", verdict_of_two(both));
            });
            comparison(&mut out, both, layout);
            for (number, ranks) in (1..).zip(both.iter()) {
                let rule = "=".repeat(layout.columns.unwrap_or(RULE));
                let _ = writeln!(out, "\n{}\n{rule}", layout.heading(&format!("SIDE {number}")));
                side(&mut out, ranks, show_all, layout);
            }
        }
    }
    out
}

// Writing to a String cannot fail: results of `write!` are dropped throughout.
fn side(out: &mut String, ranks: &Ranks, show_all: bool, layout: Layout) {
    escaped(out, layout, |out| headline(out, ranks, layout));
    rank_table(out, ranks, show_all, layout);
    collectives(out, ranks, layout);
    steps(out, ranks, show_all, layout);
}

fn per(ranks: &Ranks) -> &'static str {
    if ranks.per == "step" { " per step" } else { " in all" }
}

/// What the text begins with, line by line, the verdict first.
pub(crate) fn headlines(ranks: &Ranks) -> Vec<String> {
    let mut out = String::new();
    headline(&mut out, ranks, Layout::default());
    out.lines().map(str::to_owned).collect()
}

fn headline(out: &mut String, ranks: &Ranks, layout: Layout) {
    match &ranks.straggler {
        Some(found) => straggler(out, ranks, found, layout),
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

fn straggler(out: &mut String, ranks: &Ranks, found: &Straggler, layout: Layout) {
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
    let saved = if is_of_the_beginning(found) { "" } else { "; a fix of this rank saves at most that" };
    let _ = writeln!(out, "  cost: all others wait {:.3} ms{} for it alone{saved}", found.held_up_ms, per(ranks));
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
            layout.name(before, 60, PLACE)
        );
    }
    beginning(out, ranks, found);
}

/// Characters of a line before the kernel in it, about.
const PLACE: usize = 60;

/// Whether the traces may only have begun at different times.
fn is_of_the_beginning(found: &Straggler) -> bool {
    2.0 * found.first_ms > found.late_ms
}

/// A remark where that may be so.
fn beginning(out: &mut String, ranks: &Ranks, found: &Straggler) {
    if is_of_the_beginning(found) {
        let _ = writeln!(
            out,
            "  note: {:.3} ms{} of it at the first collective of the traces; profilers that begin at different times look so too",
            found.first_ms,
            per(ranks)
        );
    }
}

fn rank_table(out: &mut String, ranks: &Ranks, show_all: bool, layout: Layout) {
    let mut table = Table::new([
        Column::number("rank").at_least(4),
        Column::number("elapsed").at_least(9),
        Column::number("busy").at_least(9).optional(7),
        Column::number("compute").at_least(9).optional(1),
        Column::number("exposed").at_least(9).optional(2),
        Column::number("host late").at_least(9).optional(4),
        Column::number("idle").at_least(9).optional(5),
        Column::number("waiting").at_least(9),
        Column::number("transfer").at_least(9).optional(3),
        Column::number("late").at_least(9),
        Column::number("last %").at_least(6),
        Column::number("clock us").at_least(12).optional(6),
    ]);
    let mut rows: Vec<&RankResult> = ranks.ranks.iter().collect();
    let shown = if show_all { rows.len() } else { RANKS };
    if rows.len() > shown {
        // Those that matter, in the order of their numbers.
        rows.sort_by(|a, b| b.late_ms.total_cmp(&a.late_ms));
        rows.truncate(shown);
        rows.sort_by_key(|rank| rank.rank);
    }
    let straggler = ranks.straggler.as_ref().map(|found| found.rank);
    for rank in &rows {
        let tone = if straggler == Some(rank.rank) { Tone::TooMuch } else { Tone::Plain };
        let times = [
            rank.elapsed_ms,
            rank.busy_ms,
            rank.compute_ms,
            rank.exposed_communication_ms,
            rank.host_late_ms,
            rank.device_idle_ms,
            rank.waiting_ms,
            rank.transfer_ms,
        ];
        let mut cells = vec![Cell::from(rank.rank.to_string()).toned(tone)];
        cells.extend(times.map(|ms| Cell::from(format!("{ms:.3}"))));
        cells.push(Cell::from(format!("{:+.3}", rank.late_ms)).toned(tone));
        cells.push(format!("{:.0}", 100.0 * rank.last as f64 / rank.collectives.max(1) as f64).into());
        cells.push(rank.clock_ahead_us.map_or_else(|| "-".to_owned(), |ahead| format!("{ahead:+.3}")).into());
        table.push(cells);
    }
    let heading = format!("RANKS, ms{}", per(ranks));
    let _ = writeln!(out, "\n{}", layout.heading(&heading));
    out.push_str(&table.text(layout));
    if ranks.ranks.len() > rows.len() {
        let _ = writeln!(out, "(the {} latest of {}; --all shows all)", rows.len(), ranks.ranks.len());
    }
}

fn collectives(out: &mut String, ranks: &Ranks, layout: Layout) {
    let mut table = Table::new([
        Column::name("kind"),
        Column::name("group").optional(3),
        Column::number("ranks").optional(2),
        Column::number("count").at_least(6),
        Column::number("waiting").at_least(10),
        Column::number("transfer").at_least(10),
        Column::sentence("latest on average"),
    ]);
    for row in &ranks.collectives {
        table.push([
            Cell::from(layout.name(&row.kind, 30, 0)),
            layout.name(if row.group.is_empty() { "-" } else { &row.group }, 40, 0).into(),
            row.ranks.len().to_string().into(),
            row.count.to_string().into(),
            format!("{:.2}", row.waiting_us).into(),
            format!("{:.2}", row.transfer_us).into(),
            latest(row).into(),
        ]);
    }
    let _ = writeln!(out, "\n{}", layout.heading("COLLECTIVES, us of a rank in one"));
    out.push_str(&table.text(layout));
}

/// The rank that holds up the others; nobody does where senders leave before anyone could wait for them.
fn latest(row: &Collective) -> String {
    if row.late_us < 0.0 {
        return "-".to_owned();
    }
    format!("rank {}, by {:.2} us; last to {:.0} %", row.latest_rank, row.late_us, 100.0 * row.last_share)
}

fn steps(out: &mut String, ranks: &Ranks, show_all: bool, layout: Layout) {
    if ranks.per != "step" || ranks.steps_ms.len() < 2 {
        return;
    }
    let mut table = Table::new([
        Column::number("step").at_least(5),
        Column::number("latest rank"),
        Column::number("late").at_least(9),
        Column::number("waiting per rank"),
    ]);
    let mut rows: Vec<_> = ranks.steps_ms.iter().collect();
    rows.sort_by(|a, b| b.late_ms.total_cmp(&a.late_ms));
    let shown = if show_all { usize::MAX } else { STEPS };
    for row in rows.iter().take(shown) {
        let late = |text: String| if row.late_ms < 0.0 { "-".to_owned() } else { text };
        table.push([
            Cell::from(row.step.map_or_else(|| "-".to_owned(), |step| step.to_string())),
            late(row.rank.to_string()).into(),
            late(format!("{:.3}", row.late_ms)).into(),
            format!("{:.3}", row.waiting_ms).into(),
        ]);
    }
    let _ = writeln!(out, "\n{}", layout.heading("STEPS, the latest first, ms"));
    out.push_str(&table.text(layout));
    if rows.len() > shown {
        let _ = writeln!(out, "(of {}; --all shows all)", rows.len());
    }
}

/// What both sides have per step, as the mean of their ranks, in ms.
pub(crate) fn compared(sides: &[Ranks; 2]) -> Vec<(&'static str, [f64; 2])> {
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
    let held_up = |side: &Ranks| side.straggler.as_ref().map_or(0.0, |straggler| straggler.held_up_ms);
    let both = |of: &dyn Fn(&Ranks) -> f64| [of(&sides[0]), of(&sides[1])];
    let rows = rows.into_iter().map(|(name, time)| (name, both(&|side: &Ranks| mean(side, time))));
    rows.chain([("waiting for one rank alone", both(&held_up))]).collect()
}

/// `a step takes 9.500 ms on side 2 and 9.100 ms on side 1 (+4.4 %); waiting for one rank alone 0.900 ms, not 0.500 ms`
pub(crate) fn verdict_of_two(sides: &[Ranks; 2]) -> String {
    let rows = compared(sides);
    let of = |wanted: &str| rows.iter().find(|(name, _)| *name == wanted).map_or([0.0; 2], |(_, ms)| *ms);
    let ([first, second], [waited, waits]) = (of("elapsed"), of("waiting for one rank alone"));
    let percent = if first > 0.0 { format!(" ({:+.1} %)", 100.0 * (second / first - 1.0)) } else { String::new() };
    let what = if sides.iter().all(|side| side.per == "step") { "a step" } else { "the whole" };
    format!(
        "{what} takes {second:.3} ms on side 2 and {first:.3} ms on side 1{percent}; waiting for one rank alone: {waits:.3} and {waited:.3} ms"
    )
}

fn comparison(out: &mut String, sides: &[Ranks; 2], layout: Layout) {
    let mut table = Table::new([
        Column::name(""),
        Column::number("side 1").at_least(11),
        Column::number("side 2").at_least(11),
        Column::number("difference").at_least(11),
    ]);
    for (name, [first, second]) in compared(sides) {
        let difference = second - first;
        table.push([
            Cell::from(name),
            format!("{first:.3}").into(),
            format!("{second:.3}").into(),
            Cell::from(format!("{difference:+.3}")).toned(Tone::of_difference(difference)),
        ]);
    }
    let per = if sides.iter().all(|side| side.per == "step") { "step" } else { "trace" };
    let heading = format!("FROM SIDE 1 TO SIDE 2, ms per {per}, mean of the ranks");
    let _ = writeln!(out, "{}", layout.heading(&heading));
    out.push_str(&table.text(layout));
}

#[cfg(test)]
mod tests {
    use perfdb_tracediff::LoadOptions;
    use perfdb_tracediff::ranks::{Rank, report};

    use super::*;

    /// Two ranks with three collectives each, of which the second one is late to the last by 40 us.
    fn ranks() -> Sides {
        let folder = tempfile::tempdir().expect("a folder");
        let rank = |number: u32| {
            let kernel = |name: &str, start: u32, duration: u32, args: &str| {
                format!(
                    r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "ts": {start}, "dur": {duration}, "args": {{{args}}}}}"#
                )
            };
            let late = 40 * number;
            let group = r#""Collective name": "allreduce", "Process Group Name": "tp", "Group size": 2, "In msg nelems": 8, "dtype": "Float""#;
            let kernels = [
                kernel("gemm", 0, 80, ""),
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100, 30, group),
                kernel(
                    "a_kernel_with_a_name_that_is_much_longer_than_any_line_of_a_terminal_can_be",
                    140,
                    40 + late,
                    "",
                ),
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 200 + late, 70 - late, group),
                kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 300, 30, group),
            ];
            let text = format!(
                r#"{{"distributedInfo": {{"rank": {number}, "world_size": 2}}, "traceEvents": [{}]}}"#,
                kernels.join(",")
            );
            let path = folder.path().join(format!("rank{number}.json"));
            std::fs::write(&path, text).expect("a file");
            Rank::open(&path, number, &LoadOptions::default()).expect("a rank")
        };
        Sides::One(Box::new(report(vec![rank(0), rank(1)]).expect("ranks of one run")))
    }

    #[test]
    fn lines_fit_the_terminal_and_files_have_all() {
        let found = ranks();
        for columns in [80, 100, 140] {
            let layout = Layout { columns: Some(columns), ..Layout::default() };
            let shown = text(&found, false, layout);
            let longest = shown.lines().map(|line| line.chars().count()).max();
            assert!(longest.is_some_and(|longest| longest <= columns), "{columns}:\n{shown}");
        }
        let whole = text(&found, false, Layout { is_whole: true, ..Layout::default() });
        assert!(whole.contains("can_be"), "{whole}");
        assert!(whole.lines().any(|line| line.contains("clock us")));
    }
}
