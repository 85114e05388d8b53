//! How a shape of a query fits a shape of a row.

/// Multiples to which kernels round dimensions up.
const BLOCKS: [i64; 3] = [16, 32, 64];
/// The format in which a matrix lies in blocks.
const FRACTAL_NZ: &str = "FRACTAL_NZ";
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
pub(crate) struct Tolerance {
    pub(crate) is_matmul: bool,
    pub(crate) flattens: bool,
    merges: bool,
    is_index: bool,
    relaxed_types: bool,
    pub(crate) arrangement: Arrangement,
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
    fn of(kernel_type: &str) -> Self {
        match kernel_type {
            "ApplyRotaryPosEmb" | "_triton_rope" | "split_qkv_rmsnorm_rope_kernel" => Arrangement::Rope,
            "ReshapeAndCacheNdKernel" | "reshape_and_cache_200000000" => Arrangement::KeyValueCache,
            "SwiGlu" => Arrangement::SwiGlu,
            _ => Arrangement::AsGiven,
        }
    }
}

impl Tolerance {
    pub(crate) fn of(kernel_type: &str) -> Self {
        Tolerance {
            is_matmul: MATMUL.contains(&kernel_type),
            flattens: FLATTENING.contains(&kernel_type),
            merges: MERGING.contains(&kernel_type),
            is_index: kernel_type == "Index",
            relaxed_types: RELAXED.contains(&kernel_type),
            arrangement: Arrangement::of(kernel_type),
        }
    }

    /// Whether a query's type goes with a row's.
    pub(crate) fn type_fits(self, query: &str, row: &str) -> bool {
        let is_float = |name: &str| matches!(name, "DT_BF16" | "FLOAT");
        query == row || (self.relaxed_types && is_float(query) && is_float(row))
    }

    /// The first rule by which input number `at` of a query fits a row's.
    pub(crate) fn rule(self, at: usize, query: &[i64], row: &[i64]) -> Option<&'static str> {
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
        if is_row_stripped && is_padded(stripped, stripped_row) {
            return Some("batch_strip+padding");
        }
        if self.flattens
            && let Some(flat) = flattened(query)
        {
            match row.len() == 2 {
                true if flat == row => return Some("flatten_3d"),
                true if is_padded(&flat, row) => return Some("flatten_3d+padding"),
                _ => {}
            }
        }
        if self.merges
            && let Some(merged) = merged(query)
        {
            match row.len() == 2 {
                true if merged == row => return Some("merge_last_dims"),
                true if is_padded(&merged, row) => return Some("merge_last_dims+padding"),
                _ => {}
            }
        }
        None
    }

    /// The matrices that a query's input with three dimensions could be to this kernel.
    pub(crate) fn matrices(self, query: &[i64]) -> impl Iterator<Item = [i64; 2]> {
        let flattened = flattened(query).filter(|_| self.flattens);
        flattened.into_iter().chain(merged(query).filter(|_| self.merges))
    }
}

/// What the rule of one input makes of the rule of the row.
pub(crate) fn combine(so_far: &'static str, rule: &'static str) -> &'static str {
    match rule {
        "identity" => so_far,
        "padding" if so_far != "identity" => so_far,
        "batch_strip+padding" if !matches!(so_far, "identity" | "batch_strip") => so_far,
        rule => rule,
    }
}

/// Without one leading dimension of 1, if there is another.
pub(crate) fn strip(shape: &[i64]) -> &[i64] {
    match shape {
        [1, rest @ ..] if !rest.is_empty() => rest,
        shape => shape,
    }
}

/// Equality of short slices, for which calling the general one costs more than comparing.
fn is_same(a: &[i64], b: &[i64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b)
}

/// Whether a query is a row whose dimensions were rounded up.
pub(crate) fn is_padded(query: &[i64], row: &[i64]) -> bool {
    query.len() == row.len()
        && query.iter().zip(row).all(|(query, row)| query == row || is_rounded(*query, *row))
        && !is_same(query, row)
}

fn is_rounded(query: i64, row: i64) -> bool {
    let round_up = |block: i64| row.checked_add(block - 1).map(|sum| sum / block * block);
    // Every multiple is one of 8.
    query > row
        && query & 7 == 0
        && (BLOCKS.into_iter().any(|block| round_up(block) == Some(query))
            || (row >= FINE_FROM && round_up(8) == Some(query)))
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

/// A shape in the fractal format as the matrix that it holds; `None` for other shapes, which are what they are.
pub(crate) fn restored(shape: &[i64], format: &str) -> Option<Vec<i64>> {
    if format != FRACTAL_NZ {
        return None;
    }
    let (outer, &[a, b, c, d]) = shape.split_last_chunk()?;
    Some([outer, &[a.saturating_mul(d), b.saturating_mul(c)]].concat())
}
