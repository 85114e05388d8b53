//! The comparison per kernel type as one HTML page with charts. It needs no other file and no network.

use crate::operators::json;
use minijinja::{Environment, Value, context};
use perfdb_compare::operators::{Number, OpRow, RowStatus, measured_total_us, share_pct};
use perfdb_files::escape::for_terminal;
use perfdb_pycompat::format::{fixed, fixed_grouped};

/// How many kernel types a chart shows.
const CHARTED_ROWS: usize = 12;

/// Errors up to this count as close, in percent.
const CLOSE_PCT: f64 = 10.0;

/// Errors beyond this stand out, in percent.
const FAR_PCT: f64 = 25.0;

const TEMPLATE: &str = include_str!("templates/comparison.html");

/// The page of all scenarios, name and rows.
///
/// # Errors
/// When the template has a fault, which no input can cause.
pub fn page(scenarios: &[(String, Vec<OpRow>)]) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.add_template("comparison.html", TEMPLATE)?;
    // "</script>" inside a text would end the element.
    let data = json(scenarios.iter().map(|(name, rows)| (name.as_str(), rows.as_slice())))
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let scenarios: Vec<Value> = scenarios.iter().map(|(name, rows)| scenario(name, rows)).collect();
    let page = environment.get_template("comparison.html")?;
    let page = page.render(context! { scenarios => scenarios, data => Value::from_safe_string(data) })?;
    // Nothing but names can hold control characters; those in the data are escaped already, as JSON has it.
    Ok(for_terminal(&page).into_owned())
}

fn scenario(name: &str, rows: &[OpRow]) -> Value {
    let measured_us = measured_total_us(rows);
    let predicted_us = rows.iter().fold(0.0, |sum, row| sum + row.tc_total_us.value());
    let share = |counts: &dyn Fn(&OpRow) -> bool| {
        let part: f64 = rows.iter().filter(|row| counts(row)).map(|row| share_pct(row, measured_us)).sum();
        percent(part)
    };
    let with = |status: RowStatus| share(&|row| row.status == status);
    let shares = [
        with(RowStatus::Hit),
        with(RowStatus::Partial),
        with(RowStatus::Miss),
        with(RowStatus::Unmodelled),
        share(&|row| !row.is_predicted_only() && row.error_pct.value().abs() <= CLOSE_PCT),
    ];
    let error =
        if measured_us > 0.0 { percent((predicted_us - measured_us) / measured_us * 100.0) } else { "–".to_owned() };
    context! {
        name => name,
        predicted_ms => fixed_grouped(predicted_us / 1e3, 2),
        measured_ms => fixed_grouped(measured_us / 1e3, 2),
        error => error,
        shares => shares,
        chart => Value::from_safe_string(chart(rows)),
        rows => rows.iter().map(|row| table_row(row, measured_us)).collect::<Vec<_>>(),
    }
}

fn table_row(row: &OpRow, measured_us: f64) -> Value {
    let grade = match (row.error_pct, row.error_pct.value().abs()) {
        _ if row.is_predicted_only() => "strong",
        (Number::Zero, _) => "",
        (_, error) if error <= CLOSE_PCT => "",
        (_, error) if error <= FAR_PCT => "mild",
        _ => "strong",
    };
    let error = |figure| match figure {
        _ if row.is_predicted_only() => "never measured".to_owned(),
        Number::Zero => "–".to_owned(),
        Number::Double(value) => percent(value),
    };
    let status = match row.status {
        RowStatus::Hit => "found",
        RowStatus::Partial => "partly found",
        RowStatus::Miss => "missed",
        RowStatus::Unmodelled => "not modelled",
        RowStatus::PredictedOnly => "never measured",
    };
    context! {
        kernel_type => row.kernel_type.as_str(),
        operators => row.tc_funcs.as_str(),
        predicted_us => fixed_grouped(row.tc_total_us.value(), 1),
        predicted_count => row.tc_count,
        measured_us => fixed_grouped(row.prof_per_fwd_us.value(), 1),
        measured_count => fixed_grouped(row.prof_count, 0),
        error => error(row.error_pct),
        count_error => error(row.count_error_pct),
        share => percent(share_pct(row, measured_us)),
        grade => grade,
        status => status,
    }
}

fn percent(value: f64) -> String {
    fixed(value + 0.0, 1) + " %"
}

/// A bar chart as SVG: two bars per kernel type, predicted above measured.
fn chart(rows: &[OpRow]) -> String {
    const WIDTH: f64 = 900.0;
    const NAMES: f64 = 260.0;
    const NUMBERS: f64 = 90.0;
    const ROW: usize = 30;
    let rows = rows.get(..CHARTED_ROWS.min(rows.len())).unwrap_or_default();
    let times = rows.iter().flat_map(|row| [row.tc_total_us.value(), row.prof_per_fwd_us.value()]);
    let largest_us = times.filter(|time_us| time_us.is_finite()).fold(0.0, f64::max);
    let height = rows.len() * ROW;
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"time per kernel type\">");
    for (position, row) in rows.iter().enumerate() {
        let top = position * ROW;
        let name = escape(&shortened(&row.kernel_type, 36));
        out += &format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", NAMES - 8.0, top + 18);
        for (class, time_us, y) in
            [("predicted", row.tc_total_us.value(), top + 3), ("measured", row.prof_per_fwd_us.value(), top + 15)]
        {
            let part = if largest_us > 0.0 { (time_us / largest_us).clamp(0.0, 1.0) } else { 0.0 };
            let length = if part.is_nan() { 0.0 } else { part * (WIDTH - NAMES - NUMBERS) };
            let time = fixed_grouped(time_us, 1);
            out += &format!(
                "<rect class=\"{class}\" x=\"{NAMES}\" y=\"{y}\" width=\"{length:.1}\" height=\"11\"><title>{name}, {class}: {time} μs</title></rect>\
                 <text x=\"{:.1}\" y=\"{}\">{time}</text>",
                NAMES + length + 5.0,
                y + 10
            );
        }
    }
    out + "</svg>"
}

fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, predicted_us: f64, measured_us: f64, status: RowStatus) -> OpRow {
        OpRow {
            kernel_type: name.to_owned(),
            tc_funcs: "aten.mm.default".to_owned(),
            tc_total_us: Number::Double(predicted_us),
            tc_count: 2,
            prof_per_fwd_us: Number::Double(measured_us),
            prof_count: 2.0,
            error_pct: Number::Double((predicted_us - measured_us) / measured_us * 100.0),
            count_error_pct: Number::Double(0.0),
            status,
        }
    }

    #[test]
    fn the_page_holds_every_row_and_its_shares() {
        let rows = vec![row("MatMulV2", 95.0, 100.0, RowStatus::Hit), row("Add", 10.0, 300.0, RowStatus::Miss)];
        let page = page(&[("Qwen3 PF".to_owned(), rows)]).unwrap();
        assert!(page.contains("<td>25.0 %</td><td>0.0 %</td><td>75.0 %</td><td>0.0 %</td><td>25.0 %</td>"), "{page}");
        assert!(page.contains("MatMulV2<div class=\"operators\">aten.mm.default</div>"));
        assert!(page.contains("class=\"strong\">-96.7 %"));
        assert!(page.contains("\"kernel_type\": \"MatMulV2\""), "the data are in the page");
    }

    #[test]
    fn a_kernel_type_that_was_never_measured_is_not_close() {
        let mut never = row("Add", 5000.0, 0.0, RowStatus::Hit);
        never.error_pct = Number::Zero;
        never.count_error_pct = Number::Zero;
        let page = page(&[("Qwen3 PF".to_owned(), vec![row("MatMulV2", 95.0, 100.0, RowStatus::Hit), never])]).unwrap();
        assert!(page.contains("class=\"strong\">never measured"), "{page}");
    }

    #[test]
    fn names_cannot_break_out_of_the_page() {
        let name = "</script><script>alert('x')</script>&\"";
        let page = page(&[(name.to_owned(), vec![row(name, 1.0, 2.0, RowStatus::Hit)])]).unwrap();
        assert_eq!(page.matches("<script").count(), 1, "the data element: {page}");
        assert_eq!(page.matches("</script>").count(), 1);
    }

    #[test]
    fn nothing_from_the_network_and_odd_figures() {
        let odd = row("K", f64::NAN, f64::INFINITY, RowStatus::Partial);
        let page = page(&[("odd".to_owned(), vec![odd]), ("empty".to_owned(), Vec::new())]).unwrap();
        assert!(!page.contains("http") && !page.contains("src="));
        assert!(page.contains("width=\"0.0\""));
        assert!(super::page(&[]).unwrap().contains("No scenario was compared"));
    }
}
