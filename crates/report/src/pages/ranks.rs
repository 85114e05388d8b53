//! Which rank of a run the others wait for.

use super::{counted, sentence, share};
use crate::page::number::grouped;
use crate::page::{
    Block, Chart, ChartWidth, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Table, Trust,
};
use crate::ranks::{Sides, compared, headlines, verdict_of_two};
use perfdb_tracediff::ranks::{RankResult, Ranks};

/// Bars of the chart of ranks at most.
const BARS: usize = 40;

/// The page of one run, or of two and what differs between them.
pub fn ranks_page(sides: &Sides, provenance: Provenance) -> Page {
    let parts = match sides {
        Sides::One(ranks) => vec![side(String::new(), ranks)],
        Sides::Two(both) => {
            let mut parts = vec![comparison(both)];
            parts.extend((1..).zip(both.iter()).map(|(number, ranks)| side(format!("Side {number}"), ranks)));
            parts
        }
    };
    Page { title: "The late rank of a run".to_owned(), parts, provenance }
}

fn comparison(both: &[Ranks; 2]) -> Part {
    let rows = compared(both);
    let of = |at: usize| rows.iter().map(move |(_, ms)| ms[at]);
    let table = Table::new(
        "sides",
        "Both sides, mean of the ranks",
        vec![
            Column::text("What", rows.iter().map(|(name, _)| *name)),
            Column::decimal("Side 1", of(0), 3).unit("ms"),
            Column::decimal("Side 2", of(1), 3).unit("ms"),
            Column::signed("Difference", rows.iter().map(|(_, [first, second])| second - first), 3).unit("ms"),
        ],
    );
    Part {
        name: "Both sides".to_owned(),
        verdict: sentence(&verdict_of_two(both)),
        blocks: vec![Block::Table(table)],
        ..Part::default()
    }
}

fn side(name: String, ranks: &Ranks) -> Part {
    let mut lines = headlines(ranks).into_iter();
    let verdict = sentence(&lines.next().unwrap_or_default());
    let notes = lines.map(|line| sentence(line.trim_start())).collect();
    let mut blocks = vec![Block::Chart(parts(ranks)), Block::Table(of_ranks(ranks)), Block::Table(collectives(ranks))];
    blocks.extend(places(ranks).map(Block::Table));
    if ranks.per == "step" && ranks.steps_ms.len() > 1 {
        blocks.push(Block::Table(steps(ranks)));
    }
    let per = if ranks.per == "step" { "per step, slowest rank" } else { "in all, slowest rank" };
    Part {
        name,
        verdict,
        trust: Some(trust(ranks)),
        figures: vec![
            KeyFigure::new("Elapsed", format!("{} ms", grouped(ranks.elapsed_ms, 3))).note(per),
            KeyFigure::new("Ranks", grouped(ranks.ranks.len() as f64, 0)),
            KeyFigure::new("Collectives", grouped(ranks.matched_collectives as f64, 0)).note("in two traces or more"),
        ],
        notes,
        blocks,
    }
}

fn trust(ranks: &Ranks) -> Trust {
    let calls: u64 = ranks.ranks.iter().map(|rank| rank.collectives).sum();
    let all = calls + ranks.unmatched_calls;
    let reason = format!("{calls} of {all} collectives were matched with those of another rank");
    Trust::of_share(share(calls as f64, all as f64) / 100.0, [0.95, 0.5], reason)
}

/// Where the time of each rank goes, the latest ranks where there are many.
fn parts(ranks: &Ranks) -> Chart {
    let mut rows: Vec<&RankResult> = ranks.ranks.iter().collect();
    rows.sort_by(|a, b| b.late_ms.total_cmp(&a.late_ms));
    rows.truncate(BARS);
    rows.sort_by_key(|rank| rank.rank);
    let names: Vec<String> = rows.iter().map(|rank| format!("rank {}", rank.rank)).collect();
    let values = |rank: &RankResult| {
        let known = [rank.compute_ms, rank.exposed_communication_ms, rank.host_late_ms, rank.device_idle_ms];
        let copies = (rank.elapsed_ms - known.iter().sum::<f64>()).max(0.0);
        let [compute, communication, late, idle] = known;
        vec![compute, communication, copies, late, idle]
    };
    let bars = rows.iter().zip(&names).map(|(rank, name)| StackedBar { name, values: values(rank) });
    let parts = vec!["compute", "exposed communication", "exposed copies", "host late", "device idle"];
    let chart = StackedBars { parts, bars: bars.collect(), unit: "ms" }
        .chart("Where the time of each rank goes")
        .width(ChartWidth::Whole)
        .leads_to("ranks");
    match ranks.ranks.len() {
        count if count > BARS => chart.note(format!("The {BARS} latest of {count}; the table has all.")),
        _ => chart,
    }
}

fn of_ranks(ranks: &Ranks) -> Table {
    let rows = &ranks.ranks;
    let ms = |name: &str, of: fn(&RankResult) -> f64| Column::decimal(name, rows.iter().map(of), 3).unit("ms");
    Table::new(
        "ranks",
        if ranks.per == "step" { "Ranks, per step" } else { "Ranks, in all" },
        vec![
            Column::whole("Rank", rows.iter().map(|rank| f64::from(rank.rank))),
            ms("Elapsed", |rank| rank.elapsed_ms),
            ms("Busy", |rank| rank.busy_ms).hidden(),
            ms("Compute", |rank| rank.compute_ms),
            ms("Exposed communication", |rank| rank.exposed_communication_ms),
            ms("Host late", |rank| rank.host_late_ms),
            ms("Device idle", |rank| rank.device_idle_ms),
            ms("Waiting", |rank| rank.waiting_ms),
            ms("Transfer", |rank| rank.transfer_ms),
            Column::signed("Late", rows.iter().map(|rank| rank.late_ms), 3).unit("ms"),
            Column::share_percent(
                "Comes last",
                rows.iter().map(|rank| share(rank.last as f64, rank.collectives as f64)),
            ),
            Column::text("Unlike the others", rows.iter().map(|rank| rank.outlier.join(", "))),
            Column::text("File", rows.iter().map(|rank| rank.trace.as_str())).hidden(),
            Column::signed("Clock ahead", rows.iter().map(|rank| rank.clock_ahead_us.unwrap_or(f64::NAN) / 1e3), 6)
                .unit("ms")
                .hidden(),
        ],
    )
}

fn collectives(ranks: &Ranks) -> Table {
    let rows = &ranks.collectives;
    Table::new(
        "collectives",
        "Collectives, mean of a call",
        vec![
            Column::text("Collective", rows.iter().map(|row| row.kind.as_str())),
            Column::text("Group", rows.iter().map(|row| row.group.as_str())),
            Column::whole("Ranks", rows.iter().map(|row| row.ranks.len() as f64)),
            Column::whole("Calls", rows.iter().map(|row| row.count as f64)),
            Column::decimal("Waiting", rows.iter().map(|row| row.waiting_us / 1e3), 5).unit("ms"),
            Column::decimal("Transfer", rows.iter().map(|row| row.transfer_us / 1e3), 5).unit("ms"),
            Column::whole("Latest rank", rows.iter().map(|row| f64::from(row.latest_rank))),
            Column::decimal("Late", rows.iter().map(|row| row.late_us / 1e3), 5).unit("ms"),
            Column::share_percent("Comes last", rows.iter().map(|row| 100.0 * row.last_share)),
        ],
    )
}

fn places(ranks: &Ranks) -> Option<Table> {
    let rows = &ranks.straggler.as_ref()?.places;
    Some(Table::new(
        "places",
        "Where the rank is late",
        vec![
            Column::text("Collective", rows.iter().map(|row| row.kind.as_str())),
            Column::text("Group", rows.iter().map(|row| row.group.as_str())),
            Column::whole("Number", rows.iter().map(|row| f64::from(row.number))),
            Column::decimal("Late", rows.iter().map(|row| row.late_ms), 3).unit("ms"),
            Column::text("Kernel before", rows.iter().map(|row| row.before.as_str())),
        ],
    ))
}

fn steps(ranks: &Ranks) -> Table {
    let rows = &ranks.steps_ms;
    let title = counted(rows.len(), "step", "steps");
    let name = |step: Option<u32>| step.map_or_else(String::new, |step| step.to_string());
    Table::new(
        "steps",
        format!("The latest rank of each of {title}"),
        vec![
            Column::text("Step", rows.iter().map(|row| name(row.step))),
            Column::whole("Latest rank", rows.iter().map(|row| f64::from(row.rank))),
            Column::decimal("Late", rows.iter().map(|row| row.late_ms), 3).unit("ms"),
            Column::decimal("Waiting", rows.iter().map(|row| row.waiting_ms), 3).unit("ms"),
        ],
    )
}
