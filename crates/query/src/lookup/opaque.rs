//! The kernel that prepares latent attention as a whole: found by its runtime fields, and between two numbers of tokens.

use crate::answer::{Part, Source};
use crate::context::Context;
use crate::decompose::OpaquePart;
use crate::reason::Reason;
use crate::table::columns::Column;
use crate::table::{KernelRow, KernelRows};
use perfdb_pycompat::text::trim;
use smallvec::smallvec;

const TOKENS: std::ops::RangeInclusive<i64> = 1..=1024;
const TENSORS: usize = 22;
const RESULTS: usize = 5;

/// The columns without which a table says nothing, beside [`Column::LATENT_SIZES`].
const NEEDED: [Column; 7] = [
    Column::BlockSize,
    Column::CacheMode,
    Column::QuantMode,
    Column::WeightFormat,
    Column::EnableInnerOut,
    Column::WeightQuantized,
    Column::Completeness,
];

/// The row of these tokens, or between the nearest ones.
pub(crate) fn answer(context: &Context<'_>, name: &str, part: &OpaquePart) -> Result<Part, Reason> {
    let miss = || Reason::new("shape_mismatch");
    let numbers = part.numbers();
    let is_valid = numbers.iter().all(|number| *number > 0)
        && TOKENS.contains(&part.num_tokens)
        && part.hidden_size % 32 == 0
        && part.q_lora_rank % 32 == 0
        && part.dtype == "DT_BF16";
    if !is_valid {
        return Err(miss());
    }
    let table = context.table(name).map_err(|miss| miss.reason)?.ok_or(Reason::new("csv_not_found"))?;
    if Column::LATENT_SIZES.iter().chain(&NEEDED).any(|column| !table.has(*column)) {
        return Err(miss());
    }
    let rows: Vec<(i64, KernelRow<'_>)> = table.iter().filter_map(|row| Some((fitting(part, row)?, row))).collect();
    let us = |row: &KernelRow<'_>| row.duration_us();
    if let Some((_, row)) = rows.iter().find(|(tokens, _)| *tokens == part.num_tokens) {
        return Ok(measured(table, part, us(row), Source::Measured, "mlapo_runtime_exact", &[*row]));
    }
    // Of equal ones the first.
    let mut below: Option<&(i64, KernelRow<'_>)> = None;
    let mut above: Option<&(i64, KernelRow<'_>)> = None;
    for row in &rows {
        if row.0 < part.num_tokens && below.is_none_or(|below| row.0 > below.0) {
            below = Some(row);
        }
        if row.0 > part.num_tokens && above.is_none_or(|above| row.0 < above.0) {
            above = Some(row);
        }
    }
    let (Some((x0, low)), Some((x1, high))) = (below, above) else { return Err(miss()) };
    let share = (part.num_tokens - x0) as f64 / (x1 - x0) as f64;
    let duration_us = us(low) + share * (us(high) - us(low));
    let rule = "mlapo_num_tokens_bounded_interpolation";
    Ok(measured(table, part, duration_us, Source::Interpolated, rule, &[*low, *high]))
}

fn measured(
    table: &KernelRows,
    part: &OpaquePart,
    duration_us: f64,
    source: Source,
    rule: &'static str,
    rows: &[KernelRow<'_>],
) -> Part {
    Part {
        kernel_type: table.kernel_type.clone(),
        duration_us,
        source,
        rule,
        interval_us: None,
        class: source.class(),
        input_shapes: vec![vec![part.num_tokens, part.hidden_size]],
        rows: match rows {
            [one] => smallvec![one.reference()],
            several => several.iter().map(|row| row.reference()).collect(),
        },
    }
}

/// The number of tokens of a row that has the same fields and the signature that they imply.
fn fitting(part: &OpaquePart, row: KernelRow<'_>) -> Option<i64> {
    let completeness = trim(row.cell(Column::Completeness)?);
    if completeness.is_empty() || completeness.eq_ignore_ascii_case("legacy") {
        return None;
    }
    let columns = [
        (Column::HiddenSize, part.hidden_size),
        (Column::LocalNumHeads, part.local_num_heads),
        (Column::QLoraRank, part.q_lora_rank),
        (Column::KvLoraRank, part.kv_lora_rank),
        (Column::QkNopeHeadDim, part.qk_nope_head_dim),
        (Column::QkRopeHeadDim, part.qk_rope_head_dim),
        (Column::BlockSize, part.block_size),
    ];
    let texts = [
        (Column::CacheMode, &part.cache_mode),
        (Column::QuantMode, &part.quant_mode),
        (Column::WeightFormat, &part.weight_format),
    ];
    let is_same = columns.iter().all(|(column, wanted)| row.cut(*column) == Some(*wanted))
        && texts.iter().all(|(column, wanted)| row.cell(*column).map(trim) == Some(wanted.as_str()))
        && row.flag(Column::EnableInnerOut) == part.enable_inner_out
        && row.flag(Column::WeightQuantized) == part.weight_quantized;
    let tokens = row.cut(Column::NumTokens).filter(|tokens| *tokens > 0 && is_same)?;
    has_signature(part, tokens, row).then_some(tokens)
}

fn has_signature(part: &OpaquePart, n: i64, row: KernelRow<'_>) -> bool {
    let (e, l, r, rope, nope) =
        (part.hidden_size, part.q_lora_rank, part.kv_lora_rank, part.qk_rope_head_dim, part.qk_nope_head_dim);
    let heads = part.local_num_heads;
    let f = l + r + rope;
    let o = heads * (nope + rope);
    let blocks = (n + part.block_size - 1) / part.block_size;
    let inputs: [&[i64]; TENSORS] = [
        &[n, e],
        &[1, e / 32, f, 32],
        &[f],
        &[l],
        &[l],
        &[1, l / 32, o, 32],
        &[o],
        &[r],
        &[n, rope],
        &[n, rope],
        &[heads, nope, r],
        &[blocks, part.block_size, 1, r],
        &[blocks, part.block_size, 1, rope],
        &[n],
        &[1],
        &[1],
        &[f],
        &[1],
        &[1],
        &[o],
        &[1],
        &[1],
    ];
    let outputs: [&[i64]; RESULTS] = [&[n, heads, r], inputs[11], &[n, heads, rope], inputs[12], &[n, l]];
    let (types, formats) = (row.input_types(), row.input_formats());
    let (output_types, output_formats) = (row.output_types(), row.output_formats());
    if types.len() != TENSORS
        || formats.len() != TENSORS
        || output_types.len() != RESULTS
        || output_formats.len() != RESULTS
    {
        return false;
    }
    let is_weight = |at: usize| matches!(&*types[at], "DT_INT8" | "INT8") && *formats[at] == *part.weight_format;
    row.inputs().iter().eq(inputs)
        && row.outputs().iter().eq(outputs)
        && &*types[0] == "DT_BF16"
        && output_types.iter().all(|name| &**name == "DT_BF16")
        && output_formats.iter().all(|format| &**format == "ND")
        && is_weight(1)
        && is_weight(5)
}
