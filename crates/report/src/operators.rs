//! The comparison per kernel type: a table per scenario, and the JSON of all.

use indexmap::IndexMap;
use num_bigint::BigInt;
use perfdb_compare::operators::{Figure, OpRow, measured_total_us, share_pct};
use perfdb_pycompat::format::{fixed, pad_left, pad_right};
use perfdb_pycompat::json::{Style, write};
use perfdb_pycompat::value::Value;

/// How many rows a table shows; the JSON has all of them.
const SHOWN_ROWS: usize = 15;

const WIDTH: usize = 115;

/// The table of a scenario, an empty line in front.
pub fn table(name: &str, rows: &[OpRow]) -> String {
    let total_tc_us = rows.iter().fold(0.0, |sum, row| sum + row.tc_total_us.value());
    let total_prof_us = measured_total_us(rows);
    let rule = "=".repeat(WIDTH);
    let mut out = format!("\n{rule}\n{name} — TC vs Profiling per-forward\n{rule}\n");
    out += &[
        pad_right("kernel_type", 35),
        pad_left("TC(μs)", 12),
        pad_left("TC次数", 7),
        pad_left("Prof(μs)", 12),
        pad_left("Prof次数", 8),
        pad_left("延迟误差", 9),
        pad_left("次数误差", 9),
        pad_left("Prof占比", 8),
        pad_right("状态", 6),
    ]
    .join(" ");
    out += &format!("\n{}\n", "-".repeat(WIDTH));
    for row in rows.iter().take(SHOWN_ROWS) {
        out += &table_row(row, total_prof_us);
    }
    out += &format!(
        "{} {} {} {}\n",
        pad_right("TOTAL", 35),
        pad_left(&fixed(total_tc_us, 1), 12),
        " ".repeat(7),
        pad_left(&fixed(total_prof_us, 1), 12)
    );
    out
}

fn table_row(row: &OpRow, total_prof_us: f64) -> String {
    let percent = |value: f64, width: usize| pad_left(&fixed(value, 1), width) + "%";
    let cells = [
        pad_right(&row.kernel_type, 35),
        pad_left(&fixed(row.tc_total_us.value(), 1), 12),
        pad_left(&row.tc_count.to_string(), 7),
        pad_left(&fixed(row.prof_per_fwd_us.value(), 1), 12),
        pad_left(&fixed(row.prof_count, 0), 8),
        percent(row.error_pct.value(), 8),
        percent(row.count_error_pct.value(), 8),
        percent(share_pct(row, total_prof_us), 7),
        pad_right(row.status.text(), 6),
    ];
    cells.join(" ") + "\n"
}

/// All scenarios, name to rows.
pub fn json<'r>(scenarios: impl IntoIterator<Item = (&'r str, &'r [OpRow])>) -> String {
    let scenarios =
        scenarios.into_iter().map(|(name, rows)| (name.to_owned(), Value::List(rows.iter().map(json_row).collect())));
    write(&Value::Dict(scenarios.collect()), Style::INDENTED)
}

fn json_row(row: &OpRow) -> Value {
    let members = [
        ("kernel_type", Value::from(row.kernel_type.as_str())),
        ("tc_funcs", Value::from(row.tc_funcs.as_str())),
        ("tc_total_us", figure(row.tc_total_us)),
        ("tc_count", Value::from_big(BigInt::from(row.tc_count))),
        ("prof_per_fwd_us", figure(row.prof_per_fwd_us)),
        ("prof_count", whole(row.prof_count)),
        ("error_pct", figure(row.error_pct)),
        ("count_error_pct", figure(row.count_error_pct)),
        ("status", Value::from(row.status.text())),
    ];
    Value::Dict(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<IndexMap<_, _>>())
}

/// A double without a fraction as an integer of any size.
fn whole(number: f64) -> Value {
    // A double's digits are exact in this format.
    Value::from_big(format!("{number:.0}").parse().unwrap_or_default())
}

pub(crate) fn figure(figure: Figure) -> Value {
    match figure {
        Figure::Zero => Value::Int(0),
        Figure::Double(value) => Value::Float(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_compare::operators::RowStatus;

    fn row(name: &str, status: RowStatus) -> OpRow {
        OpRow {
            kernel_type: name.to_owned(),
            tc_funcs: "aten.mm.default, a.b".to_owned(),
            tc_total_us: Figure::Double(1234.5),
            tc_count: 64,
            prof_per_fwd_us: Figure::Double(1300.0),
            prof_count: 65.0,
            error_pct: Figure::Double(-5.0),
            count_error_pct: Figure::Double(-1.5),
            status,
        }
    }

    #[test]
    fn a_table_and_its_json() {
        let mut rows = vec![
            row("MatMulV2", RowStatus::Hit),
            row("核🙂", RowStatus::Partial),
            row("Unmodelled", RowStatus::Unmodelled),
        ];
        rows[2].tc_total_us = Figure::Zero;
        rows[2].error_pct = Figure::Double(-0.0);
        rows.extend((0..14).map(|at| row(&format!("More{at}"), RowStatus::Miss)));
        let json = json([("Qwen3 PF", &rows[..3]), ("empty", &[])]);
        insta::assert_snapshot!(table("Qwen3 PF", &rows) + &table("empty", &[]) + &json);
    }

    #[test]
    fn counts_of_any_size_are_integers() {
        assert_eq!(whole(1e20).list_form(), "100000000000000000000");
        assert_eq!(whole(-0.0).list_form(), "0");
    }
}
