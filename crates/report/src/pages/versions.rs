//! What changed between two databases.

use super::{counted, share};
use crate::page::number::{grouped, micros, percent};
use crate::page::{
    Block, ChartWidth, Column, KeyFigure, Page, Part, Provenance, StackedBar, StackedBars, Step, Table, Trust,
    Waterfall,
};
use crate::versions::{Comparison, Listed, headline};
use perfdb_audit::versions::diff::Tally;
use perfdb_audit::versions::workload::WorkloadDiff;

/// Kernel types that are drawn.
const DRAWN: usize = 16;
/// Steps of a forward pass that are drawn; the others are one.
const STEPS: usize = 12;
/// Shares of the cases that were compared, from which on trust is high, or limited.
const MOST: f64 = 0.9;
const MANY: f64 = 0.5;

/// The page of a comparison: a part for the tables, one for each forward pass. `listed` are rows that changed, the most first.
pub fn versions_page(found: &Comparison<'_>, listed: &[Listed], provenance: Provenance) -> Page {
    let mut parts = vec![tables(found, listed)];
    parts.extend(found.workloads.iter().map(workload));
    Page { title: "What changed between two databases".to_owned(), parts, provenance }
}

fn tables(found: &Comparison<'_>, listed: &[Listed]) -> Part {
    let total = &found.diff.total;
    let compared = share(total.compared() as f64, total.cases() as f64) / 100.0;
    let reason = format!(
        "{} of the cases are in both databases and compared; {} are in one alone, {} are inconclusive",
        percent(100.0 * compared),
        grouped((total.only_a + total.only_b) as f64, 0),
        grouped(total.cannot_tell as f64, 0),
    );
    let trust = Trust::of_share(compared, [MOST, MANY], reason);
    let mean = total
        .mean_ratio()
        .map_or_else(|| "–".to_owned(), |ratio| crate::page::number::signed_percent(100.0 * (ratio - 1.0)));
    let unreadable = found.diff.unreadable.iter().map(|one| one.message.clone());
    Part {
        name: if found.workloads.is_empty() { String::new() } else { "Tables".to_owned() },
        verdict: format!("{}.", headline(found)),
        trust: Some(trust),
        figures: vec![
            KeyFigure::new("Mean change", mean).note("geometric, of the cases compared"),
            KeyFigure::new("Slower", grouped(total.slower as f64, 0)),
            KeyFigure::new("Faster", grouped(total.faster as f64, 0)),
            KeyFigure::new("Same", grouped(total.same as f64, 0))
                .note(format!("within {}", percent(100.0 * found.tolerance))),
            KeyFigure::new("Only in one", grouped((total.only_a + total.only_b) as f64, 0)),
        ],
        notes: unreadable.collect(),
        blocks: vec![
            Block::Chart(outcomes(found)),
            Block::Table(kernel_types(found)),
            Block::Table(rows(listed, total)),
        ],
    }
}

fn outcomes(found: &Comparison<'_>) -> crate::page::Chart {
    let mut shown: Vec<_> = found.diff.tables.iter().collect();
    shown.sort_by_key(|table| std::cmp::Reverse((table.tally.slower, table.tally.cases())));
    let bars = shown.iter().take(DRAWN).map(|table| {
        let Tally { same, slower, faster, cannot_tell, only_a, only_b, .. } = table.tally;
        let values = [same, faster, slower, cannot_tell, only_a, only_b].map(|count| count as f64).to_vec();
        StackedBar { name: &table.kernel_type, values }
    });
    StackedBars {
        parts: vec!["same", "faster", "slower", "inconclusive", "only in A", "only in B"],
        bars: bars.collect(),
        unit: "cases",
    }
    .chart("What became of the cases")
    .width(ChartWidth::Whole)
    .note("Kernel types with the most slower cases first.")
}

fn kernel_types(found: &Comparison<'_>) -> Table {
    let tables = &found.diff.tables;
    let count = |of: fn(&Tally) -> usize| tables.iter().map(move |table| of(&table.tally) as f64);
    let change = |ratio: Option<f64>| ratio.map_or(f64::NAN, |ratio| 100.0 * (ratio - 1.0));
    let slowest = |of: &Tally| of.slowest.as_ref().map(|slowest| slowest.ratio);
    Table::new(
        "types",
        "Kernel types",
        vec![
            Column::text("Kernel type", tables.iter().map(|table| table.kernel_type.as_str())),
            Column::whole("Rows A", count(|tally| tally.rows[0])),
            Column::whole("Rows B", count(|tally| tally.rows[1])),
            Column::whole("Same", count(|tally| tally.same)),
            Column::whole("Slower", count(|tally| tally.slower)),
            Column::whole("Faster", count(|tally| tally.faster)),
            Column::whole("Inconclusive", count(|tally| tally.cannot_tell)),
            Column::whole("Only A", count(|tally| tally.only_a)),
            Column::whole("Only B", count(|tally| tally.only_b)),
            Column::error_percent("Mean change", tables.iter().map(|table| change(table.tally.mean_ratio()))),
            Column::error_percent("Slowest row", tables.iter().map(|table| change(slowest(&table.tally)))),
            Column::whole("Described differently", count(|tally| tally.other_metadata)).hidden(),
        ],
    )
}

fn rows(listed: &[Listed], total: &Tally) -> Table {
    let table = Table::new(
        "rows",
        "Cases that became slower or faster",
        vec![
            Column::text("Kernel type", listed.iter().map(|row| row.kernel_type.as_str())),
            Column::text("Case", listed.iter().map(|row| row.case.as_str())),
            Column::error_percent("Change", listed.iter().map(|row| 100.0 * (row.ratio - 1.0))),
            Column::decimal("A", listed.iter().map(|row| row.durations_us[0]), 2).unit("µs"),
            Column::decimal("B", listed.iter().map(|row| row.durations_us[1]), 2).unit("µs"),
            Column::decimal("Spread A", listed.iter().map(|row| row.spreads_us[0].unwrap_or(f64::NAN)), 2).unit("µs"),
            Column::decimal("Spread B", listed.iter().map(|row| row.spreads_us[1].unwrap_or(f64::NAN)), 2).unit("µs"),
            Column::whole("Line A", listed.iter().map(|row| row.lines[0] as f64)),
            Column::whole("Line B", listed.iter().map(|row| row.lines[1] as f64)),
        ],
    );
    match total.slower + total.faster - listed.len().min(total.slower + total.faster) {
        0 => table,
        others => table.note(format!(
            "The {} that changed most; {} are in the CSV.",
            counted(listed.len(), "case", "cases"),
            counted(others, "more case", "more cases")
        )),
    }
}

fn workload(workload: &WorkloadDiff) -> Part {
    let answered = workload.answered;
    let total: u64 = answered.calls + workload.unanswered_calls.iter().sum::<u64>();
    let [only_a, only_b, neither] = workload.unanswered_calls;
    let covered = share(answered.calls as f64, total as f64);
    let reason = format!(
        "{} of the calls have rows in both; {only_a} only in A, {only_b} only in B, {neither} in neither",
        percent(covered)
    );
    let trust = Trust::of_share(covered / 100.0, [MOST, MANY], reason);
    let verdict = if answered.a_us > 0.0 {
        format!(
            "{} → {}, {}.",
            micros(answered.a_us),
            micros(answered.b_us),
            crate::versions::change_in_words(answered.b_us / answered.a_us)
        )
    } else {
        "No call has rows in both databases.".to_owned()
    };
    let mut steps: Vec<Step> = workload
        .kernels
        .iter()
        .filter(|(_, change)| change.difference_us() != 0.0)
        .map(|(kernel, change)| Step {
            why: kernel.clone(),
            what: counted(change.calls as usize, "call", "calls"),
            value: change.difference_us(),
        })
        .collect();
    if steps.len() > STEPS {
        let others: f64 = steps.split_off(STEPS).iter().map(|step| step.value).sum();
        steps.push(Step { why: "other kernel types".to_owned(), what: String::new(), value: others });
    }
    let kernels = &workload.kernels;
    let table = Table::new(
        "workload",
        "Kernel types of the pass",
        vec![
            Column::text("Kernel type", kernels.iter().map(|(kernel, _)| kernel.as_str())),
            Column::whole("Calls", kernels.iter().map(|(_, change)| change.calls as f64)),
            Column::decimal("A", kernels.iter().map(|(_, change)| change.a_us), 1).unit("µs"),
            Column::decimal("B", kernels.iter().map(|(_, change)| change.b_us), 1).unit("µs"),
            Column::signed("Change", kernels.iter().map(|(_, change)| change.difference_us()), 1).unit("µs"),
            Column::error_percent(
                "Change",
                kernels.iter().map(|(_, change)| share(change.difference_us(), change.a_us)),
            ),
        ],
    );
    let waterfall = Waterfall { from: ("A", answered.a_us), steps, to: ("B", answered.b_us), unit: "µs" };
    Part {
        name: workload.name.clone(),
        verdict,
        trust: Some(trust),
        figures: vec![
            KeyFigure::new("Calls", grouped(answered.calls as f64, 0)).note("with rows in both"),
            KeyFigure::new("A", micros(answered.a_us)),
            KeyFigure::new("B", micros(answered.b_us)),
        ],
        notes: Vec::new(),
        blocks: vec![Block::Chart(waterfall.chart("From A to B, by kernel type")), Block::Table(table)],
    }
}
