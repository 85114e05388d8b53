//! The explanation as a page.

use super::actions::actions;
use super::bars::{bars, why};
use super::csv::calls_and_source;
use super::whole::other_workload;
use super::{NamedExplanation, cancelled};
use crate::page::number::{micros, percent, signed, signed_percent};
use crate::page::{
    Accuracy, AccuracyPoint, Block, ChartWidth, Column, KeyFigure, Page, Part, Provenance, Sparkline, StackedBar,
    StackedBars, Step, StripKernel, Strips, Table, Trust, Waterfall,
};
use perfdb_compare::attribution::{
    Contribution, ExampleLayers, Explanation, FamilySum, Group, Interval, Join, LayerKernel, LayerKind, Layers,
};
use std::collections::BTreeMap;

/// How many steps the waterfall of a page has.
const STEPS: usize = 16;

/// Families that have a colour of their own.
const FAMILIES: usize = 8;

/// Below these shares of the measured time with matching shapes, trust is limited, or low.
const MOST_JOINED: f64 = 0.9;
const HALF_JOINED: f64 = 0.6;

/// The page of all scenarios.
pub fn page(explanations: &[NamedExplanation], provenance: Provenance) -> Page {
    let parts = explanations.iter().map(part).collect();
    Page { title: "Where the prediction is wrong".to_owned(), parts, provenance }
}

fn us(ps: i128) -> f64 {
    ps as f64 / 1e6
}

/// A share in percent; NaN, which is shown as nothing, where there is no whole.
fn share(ps: i128, of_ps: i128) -> f64 {
    if of_ps == 0 { f64::NAN } else { 100.0 * ps as f64 / of_ps as f64 }
}

fn part(named: &NamedExplanation) -> Part {
    let explanation = &named.explanation;
    let attribution = &explanation.attribution;
    let mut blocks = vec![Block::Chart(waterfall(explanation))];
    blocks.extend(to_do(explanation).map(Block::Table));
    let sources = sources(&attribution.groups);
    blocks.push(Block::Chart(accuracy(&attribution.groups, &sources)));
    blocks.push(Block::Chart(families(&attribution.families)));
    blocks.push(Block::Chart(coverage(explanation)));
    blocks.extend(explanation.layers.iter().flat_map(layer_blocks));
    blocks.push(Block::Table(group_table(&attribution.groups, attribution.measured_ps)));
    blocks.push(Block::Table(leaf_table(&attribution.contributions, attribution.measured_ps)));
    Part {
        name: named.name.clone(),
        verdict: verdict(explanation),
        trust: Some(trust(explanation)),
        figures: figures(explanation),
        notes: notes(explanation),
        blocks,
    }
}

/// A typical layer, all measured layers, and the kinds of layers.
fn layer_blocks(layers: &Layers) -> Vec<Block> {
    let mut blocks = Vec::new();
    let kind = layers.kinds.first();
    if let Some(examples) = kind.and_then(|kind| kind.examples.as_ref()) {
        blocks.push(Block::Chart(typical_layer(examples)));
    }
    if let Some(measured) = kind.and_then(|kind| kind.measured.as_ref()) {
        let times_us: Vec<f64> = layers.measured_times_ps.iter().map(|ps| us(*ps)).collect();
        let line = Sparkline {
            times_us: &times_us,
            median_us: us(measured.measured_median_ps),
            spread_us: (us(measured.p10_ps), us(measured.p90_ps)),
            outliers: &measured.outliers,
        };
        blocks.push(Block::Chart(line.chart("Measured layers, one after the other").note(format!(
            "Cut at {}. The band is the most frequent kind of layers from P10 to P90; red ones are outliers.",
            layers.anchor
        ))));
    }
    blocks.push(Block::Table(layer_table(&layers.kinds)));
    blocks
}

fn verdict(explanation: &Explanation) -> String {
    let attribution = &explanation.attribution;
    if attribution.measured_ps == 0 {
        return format!("{} are predicted, nothing was measured.", micros(us(attribution.predicted_ps)));
    }
    let error = share(attribution.difference_ps, attribution.measured_ps);
    let (predicted, measured) = (micros(us(attribution.predicted_ps)), micros(us(attribution.measured_ps)));
    let mut text = match error {
        error if error.abs() < 0.05 => format!("The prediction of {predicted} meets the measured {measured}"),
        error => format!(
            "The prediction of {predicted} is {} too {} (measured {measured})",
            percent(error.abs()),
            if error > 0.0 { "long" } else { "short" }
        ),
    };
    let gross = share(attribution.gross_ps, attribution.measured_ps);
    let largest = bars(explanation).into_iter().next();
    if cancelled(explanation) > 0.5 && gross > 5.0 {
        text += &format!(", but the gross error is {}, most of which cancels.", percent(gross));
    } else if let Some(bar) = largest {
        text += &format!("; most of it: {}.", why(bar.cause));
    } else {
        text += ".";
    }
    text
}

fn trust(explanation: &Explanation) -> Trust {
    let attribution = &explanation.attribution;
    if let Some(why) = other_workload(explanation) {
        return Trust::low(format!("not the same workload: {why}"));
    }
    if attribution.measured_ps == 0 {
        return Trust::low("nothing was measured");
    }
    let joined = attribution.joined_ps as f64 / attribution.measured_ps as f64;
    let reason = format!(
        "shapes match for {} of the measured time ({} with collectives by name alone); the parts add up to the difference exactly",
        percent(100.0 * joined),
        percent(share(attribution.joined_with_names_ps, attribution.measured_ps))
    );
    Trust::of_share(joined, [MOST_JOINED, HALF_JOINED], reason)
}

fn figures(explanation: &Explanation) -> Vec<KeyFigure> {
    let attribution = &explanation.attribution;
    let measured_ps = attribution.measured_ps;
    let mut figures = vec![
        KeyFigure::new("Predicted", micros(us(attribution.predicted_ps))),
        KeyFigure::new("Measured", micros(us(measured_ps))),
        KeyFigure::new("Difference", format!("{} µs", signed(us(attribution.difference_ps), 1)))
            .note(format!("{} of measured", signed_percent(share(attribution.difference_ps, measured_ps)))),
        KeyFigure::new("Gross error", percent(share(attribution.gross_ps, measured_ps)))
            .note(format!("{} of it cancels", percent(100.0 * cancelled(explanation)))),
        KeyFigure::new("Within ±10 %", percent(share(attribution.within_10_percent_ps, measured_ps)))
            .note("of the measured time"),
        KeyFigure::new("M6", crate::page::number::grouped(explanation.m6, 3)).note("from measurements ÷ measured"),
    ];
    if let Some(interval) = &explanation.interval {
        figures.insert(
            2,
            KeyFigure::new("By the database", micros(us(interval.best_ps))).note(format!(
                "90 % interval {} to {}",
                micros(us(interval.low_ps)),
                micros(us(interval.high_ps))
            )),
        );
    }
    figures
}

fn notes(explanation: &Explanation) -> Vec<String> {
    let attribution = &explanation.attribution;
    let mut notes = Vec::new();
    if let Some(note) = &attribution.layers_note {
        let corrected_ps = attribution.predicted_ps - note.difference_ps;
        notes.push(format!(
            "The two sides differ by {}; with equal layers the prediction is {} ({}).",
            super::bars::layers(note.layers.abs()),
            micros(us(corrected_ps)),
            signed_percent(share(corrected_ps - attribution.measured_ps, attribution.measured_ps))
        ));
    }
    if let Some(interval) = &explanation.interval {
        let place = super::place(interval, attribution.measured_ps);
        let mut note = format!(
            "The database predicts {} for these kernels, 90 % interval {} to {}; the measured pass is {place} of that.",
            micros(us(interval.best_ps)),
            micros(us(interval.low_ps)),
            micros(us(interval.high_ps))
        );
        if interval.unanswered_ps != 0 {
            let unanswered = percent(share(interval.unanswered_ps, interval.simulated_ps));
            note += &format!(" It has no answer for {unanswered} of the prediction, which counts as it is.");
        }
        notes.push(note);
    }
    if let Some(measured) = explanation.timeline.measured {
        notes.push(format!(
            "On the clock the measured side takes {}: kernels {} and idle {}, less overlap {}.",
            micros(us(measured.elapsed_ps)),
            micros(us(measured.kernels_ps)),
            micros(us(measured.idle_ps)),
            micros(us(measured.overlap_ps))
        ));
    }
    notes
}

fn waterfall(explanation: &Explanation) -> crate::page::Chart {
    let attribution = &explanation.attribution;
    let mut bars = bars(explanation);
    let rest = bars.split_off(STEPS.min(bars.len()));
    let mut steps: Vec<Step> = bars
        .into_iter()
        .map(|bar| Step {
            why: why(bar.cause).to_owned(),
            what: bar.what.replace(" us", " µs"),
            value: us(bar.difference_ps),
        })
        .collect();
    if !rest.is_empty() {
        let value = us(rest.iter().map(|bar| bar.difference_ps).sum());
        steps.push(Step { why: format!("{} smaller", rest.len()), what: String::new(), value });
    }
    Waterfall {
        from: ("measured", us(attribution.measured_ps)),
        steps,
        to: ("predicted", us(attribution.predicted_ps)),
        unit: "µs",
    }
    .chart("From measured to predicted")
    .note("Red: the prediction is longer for this reason. Blue: shorter. The bars add up to the difference exactly.")
}

fn to_do(explanation: &Explanation) -> Option<Table> {
    let actions = actions(explanation);
    let row = |action: &super::Action| action.row_text().unwrap_or_default();
    (!actions.is_empty()).then(|| {
        Table::new(
            "actions",
            "What to do, by what it is worth",
            vec![
                Column::decimal("Worth", actions.iter().map(|action| us(action.worth_ps)), 1).unit("µs"),
                Column::text("Action", actions.iter().map(|action| action.text.replace(" us", " µs"))).whole_text(),
                Column::text("Row to measure", actions.iter().map(row)).whole_text(),
            ],
        )
        .note("--measure-dir writes these rows as tables for start-microbench.")
    })
}

/// The sources that predicted times come from, as the groups have them; the most frequent first.
fn sources(groups: &[Group]) -> Vec<String> {
    let mut time_ps: BTreeMap<String, i128> = BTreeMap::new();
    for group in groups {
        *time_ps.entry(source(group)).or_default() += group.predicted_ps.max(group.measured_ps);
    }
    let mut sources: Vec<(String, i128)> = time_ps.into_iter().collect();
    sources.sort_by_key(|(_, ps)| -ps);
    sources.into_iter().map(|(name, _)| name).collect()
}

fn source(group: &Group) -> String {
    let text = group.sources.text();
    if text.is_empty() { "not predicted".to_owned() } else { text }
}

fn group_name(group: &Group) -> String {
    super::bars::named(&group.kernel_type, &group.shape)
}

fn accuracy(groups: &[Group], sources: &[String]) -> crate::page::Chart {
    let names: Vec<String> = groups.iter().map(group_name).collect();
    let point = |(row, group): (usize, &Group)| {
        let class = sources.iter().position(|name| *name == source(group)).unwrap_or(sources.len());
        let (predicted_us, measured_us) = (us(group.predicted_ps), us(group.measured_ps));
        AccuracyPoint { name: &names[row], predicted_us, measured_us, class, row }
    };
    Accuracy {
        classes: sources.iter().map(String::as_str).collect(),
        points: groups.iter().enumerate().map(point).collect(),
        sides: ("Predicted", "Measured"),
    }
    .chart("Predicted against measured, per kernel type and shape")
    .leads_to("groups")
}

fn families(families: &[FamilySum]) -> crate::page::Chart {
    let sums = |families: &[FamilySum]| {
        families.iter().fold((0, 0), |(one, other), family| (one + family.predicted_ps, other + family.measured_ps))
    };
    let (shown, rest) = families.split_at(FAMILIES.min(families.len()));
    let mut parts: Vec<&str> = shown.iter().map(|family| family.family.as_str()).collect();
    let mut predicted: Vec<f64> = shown.iter().map(|family| us(family.predicted_ps)).collect();
    let mut measured: Vec<f64> = shown.iter().map(|family| us(family.measured_ps)).collect();
    if !rest.is_empty() {
        parts.push("others");
        predicted.push(us(sums(rest).0));
        measured.push(us(sums(rest).1));
    }
    let bars =
        vec![StackedBar { name: "predicted", values: predicted }, StackedBar { name: "measured", values: measured }];
    StackedBars { parts, bars, unit: "µs" }.chart("Where the time goes, by family")
}

fn coverage(explanation: &Explanation) -> crate::page::Chart {
    let attribution = &explanation.attribution;
    let sources = super::sources(attribution);
    let parts = sources.iter().map(|(name, _)| *name).collect();
    let values = sources.iter().map(|(_, ps)| us(*ps)).collect();
    StackedBars { parts, bars: vec![StackedBar { name: "predicted", values }], unit: "µs" }
        .chart("What the prediction comes from")
}

fn typical_layer(examples: &ExampleLayers) -> crate::page::Chart {
    let mut time_ps: BTreeMap<&str, i64> = BTreeMap::new();
    for kernel in examples.predicted.iter().chain(&examples.measured) {
        *time_ps.entry(&kernel.family).or_default() += kernel.duration_ps;
    }
    let mut families: Vec<(&str, i64)> = time_ps.into_iter().collect();
    families.sort_by_key(|(_, ps)| -ps);
    let names: Vec<&str> = families.iter().map(|(name, _)| *name).take(FAMILIES).collect();
    Strips {
        above: ("predicted", strip(&examples.predicted, &names)),
        below: ("measured", strip(&examples.measured, &names)),
        families: names,
    }
    .chart("A typical layer")
    .width(ChartWidth::Whole)
    .note("The predicted and the measured layer of median time, kernels end to end; the n-th kernels of one type are joined.")
}

fn strip<'k>(kernels: &'k [LayerKernel], families: &[&str]) -> Vec<StripKernel<'k>> {
    let one = |kernel: &'k LayerKernel| StripKernel {
        name: &kernel.kernel_type,
        detail: &kernel.shape,
        family: families.iter().position(|name| *name == kernel.family).unwrap_or(families.len()),
        time_us: us(kernel.duration_ps.into()),
    };
    kernels.iter().map(one).collect()
}

fn layer_table(kinds: &[LayerKind]) -> Table {
    let measured = || kinds.iter().map(|kind| kind.measured.as_ref());
    let predicted = || kinds.iter().map(|kind| kind.predicted.as_ref());
    let or_none = |value: Option<f64>| value.unwrap_or(f64::NAN);
    Table::new(
        "layers",
        "Kinds of layers",
        vec![
            Column::whole(
                "Predicted layers",
                predicted().map(|side| or_none(side.map(|side| side.predicted_layers as f64))),
            ),
            Column::decimal(
                "Predicted each",
                predicted().map(|side| or_none(side.map(|side| us(side.predicted_median_ps)))),
                1,
            )
            .unit("µs"),
            Column::whole("Measured layers", kinds.iter().map(|kind| kind.measured_layers as f64)),
            Column::decimal(
                "Measured each",
                measured().map(|side| or_none(side.map(|side| us(side.measured_median_ps)))),
                1,
            )
            .unit("µs"),
            Column::decimal("P10", measured().map(|side| or_none(side.map(|side| us(side.p10_ps)))), 1).unit("µs"),
            Column::decimal("P90", measured().map(|side| or_none(side.map(|side| us(side.p90_ps)))), 1).unit("µs"),
            Column::whole("Kernels", measured().map(|side| or_none(side.map(|side| side.kernels as f64)))),
            Column::whole("Outliers", measured().map(|side| or_none(side.map(|side| side.outliers.len() as f64)))),
        ],
    )
}

fn group_table(groups: &[Group], measured_ps: i128) -> Table {
    let error = |group: &Group| share(group.predicted_ps - group.measured_ps, group.measured_ps);
    Table::new(
        "groups",
        "Kernel types and shapes",
        vec![
            Column::text("Kernel type", groups.iter().map(|group| group.kernel_type.as_str())),
            Column::text("Shape", groups.iter().map(|group| group.shape.as_str())),
            Column::decimal("Predicted", groups.iter().map(|group| us(group.predicted_ps)), 1).unit("µs"),
            Column::decimal("Measured", groups.iter().map(|group| us(group.measured_ps)), 1).unit("µs"),
            Column::signed("Difference", groups.iter().map(|group| us(group.predicted_ps - group.measured_ps)), 1)
                .unit("µs"),
            Column::error_percent("Error", groups.iter().map(error)),
            Column::share_percent("Share", groups.iter().map(|group| share(group.measured_ps, measured_ps))),
            Column::whole("Predicted calls", groups.iter().map(|group| group.predicted_calls)),
            Column::whole("Measured calls", groups.iter().map(|group| group.measured_calls)),
            Column::text("Source", groups.iter().map(source)),
            Column::text("Family", groups.iter().map(|group| group.family.as_str())).hidden(),
            Column::text("Matched by", groups.iter().map(|group| met_by(group.join))).hidden(),
        ],
    )
}

fn met_by(join: Join) -> &'static str {
    match join {
        Join::None => "",
        Join::Shape => "shape",
        Join::Attention => "attention",
        Join::Collective => "collective",
        Join::Gemm => "matrix product",
        Join::AttentionQuery => "query tokens",
        Join::Prefix => "first operands",
        Join::Simulated => "operator's shapes",
        Join::Type => "type alone",
        Join::Composite => "composite",
    }
}

fn leaf_table(contributions: &[Contribution], measured_ps: i128) -> Table {
    let source = |contribution: &Contribution| calls_and_source(contribution).source.unwrap_or_default();
    let mut columns = vec![
        Column::signed("Difference", contributions.iter().map(|contribution| us(contribution.difference_ps)), 1)
            .unit("µs"),
        Column::signed(
            "Of measured",
            contributions.iter().map(|contribution| share(contribution.difference_ps, measured_ps)),
            2,
        )
        .unit("%"),
        Column::text("Why", contributions.iter().map(|contribution| why(contribution.cause))),
        Column::text("Kernel type", contributions.iter().map(|contribution| contribution.kernel_type.as_str())),
        Column::text("Shape", contributions.iter().map(|contribution| contribution.shape.as_str())),
        Column::text("Family", contributions.iter().map(|contribution| contribution.family.as_str())),
        Column::text("Source", contributions.iter().map(source)),
    ];
    if contributions.iter().any(|contribution| contribution.interval.is_some()) {
        let end = |of: fn(&Interval) -> i128| {
            let ends = contributions
                .iter()
                .map(move |contribution| contribution.interval.as_ref().map_or(f64::NAN, |interval| us(of(interval))));
            ends.collect::<Vec<f64>>()
        };
        columns.extend([
            Column::decimal("By the database", end(|interval| interval.best_ps), 1).unit("µs"),
            Column::decimal("from", end(|interval| interval.low_ps), 1).unit("µs"),
            Column::decimal("to", end(|interval| interval.high_ps), 1).unit("µs"),
        ]);
    }
    Table::new("parts", "All parts of the difference", columns)
        .note("By the database: what it predicts for these calls of a pass, and the ends of its interval of 90 %.")
}
