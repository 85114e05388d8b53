//! A prefill within a step that decodes: weights are read once for the tokens of both.

use super::{Priced, PricedStep, Tables, Work};
use crate::Error;

/// What the operators of a prefill add to a decode step that runs them together with its own.
pub(super) fn added_ms(decode: &PricedStep, prefill: &PricedStep, tables: &mut Tables) -> Result<f64, Error> {
    let mut total_ms = 0.0;
    for of_prefill in &prefill.operators {
        let both = decode.operators.iter().find_map(|of_decode| Some((of_decode, together(of_decode, of_prefill)?)));
        total_ms += match both {
            Some((of_decode, work)) => {
                let added_us = tables.answer(&work)?.duration_us - of_decode.answer.duration_us;
                of_prefill.operator.calls as f64 * added_us.max(0.0) / 1e3
            }
            None => of_prefill.total_ms(),
        };
    }
    Ok(total_ms)
}

/// The call that does the work of both, where their weights, or their devices, are the same.
fn together(decode: &Priced, prefill: &Priced) -> Option<Work> {
    if decode.operator.name != prefill.operator.name {
        return None;
    }
    let (of_decode, of_prefill) = (decode.operator.work, prefill.operator.work);
    let (both, same) = match (of_decode, of_prefill) {
        (Work::Product { rows, .. }, Work::Product { rows: more, columns, inner, scheme }) => {
            let of = |rows| Work::Product { rows, columns, inner, scheme };
            (of(rows + more), of(rows))
        }
        (
            Work::Experts { tokens, .. },
            Work::Experts { tokens: more, hidden, inner, per_token, count, tensor, expert, scheme },
        ) => {
            let of = |tokens| Work::Experts { tokens, hidden, inner, per_token, count, tensor, expert, scheme };
            (of(tokens + more), of(tokens))
        }
        (Work::AllReduce { elements, .. }, Work::AllReduce { elements: more, ranks }) => {
            let of = |elements| Work::AllReduce { elements, ranks };
            (of(elements + more), of(elements))
        }
        _ => return None,
    };
    (same == of_decode).then_some(both)
}
