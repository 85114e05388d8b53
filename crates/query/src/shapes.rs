//! How a shape of a query fits a shape of a row.

use crate::dtype::one_spelling;
use crate::semantics::ReaderKind;
use perfdb_store::registry::{KernelClass, Upstream, class_of, kernel};

/// Multiples to which kernels round dimensions up.
const BLOCKS: [i64; 3] = [16, 32, 64];
/// The format in which a matrix lies in blocks.
const FRACTAL_NZ: &str = "FRACTAL_NZ";
/// From this size on, multiples of 8 count, too.
const FINE_FROM: i64 = 64;

/// What a kernel type tolerates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    pub(crate) is_matmul: bool,
    pub(crate) flattens: bool,
    merges: bool,
    transposes_index: bool,
    transposes_batches: bool,
    pub(crate) relaxed_types: bool,
    pub(crate) arrangement: Arrangement,
    /// Where an input that is not batched has its tokens: before and from four dimensions on.
    tokens: [Option<usize>; 2],
    /// Whether every spelling of a type is read.
    is_exact: bool,
}

/// How a kernel takes the arguments of its operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrangement {
    /// As they are.
    AsGiven,
    /// Key before query, sequence before heads.
    Rope,
    /// Both halves of the cache on their own.
    KeyValueCache,
    /// Gate and value as one tensor, or as given.
    SwiGlu,
}

impl Arrangement {
    fn of(class: KernelClass) -> Self {
        match class {
            KernelClass::Rope => Arrangement::Rope,
            KernelClass::CacheWrite => Arrangement::KeyValueCache,
            KernelClass::GatedActivation => Arrangement::SwiGlu,
            _ => Arrangement::AsGiven,
        }
    }
}

/// Where the inputs of a class have their tokens, of up to three and of more dimensions. Of attention the first dimension may be a batch, and
/// another length is another call; of a kernel that nobody described no dimension is known.
fn tokens_of(class: KernelClass) -> [Option<usize>; 2] {
    match class {
        KernelClass::Generic | KernelClass::LatentAttention => [None, None],
        class if class.is_attention() || class.has_request_lengths() => [None, None],
        _ => [Some(0), Some(1)],
    }
}

impl Tolerance {
    /// What a reader tolerates of a table: the simulator's by its name, our own by its class.
    pub(crate) fn of(kernel_type: &str, class: KernelClass, reader: ReaderKind) -> Self {
        let named = kernel(kernel_type).map_or(Upstream::NOTHING, |kernel| kernel.upstream);
        if reader == ReaderKind::Own {
            return Tolerance {
                is_matmul: class.is_product(),
                flattens: matches!(class, KernelClass::Norm | KernelClass::Quantize | KernelClass::Experts),
                merges: class == KernelClass::Quantize,
                transposes_index: class == KernelClass::Index,
                transposes_batches: true,
                relaxed_types: matches!(class, KernelClass::MatMul | KernelClass::Rope)
                    || named.has(Upstream::RELAXED)
                    || named.has(Upstream::RELAXED_SINCE_2026),
                arrangement: Arrangement::of(class),
                tokens: tokens_of(class),
                is_exact: true,
            };
        }
        let is_newest = reader == ReaderKind::Upstream;
        let has = |always: Upstream, newest: Upstream| named.has(always) || is_newest && named.has(newest);
        Tolerance {
            is_matmul: has(Upstream::PRODUCT, Upstream::PRODUCT_SINCE_2026),
            flattens: named.has(Upstream::FLATTENS),
            merges: named.has(Upstream::MERGES),
            transposes_index: is_newest && class_of(kernel_type) == KernelClass::Index,
            transposes_batches: is_newest,
            relaxed_types: has(Upstream::RELAXED, Upstream::RELAXED_SINCE_2026),
            arrangement: Arrangement::of(class_of(kernel_type)),
            tokens: [None, None],
            is_exact: false,
        }
    }

    /// Whether a query's type goes with a row's.
    #[inline]
    pub(crate) fn type_fits(&self, query: &str, row: &str) -> bool {
        let is_float = |name: &str| matches!(name, "DT_BF16" | "FLOAT");
        let own = if self.is_exact { one_spelling(row) } else { row };
        query == own || (self.relaxed_types && is_float(query) && is_float(own))
    }

    /// One name for the types that are the same to the kernel.
    pub(crate) fn type_class<'s>(&self, name: &'s str) -> &'s str {
        let own = if self.is_exact { one_spelling(name) } else { name };
        if self.relaxed_types && matches!(own, "DT_BF16" | "FLOAT") { "DT_BF16|FLOAT" } else { one_spelling(name) }
    }

    /// The first rule by which input number `at` of a query fits a row's.
    #[inline]
    pub(crate) fn rule(&self, at: usize, query: &[i64], row: &[i64]) -> Option<&'static str> {
        if is_same(query, row) {
            return Some("identity");
        }
        let (stripped, stripped_row) = (strip(query), strip(row));
        // Otherwise what follows has been compared.
        let is_row_stripped = stripped_row.len() < row.len();
        if (stripped.len() < query.len() && is_same(stripped, row))
            || (is_row_stripped && is_same(stripped, stripped_row))
        {
            return Some("batch_strip");
        }
        if self.transposes_index && matches!((query, row), ([1, a], [b, 1]) if a == b) {
            return Some("singleton_axis_transpose");
        }
        if self.is_matmul && at > 0 {
            match (stripped, row) {
                ([a, b], [c, d]) if (a, b) == (d, c) => return Some("transpose"),
                ([x, a, b], [y, c, d]) if self.transposes_batches && x == y && (a, b) == (d, c) => {
                    return Some("batched_transpose");
                }
                _ => {}
            }
        }
        if is_padded(stripped, row) {
            return Some("padding");
        }
        if is_row_stripped && is_padded(stripped, stripped_row) {
            return Some("batch_strip+padding");
        }
        if self.flattens
            && row.len() == 2
            && let Some(flat) = flattened(query)
        {
            if flat == row {
                return Some("flatten_3d");
            }
            if is_padded(&flat, row) {
                return Some("flatten_3d+padding");
            }
        }
        if self.merges
            && row.len() == 2
            && let Some(merged) = merged(query)
        {
            if merged == row {
                return Some("merge_last_dims");
            }
            if is_padded(&merged, row) {
                return Some("merge_last_dims+padding");
            }
        }
        None
    }

    /// The tokens of a query's input and of a row's that is padded in these alone, at most to the next tile: not in batch, heads, sizes or
    /// weights. `None` if it is padded in anything else.
    pub(crate) fn padded_tokens(&self, at: usize, query: &[i64], row: &[i64]) -> Option<[i64; 2]> {
        let stripped = strip(query);
        let only = |query: &[i64], row: &[i64], tokens: Option<usize>| {
            let tokens = tokens?;
            let has_same = |at: usize| query[at] == row[at] || tokens == at && is_next_tile(query[at], row[at]);
            let is_padded = tokens < query.len() && query.len() == row.len() && (0..query.len()).all(has_same);
            is_padded.then(|| [query[tokens], row[tokens]])
        };
        let tokens = if self.is_matmul && at > 0 { None } else { self.tokens(stripped.len()) };
        let of_matrix = |matrix: Option<[i64; 2]>| only(&matrix?, row, Some(0));
        only(stripped, row, tokens)
            .or_else(|| only(stripped, strip(row), tokens))
            .or_else(|| of_matrix(flattened(query).filter(|_| self.flattens)))
            .or_else(|| of_matrix(merged(query).filter(|_| self.merges)))
    }

    /// Where a first input of some dimensions has its tokens.
    fn tokens(&self, dimensions: usize) -> Option<usize> {
        match dimensions {
            3.. if self.is_matmul => Some(dimensions - 2),
            _ => self.tokens[usize::from(dimensions >= 4)],
        }
    }

    /// Whether a first input may be one that a kernel rounded up from fewer tokens.
    pub(crate) fn may_be_padded(&self, query: &[i64]) -> bool {
        let stripped = strip(query);
        let own = self.tokens(stripped.len()).and_then(|at| stripped.get(at).copied());
        own.into_iter().chain(self.matrices(query).map(|[tokens, _]| tokens)).any(is_multiple)
    }

    /// The matrices that a query's input with three dimensions could be to this kernel.
    pub(crate) fn matrices(&self, query: &[i64]) -> impl Iterator<Item = [i64; 2]> {
        let flattened = flattened(query).filter(|_| self.flattens);
        flattened.into_iter().chain(merged(query).filter(|_| self.merges))
    }
}

/// What the rule of one input makes of the rule of the row.
#[inline]
pub(crate) fn combine(so_far: &'static str, rule: &'static str) -> &'static str {
    match rule {
        "identity" => so_far,
        "padding" if so_far != "identity" => so_far,
        "batch_strip+padding" if !matches!(so_far, "identity" | "batch_strip") => so_far,
        rule => rule,
    }
}

/// Whether a rule says that something was padded.
#[inline]
pub(crate) fn is_padding_rule(rule: &str) -> bool {
    rule.ends_with("padding")
}

/// The share of a larger shape that a smaller one covers; a dimension of 0 is one of 1.
pub(crate) fn covered(smaller: &[i64], larger: &[i64]) -> f64 {
    let size = |shape: &[i64]| shape.iter().map(|dimension| (*dimension).max(1) as f64).product::<f64>();
    size(smaller) / size(larger)
}

/// Without one leading dimension of 1, if there is another.
#[inline]
pub(crate) fn strip(shape: &[i64]) -> &[i64] {
    match shape {
        [1, rest @ ..] if !rest.is_empty() => rest,
        shape => shape,
    }
}

/// Without one leading dimension of 1, if a matrix is left.
pub(crate) fn strip_batch(shape: &[i64]) -> &[i64] {
    if shape.len() > 2 { strip(shape) } else { shape }
}

/// Equality of short slices, for which calling the general one costs more than comparing.
#[inline]
fn is_same(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// Whether a query is a row whose dimensions were rounded up.
pub(crate) fn is_padded(query: &[i64], row: &[i64]) -> bool {
    query.len() == row.len()
        && query.iter().zip(row).all(|(query, row)| query == row || is_rounded(*query, *row))
        && !is_same(query, row)
}

/// Whether one dimension is the other rounded up.
pub(crate) fn is_rounded(query: i64, row: i64) -> bool {
    let round_up = |block: i64| row.checked_add(block - 1).map(|sum| sum.div_euclid(block) * block);
    query > row
        && is_multiple(query)
        && (BLOCKS.into_iter().any(|block| round_up(block) == Some(query))
            || (row >= FINE_FROM && round_up(8) == Some(query)))
}

/// Whether anything may be rounded up to a dimension: every multiple is one of 8.
fn is_multiple(dimension: i64) -> bool {
    dimension & 7 == 0
}

/// Whether a dimension lies at most one tile above another one.
pub(crate) fn is_next_tile(query: i64, row: i64) -> bool {
    (0..=BLOCKS[0]).contains(&query.saturating_sub(row))
}

/// Equal, or one of them is the other rounded up.
pub(crate) fn is_equal_or_rounded(a: i64, b: i64) -> bool {
    a == b || is_rounded(a, b) || is_rounded(b, a)
}

/// (B, M, D) as (B·M, D), of the stripped shape if that still has three dimensions.
pub(crate) fn flattened(query: &[i64]) -> Option<[i64; 2]> {
    let three = if strip(query).len() == 3 { strip(query) } else { query };
    match three {
        [batch, rows, columns] => Some([batch.saturating_mul(*rows), *columns]),
        _ => None,
    }
}

/// (T, H, D) as (T, H·D).
fn merged(query: &[i64]) -> Option<[i64; 2]> {
    let three = if strip(query).len() == 3 { strip(query) } else { query };
    match three {
        [tokens, heads, size] => Some([*tokens, heads.saturating_mul(*size)]),
        _ => None,
    }
}

/// Whether matrices of this format lie in blocks.
pub(crate) fn is_fractal(format: &str) -> bool {
    format == FRACTAL_NZ
}

/// A shape in the fractal format as the matrix that it holds; `None` for other shapes, which are what they are.
pub(crate) fn restored(shape: &[i64], format: &str) -> Option<Vec<i64>> {
    if !is_fractal(format) {
        return None;
    }
    let (outer, &[a, b, c, d]) = shape.split_last_chunk()?;
    Some([outer, &[a.saturating_mul(d), b.saturating_mul(c)]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulators_readers_go_by_name_and_ours_by_class() {
        let of = |name, class, reader| Tolerance::of(name, class, reader).is_matmul;
        assert!(
            of("gemm", KernelClass::MatMul, ReaderKind::Own) && !of("gemm", KernelClass::MatMul, ReaderKind::Upstream)
        );
        assert!(
            !of("MatMulV2", KernelClass::Copy, ReaderKind::Own)
                && of("MatMulV2", KernelClass::Copy, ReaderKind::Upstream)
        );
        let grouped = |reader| of("GroupedMatmul", KernelClass::GroupedMatMul, reader);
        assert_eq!([ReaderKind::Upstream2025, ReaderKind::Upstream, ReaderKind::Own].map(grouped), [false, true, true]);
    }

    #[test]
    fn only_tokens_are_padded_where_that_is_asked_for() {
        let of = |class| Tolerance::of("any", class, ReaderKind::Own);
        let pads = |tolerance: &Tolerance, at: usize, query: &[i64], row: &[i64]| {
            tolerance.padded_tokens(at, query, row).is_some()
        };
        let matmul = of(KernelClass::MatMul);
        assert!(pads(&matmul, 0, &[16, 512], &[1, 512]));
        assert!(!pads(&matmul, 0, &[16, 512], &[16, 500]));
        assert!(!pads(&matmul, 1, &[16, 512], &[1, 512]), "a weight has no tokens");
        let batched = of(KernelClass::BatchMatMul);
        assert!(pads(&batched, 0, &[8, 16, 512], &[8, 10, 512]));
        assert!(!pads(&batched, 0, &[16, 16, 512], &[8, 16, 512]), "heads are not tokens");
        let (rope, far) = (of(KernelClass::Rope), of(KernelClass::MatMul));
        assert!(pads(&rope, 0, &[8, 16, 4, 64], &[8, 10, 4, 64]));
        assert!(!pads(&rope, 0, &[16, 10, 4, 64], &[8, 10, 4, 64]), "a batch is not padded");
        let attention = of(KernelClass::DecodeAttention);
        assert!(!pads(&attention, 0, &[16, 4, 64], &[10, 4, 64]), "a batch is not padded");
        assert!(!pads(&far, 0, &[64, 512], &[1, 512]), "64 is more than one tile from 1");
        let norm = of(KernelClass::Norm);
        assert!(pads(&norm, 0, &[2, 8, 512], &[10, 512]));
        assert!(!pads(&norm, 0, &[16, 512], &[16, 500]));
    }
}
