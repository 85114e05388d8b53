//! What changed, for people.

use super::{Comparison, Listed, case_text, change, headline};
use crate::layout::{Cell, Column, Layout, Table, Tone};
use crate::page::number::time_us;
use perfdb_audit::versions::diff::{TableSummary, Tally};
use perfdb_audit::versions::workload::{Change, WorkloadDiff};
use perfdb_files::escape::{excerpt, one_line};
use perfdb_pycompat::format::{fixed, pad_left};

/// Kernel types of a workload that are shown.
const KERNELS: usize = 8;

/// The headline, a line for each kernel type, the rows that became slower, what else differs, and forward passes.
pub fn text(found: &Comparison<'_>, slowest: &[Listed], layout: Layout) -> String {
    let diff = found.diff;
    let mut out = format!("{}\n\n", layout.wrapped(&headline(found), 0));
    out += &kernel_types(found, layout);
    if !slowest.is_empty() {
        out += "\nrows that became slower, the most first\n";
        for row in slowest {
            let [a, b] = row.durations_us.map(|us| fixed(us, 2));
            let [line_a, line_b] = row.lines;
            let before = format!("{}  {a} -> {b} us  ", pad_left(&change(row.ratio), 9));
            let behind = format!("  (lines {line_a}, {line_b})");
            let kernel_type = one_line(&row.kernel_type);
            let kernel_type = layout.shortened(&kernel_type, before.len() + behind.len());
            let case = layout.wrapped(&case_text(&row.case, layout), 4);
            out += &format!("{before}{kernel_type}{behind}\n    {case}\n");
        }
    }
    out += &layout.wrapped_lines(&remarks(&diff.tables));
    for workload in found.workloads {
        out += &layout.wrapped_lines(&of_workload(workload));
    }
    out
}

fn kernel_types(found: &Comparison<'_>, layout: Layout) -> String {
    let count = |heading: &str| Column::number(heading).at_least(6);
    // The slowest rows are listed below as well.
    let mut table = Table::new([
        Column::name("kernel type"),
        count("rows A").optional(4),
        count("rows B").optional(3),
        count("same").optional(2),
        count("slower"),
        count("faster"),
        count("inconclusive").optional(1),
        count("only A"),
        count("only B"),
        Column::number("mean").at_least(8),
        Column::name("slowest row").optional(5),
    ]);
    let mut push = |name: &str, tally: &Tally, names_kernel: bool| {
        let [rows_a, rows_b] = tally.rows;
        let counts =
            [rows_a, rows_b, tally.same, tally.slower, tally.faster, tally.cannot_tell, tally.only_a, tally.only_b];
        let mean = tally.mean_ratio();
        let slowest = tally.slowest.as_ref().map(|slowest| {
            let kernel = if names_kernel { format!("{}: ", slowest.kernel_type) } else { String::new() };
            format!("{} {kernel}{}", change(slowest.ratio), case_text(&slowest.case.to_string(), layout))
        });
        let tone = match mean {
            Some(ratio) if ratio > 1.0 + found.tolerance => Tone::TooMuch,
            Some(ratio) if ratio < 1.0 / (1.0 + found.tolerance) => Tone::TooLittle,
            _ => Tone::Plain,
        };
        let mut cells = vec![Cell::from(name)];
        cells.extend(counts.map(|count| count.to_string().into()));
        cells.push(Cell::from(mean.map_or_else(|| "-".to_owned(), change)).toned(tone));
        cells.push(slowest.unwrap_or_default().into());
        table.push(cells);
    };
    let is_unchanged = |table: &&TableSummary| table.tally.is_unchanged();
    let unchanged: Vec<&TableSummary> = found.diff.tables.iter().filter(is_unchanged).collect();
    for one in &found.diff.tables {
        if unchanged.len() < 2 || !one.tally.is_unchanged() {
            push(&one.kernel_type, &one.tally, false);
        }
    }
    if unchanged.len() > 1 {
        let mut sum = Tally::default();
        unchanged.iter().for_each(|table| sum.add(&table.tally));
        push(&format!("{} without a difference", unchanged.len()), &sum, true);
    }
    if found.diff.tables.len() > 1 {
        push("all", &found.diff.total, true);
    }
    table.text(layout)
}

/// What differs besides durations.
fn remarks(tables: &[TableSummary]) -> String {
    let mut out = String::new();
    for table in tables {
        let mut said = Vec::new();
        if let Some(is_slower) = table.tally.moved_together() {
            let (moved, way) = if is_slower { (table.tally.slower, "slower") } else { (table.tally.faster, "faster") };
            let rows = table.tally.compared();
            said.push(format!("{moved} of {rows} rows are {way}: the measuring method may have changed"));
        }
        for (columns, which) in table.own_columns.iter().zip(["A", "B"]).filter(|(columns, _)| !columns.is_empty()) {
            let names: Vec<String> = columns.iter().take(3).map(|name| excerpt(name)).collect();
            let more = if columns.len() > 3 { format!(" and {} more", columns.len() - 3) } else { String::new() };
            said.push(format!("columns only in {which}: {}{more}", names.join(", ")));
        }
        if table.tally.other_metadata > 0 {
            let rows = match table.tally.other_metadata {
                1 => "1 row is".to_owned(),
                count => format!("{count} rows are"),
            };
            said.push(format!("{rows} described differently"));
        }
        if !said.is_empty() {
            out += &format!("{}: {}\n", one_line(&table.kernel_type), said.join("; "));
        }
    }
    if out.is_empty() { out } else { format!("\nalso\n{out}") }
}

fn of_workload(workload: &WorkloadDiff) -> String {
    let Change { calls, a_us, b_us } = workload.answered;
    let name = one_line(&workload.name);
    if calls == 0 {
        return format!("\n{name}: no call is answered by rows of both databases\n");
    }
    let ratio = if a_us > 0.0 { change(b_us / a_us) } else { "-".to_owned() };
    let mut out = format!("\n{name}: {} -> {} ({ratio}) over {calls} calls", time_us(a_us), time_us(b_us));
    let [a, b] = workload.intervals_us.map(|[low, high]| format!("{} .. {}", time_us(low), time_us(high)));
    out += &format!("; 90 % intervals {a} and {b}\n");
    let [only_a, only_b, neither] = workload.unanswered_calls;
    if only_a + only_b + neither > 0 {
        out += &format!(
            "  not in it: {only_a} calls that only A answers from rows, {only_b} that only B does, {neither} that neither does\n"
        );
    }
    let changed = || workload.kernels.iter().filter(|(_, change)| change.difference_us() != 0.0);
    for (kernel, one) in changed().take(KERNELS) {
        let by = one.difference_us();
        let sign = if by > 0.0 { "+" } else { "-" };
        out += &format!(
            "{}  {} ({} calls)\n",
            pad_left(&format!("{sign}{}", time_us(by.abs())), 14),
            one_line(kernel),
            one.calls
        );
    }
    if changed().count() > KERNELS {
        out += &format!("  and {} more kernel types\n", changed().count() - KERNELS);
    }
    out
}
