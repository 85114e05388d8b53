//! The arguments of a query as a kernel takes them.

use crate::dtype::{exact_name, profiler_name};
use crate::query::Tensor;
use crate::shapes::{Arrangement, strip};
use smallvec::{SmallVec, smallvec};
use std::ops::Deref;

/// A shape, borrowed or made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Dims<'q> {
    Borrowed(&'q [i64]),
    Made(SmallVec<[i64; 5]>),
}

impl Deref for Dims<'_> {
    type Target = [i64];

    #[inline]
    fn deref(&self) -> &[i64] {
        match self {
            Dims::Borrowed(shape) => shape,
            Dims::Made(shape) => shape,
        }
    }
}

impl Dims<'_> {
    pub(crate) fn of(shape: &[i64]) -> Dims<'static> {
        Dims::Made(SmallVec::from_slice(shape))
    }
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand<'q> {
    pub(crate) shape: Dims<'q>,
    /// The profiler's type; `None` matches no row.
    pub(crate) dtype: Option<&'static str>,
}

pub(crate) type Operands<'q> = SmallVec<[Operand<'q>; 4]>;

impl<'q> Operand<'q> {
    /// By the rules of the simulator's readers, which know one 16-bit float, or by the very type.
    #[inline]
    pub(crate) fn of(tensor: &'q Tensor, exact_types: bool) -> Self {
        let name = if exact_types { exact_name } else { profiler_name };
        Operand { shape: Dims::Borrowed(&tensor.shape), dtype: name(tensor.dtype) }
    }

    pub(crate) fn made(shape: &[i64], dtype: Option<&'static str>) -> Self {
        Operand { shape: Dims::of(shape), dtype }
    }
}

impl Arrangement {
    /// The arguments in the order and form of the kernel; `None` if it takes them as they are.
    #[inline]
    pub(crate) fn rearranged<'q>(self, operands: &Operands<'q>) -> Option<Operands<'q>> {
        match self {
            Arrangement::AsGiven => None,
            Arrangement::Rope => rope(operands),
            Arrangement::KeyValueCache => cache(operands),
            Arrangement::SwiGlu => swiglu(operands),
        }
    }

    /// Whether rows may also hold the arguments as they are given, because the rearranged ones are of another number.
    pub(crate) fn keeps_given(self) -> bool {
        self != Arrangement::Rope
    }
}

/// (Q, K, cos, sin) as (K, Q, cos, sin), (B, H, S, D) as (B, S, H, D), and both tables with a dimension for the heads. Two or four come out.
fn rope<'q>(operands: &Operands<'q>) -> Option<Operands<'q>> {
    let [query, key, tables @ ..] = operands.as_slice() else { return None };
    let swapped = |operand: &Operand<'q>| match *operand.shape {
        [batch, heads, length, size] => Operand::made(&[batch, length, heads, size], operand.dtype),
        _ => operand.clone(),
    };
    let mut new: Operands<'q> = smallvec![swapped(key), swapped(query)];
    if let [cos, sin, ..] = tables {
        new.extend([cos, sin].map(|table| match *table.shape {
            [batch, length, size] => Operand::made(&[batch, length, 1, size], table.dtype),
            _ => table.clone(),
        }));
    }
    Some(new)
}

/// Both operands, which agree in all but the last dimension, side by side.
fn swiglu<'q>(operands: &Operands<'q>) -> Option<Operands<'q>> {
    let [a, b] = operands.as_slice() else { return None };
    let ([a_rest @ .., a_last], [b_rest @ .., b_last]) = (strip(&a.shape), strip(&b.shape)) else { return None };
    if (a_rest, a.dtype) != (b_rest, b.dtype) {
        return None;
    }
    let mut shape: SmallVec<[i64; 5]> = SmallVec::from_slice(a_rest);
    shape.push(a_last.saturating_add(*b_last));
    Some(smallvec![Operand { shape: Dims::Made(shape), dtype: a.dtype }])
}

/// Key and value with a dimension for the heads, and the halves of the cache on their own.
fn cache<'q>(operands: &Operands<'q>) -> Option<Operands<'q>> {
    let [key, value, cache, slots] = operands.as_slice() else { return None };
    let [2, half @ ..] = &*cache.shape else { return None };
    if half.is_empty() {
        return None;
    }
    let with_heads = |operand: &Operand<'q>| match *operand.shape {
        [rows, size] => Some(Operand::made(&[rows, 1, size], operand.dtype)),
        _ => None,
    };
    let half = Operand::made(half, cache.dtype);
    let new = [with_heads(key)?, with_heads(value)?, half.clone(), half, slots.clone()];
    Some(new.into_iter().collect())
}
