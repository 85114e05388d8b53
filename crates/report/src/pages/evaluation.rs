//! What the predictions of a database are worth.

use super::{counted, share};
use crate::evaluation::{FEWEST_TO_JUDGE, Judged, is_judged, remarks};
use crate::page::number::{grouped, percent, signed_percent};
use crate::page::{
    Accuracy, AccuracyPoint, Block, Chart, ChartWidth, Column, HeatCell, HeatMap, KeyFigure, Page, Part, Provenance,
    Table, Trust,
};
use perfdb_query::{Evaluation, Hidden, Score, Trial};

/// Shares of durations that the 90 % intervals hold, from which on trust is high, or limited.
const MOST_HELD: f64 = 0.85;
const MANY_HELD: f64 = 0.7;
/// Of the shapes with several rows, the share that may contradict itself.
const MANY_CONTRADICT: f64 = 0.1;
/// Columns of the errors from which on they need the whole width.
const MANY_COLUMNS: usize = 6;

/// The page of all tables that were evaluated.
pub fn evaluation_page(evaluations: &[Evaluation], provenance: Provenance) -> Page {
    let scored: Vec<(&Evaluation, Vec<Score>)> = evaluations.iter().map(|one| (one, one.scores())).collect();
    let tried = worst_first(evaluations);
    let mut blocks = Vec::new();
    if !tried.is_empty() {
        blocks.push(Block::Chart(accuracy(&tried)));
        blocks.push(Block::Chart(errors(&scored)));
        let scores = scores(&scored);
        blocks.push(Block::Table(scores.note("An interval of ±200 % is one of a factor of three.")));
    }
    let remarks: Vec<(&str, String)> =
        evaluations.iter().flat_map(|one| remarks(one).into_iter().map(|remark| (&*one.kernel_type, remark))).collect();
    if !remarks.is_empty() {
        blocks.push(Block::Table(
            Table::new(
                "remarks",
                "Remarks",
                vec![
                    Column::text("Kernel type", remarks.iter().map(|(name, _)| *name)),
                    Column::text("Remark", remarks.iter().map(|(_, remark)| remark.as_str())).whole_text(),
                ],
            )
            .note("Rows that contradict each other, durations that drift, rows that nothing is near."),
        ));
    }
    if !tried.is_empty() {
        blocks.push(Block::Table(trials(&tried)));
    }
    let part = Part {
        verdict: Judged::of(evaluations).verdict() + ".",
        trust: trust(evaluations),
        figures: figures(evaluations),
        notes: vec![
            "Rows were left out and predicted from the others: single rows, all rows with one number on an axis, all rows of one configuration. Errors are |ln(predicted ÷ measured)|.".to_owned(),
        ],
        blocks,
        ..Part::default()
    };
    Page { title: "What predictions of this database are worth".to_owned(), parts: vec![part], provenance }
}

/// Whether durations of a table are not reliable, nor predictions from them.
fn is_inconsistent(one: &Evaluation) -> bool {
    one.drift().is_some()
        || share(one.contradictions().count() as f64, one.repeats.len() as f64) > 100.0 * MANY_CONTRADICT
}

fn trust(evaluations: &[Evaluation]) -> Option<Trust> {
    let trials = || evaluations.iter().flat_map(|one| &one.trials);
    let (all, held) = (trials().count(), trials().filter(|trial| trial.is_held()).count());
    let inconsistent: Vec<&str> =
        evaluations.iter().filter(|one| is_inconsistent(one)).map(|one| &*one.kernel_type).collect();
    (all > 0).then(|| {
        let part = held as f64 / all as f64;
        let mut reason = format!(
            "90 % intervals cover {} of {}",
            percent(100.0 * part),
            counted(all, "left-out row", "left-out rows")
        );
        match inconsistent.as_slice() {
            [] => return Trust::of_share(part, [MOST_HELD, MANY_HELD], reason),
            [name] => reason += &format!("; rows of {name} contradict each other"),
            names => reason += &format!("; rows of {} tables contradict each other", names.len()),
        }
        // However well rows are predicted: one of two rows of a shape is wrong.
        Trust::of_share(part, [f64::INFINITY, MANY_HELD], reason)
    })
}

fn figures(evaluations: &[Evaluation]) -> Vec<KeyFigure> {
    let sum = |count: fn(&Evaluation) -> usize| -> usize { evaluations.iter().map(count).sum() };
    let rows = sum(|one| one.rows);
    let contradictions = sum(|one| one.contradictions().count());
    let alone = sum(|one| one.alone);
    vec![
        KeyFigure::new("Tables", grouped(evaluations.len() as f64, 0)),
        KeyFigure::new("Rows", grouped(rows as f64, 0)),
        KeyFigure::new("Predictions", grouped(sum(|one| one.trials.len()) as f64, 0)),
        KeyFigure::new("Contradictions", grouped(contradictions as f64, 0))
            .note("shapes whose rows differ by over 10 %"),
        KeyFigure::new("Rows alone", percent(share(alone as f64, rows as f64)))
            .note("no other of their types and formats"),
    ]
}

fn left_out(hidden: Hidden) -> String {
    match hidden {
        Hidden::Row => "single rows".to_owned(),
        Hidden::Axis(name) => format!("axis {name}"),
        Hidden::Configuration => "configuration".to_owned(),
    }
}

/// All trials with their tables, those that are furthest off first.
fn worst_first(evaluations: &[Evaluation]) -> Vec<(&Evaluation, &Trial)> {
    let mut tried: Vec<(&Evaluation, &Trial)> =
        evaluations.iter().flat_map(|one| one.trials.iter().map(move |trial| (one, trial))).collect();
    tried.sort_by(|(_, a), (_, b)| b.error().abs().total_cmp(&a.error().abs()));
    tried
}

fn accuracy(tried: &[(&Evaluation, &Trial)]) -> Chart {
    let kinds = ["single rows", "an axis", "configuration"];
    let name = |(one, trial): &(&Evaluation, &Trial)| {
        format!("{} line {}, without {}", one.kernel_type, trial.line, left_out(trial.hidden))
    };
    let names: Vec<String> = tried.iter().map(name).collect();
    let trials = tried.iter().map(|(_, trial)| trial);
    let points = trials.zip(&names).enumerate().map(|(row, (trial, name))| AccuracyPoint {
        name,
        predicted_us: trial.predicted_us,
        measured_us: trial.measured_us,
        class: match trial.hidden {
            Hidden::Row => 0,
            Hidden::Axis(_) => 1,
            Hidden::Configuration => 2,
        },
        row,
    });
    Accuracy { classes: kinds.to_vec(), points: points.collect(), sides: ("Predicted", "Measured") }
        .chart("Each row, predicted from the others")
        .leads_to("trials")
}

/// The 90th percentile of the error, by table and by what was left out.
fn errors(scored: &[(&Evaluation, Vec<Score>)]) -> Chart {
    let scored: Vec<_> = scored.iter().filter(|(_, scores)| !scores.is_empty()).collect();
    let mut columns: Vec<String> = Vec::new();
    for score in scored.iter().flat_map(|(_, scores)| scores) {
        let name = left_out(score.hidden);
        if !columns.contains(&name) {
            columns.push(name);
        }
    }
    // What a new weight meets stands beside what a new row meets; axes, which differ by table, follow.
    columns.sort_by_key(|name| match name.as_str() {
        "single rows" => 0,
        "configuration" => 1,
        _ => 2,
    });
    let cell = |scores: &[Score], column: &String| {
        let score = scores.iter().find(|score| left_out(score.hidden) == *column)?;
        Some(HeatCell {
            // Half an error of 100 % is as bad as it gets.
            share: if is_judged(score) { 1.0 - (score.p90 * 2.0).min(1.0) } else { f64::NAN },
            text: grouped(100.0 * score.p90.exp_m1(), 0),
            title: format!(
                "p90 of {}: {}, bias {}, coverage {}",
                counted(score.asked, "row", "rows"),
                percent(100.0 * score.p90.exp_m1()),
                signed_percent(100.0 * score.bias),
                percent(100.0 * score.held)
            ),
        })
    };
    let width = if columns.len() < MANY_COLUMNS { ChartWidth::Half } else { ChartWidth::Whole };
    HeatMap {
        down: "Kernel type",
        across: "left out",
        rows: scored.iter().map(|(one, _)| one.kernel_type.to_string()).collect(),
        cells: scored.iter().flat_map(|(_, scores)| columns.iter().map(|column| cell(scores, column))).collect(),
        columns,
    }
    .chart("p90 of the error, %")
    .note(format!("What was judged by fewer than {FEWEST_TO_JUDGE} rows is not shaded."))
    .width(width)
}

fn scores(scored: &[(&Evaluation, Vec<Score>)]) -> Table {
    let rows: Vec<(&Evaluation, &Score)> =
        scored.iter().flat_map(|(one, scores)| scores.iter().map(move |score| (*one, score))).collect();
    let percents = |of: fn(&Score) -> f64| rows.iter().map(move |(_, score)| 100.0 * of(score)).collect::<Vec<f64>>();
    Table::new(
        "scores",
        "Figures by table and by what was left out",
        vec![
            Column::text("Kernel type", rows.iter().map(|(one, _)| one.kernel_type.to_string())),
            Column::text("Left out", rows.iter().map(|(_, score)| left_out(score.hidden))),
            Column::whole("Queries", rows.iter().map(|(_, score)| score.asked as f64)),
            Column::decimal("Median error", percents(|score| score.median.exp_m1()), 1).unit("%"),
            Column::decimal("P90 error", percents(|score| score.p90.exp_m1()), 1).unit("%"),
            Column::signed("Bias", percents(|score| score.bias), 1).unit("%"),
            Column::share_percent("Coverage", percents(|score| score.held)),
            Column::decimal("Half interval", percents(|score| score.half_width), 1).unit("%"),
            Column::whole("Rows", rows.iter().map(|(one, _)| one.rows as f64)).hidden(),
            Column::text("File", rows.iter().map(|(one, _)| one.path.to_string_lossy().into_owned())).hidden(),
        ],
    )
}

fn trials(tried: &[(&Evaluation, &Trial)]) -> Table {
    let trials = || tried.iter().copied();
    Table::new(
        "trials",
        "Every row that was predicted from others",
        vec![
            Column::text("Kernel type", trials().map(|(one, _)| one.kernel_type.to_string())),
            Column::whole("Line", trials().map(|(_, trial)| f64::from(trial.line))),
            Column::text("Left out", trials().map(|(_, trial)| left_out(trial.hidden))),
            Column::decimal("Predicted", trials().map(|(_, trial)| trial.predicted_us), 2).unit("µs"),
            Column::decimal("Measured", trials().map(|(_, trial)| trial.measured_us), 2).unit("µs"),
            Column::error_percent(
                "Error",
                trials().map(|(_, trial)| share(trial.predicted_us - trial.measured_us, trial.measured_us)),
            ),
            Column::decimal("From", trials().map(|(_, trial)| trial.interval_us[0]), 2).unit("µs"),
            Column::decimal("To", trials().map(|(_, trial)| trial.interval_us[1]), 2).unit("µs"),
            Column::text("Covered", trials().map(|(_, trial)| if trial.is_held() { "yes" } else { "no" })),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::TrustLevel;
    use perfdb_query::{Class, ReaderSemantics, Repeats};

    /// A table of this number of rows, all predicted with this error; `repeats` are pairs of durations of one shape.
    fn table(name: &str, rows: u32, error: f64, repeats: &[(f64, f64)]) -> Evaluation {
        let trial = |line: u32| Trial {
            line,
            hidden: Hidden::Row,
            measured_us: 100.0,
            predicted_us: 100.0 * (1.0 + error),
            interval_us: [50.0, 200.0],
            class: Class::Inside,
        };
        let repeats = repeats.iter().map(|(first, last)| Repeats { rows: vec![(2, *first), (3, *last)] });
        Evaluation {
            kernel_type: name.into(),
            path: std::path::Path::new(name).into(),
            semantics: ReaderSemantics::Best,
            unanswered: Vec::new(),
            not_asked: 0,
            rows: rows as usize,
            passed_over: 0,
            slices: 1,
            alone: 0,
            trials: (2..2 + rows).map(trial).collect(),
            repeats: repeats.collect(),
        }
    }

    fn page(tables: &[Evaluation]) -> Part {
        evaluation_page(tables, Provenance::default()).parts.remove(0)
    }

    #[test]
    fn a_large_table_does_not_speak_for_the_others() {
        let tables = [table("hcom", 900, 0.02, &[]), table("MatMulV2", 10, 0.4, &[]), table("Add", 9, 3.0, &[])];
        assert_eq!(
            page(&tables).verdict,
            "2 of 3 tables can be judged: median error 2.0 %, p90 2.0 %, coverage 100 %, rows left out one by one; worst MatMulV2: p90 40.0 %, coverage 100 %; 1 has fewer than 10 rows to leave out."
        );
        assert!(page(&tables[1..]).verdict.starts_with("1 of 2 tables can be judged: median error 40.0 %"));
        let none = "0 of 1 table can be judged: none has 10 rows to leave out.";
        assert_eq!([page(&tables[2..]).verdict, page(&[table("Add", 0, 0.0, &[])]).verdict], [none, none]);
    }

    #[test]
    fn trust_is_limited_where_rows_contradict_each_other() {
        let level = |repeats| page(&[table("MatMulV2", 20, 0.02, repeats)]).trust.map(|trust| trust.level);
        assert_eq!(level(&[(10.0, 10.2)]), Some(TrustLevel::High));
        assert_eq!(level(&[(10.0, 13.0)]), Some(TrustLevel::Limited));
        // One of ten may have been disturbed.
        let mut repeats = vec![(10.0, 10.2); 9];
        repeats.push((10.0, 13.0));
        assert_eq!(level(&repeats), Some(TrustLevel::High));
    }

    #[test]
    fn the_rows_that_are_furthest_off_come_first() {
        let part = page(&[table("Add", 12, 0.1, &[]), table("MatMulV2", 11, 0.4, &[])]);
        let Some(Block::Table(trials)) = part.blocks.last() else { panic!("no table") };
        let html = Page {
            parts: vec![Part { blocks: vec![Block::Table(trials.clone())], ..Part::default() }],
            ..Page::default()
        };
        let html = html.to_html().expect("a page");
        let first = html.split("<tbody><tr><td>").nth(1).expect("a row");
        assert!(first.starts_with("MatMulV2<"), "{first:.80}");
    }
}
