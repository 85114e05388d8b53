//! The arguments of a query as a kernel takes them.

use crate::question::Question;
use crate::shapes::{Arrangement, strip};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument<'q> {
    pub(crate) shape: Cow<'q, [i64]>,
    /// The profiler's type.
    pub(crate) dtype: &'static str,
}

pub(crate) type Arguments<'q> = SmallVec<[Argument<'q>; 4]>;

/// The arguments with at least one dimension, so many as count; `None` if a type is one that no table knows.
pub(crate) fn arguments<'q>(question: &Question<'q>) -> Option<Arguments<'q>> {
    let count = question.input_count.unwrap_or(usize::MAX);
    let mut arguments = Arguments::new();
    for tensor in question.inputs.iter().filter(|tensor| !tensor.shape.is_empty()).take(count) {
        arguments.push(Argument { shape: Cow::Borrowed(&tensor.shape), dtype: tensor.dtype.profiler_name()? });
    }
    Some(arguments)
}

impl Arrangement {
    /// The arguments in the order and form of the kernel; `None` if it takes them as they are. If these are as many as the given ones, they stand
    /// in their place, else a row may hold either.
    pub(crate) fn rearranged<'q>(self, arguments: &Arguments<'q>) -> Option<Arguments<'q>> {
        match self {
            Arrangement::AsGiven => None,
            Arrangement::Rope => rope(arguments),
            Arrangement::KeyValueCache => cache(arguments),
            Arrangement::SwiGlu => swiglu(arguments),
        }
    }
}

/// (Q, K, cos, sin) as (K, Q, cos, sin), (B, H, S, D) as (B, S, H, D), and both tables with a dimension for the heads.
fn rope<'q>(arguments: &Arguments<'q>) -> Option<Arguments<'q>> {
    let mut new = arguments.clone();
    let [query, key, ..] = new.as_mut_slice() else { return None };
    std::mem::swap(query, key);
    for argument in [query, key] {
        if argument.shape.len() == 4 {
            argument.shape.to_mut().swap(1, 2);
        }
    }
    if let [_, _, tables @ ..] = new.as_mut_slice()
        && tables.len() == 2
    {
        for table in tables {
            if let [1, length, size] = *table.shape {
                table.shape = Cow::Owned(vec![1, length, 1, size]);
            }
        }
    }
    Some(new)
}

/// Both operands, which agree in all but the last dimension, side by side.
fn swiglu<'q>(arguments: &Arguments<'q>) -> Option<Arguments<'q>> {
    let [a, b] = arguments.as_slice() else { return None };
    let ([a_rest @ .., a_last], [b_rest @ .., b_last]) = (strip(&a.shape), strip(&b.shape)) else { return None };
    if (a_rest, a.dtype) != (b_rest, b.dtype) {
        return None;
    }
    let shape = [a_rest, &[a_last.saturating_add(*b_last)]].concat();
    Some(smallvec![Argument { shape: Cow::Owned(shape), dtype: a.dtype }])
}

/// Key and value with a dimension for the heads, and the halves of the cache on their own.
fn cache<'q>(arguments: &Arguments<'q>) -> Option<Arguments<'q>> {
    let [key, value, cache, slots] = arguments.as_slice() else { return None };
    let [2, half @ ..] = &*cache.shape else { return None };
    let with_heads = |argument: &Argument<'q>| match *argument.shape {
        [rows, size] => Some(Argument { shape: Cow::Owned(vec![rows, 1, size]), dtype: argument.dtype }),
        _ => None,
    };
    let half = Argument { shape: Cow::Owned(half.to_vec()), dtype: cache.dtype };
    let new = [with_heads(key)?, with_heads(value)?, half.clone(), half, slots.clone()];
    Some(new.into_iter().collect())
}
