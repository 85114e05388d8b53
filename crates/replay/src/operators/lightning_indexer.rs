//! LightningIndexer: per query the positions with the largest index scores, over a paged key cache.

use crate::kernels::context;
use crate::kernels::element::Wide;
use crate::kernels::paging::{BlockTable, sequences};
use crate::kernels::product::{Matrix, Previous, multiply};
use crate::kernels::rows::each_row;
use crate::kernels::shape::{Shape, elements};
use crate::kernels::tensor::Tensor;
use crate::kernels::topk::largest;
use crate::kernels::typed::{Float, expect_shape, integers, rank, require, values, wide, zeros};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use crate::bindings::{Bindings, Output, output};
use crate::case::Call;
use crate::init::Init;
use crate::inputs::{floats, listable, require_fit, running_sums, shapes, spread};
use crate::operator::{INPUTS, Operator, PlanOptions, Planned};
use crate::refusal::{CaseError, Refusal};
use crate::row::{Recorded, Row};

pub(super) const OPERATOR: Operator = Operator::new("LightningIndexer", INPUTS, plan, run);

/// Selected positions per query where no output is recorded.
const SPARSE_COUNT: usize = 2048;
/// Keys that are scored at a time.
const STEP: usize = 1024;

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let inputs = row.inputs()?.present();
    let recorded = row.outputs()?.first_shape();
    let slots @ [query, key, weights, query_lengths, key_lengths, table] = inputs.exactly()?;
    inputs.strict()?;
    let all: [Shape; 6] = shapes(slots.each_ref())?;
    for ((slot, shape), needed) in slots.iter().zip(&all).zip([3, 4, 2, 1, 1, 2]) {
        if shape.len() < needed {
            return Err(slot.wrong_rank(&needed.to_string()));
        }
    }
    let [query_dtype, key_dtype, weights_dtype] = floats([query, key, weights])?;
    let [query_shape, key_shape, weights_shape, query_lengths_shape, key_lengths_shape, table_shape] = all;
    let fits = weights_shape[..2] == query_shape[..2] && key_shape.last() == query_shape.last();
    require_fit(fits, || format!("query {query_shape:?}, key {key_shape:?}, weights {weights_shape:?}"))?;
    for shape in [&query_lengths_shape, &key_lengths_shape] {
        require_fit(elements(shape) == table_shape[0], || {
            format!("lengths {shape:?} for a block table of {table_shape:?}")
        })?;
    }
    let (tokens, blocks, size, sequences) = (query_shape[0], key_shape[0], key_shape[1], listable(table_shape[0])?);
    let lengths =
        |slot: &Recorded<'_>, name, shape, values| slot.tensor(name, shape, DType::Int32).init(Init::integers(values));
    let mut call = Call::new("torch_npu.npu_lightning_indexer")
        .kwarg_tensor(query.tensor("query", query_shape, query_dtype))
        .kwarg_tensor(key.tensor("key", key_shape, key_dtype))
        .kwarg_tensor(weights.tensor("weights", weights_shape, weights_dtype))
        .kwarg_tensor(lengths(
            query_lengths,
            "actual_seq_lengths_query",
            query_lengths_shape,
            running_sums(spread(tokens, sequences)),
        ))
        .kwarg_tensor(lengths(
            key_lengths,
            "actual_seq_lengths_key",
            key_lengths_shape,
            spread(blocks.saturating_mul(size), sequences),
        ))
        .kwarg_tensor(
            table.tensor("block_table", table_shape, DType::Int32).init(Init::ArangeMod { modulus: blocks as u64 }),
        )
        .kwarg("layout_query", "TND")
        .kwarg("layout_key", "PA_BSND")
        .kwarg("sparse_count", recorded.and_then(|shape| shape.last().copied()).unwrap_or(SPARSE_COUNT))
        .kwarg("sparse_mode", 3);
    call.unwrap = Some(0);
    Ok(call.into())
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let query = bindings.named("query")?;
    if bindings.integer("sparse_mode")? != Some(3)
        || bindings.string("layout_query")? != Some("TND")
        || bindings.string("layout_key")? != Some("PA_BSND")
    {
        return Err(CaseError::unsupported("another sparse mode or layout"));
    }
    with_float!(query.dtype(), E => select::<E>(bindings, query)).map(|selected| vec![selected])
}

fn select<E: Float>(bindings: &Bindings<'_>, query: &Tensor) -> Result<Output, CaseError> {
    let key = bindings.named("key")?;
    let ([tokens, heads, width], [blocks, size, _, _]) = (rank(query, "query")?, rank::<4>(key, "key")?);
    expect_shape(key, "key", &[blocks, size, 1, width])?;
    let weights = bindings.named("weights")?;
    expect_shape(weights, "weights", &[tokens, heads])?;
    let count = bindings.size("sparse_count")?.unwrap_or(SPARSE_COUNT);
    require(count.saturating_mul(tokens) < usize::MAX / 16, || format!("{count} positions per query"))?;
    let table = BlockTable::new(bindings.named("block_table")?, blocks, size)?;
    let query_lengths = integers(bindings.named("actual_seq_lengths_query")?)?;
    let key_lengths = integers(bindings.named("actual_seq_lengths_key")?)?;
    let sequences = sequences(&query_lengths, tokens)?;
    require(sequences.len() == key_lengths.len() && sequences.len() <= table.rows(), || {
        "as many query as key lengths and table rows are needed".to_owned()
    })?;
    let (query, key, weights) = (values::<E>(query)?, values::<E>(key)?, wide::<E::Wide>(weights)?);
    let mut out = zeros::<i32>(&[tokens, 1, count])?;
    out.fill(-1);
    for (sequence, (queries, key_length)) in sequences.into_iter().zip(key_lengths).enumerate() {
        context::proceed()?;
        let keys = usize::try_from(key_length).unwrap_or(0).min(table.capacity());
        let lines = table.lines(sequence, keys)?;
        let length = queries.len();
        let results = &mut out[queries.start * count..queries.end * count];
        // A query is worth a job of its own.
        each_row(results, count, usize::MAX, |i, out| {
            // Query i sees the keys up to its own place, counted from the end of the sequence.
            let visible = (keys + i + 1).saturating_sub(length).min(keys);
            let token = queries.start + i;
            let of_query = &query[token * heads * width..(token + 1) * heads * width];
            let scores = index_scores::<E>(
                of_query,
                &weights[token * heads..(token + 1) * heads],
                &lines[..visible],
                key,
                width,
            );
            for (to, position) in out.iter_mut().zip(largest(&scores, count)) {
                *to = position as i32;
            }
        });
    }
    output([tokens, 1, count], out)
}

/// Σ over heads of weight · max(0, query · key), for each key.
fn index_scores<E: Float>(query: &[E], weights: &[E::Wide], lines: &[usize], key: &[E], width: usize) -> Vec<E::Wide> {
    let zero = E::Wide::default();
    let heads = weights.len();
    let query = crate::kernels::element::widened(query);
    let mut scores = Vec::with_capacity(lines.len());
    let (mut keys, mut products) = (vec![zero; STEP * width], vec![zero; STEP * heads]);
    for step in lines.chunks(STEP) {
        let (keys, products) = (&mut keys[..step.len() * width], &mut products[..step.len() * heads]);
        for (to, line) in keys.chunks_exact_mut(width.max(1)).zip(step) {
            E::widen_slice(&key[line * width..(line + 1) * width], to);
        }
        multiply(
            Matrix::row_major(keys, step.len(), width),
            Matrix::row_major(&query, heads, width).transposed(),
            products,
            Previous::Replaced,
        );
        if heads == 0 {
            scores.resize(scores.len() + step.len(), zero);
            continue;
        }
        scores.extend(products.chunks_exact(heads).map(|products| {
            products.iter().zip(weights).fold(zero, |sum, (product, weight)| {
                sum + *weight * num_traits::Float::max(*product, <E::Wide as Wide>::from_f64(0.0))
            })
        }));
    }
    scores
}
