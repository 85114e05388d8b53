//! The comparison per kernel type: a table per scenario, and the JSON of all.

use indexmap::IndexMap;
use num_bigint::BigInt;
use perfdb_compare::operators::{Gate, GateFinding, Number, Offence, OpRow, measured_total_us, share_pct};
use perfdb_files::escape::spreadsheet_text;
use perfdb_pycompat::csv_text::push_row;
use perfdb_pycompat::format::{fixed, fixed_grouped, pad_left, pad_right};
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

/// The table of a scenario in English, with the difference in microseconds; an empty line in front.
pub fn english_table(name: &str, rows: &[OpRow]) -> String {
    let total_prof_us = measured_total_us(rows);
    let mut out = format!("\n{name}: predicted and measured time per forward pass\n\n");
    let line = |cells: [String; 10]| {
        let [kernel_type, status, numbers @ ..] = cells;
        let widths = [12, 7, 12, 7, 12, 9, 9, 8];
        let numbers: Vec<String> = numbers.iter().zip(widths).map(|(cell, width)| pad_left(cell, width)).collect();
        format!("{} {}  {status}\n", pad_right(&kernel_type, 35), numbers.join(" "))
    };
    let header = [
        "kernel type",
        "status",
        "predicted us",
        "calls",
        "measured us",
        "calls",
        "delta us",
        "error",
        "of calls",
        "share",
    ];
    out += &line(header.map(str::to_owned));
    for row in rows.iter().take(SHOWN_ROWS) {
        out += &line([
            row.kernel_type.clone(),
            row.status.english().to_owned(),
            fixed(row.tc_total_us.value(), 1),
            row.tc_count.to_string(),
            fixed(row.prof_per_fwd_us.value(), 1),
            fixed(row.prof_count, 0),
            signed(row.delta_us()),
            fixed(row.error_pct.value(), 1) + "%",
            fixed(row.count_error_pct.value(), 1) + "%",
            fixed(share_pct(row, total_prof_us), 1) + "%",
        ]);
    }
    let total_tc_us = rows.iter().fold(0.0, |sum, row| sum + row.tc_total_us.value());
    let none = String::new;
    out += &line([
        "TOTAL".to_owned(),
        none(),
        fixed(total_tc_us, 1),
        none(),
        fixed(total_prof_us, 1),
        none(),
        signed(total_tc_us - total_prof_us),
        none(),
        none(),
        none(),
    ]);
    out.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn signed(us: f64) -> String {
    format!("{}{}", if us > 0.0 { "+" } else { "" }, fixed(us, 1))
}

/// All rows of all scenarios as a CSV, lines ending in LF. Texts that a spreadsheet would compute have an apostrophe in front.
pub fn csv<'r>(scenarios: impl IntoIterator<Item = (&'r str, &'r [OpRow])>) -> String {
    const HEADER: [&str; 12] = [
        "scenario",
        "kernel_type",
        "operators",
        "predicted_us",
        "predicted_count",
        "measured_us",
        "measured_count",
        "delta_us",
        "error_percent",
        "count_error_percent",
        "share_percent",
        "status",
    ];
    let text = |cell: &str| spreadsheet_text(cell).into_owned();
    let mut out = String::new();
    push_row(&mut out, HEADER, "\n");
    for (name, rows) in scenarios {
        let total_us = measured_total_us(rows);
        for row in rows {
            let cells = [
                text(name),
                text(&row.kernel_type),
                text(&row.tc_funcs),
                fixed(row.tc_total_us.value(), 1),
                row.tc_count.to_string(),
                fixed(row.prof_per_fwd_us.value(), 1),
                fixed(row.prof_count, 0),
                fixed(row.delta_us(), 1),
                fixed(row.error_pct.value(), 1),
                fixed(row.count_error_pct.value(), 1),
                fixed(share_pct(row, total_us), 2),
                row.status.english().to_owned(),
            ];
            push_row(&mut out, cells.iter().map(String::as_str), "\n");
        }
    }
    out
}

/// Predicted and measured time of all scenarios, in one line.
pub fn verdict(compared: &[(String, Vec<OpRow>)]) -> String {
    let rows = || compared.iter().flat_map(|(_, rows)| rows);
    let predicted_us: f64 = rows().map(|row| row.tc_total_us.value()).sum();
    let measured_us: f64 = compared.iter().map(|(_, rows)| measured_total_us(rows)).sum();
    let by = if measured_us > 0.0 {
        format!(" ({:+.1} %)", (predicted_us / measured_us - 1.0) * 100.0)
    } else {
        String::new()
    };
    let [predicted, measured] = [predicted_us, measured_us].map(|us| fixed_grouped(us, 1));
    let scenarios = if compared.len() == 1 { "scenario" } else { "scenarios" };
    format!("{} {scenarios} compared: predicted {predicted} us, measured {measured} us{by}", compared.len())
}

/// Why a scenario does not pass a gate, in one line.
pub fn finding_line(scenario: &str, finding: &GateFinding<'_>, gate: Gate) -> String {
    match finding {
        GateFinding::Beyond { worst, offence, count } => {
            let how = match offence {
                Offence::Error(error) => format!("is off by {} %", Value::Float(*error).repr()),
                Offence::NeverMeasured => "is predicted and was never measured".to_owned(),
            };
            let kernel_type = &worst.kernel_type;
            let others = match count - 1 {
                0 => String::new(),
                1 => ", 1 more kernel type is beyond".to_owned(),
                others => format!(", {others} more kernel types are beyond"),
            };
            format!("{scenario}: {kernel_type} {how}{others}")
        }
        GateFinding::NothingToLookAt => {
            format!("{scenario}: no kernel type has {} % of the measured time, nothing to look at", gate.min_share_pct)
        }
    }
}

/// The language of the statuses in a JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatusLanguage {
    /// The original's.
    #[default]
    Original,
    English,
}

/// All scenarios, name to rows.
pub fn json<'r>(scenarios: impl IntoIterator<Item = (&'r str, &'r [OpRow])>) -> String {
    json_in(scenarios, StatusLanguage::Original)
}

/// [`json()`] with statuses in another language.
pub fn json_in<'r>(scenarios: impl IntoIterator<Item = (&'r str, &'r [OpRow])>, language: StatusLanguage) -> String {
    let row = |row| json_row(row, language);
    let scenarios =
        scenarios.into_iter().map(|(name, rows)| (name.to_owned(), Value::List(rows.iter().map(row).collect())));
    write(&Value::Dict(scenarios.collect()), Style::INDENTED)
}

fn json_row(row: &OpRow, language: StatusLanguage) -> Value {
    let status = match language {
        StatusLanguage::Original => row.status.text(),
        StatusLanguage::English => row.status.english(),
    };
    let members = [
        ("kernel_type", Value::from(row.kernel_type.as_str())),
        ("tc_funcs", Value::from(row.tc_funcs.as_str())),
        ("tc_total_us", figure(row.tc_total_us)),
        ("tc_count", Value::from_big(BigInt::from(row.tc_count))),
        ("prof_per_fwd_us", figure(row.prof_per_fwd_us)),
        ("prof_count", whole(row.prof_count)),
        ("error_pct", figure(row.error_pct)),
        ("count_error_pct", figure(row.count_error_pct)),
        ("status", Value::from(status)),
    ];
    Value::Dict(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<IndexMap<_, _>>())
}

/// A double without a fraction as an integer of any size.
fn whole(number: f64) -> Value {
    // A double's digits are exact in this format.
    Value::from_big(format!("{number:.0}").parse().unwrap_or_default())
}

pub(crate) fn figure(figure: Number) -> Value {
    match figure {
        Number::Zero => Value::Int(0),
        Number::Double(value) => Value::Float(value),
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
            tc_total_us: Number::Double(1234.5),
            tc_count: 64,
            prof_per_fwd_us: Number::Double(1300.0),
            prof_count: 65.0,
            error_pct: Number::Double(-5.0),
            count_error_pct: Number::Double(-1.5),
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
        rows[2].tc_total_us = Number::Zero;
        rows[2].error_pct = Number::Double(-0.0);
        rows.extend((0..14).map(|at| row(&format!("More{at}"), RowStatus::Miss)));
        let json = json([("Qwen3 PF", &rows[..3]), ("empty", &[])]);
        insta::assert_snapshot!(table("Qwen3 PF", &rows) + &table("empty", &[]) + &json);
    }

    #[test]
    fn english_tables_and_csv() {
        let rows = [row("MatMulV2", RowStatus::Hit), row("Unmodelled", RowStatus::Unmodelled)];
        let table = english_table("Qwen3 PF", &rows);
        assert!(table.is_ascii() && table.contains("NOT_MODELLED") && table.contains("-65.5"), "{table}");
        let csv = csv([("Qwen3 PF", &rows[..])]);
        assert!(
            csv.ends_with(
                "Unmodelled,\"aten.mm.default, a.b\",1234.5,64,1300.0,65,-65.5,-5.0,-1.5,50.00,NOT_MODELLED\n"
            ),
            "{csv}"
        );
        assert!(json_in([("a", &rows[1..])], StatusLanguage::English).contains("\"NOT_MODELLED\""));
    }

    #[test]
    fn counts_of_any_size_are_integers() {
        assert_eq!(whole(1e20).repr(), "100000000000000000000");
        assert_eq!(whole(-0.0).repr(), "0");
    }
}
