//! Attention over the sequences of a forward pass that stand one behind the other: how long each of them is stands in none of the
//! arguments.

use crate::roofline::Work;

use super::products::matrix;
use crate::workload::call::{Call, CallWork, names_of};
use crate::workload::element;
use crate::workload::kernel::AttentionKernel;
use crate::workload::lengths::{BatchLengths, Lengths};
use crate::workload::operator_kind::{Keys, PackedCall};
use perfdb_store::dtype::DType;

/// A call of attention over packed sequences, of which the lengths are still to be known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PackedAttention {
    keys: Keys,
    /// Rows of the queries, rows that only fill up a graph among them.
    query_tokens: f64,
    /// Rows of the keys.
    key_tokens: f64,
    heads: f64,
    key_heads: f64,
    size: f64,
    value_size: f64,
    query: DType,
    key: DType,
    mask: Option<Mask>,
}

/// Sequences of a step as one batch of sequences of the same lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttentionBatch {
    /// How many sequences.
    pub sequences: u64,
    /// New tokens of each.
    pub queries: u64,
    /// Tokens of each that they may look at, the new ones among them.
    pub keys: u64,
    /// Heads of queries.
    pub heads: u64,
    /// Heads of keys and values.
    pub key_heads: u64,
    /// Elements of a head.
    pub size: u64,
    /// The type of queries.
    pub query: DType,
    /// The type of keys and values of earlier steps, else of the new ones.
    pub cache: DType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mask {
    is_causal: bool,
    is_windowed: bool,
}

impl PackedAttention {
    pub(crate) fn of(how: PackedCall, call: &Call) -> Option<PackedAttention> {
        let at = how.query_at;
        let &[query_tokens, heads, size] = call.shape(at)? else { return None };
        let [key, value] = [call.shape(at + 1)?, call.shape(at + 2)?];
        let (&[.., key_heads, key_size], &[.., value_heads, value_size]) = (key, value) else { return None };
        let has_rows = match how.keys {
            Keys::New | Keys::Packed => key.len() == 3 && value.len() == 3 && key[0] == value[0],
            // Pages of tokens or single tokens; others are stored in an order of their own.
            Keys::Cache => (3..=4).contains(&key.len()) && key.len() == value.len(),
        };
        if !has_rows || key_heads != value_heads || key_size != size || key_heads == 0.0 || heads % key_heads != 0.0 {
            return None;
        }
        let mask = how.mask_at.map(|[causal, window]| {
            let side = |at: usize| call.value(at)?.parse::<i64>().ok();
            // To the right of a token there is nothing under a causal mask.
            Some(Mask { is_causal: call.flag(causal)?, is_windowed: side(window)? >= 0 })
        });
        Some(PackedAttention {
            keys: how.keys,
            query_tokens,
            key_tokens: key[0],
            heads,
            key_heads,
            size,
            value_size,
            query: call.element(at)?,
            key: call.element(at + 1)?,
            mask: match mask {
                Some(mask) => Some(mask?),
                None => None,
            },
        })
    }

    /// What it must do for sequences of these lengths. `kernel` is what the names of its kernels tell, and `cache` the type of the
    /// cache where nothing else does; `None` where something remains unknown: whether a window hides a part of the keys, the type of
    /// the cache, or how many keys there are.
    ///
    /// Σ pairs of a token and one that it sees, twice for each head and element of a key and a value: 2·H·(d + dv)·Σ. Queries,
    /// results, and keys and values count once each.
    pub fn work(&self, lengths: &BatchLengths, kernel: AttentionKernel, cache: Option<DType>) -> Option<CallWork> {
        let (queries, keys) = (lengths.queries() as f64, lengths.keys() as f64);
        let is_whole = match self.keys {
            Keys::New => queries <= self.query_tokens && queries <= self.key_tokens,
            Keys::Packed => queries <= self.query_tokens && keys == self.key_tokens,
            Keys::Cache => queries <= self.query_tokens,
        };
        let is_causal = self.mask.is_none_or(|mask| mask.is_causal) || lengths.context.queries == 0;
        let is_windowed = self.mask.map(|mask| mask.is_windowed).or(kernel.is_windowed)?;
        if !is_whole || !is_causal || is_windowed {
            return None;
        }
        let (new, old) = (self.new_keys(), self.old_keys(lengths, kernel, cache)?);
        let sides = self.size + self.value_size;
        let of_keys = self.key_heads * sides;
        let bytes = queries * (self.heads * sides * element::bytes(self.query) + of_keys * element::bytes(new))
            + (keys - queries) * of_keys * element::bytes(old);
        let operations = 2.0 * self.heads * sides * lengths.pairs();
        matrix(Work { operations, bytes }, self.query)
    }

    fn new_keys(&self) -> DType {
        if self.keys == Keys::New { self.query } else { self.key }
    }

    /// The type of keys and values of earlier steps.
    fn old_keys(&self, lengths: &BatchLengths, kernel: AttentionKernel, cache: Option<DType>) -> Option<DType> {
        match self.keys {
            Keys::New => kernel.cache.or(cache).or((lengths.keys() == lengths.queries()).then_some(self.key)),
            Keys::Packed | Keys::Cache => Some(self.key),
        }
    }

    /// The types of queries and of keys and values of earlier steps, once where they are the same.
    pub fn types(&self, lengths: &BatchLengths, kernel: AttentionKernel, cache: Option<DType>) -> String {
        names_of([Some(self.query), self.old_keys(lengths, kernel, cache)])
    }

    /// The sequences as batches, prompts and then those that grow, where there are some: as many of their mean length as have the same
    /// sum of squares. Empty where keys and values have different sizes, which no table holds.
    pub fn batches(
        &self,
        lengths: &BatchLengths,
        kernel: AttentionKernel,
        cache: Option<DType>,
    ) -> Vec<AttentionBatch> {
        let mean = |sum: u64, count: u64| ((sum as f64 / count as f64).round() as u64).max(1);
        let batch = |sums: Lengths| {
            let queries = sums.queries as f64;
            let sequences = ((queries * queries / sums.squares as f64).round() as u64).max(1);
            AttentionBatch {
                sequences,
                queries: mean(sums.queries, sequences),
                keys: mean(sums.keys, sequences),
                heads: self.heads as u64,
                key_heads: self.key_heads as u64,
                size: self.size as u64,
                query: self.query,
                cache: self.old_keys(lengths, kernel, cache).unwrap_or_else(|| self.new_keys()),
            }
        };
        let kinds = [lengths.context, lengths.generation].into_iter();
        kinds.filter(|sums| sums.queries > 0 && self.size == self.value_size).map(batch).collect()
    }

    /// The sequences and heads: `32 of 32785 tokens, 32/8 heads of 128`.
    pub fn shapes(&self, lengths: &BatchLengths) -> String {
        let PackedAttention { heads, key_heads, size, value_size, .. } = self;
        let heads = if heads == key_heads { heads.to_string() } else { format!("{heads}/{key_heads}") };
        let size = if size == value_size { size.to_string() } else { format!("{size}/{value_size}") };
        format!("{} of {} tokens, {heads} heads of {size}", lengths.queries(), lengths.keys())
    }
}

/// Puts the keys and values of new tokens into the cache: keys, values, cache of keys, cache of values, and where each token goes.
pub(super) fn cache_write(call: &Call) -> Option<CallWork> {
    let (&[tokens, heads, size], value) = (call.shape(0)?, call.shape(1)?) else { return None };
    let &[slots] = call.shape(4)? else { return None };
    let &[same_tokens, same_heads, value_size] = value else { return None };
    if slots > tokens || same_tokens != tokens || same_heads != heads {
        return None;
    }
    let bytes = slots * heads * (size + value_size) * (call.bytes(0)? + call.bytes(2)?);
    super::pointwise::vector(Work { operations: 0.0, bytes }, call.element(0)?)
}

#[cfg(test)]
mod tests {
    use crate::workload::{Arguments, AttentionKernel, BatchLengths, Call, PackedAttention};
    use perfdb_store::dtype::DType;

    const UNWINDOWED: AttentionKernel = AttentionKernel { is_windowed: Some(false), cache: None };
    const UNKNOWN: AttentionKernel = AttentionKernel { is_windowed: None, cache: None };

    fn attention(name: &str, dims: &str, types: &str, values: &str) -> Option<PackedAttention> {
        Call::new(name, Arguments { dims, types, values })?.packed_attention()
    }

    fn lengths(name: &str) -> BatchLengths {
        BatchLengths::of_annotation(name).expect("lengths")
    }

    #[test]
    fn the_lengths_of_the_step_make_the_work() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#;
        let found = attention("vllm::unified_attention_with_output", "[[8, 4, 16], [8, 2, 16], [8, 2, 16]]", types, "")
            .expect("packed");
        let mixed = lengths("execute_5_context_1(sq3sk5sqsq9sqsk15)_generation_2(sq2sk9sqsq2sqsk9)");
        let work = |kernel, cache| found.work(&mixed, kernel, cache).map(|found| found.work);
        let known = work(UNWINDOWED, Some(DType::Float8E4M3Fn)).expect("everything is known");
        assert_eq!(known.operations, 2.0 * 4.0 * 32.0 * (15.0 - 4.5 + 9.0));
        // Five queries and results of four heads, five keys and values of two heads; nine of the cache in 8 bits.
        assert_eq!(known.bytes, 5.0 * (4.0 * 32.0 + 2.0 * 32.0) * 2.0 + 9.0 * 2.0 * 32.0);
        assert_eq!(found.shapes(&mixed), "5 of 14 tokens, 4/2 heads of 16");
        assert_eq!(found.types(&mixed, UNWINDOWED, Some(DType::Float8E4M3Fn)), "bfloat16, float8");
        // The kernel knows its cache better than the rest of the trace.
        let kernel = AttentionKernel { cache: Some(DType::BFloat16), ..UNWINDOWED };
        assert_eq!(
            work(kernel, Some(DType::Float8E4M3Fn)).map(|work| work.bytes),
            Some(known.bytes + 9.0 * 2.0 * 32.0)
        );
        // Nobody says whether there is a window, or what the cache holds.
        assert_eq!(work(UNKNOWN, Some(DType::Float8E4M3Fn)), None);
        assert_eq!(work(UNWINDOWED, None), None);
        assert_eq!(work(AttentionKernel { is_windowed: Some(true), cache: None }, Some(DType::Float8E4M3Fn)), None);
        // More new tokens than rows: the annotation is about something else.
        let larger = lengths("execute_9_context_0(sq0sk0sqsq0sqsk0)_generation_9(sq9sk90sqsq9sqsk90)");
        assert_eq!(found.work(&larger, UNWINDOWED, Some(DType::Float8E4M3Fn)), None);
        // Prompts that are read from their beginning need no cache.
        let prompts = lengths("execute_4_context_2(sq4sk4sqsq8sqsk8)_generation_0(sq0sk0sqsq0sqsk0)");
        let known = found.work(&prompts, UNWINDOWED, None).expect("no cache").work;
        assert_eq!(known.operations, 2.0 * 4.0 * 32.0 * 4.0);
    }

    #[test]
    fn sequences_of_each_kind_are_a_batch() {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#;
        let found = attention("vllm::unified_attention", "[[64, 4, 16], [64, 2, 16], [64, 2, 16]]", types, "");
        let found = found.expect("packed");
        let batches = |name| -> Vec<[u64; 6]> {
            let batches = found.batches(&lengths(name), UNWINDOWED, Some(DType::BFloat16));
            let numbers = batches
                .iter()
                .map(|batch| [batch.sequences, batch.queries, batch.keys, batch.heads, batch.key_heads, batch.size]);
            numbers.collect()
        };
        let none = "(sq0sk0sqsq0sqsk0)";
        let decode = format!("execute_8_context_0{none}_generation_8(sq8sk804sqsq8sqsk804)");
        assert_eq!(batches(&decode), [[8, 1, 101, 4, 2, 16]]);
        let prefill = format!("execute_60_context_2(sq60sk60sqsq1800sqsk1800)_generation_0{none}");
        assert_eq!(batches(&prefill), [[2, 30, 30, 4, 2, 16]]);
        let mixed = "execute_5_context_1(sq3sk5sqsq9sqsk15)_generation_2(sq2sk9sqsq2sqsk9)";
        assert_eq!(batches(mixed), [[1, 3, 5, 4, 2, 16], [2, 1, 5, 4, 2, 16]]);
    }

    #[test]
    fn arguments_tell_masks_and_caches() {
        let types = r#"["c10::BFloat16", "c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"]"#;
        let dims = "[[15, 4, 16], [800, 2, 16], [800, 2, 16]]";
        let values = |causal: &str, window: &str| {
            format!(r#"["", "", "", "", "", "", "9", "9", "0.", "0.25", "0.", "False", "{causal}", "{window}", "-1"]"#)
        };
        let prompts = lengths("step[EXTEND bs=2 toks=15 c_sq=15 c_sqsq=113 c_sqsk=113 c_sk=15]");
        let work = |causal, window| {
            attention("aiter::mha_batch_prefill", dims, types, &values(causal, window))?.work(&prompts, UNKNOWN, None)
        };
        let known = work("True", "-1").expect("everything is known").work;
        assert_eq!(known.operations, 2.0 * 4.0 * 32.0 * 56.5);
        assert_eq!(known.bytes, 15.0 * (4.0 * 32.0 * 2.0 + 2.0 * 32.0));
        assert_eq!(work("True", "127"), None);
        assert_eq!(work("False", "-1"), None);
        // All keys stand there: their number must be that of the annotation.
        let packed = |dims| {
            attention("aiter::fmha_v3_varlen_fwd", dims, types, &values("True", "-1"))?.work(&prompts, UNKNOWN, None)
        };
        assert!(packed("[[15, 4, 16], [15, 2, 16], [15, 2, 16]]").is_some());
        assert_eq!(packed("[[15, 4, 16], [40, 2, 16], [40, 2, 16]]"), None);
        assert_eq!(packed("[[15, 64], [15, 32], [15, 32]]"), None);
    }

    #[test]
    fn writing_into_the_cache_moves_each_token_once() {
        let types =
            r#"["c10::BFloat16", "c10::BFloat16", "unsigned char", "unsigned char", "long int", "", "float", "float"]"#;
        let dims = "[[8, 2, 16], [8, 2, 16], [99, 16, 2, 16], [99, 16, 2, 16], [6], [], [], []]";
        let call = Call::new("_C_cache_ops::reshape_and_cache_flash", Arguments { dims, types, values: "" });
        let call = call.expect("lists");
        assert_eq!(call.work().map(|found| found.work.bytes), Some(6.0 * 2.0 * 32.0 * 3.0));
        assert_eq!(call.written_cache(), Some(DType::Int8));
        // Not how large the cache is, which differs between devices.
        assert_eq!((call.shapes(), call.types()), ("8×2×16".to_owned(), "bfloat16, int8".to_owned()));
    }
}
