//! How a shape of a query fits a shape of a row.

use std::borrow::Cow;

/// Multiples to which kernels round dimensions up.
const BLOCKS: [i64; 3] = [16, 32, 64];
/// From this size on, multiples of 8 count, too.
const FINE_FROM: i64 = 64;

const MATMUL: [&str; 7] =
    ["MatMulV2", "MatMulV3", "MatMulCommon", "MatMul", "QuantBatchMatmulV3", "BatchMatMulV2", "TransposeBatchMatMul"];
const FLATTENING: [&str; 6] =
    ["AscendQuantV2", "DynamicQuant", "RmsNorm", "AddRmsNormBias", "AddRmsNorm", "DispatchFFNCombine"];
const MERGING: [&str; 2] = ["AscendQuantV2", "DynamicQuant"];
const RELAXED: [&str; 7] = [
    "MatMulV2",
    "PadV3",
    "PadV3AiCore",
    "ApplyRotaryPosEmb",
    "_triton_rope",
    "split_qkv_rmsnorm_rope_kernel",
    "MoeGatingTopK",
];

/// What a kernel type tolerates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    pub(super) is_matmul: bool,
    pub(super) flattens: bool,
    merges: bool,
    is_index: bool,
    relaxed_types: bool,
}

impl Tolerance {
    pub(super) fn of(kernel_type: &str) -> Self {
        Tolerance {
            is_matmul: MATMUL.contains(&kernel_type),
            flattens: FLATTENING.contains(&kernel_type),
            merges: MERGING.contains(&kernel_type),
            is_index: kernel_type == "Index",
            relaxed_types: RELAXED.contains(&kernel_type),
        }
    }

    /// Whether a query's type goes with a row's.
    pub(super) fn type_fits(self, query: &str, row: &str) -> bool {
        let is_float = |name: &str| matches!(name, "DT_BF16" | "FLOAT");
        query == row || (self.relaxed_types && is_float(query) && is_float(row))
    }

    /// The first rule by which input number `at` of a query fits a row's.
    pub(super) fn rule(self, at: usize, query: &[i64], row: &[i64]) -> Option<&'static str> {
        let stripped = strip(query);
        if query == row {
            return Some("identity");
        }
        if stripped == strip(row) || stripped == row {
            return Some("batch_strip");
        }
        if self.is_index && matches!((query, row), ([1, a], [b, 1]) if a == b) {
            return Some("singleton_axis_transpose");
        }
        if self.is_matmul && at > 0 {
            match (stripped, row) {
                ([a, b], [c, d]) if (a, b) == (d, c) => return Some("transpose"),
                ([x, a, b], [y, c, d]) if x == y && (a, b) == (d, c) => return Some("batched_transpose"),
                _ => {}
            }
        }
        if is_padded(stripped, row) {
            return Some("padding");
        }
        if is_padded(stripped, strip(row)) {
            return Some("batch_strip+padding");
        }
        if self.flattens
            && let Some(flat) = flattened(query)
        {
            match row.len() == 2 {
                true if flat == *row => return Some("flatten_3d"),
                true if is_padded(&flat, row) => return Some("flatten_3d+padding"),
                _ => {}
            }
        }
        if self.merges
            && let Some(merged) = merged(query)
        {
            match row.len() == 2 {
                true if merged == *row => return Some("merge_last_dims"),
                true if is_padded(&merged, row) => return Some("merge_last_dims+padding"),
                _ => {}
            }
        }
        None
    }

    /// Every form of a query's first input that could be a row's.
    pub(super) fn forms(self, query: &[i64]) -> Vec<Vec<i64>> {
        let mut forms = vec![query.to_vec(), strip(query).to_vec()];
        forms.extend(flattened(query).filter(|_| self.flattens));
        forms.extend(merged(query).filter(|_| self.merges));
        if self.is_index && query.len() == 2 {
            forms.push(vec![query[1], query[0]]);
        }
        forms.dedup();
        forms
    }
}

/// What the rule of one input makes of the rule of the row.
pub(super) fn combine(so_far: &'static str, rule: &'static str) -> &'static str {
    match rule {
        "identity" => so_far,
        "padding" if so_far != "identity" => so_far,
        "batch_strip+padding" if !matches!(so_far, "identity" | "batch_strip") => so_far,
        rule => rule,
    }
}

/// Without one leading dimension of 1, if there is another.
pub(super) fn strip(shape: &[i64]) -> &[i64] {
    match shape {
        [1, rest @ ..] if !rest.is_empty() => rest,
        shape => shape,
    }
}

/// Whether a query is a row whose dimensions were rounded up.
pub(super) fn is_padded(query: &[i64], row: &[i64]) -> bool {
    let fits = |(query, row): (&i64, &i64)| {
        let round_up = |block: i64| row.checked_add(block - 1).map(|sum| sum / block * block);
        let is_rounded = |block: i64| round_up(block) == Some(*query);
        query == row || (query > row && (BLOCKS.into_iter().any(is_rounded) || (*row >= FINE_FROM && is_rounded(8))))
    };
    query.len() == row.len() && query != row && query.iter().zip(row).all(fits)
}

/// (B, M, D) as (B·M, D), of the stripped shape if that still has three dimensions.
pub(super) fn flattened(query: &[i64]) -> Option<Vec<i64>> {
    let three = if strip(query).len() == 3 { strip(query) } else { query };
    match three {
        [batch, rows, columns] => Some(vec![batch.saturating_mul(*rows), *columns]),
        _ => None,
    }
}

/// (T, H, D) as (T, H·D).
fn merged(query: &[i64]) -> Option<Vec<i64>> {
    let three = if strip(query).len() == 3 { strip(query) } else { query };
    match three {
        [tokens, heads, size] => Some(vec![*tokens, heads.saturating_mul(*size)]),
        _ => None,
    }
}

/// A shape in the fractal format as the matrix that it holds; shapes of fewer than four dimensions stay.
pub(super) fn restored<'s>(shape: &'s [i64], format: Option<&str>) -> Cow<'s, [i64]> {
    match (shape, format) {
        ([outer @ .., a, b, c, d], Some("FRACTAL_NZ")) => {
            let mut restored = outer.to_vec();
            restored.extend([a.saturating_mul(*d), b.saturating_mul(*c)]);
            Cow::Owned(restored)
        }
        _ => Cow::Borrowed(shape),
    }
}

/// Equal for a shape and every shape that is this one padded.
pub(super) fn blocks_of(shape: &[i64]) -> impl Iterator<Item = i64> {
    shape.iter().map(|dimension| dimension.saturating_add(63) / 64)
}
