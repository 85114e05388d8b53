//! One question on its way through the rules.

use crate::answer::{Answer, Miss, Source};
use crate::context::Context;
use crate::interval::{widen, with_interval};
use crate::measured::{OTHER_TYPE, OTHER_TYPE_CONFIDENCE};
use crate::semantics::Layer;
use crate::{between, measured};

/// Answers in a layer, with an interval where the rules say so.
pub(crate) fn answer(context: &Context<'_>, layer: Layer) -> Result<Answer, Miss> {
    let answer = of_type(context, layer);
    if answer.is_ok() || !context.rules.exact_types {
        return answer;
    }
    let Some(query) = context.query.in_bfloat16() else { return answer };
    let other = of_type(&Context::new(context.state, context.rules, &query, context.explanation), layer);
    other.map(of_other_type).or(answer)
}

/// The answer of rows of another data type, which says so.
fn of_other_type(mut answer: Answer) -> Answer {
    answer.confidence *= OTHER_TYPE_CONFIDENCE;
    answer.rule = Some(OTHER_TYPE);
    if let Some(prediction) = answer.more.as_mut().and_then(|more| more.prediction.as_mut()) {
        widen(prediction);
    }
    answer
}

fn of_type(context: &Context<'_>, layer: Layer) -> Result<Answer, Miss> {
    // The one value that is returned, so that an answer is made where the caller wants it and not copied.
    let mut answer = measured::lookup(context);
    let is_final = match &answer {
        Ok(answer) => answer.source != Source::Partial && !(answer.is_padded() && context.rules.bracket_before_padding),
        Err(miss) => miss.is_unreadable(),
    };
    if !is_final && layer == Layer::Interpolating {
        answer = between_rows(context, answer);
    }
    if let Ok(answer) = &mut answer
        && context.state.is_of_other_version(answer)
    {
        answer.more.get_or_insert_default().is_of_other_version = true;
    }
    if context.rules.predicts() {
        answer = answer.map(|answer| with_interval(context, answer));
    }
    answer
}

/// The answer between rows, or what the measured reader has if there is none.
fn between_rows(context: &Context<'_>, measured: Result<Answer, Miss>) -> Result<Answer, Miss> {
    match (between::lookup(context), measured) {
        (Ok(answer), _) => Ok(answer),
        (Err(_), Ok(answer)) if context.rules.keeps_partial || answer.source != Source::Partial => Ok(answer),
        // The reader of 2025 reports the reason of the exact search.
        (Err(_), Err(miss)) if !context.rules.is_newest => Err(miss),
        (Err(miss), _) => Err(miss),
    }
}
