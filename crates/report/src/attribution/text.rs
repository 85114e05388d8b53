//! The explanation as people read it in a terminal.

use super::actions::actions;
use super::bars::{bars, layers, why};
use super::whole::{on_the_clock, other_workload};
use super::{NamedExplanation, cancelled, percent, signed_percent, signed_us, sources, us};
use crate::layout::{Cell, Column, Layout, Table, Tone};
use perfdb_compare::attribution::{Explanation, LayerKind};
use perfdb_files::escape::{for_terminal, one_line};
use perfdb_pycompat::format::{fixed, pad_left};

/// How many kinds of layers are shown.
const KINDS: usize = 5;

/// Causes on a screen, where there is room for them.
const CAUSES: [usize; 2] = [4, 10];

/// The text of one explanation on one screen.
pub fn screen(named: &NamedExplanation, layout: Layout) -> String {
    let [fewest, most] = CAUSES;
    crate::screen::fitting(most, fewest, |limit| text(named, limit, layout))
}

/// The text of one explanation, with at most `limit` causes and things to do. Control characters of names are escaped.
pub fn text(named: &NamedExplanation, limit: usize, layout: Layout) -> String {
    let explanation = &named.explanation;
    let mut out = String::new();
    if !named.name.is_empty() {
        let name = one_line(&named.name);
        out += &format!("{name}\n{}\n", "=".repeat(name.chars().count()));
    }
    out += &layout.wrapped_lines(&for_terminal(&opening(explanation)));
    out += &waterfall(explanation, limit, layout);
    for rest in [to_do(explanation, limit), beside(explanation), layer_table(explanation, layout)] {
        out += &layout.wrapped_lines(&for_terminal(&rest));
    }
    out
}

fn opening(explanation: &Explanation) -> String {
    let attribution = &explanation.attribution;
    let (predicted_ps, measured_ps) = (attribution.predicted_ps, attribution.measured_ps);
    let mut out = String::new();
    if let Some(why) = other_workload(explanation) {
        out += &format!("NOT THE SAME WORKLOAD: {why}\n");
    }
    if measured_ps == 0 {
        return out + &format!("predicted {} us, nothing measured\n", us(predicted_ps));
    }
    let clock = on_the_clock(explanation).map_or_else(String::new, |clock| format!("; {clock}"));
    out += &format!(
        "predicted {} us, measured {} us: {} us ({}) of kernel time{clock}; M6 {}\n",
        us(predicted_ps),
        us(measured_ps),
        signed_us(attribution.difference_ps),
        signed_percent(attribution.difference_ps, measured_ps),
        fixed(explanation.m6, 3)
    );
    out += &format!(
        "gross error {} us ({}); {} % of it cancels in the total; {} of the measured time is predicted within 10 %; \
         shapes matched for {} ({} with collectives by name alone)\n",
        us(attribution.gross_ps),
        percent(attribution.gross_ps, measured_ps),
        fixed(100.0 * cancelled(explanation), 0),
        percent(attribution.within_10_percent_ps, measured_ps),
        percent(attribution.joined_ps, measured_ps),
        percent(attribution.joined_with_names_ps, measured_ps)
    );
    let sources: Vec<String> = sources(attribution)
        .into_iter()
        .map(|(source, ps)| format!("{source} {}", percent(ps, predicted_ps)))
        .collect();
    if !sources.is_empty() {
        out += &format!("prediction from: {}\n", sources.join(", "));
    }
    out + &by_database(explanation)
}

/// The interval of the prediction, where a database has one.
fn by_database(explanation: &Explanation) -> String {
    let Some(pass) = &explanation.interval else { return String::new() };
    let (interval, place) = (super::interval(pass, 1.0), super::place(pass, explanation.attribution.measured_ps));
    let mut out = format!(
        "the database predicts {interval} for these kernels; the measured pass is {place} of that 90 % interval"
    );
    if pass.unanswered_ps != 0 {
        let unanswered = percent(pass.unanswered_ps, pass.simulated_ps);
        out += &format!("; it has no answer for {unanswered} of the prediction");
    }
    out + "\n"
}

fn waterfall(explanation: &Explanation, limit: usize, layout: Layout) -> String {
    let attribution = &explanation.attribution;
    let (predicted_ps, measured_ps) = (attribution.predicted_ps, attribution.measured_ps);
    let bars = bars(explanation);
    let largest_ps = bars.first().map_or(0, |bar| bar.difference_ps);
    let mut table = Table::new([
        Column::number("us").at_least(12),
        Column::number("of measured").at_least(11),
        Column::bar().gap(1).optional(1),
        Column::name("why").at_least(27),
        Column::name("what").gap(1),
    ]);
    let whole = |ps: i128, why: &str| {
        [us(ps).into(), percent(ps, measured_ps).into(), Cell::default(), why.into(), Cell::default()]
    };
    let step = |ps: i128, part: f64, why: &str, what: &str| {
        let tone = Tone::of_difference(ps as f64);
        let [us, share] = [signed_us(ps), signed_percent(ps, measured_ps)].map(|text| Cell::from(text).toned(tone));
        [us, share, Cell::part(part), why.into(), what.into()]
    };
    table.push(whole(measured_ps, "measured"));
    for bar in bars.iter().take(limit) {
        let part = if largest_ps == 0 { 0.0 } else { bar.difference_ps as f64 / largest_ps as f64 };
        table.push(step(bar.difference_ps, part, why(bar.cause), &bar.what));
    }
    let rest = bars.get(limit..).unwrap_or_default();
    if !rest.is_empty() {
        table.push(step(rest.iter().map(|bar| bar.difference_ps).sum(), 0.0, &format!("{} smaller", rest.len()), ""));
    }
    table.push(whole(predicted_ps, "predicted"));
    let mut out = "\n".to_owned() + &table.text(layout);
    if let Some(note) = &attribution.layers_note {
        let corrected_ps = predicted_ps - note.difference_ps;
        let note = format!(
            "\nThe two sides differ by {}; with equal layers the prediction is {} us ({}).\n",
            layers(note.layers.abs()),
            us(corrected_ps),
            signed_percent(corrected_ps - measured_ps, measured_ps)
        );
        out += &layout.wrapped_lines(&note);
    }
    out
}

fn to_do(explanation: &Explanation, limit: usize) -> String {
    let actions = actions(explanation);
    if actions.is_empty() || limit == 0 {
        return String::new();
    }
    let limit = limit.div_ceil(2);
    let mut out = "\nWhat to do:\n".to_owned();
    for action in actions.iter().take(limit) {
        out += &format!("{} us  {}\n", pad_left(&us(action.worth_ps), 12), action.text);
    }
    if actions.len() > limit {
        out += &format!("{}  {} more (--limit, -o FILE.json)\n", " ".repeat(12), actions.len() - limit);
    }
    out
}

fn beside(explanation: &Explanation) -> String {
    let Some(measured) = explanation.timeline.measured else { return String::new() };
    let passes = explanation.attribution.passes;
    let whole = if passes == 1.0 { String::new() } else { format!(" (all {} passes)", super::calls(passes)) };
    let mut out = format!(
        "\nOn the clock: measured{whole} {} us = kernels {} + idle {} - overlap {}",
        us(measured.elapsed_ps),
        us(measured.kernels_ps),
        us(measured.idle_ps),
        us(measured.overlap_ps)
    );
    if let Some(predicted) = explanation.timeline.predicted {
        out += &format!("; predicted {} us", us(predicted.elapsed_ps));
    }
    let reconcile = &explanation.reconcile;
    out + &format!(
        "\nM6 counts {} us of the prediction; {} us come from elsewhere, {} us are rounding of composites\n",
        us(reconcile.m6_hit_ps),
        us(reconcile.not_in_m6_ps),
        us(reconcile.composite_rounding_ps)
    )
}

fn layer_table(explanation: &Explanation, layout: Layout) -> String {
    let Some(layers) = &explanation.layers else { return String::new() };
    let mut out = format!(
        "\nLayers (cut at {}): predicted {}, measured {}\n",
        layers.anchor, layers.predicted_layers, layers.measured_layers
    );
    out += &[
        pad_left("predicted", 9),
        pad_left("us each", 10),
        pad_left("measured", 9),
        pad_left("us each", 10),
        pad_left("P10..P90", 22),
    ]
    .join(" ");
    out += "  errors inside one layer\n";
    for kind in layers.kinds.iter().take(KINDS) {
        out += &layer_row(kind, layout);
    }
    if layers.kinds.len() > KINDS {
        out += &format!("{} more kinds of layers (-o FILE.json)\n", layers.kinds.len() - KINDS);
    }
    out
}

fn layer_row(kind: &LayerKind, layout: Layout) -> String {
    let none = || "-".to_owned();
    let (predicted, predicted_us) = kind.predicted.as_ref().map_or_else(
        || (none(), none()),
        |predicted| (predicted.predicted_layers.to_string(), us(predicted.predicted_median_ps)),
    );
    let (measured_us, spread) = kind.measured.as_ref().map_or_else(
        || (none(), none()),
        |measured| (us(measured.measured_median_ps), format!("{}..{}", us(measured.p10_ps), us(measured.p90_ps))),
    );
    let mut row = [
        pad_left(&predicted, 9),
        pad_left(&predicted_us, 10),
        pad_left(&kind.measured_layers.to_string(), 9),
        pad_left(&measured_us, 10),
        pad_left(&spread, 22),
    ]
    .join(" ");
    if let Some(attribution) = &kind.attribution {
        let mut causes: Vec<(&str, i128)> =
            attribution.by_cause_ps.iter().map(|(cause, ps)| (cause.name(), *ps)).collect();
        causes.sort_by_key(|&(_, ps)| -ps.abs());
        let causes: Vec<String> = causes.into_iter().map(|(cause, ps)| format!("{cause} {}", signed_us(ps))).collect();
        let causes = if causes.is_empty() { "none".to_owned() } else { causes.join(", ") };
        let used = row.chars().count() + 2;
        row += &format!("  {}", layout.shortened(&causes, used));
    }
    if let Some(measured) = kind.measured.as_ref().filter(|measured| !measured.outliers.is_empty()) {
        let shown: Vec<String> = measured.outliers.iter().take(6).map(usize::to_string).collect();
        let more = if measured.outliers.len() > 6 { ", …" } else { "" };
        row += &format!("; outliers: layers {}{more}", shown.join(", "));
    }
    row + "\n"
}
