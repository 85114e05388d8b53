//! Attention whose rows have shapes alone: queries (batch, tokens, heads, size), keys and values (batch, length, key heads, size); latent
//! attention without sizes, (batch, tokens, heads) and (batch, length).

use super::attempt::of_groups;
use super::axes::{ABSENT, Axes, Coordinates, Key};
use super::points::{Extra, IndexName, Placed, PointIndex};
use crate::answer::{Answer, LookupError};
use crate::context::Context;
use crate::dtype::one_spelling;
use crate::operands::Operand;
use crate::semantics::Rules;
use crate::table::KernelRows;
use smallvec::SmallVec;
use std::ops::Deref;

/// A size of one query token, or of none before it, is left out of the axes: prompts and single tokens are learnt from apart.
pub(super) static AXES: Axes = Axes {
    names: &["batch", "query_tokens", "past_tokens", "heads", "kv_heads"],
    sets: &[
        &[0],
        &[1],
        &[2],
        &[3],
        &[0, 1],
        &[0, 2],
        &[1, 2],
        &[0, 3],
        &[1, 3],
        &[2, 3],
        &[0, 1, 2],
        &[0, 1, 3],
        &[0, 2, 3],
    ],
    padded: None,
};

/// What an attention call does, by its shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadsCall {
    pub(crate) batch: i64,
    pub(crate) queries: i64,
    /// Keys of a request, those of its queries too.
    pub(crate) length: i64,
    pub(crate) heads: i64,
    /// 0 of latent attention.
    pub(crate) kv_heads: i64,
    /// Of a head; 0 of latent attention.
    pub(crate) size: i64,
}

impl HeadsCall {
    /// `None` where the shapes are of another form.
    fn of(mut shapes: impl Iterator<Item = impl Deref<Target = [i64]>>) -> Option<HeadsCall> {
        let (query, key) = (shapes.next()?, shapes.next()?);
        match (&*query, &*key) {
            (&[batch, queries, heads, size], &[key_batch, length, kv_heads, key_size])
                if (batch, size) == (key_batch, key_size) && length >= queries =>
            {
                Some(HeadsCall { batch, queries, length, heads, kv_heads, size })
            }
            (&[batch, queries, heads], &[key_batch, length]) if batch == key_batch && length >= queries => {
                Some(HeadsCall { batch, queries, length, heads, kv_heads: 0, size: 0 })
            }
            _ => None,
        }
    }

    /// What must agree but key heads, which are an axis of predictions.
    fn place<'s>(&self, rules: &Rules, types: impl IntoIterator<Item = &'s str>) -> (Key, Coordinates, Extra) {
        let mut key = Key::default();
        key.texts(types).integer(self.size);
        let kv_heads = match (rules.predicts(), self.kv_heads) {
            (_, 0) => ABSENT,
            (true, heads) => heads as f64,
            (false, heads) => {
                key.integer(heads);
                ABSENT
            }
        };
        let past = self.length - self.queries;
        let several = |count: i64, least: i64| if count > least { count as f64 } else { ABSENT };
        let (queries, past) = match (self.queries, past) {
            // One token alone is a prompt of one.
            (1, 0) => (1.0, ABSENT),
            (queries, past) => (several(queries, 1), several(past, 0)),
        };
        let group_heads = if kv_heads.is_nan() { self.kv_heads } else { 0 };
        let extra = Extra { head_size: self.size, kv_heads: group_heads, ..Extra::default() };
        (key, [self.batch as f64, queries, past, self.heads as f64, kv_heads], extra)
    }
}

/// Between the rows of a table; `None` where the call is not of its form.
pub(super) fn of_table(
    context: &Context<'_>,
    table: &KernelRows,
    operands: &[Operand<'_>],
) -> Option<Result<Answer, LookupError>> {
    let call = HeadsCall::of(operands.iter().map(|operand| &*operand.shape))?;
    let types: Option<SmallVec<[&str; 4]>> = operands.iter().map(|operand| operand.dtype).collect();
    let (key, at, _) = call.place(context.rules, types?.iter().map(|name| one_spelling(name)));
    let index = index(context.rules, table);
    Some(of_groups(context, table, index, index.of(&key), &at).map_err(LookupError::new))
}

/// The rows of a table as points.
pub(super) fn index<'t>(rules: &Rules, table: &'t KernelRows) -> &'t PointIndex {
    let kind = if rules.predicts() { "heads_predicted" } else { "heads" };
    let name = IndexName::of(rules, kind, None);
    PointIndex::of_table(table, name, &AXES, |row| {
        let types = row.input_types().iter().map(|name| one_spelling(name));
        let (key, at, extra) = HeadsCall::of(row.inputs().iter())?.place(rules, types);
        Some(Placed { key, at, extra })
    })
}
