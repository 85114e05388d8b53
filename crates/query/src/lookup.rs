//! The measured reader: answers from one row, or a sum of rows.

pub(crate) mod attention;
pub(crate) mod collective;
pub(crate) mod composite;
pub(crate) mod elementwise;
pub(crate) mod experts;
pub(crate) mod fields;
pub(crate) mod inputs;
mod opaque;
pub(crate) mod parts;
mod projection;
mod rows;

pub(crate) use projection::projected;

use crate::answer::{Answer, LookupError};
use crate::context::Context;
use perfdb_store::op_mapping::Entry;

/// Answers from rows as they are.
pub(crate) fn lookup(context: &Context<'_>) -> Result<Answer, LookupError> {
    let Some(entry) = context.entry else { return Err(LookupError::new("unmapped")) };
    if entry.composite {
        return composite::lookup(context, entry);
    }
    if entry.category.as_deref() == Some("communication") {
        return collective::lookup(context, entry);
    }
    match entry.query_mode.as_deref() {
        Some("attention_special") => return attention::lookup(context, entry),
        Some("elementwise") => return elementwise::lookup(context, entry),
        Some("moe_fused") => return experts::lookup(context, entry),
        Some("mtp_projection") if context.rules.is_newest => return projection::multi_token(context, entry),
        _ => {}
    }
    match free(context, entry) {
        Some(answer) => Ok(answer),
        None => inputs::lookup(context, entry),
    }
}

/// Whether padded rows may answer where none fits as it is.
pub(crate) fn may_pad(context: &Context<'_>) -> bool {
    let is_special = |entry: &Entry| {
        entry.composite || entry.query_mode.is_some() || entry.category.as_deref() == Some("communication")
    };
    context.entry.is_none_or(|entry| is_special(entry) || inputs::may_pad(context, entry))
}

/// The answer of an operator that costs nothing.
fn free(context: &Context<'_>, entry: &Entry) -> Option<Answer> {
    if entry.zero_cost {
        let kernel_type = entry.kernel_type.as_deref().unwrap_or_default();
        return Some(Answer::free(context.state.name(kernel_type), "zero_cost"));
    }
    let is_accepted = entry.accepted_miss.as_deref().is_some_and(|why| !why.is_empty());
    is_accepted.then(|| Answer::free("accepted_miss".into(), "accepted_miss"))
}
