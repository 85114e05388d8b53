//! What the predictions of a database are worth: a table for people, JSON for programs.

use crate::layout::{Cell, Column, Layout, Table};
use perfdb_files::escape::one_line;
use perfdb_pycompat::format::fixed;
use perfdb_query::{Evaluation, Hidden, ReaderSemantics, Repeats, Score, Unanswered};
use serde::Serialize;
pub(crate) use verdict::Judged;
use verdict::Summary;

mod verdict;

/// Tables, and remarks about tables, that are shown of many.
const MOST_TABLES: usize = 10;
const MOST_REMARKS: usize = 6;
/// Contradictions that are listed of a table for people.
const MOST_SHOWN: usize = 3;
/// Left out rows below which a coverage, or a 90th percentile, is chance.
pub(crate) const FEWEST_TO_JUDGE: usize = 10;

/// For people: one sentence, then figures of tables, then what figures do not say. Unless `all` is wanted, the ten worst of the tables that can be
/// judged, each with its single rows and what is worse than these, and a few remarks.
pub fn text(evaluations: &[Evaluation], all: bool, layout: Layout) -> String {
    let judged = Judged::of(evaluations);
    let mut shown: Vec<(&Evaluation, Vec<Score>)> = Vec::new();
    if all {
        shown.extend(evaluations.iter().map(|one| (one, one.scores())))
    } else {
        shown.extend(judged.tables().iter().take(MOST_TABLES).map(|(one, scores)| (*one, worst_scores(scores))))
    }
    let mut out = layout.wrapped(&judged.verdict(), 0) + "\n";
    if shown.iter().any(|(_, scores)| !scores.is_empty()) {
        out += &format!("\n{}", figures(&shown, layout));
    }
    let mut said: Vec<String> = Vec::new();
    for one in evaluations {
        said.extend(remarks(one).into_iter().map(|remark| format!("{}: {remark}", name(one))));
    }
    let most = if all { usize::MAX } else { MOST_REMARKS };
    for remark in said.iter().take(most) {
        out += &layout.wrapped(remark, 0);
        out.push('\n');
    }
    let left_out = [(evaluations.len() - shown.len(), "table"), (said.len().saturating_sub(most), "remark")];
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let left_out: Vec<String> = left_out
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} more {what}{}", plural(*count)))
        .collect();
    if !left_out.is_empty() {
        out += &format!("… {} with --all\n", left_out.join(", "));
    }
    out
}

/// Single rows, and what has the largest 90th percentile.
fn worst_scores(scores: &[Score]) -> Vec<Score> {
    let single = scores.iter().copied().find(|score| score.hidden == Hidden::Row);
    let worst = verdict::worst(scores).filter(|score| score.hidden != Hidden::Row);
    single.into_iter().chain(worst).collect()
}

fn figures(shown: &[(&Evaluation, Vec<Score>)], layout: Layout) -> String {
    let mut table = Table::new([
        Column::name("kernel").at_least(6),
        Column::name("left out"),
        Column::number("rows").at_least(5).optional(2),
        Column::number("median").at_least(7),
        Column::number("p90").at_least(7),
        Column::number("bias").at_least(8).optional(1),
        Column::number("coverage").at_least(5),
        Column::bar().optional(3),
        Column::number("interval").at_least(10),
    ]);
    for (one, scores) in shown {
        for (at, score) in scores.iter().enumerate() {
            let name = if at == 0 { name(one) } else { String::new() };
            let [asked, median, p90, bias, held, interval] = cells(score).map(Cell::from);
            let bar = Cell::part(score.held);
            table.push([name.into(), score.hidden.to_string().into(), asked, median, p90, bias, held, bar, interval]);
        }
    }
    table.text(layout)
}

fn name(one: &Evaluation) -> String {
    one_line(&one.kernel_type)
}

fn cells(score: &Score) -> [String; 6] {
    [
        score.asked.to_string(),
        percent(score.median.exp_m1()),
        percent(score.p90.exp_m1()),
        signed(score.bias),
        format!("{} %", fixed(score.held * 100.0, 0)),
        interval(score.half_width),
    ]
}

/// From this share on, in per cent, nobody needs the digits: a row is wrong.
const MOST_PERCENT: f64 = 999_999.0;
/// The same of a factor.
const MOST_FACTOR: f64 = 9_999.0;

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > MOST_PERCENT { format!("> {MOST_PERCENT} %") } else { format!("{} %", fixed(percent, 1)) }
}

/// Half of an interval: from a half as wide as the duration on as a factor, since no duration is less than zero.
fn interval(half: f64) -> String {
    if half < 0.9995 {
        return format!("±{}", percent(half));
    }
    let factor = half + 1.0;
    match factor {
        ..99.95 => format!("×/÷ {}", fixed(factor, 1)),
        ..=MOST_FACTOR => format!("×/÷ {}", fixed(factor, 0)),
        _ => format!("> ×/÷ {MOST_FACTOR}"),
    }
}

fn signed(share: f64) -> String {
    let text = percent(share);
    match text.as_str() {
        "0.0 %" | "-0.0 %" => "0.0 %".to_owned(),
        text if text.starts_with(['-', '>']) => text.to_owned(),
        text => format!("+{text}"),
    }
}

/// Whether figures are of enough rows.
pub(crate) fn is_judged(score: &Score) -> bool {
    score.asked >= FEWEST_TO_JUDGE
}

/// What figures do not say.
pub(crate) fn remarks(one: &Evaluation) -> Vec<String> {
    let mut remarks = Vec::new();
    let contradictions: Vec<&Repeats> = one.contradictions().collect();
    if !contradictions.is_empty() {
        let worst = worst(&contradictions);
        let shown: Vec<String> = worst.iter().take(MOST_SHOWN).map(|repeats| said(repeats)).collect();
        remarks.push(format!(
            "contradicts itself: {} of {} shapes with several rows differ by more than 10 %: {}",
            contradictions.len(),
            one.repeats.len(),
            shown.join("; ")
        ));
    }
    if let Some(drift) = one.drift() {
        let way = if drift.change > 0.0 { "longer" } else { "less long" };
        remarks.push(format!(
            "later rows of one shape take {} {way} in {} of {} shapes: perhaps two versions or machines in one table",
            percent(drift.change.abs()),
            drift.places,
            drift.of
        ));
    }
    if one.alone > 0 {
        let [have, their] = if one.alone == 1 { ["has", "its"] } else { ["have", "their"] };
        remarks.push(format!(
            "{} of {} rows {have} no other row of {their} types and formats to be predicted from",
            one.alone, one.rows
        ));
    }
    if one.passed_over > 0 {
        let are = if one.passed_over == 1 { "is" } else { "are" };
        remarks.push(format!("{} of {} rows {are} passed over: a cell is missing", one.passed_over, one.rows));
    }
    if !one.unanswered.is_empty() {
        let of = |unanswered: &Unanswered| {
            let answered = one.trials.iter().filter(|trial| trial.hidden == unanswered.hidden).count();
            format!("{} {} of {}", unanswered.hidden, unanswered.rows, unanswered.rows + answered)
        };
        let counts = one.unanswered.iter().map(of).collect::<Vec<_>>().join(", ");
        remarks.push(format!("left out without an answer: {counts}"));
    }
    if one.not_asked > 0 {
        let are = if one.not_asked == 1 { "is" } else { "are" };
        remarks.push(format!(
            "{} of {} rows {are} not queried: a call of the kernel does not have the values that find them",
            one.not_asked, one.rows
        ));
    }
    remarks
}

/// The furthest apart first.
fn worst<'r>(contradictions: &[&'r Repeats]) -> Vec<&'r Repeats> {
    let mut worst = contradictions.to_vec();
    worst.sort_by(|a, b| b.spread().total_cmp(&a.spread()));
    worst
}

fn said(repeats: &Repeats) -> String {
    let shortest = repeats.rows.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let longest = repeats.rows.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match (shortest, longest) {
        (Some((low, low_us)), Some((high, high_us))) => {
            format!("lines {low} and {high} ({} and {} µs)", microseconds(*low_us), microseconds(*high_us))
        }
        _ => String::new(),
    }
}

/// With two decimals; what that would write as zero or as a hundred digits, by its magnitude.
fn microseconds(us: f64) -> String {
    if (0.01..1e9).contains(&us) { fixed(us, 2) } else { format!("{us:.1e}") }
}

#[derive(Serialize)]
struct Document<'e> {
    format_version: u32,
    semantics: &'static str,
    summary: Summary<'e>,
    kernels: Vec<Kernel<'e>>,
}

#[derive(Serialize)]
struct Kernel<'e> {
    kernel_type: &'e str,
    file: String,
    rows: usize,
    passed_over: usize,
    slices: usize,
    alone: usize,
    scores: Vec<Figures>,
    repeated_shapes: usize,
    contradictions: Vec<Contradiction<'e>>,
    drift: Option<DriftFigures>,
    unanswered: Vec<WithoutAnswer>,
    not_asked: usize,
}

#[derive(Serialize)]
struct WithoutAnswer {
    left_out: &'static str,
    axis: Option<&'static str>,
    rows: usize,
}

#[derive(Serialize)]
struct Figures {
    left_out: &'static str,
    axis: Option<&'static str>,
    asked: usize,
    median_error: f64,
    p90_error: f64,
    bias: f64,
    held: f64,
    half_width: f64,
}

#[derive(Serialize)]
struct Contradiction<'e> {
    spread: f64,
    rows: &'e [(u32, f64)],
}

#[derive(Serialize)]
struct DriftFigures {
    change: f64,
    shapes: usize,
    of: usize,
}

/// What was left out, and of which axis.
fn named(hidden: Hidden) -> (&'static str, Option<&'static str>) {
    match hidden {
        Hidden::Row => ("row", None),
        Hidden::Axis(name) => ("axis", Some(name)),
        Hidden::Configuration => ("configuration", None),
    }
}

impl Figures {
    fn of(score: &Score) -> Figures {
        let (left_out, axis) = named(score.hidden);
        Figures {
            left_out,
            axis,
            asked: score.asked,
            median_error: score.median,
            p90_error: score.p90,
            bias: score.bias,
            held: score.held,
            half_width: score.half_width,
        }
    }
}

fn kernel(one: &Evaluation) -> Kernel<'_> {
    let contradictions: Vec<&Repeats> = one.contradictions().collect();
    Kernel {
        kernel_type: &one.kernel_type,
        file: one.path.to_string_lossy().into_owned(),
        rows: one.rows,
        passed_over: one.passed_over,
        slices: one.slices,
        alone: one.alone,
        scores: one.scores().iter().map(Figures::of).collect(),
        repeated_shapes: one.repeats.len(),
        contradictions: worst(&contradictions)
            .into_iter()
            .map(|repeats| Contradiction { spread: repeats.spread(), rows: &repeats.rows })
            .collect(),
        drift: one.drift().map(|drift| DriftFigures { change: drift.change, shapes: drift.places, of: drift.of }),
        unanswered: one
            .unanswered
            .iter()
            .map(|one| {
                let (left_out, axis) = named(one.hidden);
                WithoutAnswer { left_out, axis, rows: one.rows }
            })
            .collect(),
        not_asked: one.not_asked,
    }
}

/// The same as JSON; all contradictions.
///
/// # Errors
/// When a number is beyond what JSON writers take, which no table causes.
pub fn document(evaluations: &[Evaluation]) -> Result<String, serde_json::Error> {
    let summary = Judged::of(evaluations).summary();
    let semantics = evaluations.first().map_or(ReaderSemantics::Best, |one| one.semantics).name();
    let document =
        Document { format_version: 1, semantics, summary, kernels: evaluations.iter().map(kernel).collect() };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdb_query::{Class, Trial};
    use std::path::Path;

    fn evaluation() -> Evaluation {
        let trial = |hidden, line: u32, measured_us: f64, predicted_us: f64| Trial {
            line,
            hidden,
            measured_us,
            predicted_us,
            interval_us: [predicted_us * 0.9, predicted_us * 1.1],
            class: Class::Inside,
        };
        Evaluation {
            kernel_type: "MatMulV2<b>".into(),
            path: Path::new("db/MatMulV2.csv").into(),
            semantics: ReaderSemantics::Best,
            unanswered: Vec::new(),
            not_asked: 0,
            rows: 40,
            passed_over: 2,
            slices: 3,
            alone: 4,
            trials: vec![
                trial(Hidden::Row, 2, 10.0, 10.2),
                trial(Hidden::Row, 3, 20.0, 19.0),
                trial(Hidden::Axis("N"), 3, 20.0, 40.0),
                trial(Hidden::Configuration, 4, 30.0, 31.0),
            ],
            repeats: (0..5)
                .map(|at| Repeats { rows: vec![(10 + at, 10.0), (20 + at, 12.0 + f64::from(at))] })
                .collect(),
        }
    }

    #[test]
    fn wide_intervals_are_factors_and_nothing_has_no_sign() {
        let texts = [0.0432, 0.999, 2.0, 191.07, 1e9].map(interval);
        assert_eq!(texts, ["±4.3 %", "±99.9 %", "×/÷ 3.0", "×/÷ 192", "> ×/÷ 9999"]);
        assert_eq!([-0.0001, 0.0, 0.01, -0.01].map(signed), ["0.0 %", "0.0 %", "+1.0 %", "-1.0 %"]);
    }

    #[test]
    fn what_people_read() {
        insta::assert_snapshot!(text(&[evaluation()], true, Layout::default()));
    }

    #[test]
    fn what_people_read_on_a_narrow_terminal() {
        insta::assert_snapshot!(text(
            &[evaluation()],
            true,
            Layout { columns: Some(60), has_bars: true, ..Layout::default() }
        ));
    }

    #[test]
    fn what_programs_read() -> Result<(), serde_json::Error> {
        insta::assert_snapshot!(document(&[evaluation()])?);
        Ok(())
    }

    #[test]
    fn a_page_escapes_names_and_has_all_figures() -> Result<(), crate::page::Error> {
        let page = crate::pages::evaluation_page(&[evaluation()], Default::default());
        let part = &page.parts[0];
        assert_eq!(part.verdict, "0 of 1 table can be judged: none has 10 rows to leave out.");
        assert_eq!(part.trust.as_ref().map(|trust| trust.level.text()), Some("medium"), "{:?}", part.trust);
        let html = page.to_html()?;
        assert!(html.contains("MatMulV2&lt;b&gt;") && !html.contains("MatMulV2<b>"));
        assert!(html.contains("contradicts itself: 5 of 5 shapes") && html.contains(">100.0<"), "{html}");
        Ok(())
    }
}
