//! The explanation as one HTML page. It needs no other file and no network.

use super::actions::actions;
use super::bars::{bars, why};
use super::text::text;
use super::{NamedExplanation, calls, percent, signed_percent, signed_us, us};
use minijinja::{Environment, Value, context};
use perfdb_compare::ledger::{Explanation, Group, LayerKind};
use perfdb_files::escape::for_terminal;

const TEMPLATE: &str = include_str!("../templates/explanation.html");

/// How many bars the waterfall of a page has.
const BARS: usize = 25;

/// How many groups the table of a page has.
const GROUPS: usize = 200;

/// The page of all scenarios.
///
/// # Errors
/// When the template has a fault, which no input can cause.
pub fn page(explanations: &[NamedExplanation]) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.add_template("explanation.html", TEMPLATE)?;
    let scenarios: Vec<Value> = explanations.iter().map(scenario).collect();
    let page = environment.get_template("explanation.html")?.render(context! { scenarios => scenarios })?;
    // Nothing but names can hold control characters.
    Ok(for_terminal(&page).into_owned())
}

fn scenario(named: &NamedExplanation) -> Value {
    let explanation = &named.explanation;
    let ledger = &explanation.ledger;
    let opening: Vec<String> = text(&NamedExplanation { name: String::new(), explanation: explanation.clone() })
        .lines()
        .take_while(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    let actions = actions(explanation);
    let action = |action: &super::Action| context! { worth => us(action.worth_ps), text => action.text.as_str() };
    let family = |family: &perfdb_compare::ledger::FamilySum| {
        context! {
            name => family.family.as_str(),
            predicted => us(family.predicted_ps),
            measured => us(family.measured_ps),
            difference => signed_us(family.difference_ps),
        }
    };
    context! {
        name => if named.name.is_empty() { "Predicted and measured forward pass" } else { &named.name },
        opening => opening,
        bars => waterfall(explanation),
        actions => actions.iter().map(action).collect::<Vec<_>>(),
        families => ledger.families.iter().map(family).collect::<Vec<_>>(),
        layers => explanation.layers.as_ref().map(|layers| context! {
            anchor => layers.anchor.as_str(),
            kinds => layers.kinds.iter().map(layer).collect::<Vec<_>>(),
        }),
        groups => ledger.groups.iter().take(GROUPS).map(group).collect::<Vec<_>>(),
        more_groups => ledger.groups.len().saturating_sub(GROUPS),
    }
}

/// Each bar begins where the one above it ends.
fn waterfall(explanation: &Explanation) -> Vec<Value> {
    let ledger = &explanation.ledger;
    let mut bars = bars(explanation);
    let rest = bars.split_off(BARS.min(bars.len()));
    let mut steps: Vec<(i128, String, String)> =
        bars.into_iter().map(|bar| (bar.difference_ps, why(bar.cause).to_owned(), bar.what)).collect();
    if !rest.is_empty() {
        let rest_ps = rest.iter().map(|bar| bar.difference_ps).sum();
        steps.push((rest_ps, format!("{} smaller", rest.len()), String::new()));
    }
    let (mut level_ps, mut low_ps, mut high_ps) = (ledger.measured_ps, ledger.measured_ps, ledger.measured_ps);
    for (ps, _, _) in &steps {
        level_ps += ps;
        (low_ps, high_ps) = (low_ps.min(level_ps), high_ps.max(level_ps));
    }
    let width = (high_ps - low_ps).max(1) as f64;
    let place = |ps: i128| format!("{:.2}", 100.0 * (ps - low_ps) as f64 / width);
    let mut level_ps = ledger.measured_ps;
    let step = |(ps, why, what): (i128, String, String)| {
        let (from_ps, to_ps) = (level_ps.min(level_ps + ps), level_ps.max(level_ps + ps));
        level_ps += ps;
        context! {
            us => signed_us(ps),
            share => signed_percent(ps, ledger.measured_ps),
            why => why,
            what => what,
            left => place(from_ps),
            width => format!("{:.2}", 100.0 * (to_ps - from_ps) as f64 / width),
            class => if ps > 0 { "more" } else { "less" },
        }
    };
    steps.into_iter().map(step).collect()
}

fn layer(kind: &LayerKind) -> Value {
    let measured = kind.measured.as_ref();
    let predicted = kind.predicted.as_ref();
    context! {
        predicted => predicted.map(|side| side.predicted_layers),
        predicted_us => predicted.map(|side| us(side.predicted_median_ps)),
        measured => kind.measured_layers,
        measured_us => measured.map(|side| us(side.measured_median_ps)),
        spread => measured.map(|side| format!("{} – {}", us(side.p10_ps), us(side.p90_ps))),
        outliers => measured.map(|side| side.outliers.len()),
    }
}

fn group(group: &Group) -> Value {
    let difference_ps = group.predicted_ps - group.measured_ps;
    context! {
        kernel_type => group.kernel_type.as_str(),
        shape => group.shape.as_str(),
        predicted => us(group.predicted_ps),
        predicted_calls => calls(group.predicted_calls),
        measured => us(group.measured_ps),
        measured_calls => calls(group.measured_calls),
        difference => signed_us(difference_ps),
        error => if group.measured_ps > 0 { percent(difference_ps, group.measured_ps) } else { "–".to_owned() },
    }
}
