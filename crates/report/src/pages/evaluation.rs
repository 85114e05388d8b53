//! What the predictions of a database are worth.

use super::{counted, share};
use crate::evaluation::{few, remarks};
use perfdb_page::number::{grouped, percent, signed_percent};
use perfdb_page::{
    Accuracy, AccuracyPoint, Block, Chart, ChartWidth, Column, HeatCell, HeatMap, KeyFigure, Page, Part, Provenance,
    Table, Trust,
};
use perfdb_query::{Evaluation, Hidden, Score};

/// Shares of durations that the 90 % intervals hold, from which on trust is high, or limited.
const MOST_HELD: f64 = 0.85;
const MANY_HELD: f64 = 0.7;

/// The page of all tables that were evaluated.
pub fn evaluation_page(evaluations: &[Evaluation], provenance: Provenance) -> Page {
    let scored: Vec<(&Evaluation, Vec<Score>)> = evaluations.iter().map(|one| (one, one.scores())).collect();
    let mut blocks = Vec::new();
    if !scored.is_empty() {
        blocks.push(Block::Chart(accuracy(evaluations)));
        blocks.push(Block::Chart(errors(&scored)));
        let scores = scores(&scored);
        blocks.push(Block::Table(match few(evaluations) {
            Some(few) => scores.note(few + "."),
            None => scores,
        }));
        blocks.push(Block::Table(trials(evaluations)));
    }
    let remarks: Vec<(&str, String)> =
        evaluations.iter().flat_map(|one| remarks(one).into_iter().map(|remark| (&*one.kernel_type, remark))).collect();
    if !remarks.is_empty() {
        blocks.push(Block::Table(
            Table::new(
                "remarks",
                "What figures do not say",
                vec![
                    Column::text("Kernel type", remarks.iter().map(|(name, _)| *name)),
                    Column::text("Remark", remarks.iter().map(|(_, remark)| remark.as_str())),
                ],
            )
            .note("Rows that contradict each other, durations that drift, rows that nothing is near."),
        ));
    }
    let part = Part {
        verdict: verdict(evaluations),
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

/// The errors of rows that were left out alone, ascending.
fn row_errors(evaluations: &[Evaluation]) -> Vec<f64> {
    let trials = evaluations.iter().flat_map(|one| &one.trials).filter(|trial| trial.hidden == Hidden::Row);
    let mut errors: Vec<f64> = trials.map(|trial| trial.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

/// The value that so many of a hundred stay within.
fn quantile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get((sorted.len() * percent).div_ceil(100).saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn verdict(evaluations: &[Evaluation]) -> String {
    let errors = row_errors(evaluations);
    if errors.is_empty() {
        return "No row has others to be predicted from.".to_owned();
    }
    format!(
        "A row that is left out is predicted within {} in half of all cases, within {} in nine of ten.",
        percent(100.0 * quantile(&errors, 50).exp_m1()),
        percent(100.0 * quantile(&errors, 90).exp_m1())
    )
}

fn trust(evaluations: &[Evaluation]) -> Option<Trust> {
    let trials = || evaluations.iter().flat_map(|one| &one.trials);
    let (all, held) = (trials().count(), trials().filter(|trial| trial.is_held()).count());
    (all > 0).then(|| {
        let part = held as f64 / all as f64;
        let reason = format!(
            "intervals that should hold 90 % of the durations hold {} of {}",
            percent(100.0 * part),
            counted(all, "trial", "trials")
        );
        Trust::of_share(part, [MOST_HELD, MANY_HELD], reason)
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
        KeyFigure::new("Trials", grouped(sum(|one| one.trials.len()) as f64, 0)),
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

fn accuracy(evaluations: &[Evaluation]) -> Chart {
    let kinds = ["single rows", "an axis", "configuration"];
    let names: Vec<String> = evaluations
        .iter()
        .flat_map(|one| {
            one.trials
                .iter()
                .map(|trial| format!("{} line {}, without {}", one.kernel_type, trial.line, left_out(trial.hidden)))
        })
        .collect();
    let trials = evaluations.iter().flat_map(|one| &one.trials);
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
    let cell = |scores: &[Score], column: &String| {
        let score = scores.iter().find(|score| left_out(score.hidden) == *column)?;
        Some(HeatCell {
            // Half an error of 100 % is as bad as it gets.
            share: 1.0 - (score.p90 * 2.0).min(1.0),
            text: grouped(100.0 * score.p90.exp_m1(), 0),
            title: format!(
                "nine of ten of {} within {}, bias {}, intervals hold {}",
                counted(score.asked, "row", "rows"),
                percent(100.0 * score.p90.exp_m1()),
                signed_percent(100.0 * score.bias),
                percent(100.0 * score.held)
            ),
        })
    };
    HeatMap {
        down: "Kernel type",
        across: "left out",
        rows: scored.iter().map(|(one, _)| one.kernel_type.to_string()).collect(),
        cells: scored.iter().flat_map(|(_, scores)| columns.iter().map(|column| cell(scores, column))).collect(),
        columns,
    }
    .chart("Error that nine of ten predictions stay within, %")
    .width(ChartWidth::Half)
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
            Column::whole("Asked", rows.iter().map(|(_, score)| score.asked as f64)),
            Column::decimal("Median error", percents(|score| score.median.exp_m1()), 1).unit("%"),
            Column::decimal("P90 error", percents(|score| score.p90.exp_m1()), 1).unit("%"),
            Column::signed("Bias", percents(|score| score.bias), 1).unit("%"),
            Column::share_percent("Held", percents(|score| score.held)),
            Column::decimal("Half interval", percents(|score| score.half_width), 1).unit("%"),
            Column::whole("Rows", rows.iter().map(|(one, _)| one.rows as f64)).hidden(),
            Column::text("File", rows.iter().map(|(one, _)| one.path.to_string_lossy().into_owned())).hidden(),
        ],
    )
}

fn trials(evaluations: &[Evaluation]) -> Table {
    let trials = || evaluations.iter().flat_map(|one| one.trials.iter().map(move |trial| (one, trial)));
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
            Column::text("Held", trials().map(|(_, trial)| if trial.is_held() { "yes" } else { "no" })),
        ],
    )
}
