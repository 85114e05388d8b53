//! One question on its way through the rules.

use crate::answer::{Answer, LookupError, Source};
use crate::context::Context;
use crate::interval::{of_other_type, with_interval};
use crate::semantics::Layer;
use crate::{interpolate, lookup};
use perfdb_store::dtype::DType;

/// Answers in a layer, with an interval where the rules say so. Rows of another data type answer where none of the very type does.
pub(crate) fn answer(context: &Context<'_>, layer: Layer) -> Result<Answer, LookupError> {
    let answer = of_type(context, layer);
    if !context.rules.exact_types || matches!(&answer, Ok(answer) if answer.source != Source::Partial) {
        return answer;
    }
    for (from, to) in other_types(context) {
        let query = context.query.in_type(from, to);
        let other = of_type(&Context::new(context.state, context.rules, &query, context.explanation), layer);
        if let Ok(other) = other
            && (other.source != Source::Partial || answer.is_err())
        {
            return Ok(of_other_type(other));
        }
    }
    answer
}

/// 16-bit floats of the other kind, then 32-bit ones, where the first table of the call has rows of them or is a sum's.
fn other_types(context: &Context<'_>) -> impl Iterator<Item = (DType, DType)> {
    const FLOATS: [DType; 3] = [DType::BFloat16, DType::Float16, DType::Float32];
    let first = context.query.input_tensors().map(|tensor| tensor.dtype).find(|dtype| FLOATS.contains(dtype));
    let table = context.entry.filter(|entry| !entry.composite).and_then(|entry| context.own_table(entry).ok()?);
    let has = move |dtype: &DType| match table {
        Some(table) => table.has_type(*dtype),
        // Of a sum any part may have them, and half precision is what most have.
        None => *dtype == DType::BFloat16 && first == Some(DType::Float16),
    };
    let others = FLOATS.into_iter().filter(has);
    others.filter_map(move |dtype| first.filter(|first| *first != dtype).map(|first| (first, dtype)))
}

fn of_type(context: &Context<'_>, layer: Layer) -> Result<Answer, LookupError> {
    // The one value that is returned, so that an answer is made where the caller wants it and not copied.
    let mut answer = match layer {
        Layer::Measured => lookup::lookup(context),
        Layer::Interpolating => of_both_layers(context),
    };
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

/// The answer of rows, else the one between them, else what the rows have that is not final.
fn of_both_layers(context: &Context<'_>) -> Result<Answer, LookupError> {
    // Padded rows, which take longer to find, are looked for where nothing else answers; an explanation names them in their place.
    let unpadded = context.rules.unpadded.filter(|_| context.explanation.is_none());
    let measured = lookup::lookup(&context.under(unpadded.unwrap_or(context.rules)));
    let is_final = match &measured {
        Ok(answer) => answer.source != Source::Partial && !(answer.is_padded() && context.rules.bracket_before_padding),
        Err(miss) => miss.is_unreadable(),
    };
    if is_final {
        return measured;
    }
    let miss = match interpolate::lookup(context) {
        Ok(answer) => return Ok(answer),
        Err(miss) => miss,
    };
    match if unpadded.is_some() && lookup::may_pad(context) { lookup::lookup(context) } else { measured } {
        Ok(answer) if context.rules.keeps_partial || answer.source != Source::Partial => Ok(answer),
        // The reader of 2025 reports the reason of the exact search.
        Err(exact) if !context.rules.is_newest => Err(exact),
        _ => Err(miss),
    }
}
