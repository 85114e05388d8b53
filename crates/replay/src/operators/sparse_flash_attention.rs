//! SparseFlashAttention: attention of each query to the positions of its own list, over a paged cache.

use crate::kernels::attention::{Visible, attend};
use crate::kernels::cached::{Cached, Part};
use crate::kernels::context;
use crate::kernels::element::Wide;
use crate::kernels::number::Number;
use crate::kernels::paging::{BlockTable, sequences};
use crate::kernels::rows::each_row;
use crate::kernels::shape::Shape;
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, expect_shape, index, integers, rank, require, values, zeros};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{floats, listable, require_fit, running_sums, shapes, spread};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::Row;

pub(super) const OPERATOR: Operator = Operator::new("SparseFlashAttention", INPUTS, plan, run);

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let slots @ [query, key, value, chosen, table, query_lengths, key_lengths, query_rope, key_rope] =
        inputs.exactly()?;
    inputs.strict()?;
    let all: [Shape; 9] = shapes(slots.each_ref())?;
    for ((slot, shape), needed) in slots.iter().zip(&all).zip([3, 4, 4, 3, 2, 1, 1, 3, 4]) {
        if shape.len() != needed {
            return Err(slot.wrong_rank(&needed.to_string()));
        }
    }
    let [query_dtype, key_dtype, value_dtype, query_rope_dtype, key_rope_dtype] =
        floats([query, key, value, query_rope, key_rope])?;
    let [
        query_shape,
        key_shape,
        value_shape,
        chosen_shape,
        table_shape,
        query_lengths_shape,
        key_lengths_shape,
        query_rope_shape,
        key_rope_shape,
    ] = all;
    let (tokens, blocks, size) = (query_shape[0], key_shape[0], key_shape[1]);
    let fits = key_shape[3] == query_shape[2]
        && value_shape[..3] == key_shape[..3]
        && query_rope_shape[..2] == query_shape[..2]
        && key_rope_shape == [&key_shape[..3], &query_rope_shape[2..]].concat()
        && chosen_shape[0] == tokens;
    require_fit(fits, || {
        format!(
            "query {query_shape:?} and {query_rope_shape:?}, key {key_shape:?} and {key_rope_shape:?}, value {value_shape:?}"
        )
    })?;
    for shape in [&query_lengths_shape, &key_lengths_shape] {
        require_fit(*shape == table_shape[..1], || format!("lengths {shape:?} for a block table of {table_shape:?}"))?;
    }
    let length = table_shape[1].saturating_mul(size);
    let scale = 1.0 / ((key_shape[3] + key_rope_shape[3]) as f64).sqrt();
    // Positions are listed for the one key head, whatever number of lists is recorded.
    let chosen_shape = [tokens, 1, chosen_shape[2]];
    let last_position = chosen_shape[2].min(length) as i64 - 1;
    let query_ends = Init::integers(running_sums(spread(tokens, listable(table_shape[0])?)));
    Ok(Call::new("torch.ops._C_ascend.npu_sparse_flash_attention")
        .kwarg_tensor(query.tensor("query", query_shape, query_dtype))
        .kwarg_tensor(key.tensor("key", key_shape, key_dtype))
        .kwarg_tensor(value.tensor("value", value_shape, value_dtype))
        .kwarg_tensor(
            chosen.tensor("sparse_indices", chosen_shape, DType::Int32).init(Init::ArangeClip { max: last_position }),
        )
        .kwarg_tensor(
            table.tensor("block_table", table_shape, DType::Int32).init(Init::ArangeMod { modulus: blocks as u64 }),
        )
        .kwarg_tensor(
            query_lengths.tensor("actual_seq_lengths_query", query_lengths_shape, DType::Int32).init(query_ends),
        )
        .kwarg_tensor(
            key_lengths
                .tensor("actual_seq_lengths_kv", key_lengths_shape, DType::Int32)
                .init(Init::full(length as i64)),
        )
        .kwarg_tensor(query_rope.tensor("query_rope", query_rope_shape, query_rope_dtype))
        .kwarg_tensor(key_rope.tensor("key_rope", key_rope_shape, key_rope_dtype))
        .kwarg("scale_value", Argument::Number(Number::Float(scale)))
        .kwarg("sparse_block_size", 1)
        .kwarg("layout_query", "TND")
        .kwarg("layout_kv", "PA_BSND")
        .kwarg("sparse_mode", 3)
        .into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let query = bindings.named("query")?;
    let expected = bindings.integer("sparse_mode")? == Some(3)
        && bindings.integer("sparse_block_size")? == Some(1)
        && bindings.string("layout_query")? == Some("TND")
        && bindings.string("layout_kv")? == Some("PA_BSND");
    if !expected {
        return Err(CaseError::unsupported("another sparse mode, block size or layout"));
    }
    with_float!(query.dtype(), E => attention::<E>(bindings, query)).map(|attention| vec![attention])
}

fn attention<E: Float>(bindings: &Bindings<'_>, query: &Tensor) -> Result<Output, CaseError> {
    let (key, value, chosen) = (bindings.named("key")?, bindings.named("value")?, bindings.named("sparse_indices")?);
    let (query_rope, key_rope) = (bindings.named("query_rope")?, bindings.named("key_rope")?);
    let ([tokens, heads, width], [blocks, size, _, _]) = (rank(query, "query")?, rank::<4>(key, "key")?);
    let ([_, _, rope], [_, _, _, value_width], [_, _, count]) =
        (rank(query_rope, "query_rope")?, rank::<4>(value, "value")?, rank(chosen, "sparse_indices")?);
    expect_shape(key, "key", &[blocks, size, 1, width])?;
    expect_shape(value, "value", &[blocks, size, 1, value_width])?;
    expect_shape(query_rope, "query_rope", &[tokens, heads, rope])?;
    expect_shape(key_rope, "key_rope", &[blocks, size, 1, rope])?;
    expect_shape(chosen, "sparse_indices", &[tokens, 1, count])?;
    let table = BlockTable::new(bindings.named("block_table")?, blocks, size)?;
    let query_ends = integers(bindings.named("actual_seq_lengths_query")?)?;
    let key_lengths = integers(bindings.named("actual_seq_lengths_kv")?)?;
    let sequences = sequences(&query_ends, tokens)?;
    require(sequences.len() == key_lengths.len() && sequences.len() <= table.rows(), || {
        "as many query as key lengths and table rows are needed".to_owned()
    })?;
    let scale = E::Wide::from_f64(
        bindings.number("scale_value")?.ok_or_else(|| CaseError::rejected("scale_value is missing"))?,
    );
    let (query, query_rope, chosen) = (values::<E>(query)?, values::<E>(query_rope)?, integers(chosen)?);
    let parts = [Part::whole(values::<E>(key)?, width), Part::whole(values::<E>(key_rope)?, rope)];
    let value = Part::whole(values::<E>(value)?, value_width);
    let mut out = zeros::<E>(&[tokens, heads, value_width])?;
    for (sequence, (queries, key_length)) in sequences.into_iter().zip(key_lengths).enumerate() {
        context::proceed()?;
        let keys = usize::try_from(key_length).unwrap_or(0);
        let lines = table.lines(sequence, keys)?;
        let (start, length) = (queries.start, queries.len());
        let lists = (queries.clone())
            .map(|token| {
                let visible = (keys + token - start + 1).saturating_sub(length);
                seen(&chosen[token * count..(token + 1) * count], visible, &lines)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let results = &mut out[start * heads * value_width..queries.end * heads * value_width];
        // A query is worth a job of its own.
        each_row(results, heads * value_width, usize::MAX, |i, out| {
            let token = start + i;
            let source = Cached { key: &parts, value: &value, line: |position: usize| lists[i][position] };
            let of_query = |width: usize| token * heads * width..(token + 1) * heads * width;
            let rows = joined_rows::<E>(&query[of_query(width)], &query_rope[of_query(rope)], heads);
            let attended = attend(&rows, scale, &source, &Visible::Below(&vec![lists[i].len(); heads]));
            E::round_slice(&attended.output, out);
        });
    }
    output([tokens, heads, value_width], out)
}

/// Cache lines of the listed positions below `visible`, up to the first −1.
fn seen(list: &[i64], visible: usize, lines: &[usize]) -> Result<Vec<usize>, CaseError> {
    let mut seen = Vec::new();
    for position in list.iter().take_while(|position| **position != -1) {
        let place = index(*position, usize::MAX)?;
        if place < visible {
            seen.push(
                *lines.get(place).ok_or_else(|| CaseError::rejected(format!("position {place} of {}", lines.len())))?,
            );
        }
    }
    Ok(seen)
}

/// Rows of two tensors side by side, widened.
fn joined_rows<E: Float>(first: &[E], second: &[E], rows: usize) -> Vec<E::Wide> {
    let (a, b) = (first.len().checked_div(rows).unwrap_or(0), second.len().checked_div(rows).unwrap_or(0));
    let mut joined = vec![E::Wide::default(); first.len() + second.len()];
    for (row, to) in joined.chunks_exact_mut((a + b).max(1)).enumerate() {
        E::widen_slice(&first[row * a..(row + 1) * a], &mut to[..a]);
        E::widen_slice(&second[row * b..(row + 1) * b], &mut to[a..]);
    }
    joined
}
