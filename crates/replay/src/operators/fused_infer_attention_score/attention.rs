//! The attention of FusedInferAttentionScore, in every layout of queries and keys.

use crate::kernels::attention::{Attended, Visible, attend};
use crate::kernels::cached::{Cached, Part};
use crate::kernels::element::Wide;
use crate::kernels::heads::{Block, blocks, each_block};
use crate::kernels::paging::{BlockTable, sequences};
use crate::kernels::tensor::Tensor;
use crate::kernels::typed::{Float, expect_shape, integers, require, values, zeros};
use num_traits::ToPrimitive;

use crate::bindings::{Bindings, Output, output};
use crate::refusal::CaseError;

/// Queries by sequence and head.
enum Queries {
    /// (tokens, heads, size): where each sequence begins.
    TokenMajor { starts: Vec<usize> },
    /// (batch, heads, queries, size).
    Batch { length: usize },
}

/// Keys by sequence and head: the lines of the key tensor that hold a sequence's positions.
enum Keys {
    /// (tokens, heads, size): where each sequence begins.
    TokenMajor { starts: Vec<usize> },
    /// (batch, heads, keys, size).
    Batch { length: usize },
    /// (blocks, heads, block size, size).
    HeadPages { lines: Vec<Vec<usize>>, block_size: usize },
    /// (blocks, block size, heads · size).
    Pages { lines: Vec<Vec<usize>> },
}

/// What hides positions from queries.
enum Hiding {
    Nothing,
    /// Query i of q sees the first i + k − q + 1 of k keys.
    LowerRight,
    /// Query i sees the first i + 1 keys.
    UpperLeft,
    /// True hides; one (queries, keys) mask for all sequences, or one per sequence.
    Mask {
        hidden: Vec<bool>,
        rows: usize,
        columns: usize,
        per_sequence: bool,
    },
}

/// One call.
struct Attention<'a, E: Float> {
    query: &'a [E],
    query_rope: &'a [E],
    key: &'a [E],
    key_rope: &'a [E],
    value: &'a [E],
    /// Elements of a query, its rotated part and a value.
    widths: [usize; 3],
    heads: usize,
    /// Heads of the key tensor, and how many of them are used.
    stored_key_heads: usize,
    key_heads: usize,
    queries: Queries,
    query_counts: Vec<usize>,
    keys: Keys,
    key_counts: Vec<usize>,
    hiding: Hiding,
    scale: E::Wide,
}

/// Runs the call: the attention and, if asked for, the log-sums.
pub(super) fn run<E: Float>(bindings: &Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    let query = bindings.tensor(0)?;
    let attention = Attention::<E>::new(bindings)?;
    let [width, _, value_width] = attention.widths;
    let rows = query.len().checked_div(width).unwrap_or(0);
    let mut out = vec![E::default(); rows * value_width];
    let mut log_sums = zeros::<f32>(&[rows])?;
    let all =
        blocks(attention.query_counts.iter().copied(), attention.key_heads, attention.heads / attention.key_heads);
    each_block(
        &all,
        |block| attention.of_block(block),
        |block, attended: &Attended<E::Wide>| {
            for (at, (head, query)) in block.rows().enumerate() {
                let row = attention.output_row(block.sequence, head, query) * value_width;
                E::round_slice(
                    &attended.output[at * value_width..(at + 1) * value_width],
                    &mut out[row..row + value_width],
                );
                log_sums[attention.row(block.sequence, head, query)] =
                    attended.log_sum[at].to_f32().unwrap_or(f32::NAN);
            }
        },
    )?;
    let (shape, log_sum_shape) = match *query.shape() {
        [batch, heads, length, _] => (vec![heads, batch, length, value_width], vec![batch, heads, length, 1]),
        _ => (vec![query.shape()[0], attention.heads, value_width], vec![query.shape()[0], attention.heads, 1]),
    };
    let mut outputs = vec![output(shape, out)?];
    if bindings.flag("softmax_lse_flag")? {
        outputs.push(output(log_sum_shape, log_sums)?);
    }
    Ok(outputs)
}

impl<'a, E: Float> Attention<'a, E> {
    fn new(bindings: &'a Bindings<'_>) -> Result<Self, CaseError> {
        let (query, key, value) = (bindings.tensor(0)?, bindings.tensor(1)?, bindings.tensor(2)?);
        let (query_rope, key_rope) = (bindings.optional_named("query_rope")?, bindings.optional_named("key_rope")?);
        require(query_rope.is_some() == key_rope.is_some(), || "only one rotated part".to_owned())?;
        let (queries, query_counts, heads) = queries(bindings, query)?;
        let key_heads = bindings.size("num_key_value_heads")?.filter(|heads| *heads > 0).unwrap_or(heads);
        require(heads > 0 && heads % key_heads == 0, || format!("{heads} heads over {key_heads} key heads"))?;
        let (keys, key_counts, stored_key_heads) = keys(bindings, key, &query_counts, key_heads)?;
        require(key_heads <= stored_key_heads, || {
            format!("{key_heads} key heads in a key of shape {:?}", key.shape())
        })?;
        let split = |tensor: &Tensor| {
            if matches!(keys, Keys::Pages { .. }) { tensor.last_size() / key_heads } else { tensor.last_size() }
        };
        let widths = [query.last_size(), query_rope.map_or(0, Tensor::last_size), split(value)];
        let outer = &key.shape()[..key.shape().len() - 1];
        let whole = |width: usize| if matches!(keys, Keys::Pages { .. }) { width * key_heads } else { width };
        expect_shape(key, "key", &[outer, &[whole(widths[0])]].concat())?;
        expect_shape(value, "value", &[outer, &[whole(widths[2])]].concat())?;
        if let Some((query_rope, key_rope)) = query_rope.zip(key_rope) {
            expect_shape(
                query_rope,
                "query_rope",
                &[&query.shape()[..query.shape().len() - 1], &[widths[1]]].concat(),
            )?;
            expect_shape(key_rope, "key_rope", &[outer, &[whole(widths[1])]].concat())?;
        }
        Ok(Self {
            query: values(query)?,
            query_rope: query_rope.map_or(Ok(&[][..]), values)?,
            key: values(key)?,
            key_rope: key_rope.map_or(Ok(&[][..]), values)?,
            value: values(value)?,
            widths,
            heads,
            stored_key_heads,
            key_heads,
            hiding: hiding(bindings, query_counts.len())?,
            queries,
            query_counts,
            keys,
            key_counts,
            scale: E::Wide::from_f64(bindings.number("scale")?.unwrap_or(1.0)),
        })
    }

    /// The row of the query tensor, and of the log-sums.
    fn row(&self, sequence: usize, head: usize, query: usize) -> usize {
        match &self.queries {
            Queries::TokenMajor { starts } => (starts[sequence] + query) * self.heads + head,
            Queries::Batch { length } => (sequence * self.heads + head) * length + query,
        }
    }

    /// The row of the output: batches have heads first.
    fn output_row(&self, sequence: usize, head: usize, query: usize) -> usize {
        match &self.queries {
            Queries::TokenMajor { .. } => self.row(sequence, head, query),
            Queries::Batch { length } => (head * self.query_counts.len() + sequence) * length + query,
        }
    }

    /// The line of the key tensor that holds a position.
    fn line(&self, sequence: usize, head: usize, position: usize) -> usize {
        match &self.keys {
            Keys::TokenMajor { starts } => starts[sequence] + position,
            Keys::Batch { length } => (sequence * self.stored_key_heads + head) * length + position,
            Keys::Pages { lines } => lines[sequence][position],
            Keys::HeadPages { lines, block_size } => {
                let line = lines[sequence][position];
                (line / block_size * self.stored_key_heads + head) * block_size + line % block_size
            }
        }
    }

    /// One head's part of each line of a key or value tensor.
    fn part(&self, values: &'a [E], width: usize, head: usize) -> Part<'a, E> {
        match self.keys {
            Keys::TokenMajor { .. } | Keys::Pages { .. } => Part::of_line(values, self.stored_key_heads, head, width),
            Keys::Batch { .. } | Keys::HeadPages { .. } => Part::whole(values, width),
        }
    }

    fn of_block(&self, block: &Block) -> Attended<E::Wide> {
        let [width, rope, value_width] = self.widths;
        let (count, head) = (self.key_counts[block.sequence], block.key_head);
        let mut rows = vec![E::Wide::default(); block.heads.len() * block.queries.len() * (width + rope)];
        for ((query_head, query), to) in block.rows().zip(rows.chunks_exact_mut((width + rope).max(1))) {
            let row = self.row(block.sequence, query_head, query);
            E::widen_slice(&self.query[row * width..(row + 1) * width], &mut to[..width]);
            E::widen_slice(&self.query_rope[row * rope..(row + 1) * rope], &mut to[width..]);
        }
        let keys = [self.part(self.key, width, head), self.part(self.key_rope, rope, head)];
        let value = self.part(self.value, value_width, head);
        let source = Cached {
            key: &keys[..1 + usize::from(rope > 0)],
            value: &value,
            line: |position| self.line(block.sequence, head, position),
        };
        let attended = |visible: Visible<'_>| attend(&rows, self.scale, &source, &visible);
        let limits = |limit: &dyn Fn(usize) -> usize| -> Vec<usize> {
            block.rows().map(|(_, query)| limit(query).min(count)).collect()
        };
        let length = self.query_counts[block.sequence];
        match &self.hiding {
            Hiding::Nothing => attended(Visible::Below(&limits(&|_| count))),
            Hiding::LowerRight => {
                attended(Visible::Below(&limits(&|query| (query + count + 1).saturating_sub(length))))
            }
            Hiding::UpperLeft => attended(Visible::Below(&limits(&|query| query + 1))),
            Hiding::Mask { hidden, rows, columns, per_sequence } => {
                let of_row: Vec<usize> = block.rows().map(|(_, query)| query).collect();
                let first = if *per_sequence { block.sequence * rows } else { 0 };
                let hides = |row: usize, position: usize| {
                    let query = of_row[row];
                    query < *rows && position < *columns && hidden[(first + query) * columns + position]
                };
                attended(Visible::Unless { end: count, hidden: &hides })
            }
        }
    }
}

/// The layout of the queries, the number of queries of each sequence, and the heads.
fn queries(bindings: &Bindings<'_>, query: &Tensor) -> Result<(Queries, Vec<usize>, usize), CaseError> {
    let lengths = bindings.integers("actual_seq_lengths")?;
    match *query.shape() {
        [tokens, heads, _] => {
            let ranges = sequences(&lengths.unwrap_or_else(|| vec![tokens as i64]), tokens)?;
            let starts = ranges.iter().map(|range| range.start).collect();
            Ok((Queries::TokenMajor { starts }, ranges.iter().map(ExactSizeIterator::len).collect(), heads))
        }
        [batch, heads, length, _] => {
            let counts = batch_counts(lengths, batch, length)?;
            Ok((Queries::Batch { length }, counts, heads))
        }
        _ => Err(CaseError::rejected(format!("query of shape {:?}", query.shape()))),
    }
}

/// Lengths of the sequences of a batch, none longer than `most`.
fn batch_counts(lengths: Option<Vec<i64>>, batch: usize, most: usize) -> Result<Vec<usize>, CaseError> {
    let Some(lengths) = lengths else {
        return Ok(vec![most; batch]);
    };
    require(lengths.len() == batch, || format!("{} lengths for {batch} sequences", lengths.len()))?;
    lengths
        .into_iter()
        .map(|length| {
            usize::try_from(length)
                .ok()
                .filter(|length| *length <= most)
                .ok_or_else(|| CaseError::rejected(format!("length {length} of at most {most}")))
        })
        .collect()
}

/// The layout of the keys, the number of keys of each sequence, and the heads that the tensor has.
fn keys(
    bindings: &Bindings<'_>,
    key: &Tensor,
    query_counts: &[usize],
    key_heads: usize,
) -> Result<(Keys, Vec<usize>, usize), CaseError> {
    let lengths = bindings.integers("actual_seq_lengths_kv")?;
    let sequences_needed = query_counts.len();
    let table = bindings.optional_named("block_table")?;
    let (keys, counts, heads) = match (key.shape(), table) {
        (&[blocks, heads, block_size, _], Some(table)) => {
            let (lines, counts) = pages(table, blocks, block_size, lengths)?;
            (Keys::HeadPages { lines, block_size }, counts, heads)
        }
        (&[blocks, block_size, _], Some(table)) => {
            let (lines, counts) = pages(table, blocks, block_size, lengths)?;
            (Keys::Pages { lines }, counts, key_heads)
        }
        (&[tokens, heads, _], None) => {
            let ranges = sequences(&lengths.unwrap_or_else(|| vec![tokens as i64]), tokens)?;
            let starts = ranges.iter().map(|range| range.start).collect();
            (Keys::TokenMajor { starts }, ranges.iter().map(ExactSizeIterator::len).collect(), heads)
        }
        (&[batch, heads, length, _], None) => (Keys::Batch { length }, batch_counts(lengths, batch, length)?, heads),
        _ => return Err(CaseError::rejected(format!("key of shape {:?}", key.shape()))),
    };
    require(counts.len() == sequences_needed, || {
        format!("{} key lengths for {sequences_needed} sequences", counts.len())
    })?;
    Ok((keys, counts, heads))
}

/// The cache lines of each sequence, and their numbers.
fn pages(
    table: &Tensor,
    blocks: usize,
    block_size: usize,
    lengths: Option<Vec<i64>>,
) -> Result<(Vec<Vec<usize>>, Vec<usize>), CaseError> {
    let table = BlockTable::new(table, blocks, block_size)?;
    let lengths = lengths.ok_or_else(|| CaseError::rejected("a block table needs key lengths"))?;
    let lines = lengths
        .iter()
        .enumerate()
        .map(|(sequence, length)| table.lines(sequence, usize::try_from(*length).unwrap_or(usize::MAX)))
        .collect::<Result<Vec<_>, _>>()?;
    let counts = lines.iter().map(Vec::len).collect();
    Ok((lines, counts))
}

fn hiding(bindings: &Bindings<'_>, sequences: usize) -> Result<Hiding, CaseError> {
    let mask = bindings.optional_named("atten_mask")?;
    match (bindings.integer("sparse_mode")?.unwrap_or(0), mask) {
        (3, _) => Ok(Hiding::LowerRight),
        (2, _) => Ok(Hiding::UpperLeft),
        (0, None) => Ok(Hiding::Nothing),
        (0 | 1, Some(mask)) => {
            let (&[.., rows, columns], outer) = (mask.shape(), mask.shape().len().saturating_sub(2)) else {
                return Err(CaseError::rejected(format!("a mask of shape {:?}", mask.shape())));
            };
            let masks: usize = mask.shape()[..outer].iter().product();
            require(masks == 1 || masks == sequences, || {
                format!("a mask of shape {:?} for {sequences} sequences", mask.shape())
            })?;
            let hidden = integers(mask)?.into_iter().map(|value| value != 0).collect();
            Ok(Hiding::Mask { hidden, rows, columns, per_sequence: masks > 1 })
        }
        (mode, _) => Err(CaseError::unsupported(format!("sparse_mode {mode}"))),
    }
}
