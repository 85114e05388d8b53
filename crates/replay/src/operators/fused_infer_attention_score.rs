//! FusedInferAttentionScore: attention of token-major or batched queries over plain or paged keys and values.

use crate::kernels::number::Number;
use crate::kernels::shape::{Shape, elements};
use crate::kernels::with_float;
use perfdb_store::dtype::DType;

use crate::argument::Argument;
use crate::bindings::{Bindings, Output};
use crate::case::{Call, TensorSpec};
use crate::init::Init;
use crate::inputs::{floats, listable, require_fit, running_sums, spread};
use crate::operator::{Operator, PlanOptions, Planned, SkipReason};
use crate::refusal::{CaseError, Refusal, metadata_length, out_of_range, runtime_metadata};
use crate::row::{Recorded, Row, Slots, column};

mod attention;

pub(super) const OPERATOR: Operator =
    Operator { always_reuses_inputs: true, ..Operator::new("FusedInferAttentionScore", READS, plan, run) };

const READS: &[&str] = column::BUT_OUTPUT_FORMATS;

/// Slots of the operator in the metadata.
const SLOTS: usize = 31;
/// Rows and columns of a mask that stands for any triangle.
const COMPRESSED_MASK: usize = 2048;
const RAW_SHAPES: &str = "Runtime operator_input_shapes_raw";

/// The inputs that are used.
struct Inputs<'a> {
    query: Recorded<'a>,
    key: Recorded<'a>,
    value: Recorded<'a>,
    mask: Option<Recorded<'a>>,
    query_lengths: Option<usize>,
    key_lengths: Option<usize>,
    block_table: Option<Recorded<'a>>,
    query_rope: Option<Recorded<'a>>,
    key_rope: Option<Recorded<'a>>,
}

/// How queries lie: the difference between the two forms of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// (tokens, heads, size).
    TokenMajor { tokens: usize },
    /// (batch, heads, queries, size).
    Batch { batch: usize, queries: usize },
}

/// Values of the `Runtime …` columns; absent where a cell is empty.
struct Runtime {
    num_heads: Option<i64>,
    num_key_value_heads: Option<i64>,
    sparse_mode: Option<i64>,
    block_size: Option<i64>,
    input_layout: Option<String>,
    query_lengths: Option<Vec<i64>>,
    key_lengths: Option<Vec<i64>>,
    valid_blocks: Option<Vec<i64>>,
}

fn plan(row: &Row<'_>, _: &PlanOptions) -> Result<Planned, Refusal> {
    let has_raw_shapes = row.slots_of(RAW_SHAPES).any(|slot| !slot.is_empty());
    let slots = if has_raw_shapes { row.inputs_shaped_by(RAW_SHAPES)? } else { row.inputs()? };
    let recorded = row.outputs()?;
    let inputs = Inputs::new(&slots)?;
    let (query, key, value) = (inputs.query.logical()?, inputs.key.logical()?, inputs.value.logical()?);
    let form = inputs.form(&query, &key, &value)?;
    let table = inputs.block_table.as_ref().map(|table| table.logical_rank::<2>()).transpose()?;
    let [query_dtype, key_dtype, value_dtype] = floats([&inputs.query, &inputs.key, &inputs.value])?;
    let query_rope = inputs.query_rope.as_ref().map(|rope| Ok((rope.logical()?, floats([rope])?[0]))).transpose()?;
    let key_rope = inputs.key_rope.as_ref().map(|rope| Ok((rope.logical()?, floats([rope])?[0]))).transpose()?;
    let recorded_mask = inputs.mask.as_ref().map(mask_spec).transpose()?;
    let width = query.last().copied().unwrap_or(1);
    let paged = table.is_some();
    inputs.check_fit([&query, &key, &value], [&query_rope, &key_rope], form, paged)?;

    let runtime = Runtime::new(row)?;
    let key_heads = runtime.num_key_value_heads.unwrap_or(match (form, paged, key.len()) {
        (Form::Batch { .. }, _, _) | (_, true, 3) => 1,
        _ => key[1] as i64,
    });
    let page = if key.len() == 3 { key[1] } else { key[2] } as i64;
    let block_size = runtime.block_size.unwrap_or(if paged { page } else { 0 });
    let lengths = Lengths { runtime: &runtime, form, key: &key, page, paged };
    let key_lengths = lengths.of_keys(inputs.key_lengths)?;
    let block_counts = table.map(|table| lengths.block_counts(table, key_lengths.as_deref())).transpose()?;
    let query_lengths = lengths.of_queries(inputs.query_lengths)?;
    lengths.check_spread(inputs.query_lengths, inputs.key_lengths)?;
    if let (Some(counts), Some([_, width])) = (&block_counts, table)
        && let Some(count) = counts.iter().find(|count| **count > width as u64)
    {
        return Err(out_of_range(format!("{count} blocks in a table of {width}")));
    }

    let layout = runtime
        .input_layout
        .unwrap_or_else(|| if matches!(form, Form::Batch { .. }) { "BNSD_NBSD" } else { "TND" }.to_owned());
    if key.len() == 3 && layout == "TND" && key_heads != key[1] as i64 && !has_raw_shapes {
        return Ok(Planned::Skip(SkipReason::NotReplayable));
    }
    let sparse_mode = runtime.sparse_mode.unwrap_or(if recorded_mask.is_some() { 3 } else { 0 });
    let mask = match recorded_mask {
        None if sparse_mode == 3 => Some(triangle(TensorSpec::new("atten_mask", [COMPRESSED_MASK; 2], DType::Int8))),
        mask => mask,
    };
    let rope_width = query_rope.as_ref().and_then(|(shape, _)| shape.last().copied()).unwrap_or(0);
    let scored = if matches!(form, Form::Batch { .. }) { width + rope_width } else { width };
    let heads = query[1];
    let block_table = table.zip(block_counts).zip(inputs.block_table.as_ref()).map(|((shape, counts), slot)| {
        slot.tensor("block_table", shape, DType::Int32).init(Init::BlockPrefix { counts, modulus: key[0] as u64 })
    });
    let rope_spec = |name, rope: Option<(Shape, DType)>, slot: &Option<Recorded<'_>>| {
        rope.zip(slot.as_ref()).map(|((shape, dtype), slot)| slot.tensor(name, shape, dtype))
    };
    let list = |lengths: Option<Vec<i64>>| lengths.map_or(Argument::None, Argument::from);
    Ok(Call::new("torch_npu.npu_fused_infer_attention_score")
        .arg_tensor(inputs.query.tensor("query", query, query_dtype))
        .arg_tensor(inputs.key.tensor("key", key, key_dtype))
        .arg_tensor(inputs.value.tensor("value", value, value_dtype))
        .kwarg_tensor_or_none("atten_mask", mask)
        .kwarg("actual_seq_lengths", list(query_lengths))
        .kwarg("actual_seq_lengths_kv", list(key_lengths))
        .kwarg_tensor_or_none("block_table", block_table)
        .kwarg_tensor_or_none("query_rope", rope_spec("query_rope", query_rope, &inputs.query_rope))
        .kwarg_tensor_or_none("key_rope", rope_spec("key_rope", key_rope, &inputs.key_rope))
        .kwarg("num_heads", runtime.num_heads.unwrap_or(heads as i64))
        .kwarg("scale", Argument::Number(Number::Float(1.0 / (scored as f64).sqrt())))
        .kwarg("input_layout", layout)
        .kwarg("num_key_value_heads", key_heads)
        .kwarg("sparse_mode", sparse_mode)
        .kwarg("block_size", block_size)
        .kwarg("softmax_lse_flag", recorded.get(1).shape.is_some())
        .into())
}

impl<'a> Inputs<'a> {
    /// Insists on shapes of query, key, value and their rotated parts that belong together (`shape-mismatch`).
    fn check_fit(
        &self,
        [query, key, value]: [&Shape; 3],
        [query_rope, key_rope]: [&Option<(Shape, DType)>; 2],
        form: Form,
        paged: bool,
    ) -> Result<(), Refusal> {
        if !(paged && key.len() == 3) {
            require_fit(key.last() == query.last(), || format!("query {query:?} and key {key:?}"))?;
        }
        require_fit(key[..key.len() - 1] == value[..value.len() - 1], || format!("key {key:?} and value {value:?}"))?;
        let rope_fits = |rope: &Option<(Shape, DType)>, of: &[usize]| {
            rope.as_ref().is_none_or(|(rope, _)| rope.len() == of.len() && rope[..rope.len() - 1] == of[..of.len() - 1])
        };
        require_fit(rope_fits(query_rope, query) && rope_fits(key_rope, key), || {
            "rotated parts unlike query and key".to_owned()
        })?;
        if let (Form::Batch { batch, .. }, Some(n)) = (form, self.query_lengths) {
            require_fit(n == batch, || format!("{n} lengths for {batch} sequences"))?;
        }
        if let (Form::Batch { batch, .. }, false) = (form, paged) {
            let fits = key[0] == batch && self.key_lengths.is_none_or(|m| m == batch);
            require_fit(fits, || format!("key {key:?} and {:?} lengths for {batch} sequences", self.key_lengths))?;
        }
        Ok(())
    }

    fn new(slots: &Slots<'a>) -> Result<Self, Refusal> {
        let required = [0, 1, 2].map(|at| slots.get(at).required());
        for slot in &required {
            if let Err(refusal) = slot {
                return Err(refusal.clone());
            }
        }
        let [shapes, dtypes, formats] = slots.lengths();
        if shapes > SLOTS || dtypes != SLOTS || formats != SLOTS {
            return Err(metadata_length(format!(
                "{shapes} shapes, {dtypes} types, {formats} formats, expected {SLOTS} each"
            )));
        }
        let [query, key, value] = required;
        let optional = |at| slots.get(at).recorded().map(Recorded::described_in_place).transpose();
        let count = |at| slots.get(at).shape.map(|shape| elements(&shape));
        Ok(Inputs {
            query: query?.described_in_place()?,
            key: key?.described_in_place()?,
            value: value?.described_in_place()?,
            mask: optional(4)?,
            query_lengths: count(5),
            key_lengths: count(6),
            block_table: optional(14)?,
            query_rope: optional(24)?,
            key_rope: optional(25)?,
        })
    }

    /// Which form the ranks make (`bad-rank`).
    fn form(&self, query: &[usize], key: &[usize], value: &[usize]) -> Result<Form, Refusal> {
        let form = match *query {
            [tokens, _, _] => Form::TokenMajor { tokens },
            [batch, _, queries, _] if self.query_rope.is_some() => Form::Batch { batch, queries },
            _ => return Err(self.query.wrong_rank("3, or 4 beside a rotated part")),
        };
        let fits = if self.block_table.is_some() { matches!(key.len(), 3 | 4) } else { key.len() == query.len() };
        if !fits {
            return Err(self.key.wrong_rank("3 or 4, without pages that of the query"));
        }
        if value.len() != key.len() {
            return Err(self.value.wrong_rank("that of the key"));
        }
        Ok(form)
    }
}

/// The recorded mask: a triangle if it has the compressed size, else all zero (`unsupported-dtype`).
fn mask_spec(slot: &Recorded<'_>) -> Result<TensorSpec, Refusal> {
    let shape = slot.logical()?;
    if shape.ends_with(&[COMPRESSED_MASK; 2]) {
        let dtype =
            slot.dtype_where("BOOL, INT8 or UINT8", |dtype| matches!(dtype, DType::Bool | DType::Int8 | DType::UInt8))?;
        return Ok(triangle(slot.tensor("atten_mask", shape, dtype)));
    }
    let dtype = slot.dtype()?;
    Ok(slot.tensor("atten_mask", shape, dtype).init(Init::Full { value: one_of(dtype, false) }))
}

fn triangle(spec: TensorSpec) -> TensorSpec {
    let value = one_of(spec.dtype, true);
    spec.init(Init::Triu { diagonal: 1, value })
}

fn one_of(dtype: DType, set: bool) -> Number {
    if dtype == DType::Bool { Number::Bool(set) } else { Number::Int(i64::from(set)) }
}

impl Runtime {
    fn new(row: &Row<'_>) -> Result<Self, Refusal> {
        let list = |column: &str| {
            let text = row.cell(column).trim().trim_matches('"');
            let parts: Vec<&str> = text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()).collect();
            let wrong = || runtime_metadata(format!("{column}: {text:?} is not a list of integers"));
            let values = parts
                .into_iter()
                .map(|part| part.parse::<i64>().map_err(|_| wrong()))
                .collect::<Result<Vec<_>, _>>()?;
            if values.iter().any(|value| *value < 0) {
                return Err(wrong());
            }
            Ok((!values.is_empty()).then_some(values))
        };
        // Tables that went through other tools may have "3.0" where a number was written as 3.
        let number = |column: &str, least: i64| {
            let text = row.cell(column).trim().trim_matches('"');
            if text.is_empty() {
                return Ok(None);
            }
            let value =
                text.parse::<f64>().ok().filter(|value| value.fract() == 0.0 && (least as f64..1e15).contains(value));
            let value = value
                .ok_or_else(|| runtime_metadata(format!("{column}: {text:?} is not a number of at least {least}")))?;
            Ok::<_, Refusal>(Some(value as i64))
        };
        let layout = row.cell("Runtime input_layout").trim().trim_matches('"');
        Ok(Runtime {
            num_heads: number("Runtime num_heads", 1)?,
            num_key_value_heads: number("Runtime num_key_value_heads", 1)?,
            sparse_mode: number("Runtime sparse_mode", 0)?,
            block_size: number("Runtime block_size", 0)?,
            input_layout: (!layout.is_empty()).then(|| layout.to_owned()),
            query_lengths: list("Runtime actual_seq_lengths_values")?,
            key_lengths: list("Runtime actual_seq_lengths_kv_values")?,
            valid_blocks: list("Runtime block_table_valid_blocks")?,
        })
    }
}

/// What the lengths of sequences follow from.
struct Lengths<'a> {
    runtime: &'a Runtime,
    form: Form,
    key: &'a [usize],
    /// Positions of a block of the key, for any block size passed.
    page: i64,
    paged: bool,
}

impl Lengths<'_> {
    fn of_queries(&self, count: Option<usize>) -> Result<Option<Vec<i64>>, Refusal> {
        if let Some(lengths) = &self.runtime.query_lengths {
            return Ok(Some(lengths.clone()));
        }
        let Some(count) = count.map(listable).transpose()? else {
            return Ok(None);
        };
        Ok(Some(match self.form {
            Form::TokenMajor { tokens } => running_sums(spread(tokens, count)),
            Form::Batch { queries, .. } => vec![queries as i64; count],
        }))
    }

    fn of_keys(&self, count: Option<usize>) -> Result<Option<Vec<i64>>, Refusal> {
        if let Some(lengths) = &self.runtime.key_lengths {
            return Ok(Some(lengths.clone()));
        }
        let Some(count) = count.map(listable).transpose()? else {
            return Ok(None);
        };
        Ok(Some(match (self.paged, self.form) {
            (true, _) => match &self.runtime.valid_blocks {
                None => vec![self.page; count],
                Some(valid) if valid.len() != count => {
                    return Err(runtime_metadata(format!(
                        "valid blocks of {} sequences, there are {count}",
                        valid.len()
                    )));
                }
                Some(valid) => valid.iter().map(|blocks| self.page.saturating_mul((*blocks).max(1))).collect(),
            },
            (false, Form::TokenMajor { .. }) => running_sums(spread(self.key[0], count)),
            (false, Form::Batch { .. }) => vec![self.key[2] as i64; count],
        }))
    }

    /// Used blocks of each sequence.
    fn block_counts(&self, [rows, _]: [usize; 2], lengths: Option<&[i64]>) -> Result<Vec<u64>, Refusal> {
        let lengths = lengths.filter(|lengths| lengths.len() == rows);
        let lengths = lengths
            .ok_or_else(|| runtime_metadata(format!("a block table of {rows} rows needs as many key lengths")))?;
        match &self.runtime.valid_blocks {
            Some(valid) if valid.len() != rows => Err(runtime_metadata(format!(
                "valid blocks of {} sequences for a block table of {rows} rows",
                valid.len()
            ))),
            Some(valid) => Ok(valid.iter().map(|count| (*count).max(1).cast_unsigned()).collect()),
            None => Ok(lengths
                .iter()
                .map(|length| length.cast_unsigned().div_ceil(self.page.cast_unsigned()).max(1))
                .collect()),
        }
    }

    /// Token-major sequences have one token at least (`out-of-range`).
    fn check_spread(&self, queries: Option<usize>, keys: Option<usize>) -> Result<(), Refusal> {
        let Form::TokenMajor { tokens } = self.form else {
            return Ok(());
        };
        let too_few = |what: &str, tokens: usize, count: usize| {
            Err(out_of_range(format!("{tokens} {what} for {count} sequences")))
        };
        match (queries, keys) {
            (Some(count), _) if self.runtime.query_lengths.is_none() && count > tokens => {
                too_few("tokens", tokens, count)
            }
            (_, Some(count)) if self.runtime.key_lengths.is_none() && !self.paged && count > self.key[0] => {
                too_few("keys", self.key[0], count)
            }
            _ => Ok(()),
        }
    }
}

fn run(bindings: &mut Bindings<'_>) -> Result<Vec<Output>, CaseError> {
    with_float!(bindings.tensor(0)?.dtype(), E => attention::run::<E>(bindings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_lists() {
        let header = ["Runtime actual_seq_lengths_values", "Runtime num_heads"].map(String::from);
        let runtime = |cells: [&str; 2]| Runtime::new(&Row::new(&header, &cells));
        assert_eq!(
            runtime(["1, 2;3", "8"]).map(|r| (r.query_lengths, r.num_heads)),
            Ok((Some(vec![1, 2, 3]), Some(8)))
        );
        assert_eq!(runtime(["", " "]).map(|r| (r.query_lengths, r.num_heads)), Ok((None, None)));
        assert_eq!(runtime(["", "16.0"]).map(|r| r.num_heads), Ok(Some(16)));
        for wrong in [["1,x", ""], ["", "0"], ["", "8,8"], ["-1", ""], ["", "N/A"]] {
            assert!(runtime(wrong).is_err(), "{wrong:?}");
        }
    }
}
