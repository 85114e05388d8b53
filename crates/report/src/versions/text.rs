//! What changed, for people.

use super::{Comparison, Listed, change, headline};
use perfdb_files::escape::{excerpt, one_line};
use perfdb_page::number::time_us;
use perfdb_pycompat::format::{fixed, pad_left, pad_right};
use perfdb_versions::diff::{TableSummary, Tally};
use perfdb_versions::workload::{Change, WorkloadDiff};

const COLUMNS: [&str; 10] =
    ["rows A", "rows B", "same", "slower", "faster", "can't tell", "only A", "only B", "mean", "slowest row"];
const WIDTHS: [usize; 10] = [8, 8, 8, 8, 8, 12, 8, 8, 10, 0];
/// Kernel types of a workload that are shown.
const KERNELS: usize = 8;

/// The headline, a line for each kernel type, the rows that became slower, what else differs, and forward passes.
pub fn text(found: &Comparison<'_>, slowest: &[Listed]) -> String {
    let diff = found.diff;
    let width = diff.tables.iter().map(|table| one_line(&table.kernel_type).chars().count()).max().unwrap_or(0).max(11);
    let mut out = format!("{}\n\n", headline(found));
    out += &line("kernel type", width, COLUMNS.map(str::to_owned));
    for table in &diff.tables {
        out += &line(&one_line(&table.kernel_type), width, cells(&table.tally, false));
    }
    if diff.tables.len() > 1 {
        out += &line("all", width, cells(&diff.total, true));
    }
    if !slowest.is_empty() {
        out += "\nrows that became slower, the most first\n";
        for row in slowest {
            let [a, b] = row.durations_us.map(|us| fixed(us, 2));
            let [line_a, line_b] = row.lines;
            out += &format!(
                "{}  {} -> {} us  {}  (lines {line_a}, {line_b})\n    {}\n",
                pad_left(&change(row.ratio), 9),
                a,
                b,
                one_line(&row.kernel_type),
                excerpt(&row.case)
            );
        }
    }
    out += &remarks(&diff.tables);
    for workload in found.workloads {
        out += &of_workload(workload);
    }
    out
}

fn line(name: &str, width: usize, cells: [String; 10]) -> String {
    let cells: String = cells
        .iter()
        .zip(WIDTHS)
        .map(|(cell, width)| if width == 0 { format!("  {cell}") } else { pad_left(cell, width) })
        .collect();
    format!("{}\n", format!("{}{cells}", pad_right(name, width)).trim_end())
}

fn cells(tally: &Tally, names_kernel: bool) -> [String; 10] {
    let [rows_a, rows_b] = tally.rows;
    let counts =
        [rows_a, rows_b, tally.same, tally.slower, tally.faster, tally.cannot_tell, tally.only_a, tally.only_b];
    let mut cells: [String; 10] = Default::default();
    for (cell, count) in cells.iter_mut().zip(counts) {
        *cell = count.to_string();
    }
    cells[8] = tally.mean_ratio().map_or_else(|| "-".to_owned(), change);
    if let Some(slowest) = &tally.slowest {
        let kernel = if names_kernel { format!("{}: ", one_line(&slowest.kernel_type)) } else { String::new() };
        cells[9] = format!("{} {kernel}{}", change(slowest.ratio), excerpt(&slowest.case.to_string()));
    }
    cells
}

/// What differs besides durations.
fn remarks(tables: &[TableSummary]) -> String {
    let mut out = String::new();
    for table in tables {
        let mut said = Vec::new();
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
    if out.is_empty() { out } else { format!("\nbesides durations\n{out}") }
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
    out += &format!("; nine times in ten {a} and {b}\n");
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
