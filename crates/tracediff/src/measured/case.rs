//! What a call is in a database: its table, what that holds, and the inputs and the output of its row.

use perfdb_model::workload::{AttentionBatch, OperatorKind, Product};
use perfdb_store::dtype::DType;
use perfdb_store::registry::parts::{ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER};
use perfdb_store::registry::{KernelClass, Layout};

use super::types::{Tensor, cell};
use super::{Reason, sources};

/// A row and its table. Two calls of one case are measurements of the same row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    /// The kernel type.
    pub(super) table: String,
    pub(super) class: KernelClass,
    pub(super) layout: Option<Layout>,
    /// The library of its kernels.
    pub(super) source: Option<&'static str>,
    pub(super) row: Row,
}

/// What a row says of a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Row {
    /// Shapes and types.
    Compute { inputs: Vec<(Vec<u64>, &'static str)>, output: Option<(Vec<u64>, &'static str)> },
    /// Bytes of one rank.
    Collective { bytes: u64, ranks: u32, dtype: String },
}

/// Operators that no formula describes, by the name without namespace and without the `_` at the end.
const CLASSES: [(&str, KernelClass); 12] = [
    ("silu_and_mul", KernelClass::GatedActivation),
    ("gelu_and_mul", KernelClass::GatedActivation),
    ("gelu_tanh_and_mul", KernelClass::GatedActivation),
    ("rotary_embedding", KernelClass::Rope),
    ("apply_rotary_pos_emb", KernelClass::Rope),
    ("gemma_rmsnorm", KernelClass::Norm),
    ("rmsnorm", KernelClass::Norm),
    ("fused_add_rmsnorm", KernelClass::Norm),
    ("native_group_norm", KernelClass::Norm),
    ("native_batch_norm", KernelClass::Norm),
    ("static_scaled_fp8_quant", KernelClass::Quantize),
    ("dynamic_scaled_fp8_quant", KernelClass::Quantize),
];

/// Collectives by pieces of the library's name in small letters.
const COLLECTIVES: [(&str, &str); 7] = [
    ("allreduce", ALL_REDUCE),
    ("all_reduce", ALL_REDUCE),
    ("allgather", ALL_GATHER),
    ("all_gather", ALL_GATHER),
    ("reduce_scatter", REDUCE_SCATTER),
    ("alltoall", ALL_TO_ALL),
    ("all_to_all", ALL_TO_ALL),
];

impl Case {
    pub(super) fn is_collective(&self) -> bool {
        matches!(self.row, Row::Collective { .. })
    }

    /// The case of an operator with these arguments, run by kernels of this library.
    pub(super) fn of_call(operator: &str, arguments: &[Option<Tensor>], source: Option<&'static str>) -> Case {
        let base = operator.rsplit("::").next().unwrap_or(operator);
        let base = base.strip_suffix('_').unwrap_or(base);
        // What an operator copies or clears is not its work.
        let moves_only = source.is_some_and(sources::is_of_copies);
        let kind = OperatorKind::of(base).filter(|kind| !(moves_only && has_places(Some(*kind))));
        let plain = || Form {
            class: CLASSES.iter().find(|(name, _)| *name == base).map_or(class_of(kind), |(_, class)| *class),
            layout: None,
            // A table has one class.
            suffix: if has_places(kind) { "_other" } else { "" },
            inputs: arguments.iter().flatten().cloned().collect(),
            output: output_of(kind, arguments),
        };
        let form = of_kind(kind, arguments).unwrap_or_else(plain);
        let suffix = form.suffix;
        Case::new(operator, suffix, form.class, form.layout, source, form.inputs, form.output)
    }

    /// Attention over packed sequences, as one batch of sequences of their mean lengths.
    pub(super) fn of_attention(operator: &str, batch: &AttentionBatch, source: Option<&'static str>) -> Case {
        let [query, cache] = tensors_of(batch);
        let Form { class, layout, suffix, inputs, output } = of_attention(query, cache.clone(), cache);
        Case::new(operator, suffix, class, layout, source, inputs, output)
    }

    /// Attention of prompts and of single tokens in one call: queries, keys and values of both. It is of neither class, as one time is of
    /// both.
    pub(super) fn of_mixed_attention(operator: &str, batches: &[AttentionBatch], source: Option<&'static str>) -> Case {
        let of_batch = |batch: &AttentionBatch| {
            let [query, cache] = tensors_of(batch);
            [query, cache.clone(), cache]
        };
        let inputs = batches.iter().flat_map(of_batch).collect();
        Case::new(operator, "_mixed", KernelClass::Generic, None, source, inputs, None)
    }

    fn new(
        operator: &str,
        suffix: &str,
        class: KernelClass,
        layout: Option<Layout>,
        source: Option<&'static str>,
        inputs: Vec<Tensor>,
        output: Option<Tensor>,
    ) -> Case {
        let library = source.filter(|source| *source != "aten").map(|source| format!("_{source}")).unwrap_or_default();
        let pair = |tensor: Tensor| (tensor.shape, cell(tensor.dtype));
        Case {
            table: format!("{}{suffix}{library}", file_name(operator)),
            class,
            layout,
            source,
            row: Row::Compute { inputs: inputs.into_iter().map(pair).collect(), output: output.map(pair) },
        }
    }

    /// The case of a collective: bytes that one rank has of its own.
    pub(super) fn of_message(
        collective: &str,
        elements: [u64; 2],
        dtype: Option<DType>,
        ranks: u32,
        source: Option<&'static str>,
    ) -> Result<Case, Reason> {
        let lower = collective.to_ascii_lowercase();
        let table = COLLECTIVES.iter().find(|(mark, _)| lower.contains(mark)).map(|(_, table)| *table);
        let (Some(table), Some(dtype)) = (table, dtype) else { return Err(Reason::NoBytes) };
        // Of a sum that is scattered, the piece that stays.
        let [before, after] = elements;
        let own = if table == REDUCE_SCATTER { after } else { before };
        let bytes = own.checked_mul(dtype.size_bytes() as u64).filter(|bytes| *bytes > 0 && ranks > 0);
        let bytes = bytes.ok_or(Reason::NoBytes)?;
        let name = match dtype {
            DType::Float16 => "DT_FP16".to_owned(),
            other => format!("DT_{}", cell(other).trim_start_matches("DT_")),
        };
        let row = Row::Collective { bytes, ranks, dtype: name };
        Ok(Case { table: table.to_owned(), class: KernelClass::Collective, layout: None, source, row })
    }
}

/// Inputs as the class of a table wants them.
struct Form {
    class: KernelClass,
    layout: Option<Layout>,
    suffix: &'static str,
    inputs: Vec<Tensor>,
    output: Option<Tensor>,
}

/// The class of operators whose rows have their arguments as they are.
fn class_of(kind: Option<OperatorKind>) -> KernelClass {
    match kind {
        Some(OperatorKind::Binary { .. } | OperatorKind::Unary) => KernelClass::Elementwise,
        Some(OperatorKind::Norm(_)) => KernelClass::Norm,
        Some(OperatorKind::Copy) => KernelClass::Copy,
        Some(OperatorKind::CacheWrite) => KernelClass::CacheWrite,
        _ => KernelClass::Generic,
    }
}

/// Whether the class of an operator gives its operands places.
fn has_places(kind: Option<OperatorKind>) -> bool {
    matches!(kind, Some(OperatorKind::Product(_) | OperatorKind::Attention(_) | OperatorKind::Experts))
}

/// Products, attention and experts, whose operands have their places; nothing where the arguments do not fit.
fn of_kind(kind: Option<OperatorKind>, arguments: &[Option<Tensor>]) -> Option<Form> {
    let tensor = |at: usize| arguments.get(at)?.as_ref();
    match kind? {
        OperatorKind::Product(product) => {
            let first = usize::from(matches!(product, Product::Added | Product::BatchedAdded));
            let (left, right) = (tensor(first)?, tensor(first + 1)?);
            let added = match product {
                Product::Added | Product::BatchedAdded => tensor(0),
                Product::Linear => tensor(2),
                _ => None,
            };
            of_product(product, left, right, added)
        }
        OperatorKind::Attention(how) => {
            let [query, key, value] = [0, 1, 2].map(|at| Some(batch_tokens_heads(tensor(at)?, how.heads_first)));
            let (query, key, value) = (query??, key??, value??);
            Some(of_attention(query, key, value))
        }
        OperatorKind::Experts => {
            let (tokens, up, down, chosen) = (tensor(0)?, tensor(1)?, tensor(2)?, tensor(3)?);
            let (&[_, hidden], &[experts, _, same_hidden], &[_, _, inner]) = (&*tokens.shape, &*up.shape, &*down.shape)
            else {
                return None;
            };
            (hidden == same_hidden).then(|| Form {
                class: KernelClass::Experts,
                layout: None,
                suffix: "",
                inputs: vec![
                    tokens.clone(),
                    Tensor { shape: vec![experts, hidden, inner], dtype: up.dtype },
                    Tensor { shape: chosen.shape.clone(), dtype: DType::Int32 },
                ],
                output: Some(tokens.clone()),
            })
        }
        _ => None,
    }
}

fn of_product(product: Product, left: &Tensor, right: &Tensor, added: Option<&Tensor>) -> Option<Form> {
    let (class, left_shape, right_shape) = match (product, &*left.shape, &*right.shape) {
        (Product::Plain | Product::Added | Product::Scaled, &[m, k], &[same, n]) if k == same => {
            (KernelClass::MatMul, vec![m, k], vec![k, n])
        }
        (Product::Linear, &[.., k], &[n, same]) if k == same && k > 0 => {
            (KernelClass::MatMul, vec![left.shape.iter().product::<u64>() / k, k], vec![k, n])
        }
        (Product::Batched | Product::BatchedAdded, &[batch, m, k], &[same_batch, same, n])
            if k == same && batch == same_batch =>
        {
            (KernelClass::BatchMatMul, vec![batch, m, k], vec![batch, k, n])
        }
        (Product::Grouped, &[m, k], &[groups, same, n]) if k == same => {
            (KernelClass::GroupedMatMul, vec![m, k], vec![groups, k, n])
        }
        _ => return None,
    };
    let mut output = left_shape.clone();
    *output.last_mut()? = *right_shape.last()?;
    let result = if product == Product::Scaled { DType::BFloat16 } else { left.dtype };
    let mut inputs =
        vec![Tensor { shape: left_shape, dtype: left.dtype }, Tensor { shape: right_shape, dtype: right.dtype }];
    inputs.extend(added.cloned());
    let output = Some(Tensor { shape: output, dtype: result });
    Some(Form { class, layout: Some(Layout::KN), suffix: "", inputs, output })
}

/// Queries, and keys or values, of a batch.
fn tensors_of(batch: &AttentionBatch) -> [Tensor; 2] {
    let AttentionBatch { sequences, queries, keys, heads, key_heads, size, query, cache } = *batch;
    [
        Tensor { shape: vec![sequences, queries, heads, size], dtype: query },
        Tensor { shape: vec![sequences, keys, key_heads, size], dtype: cache },
    ]
}

/// Attention of queries (batch, tokens, heads, size) to keys and values of the same form.
fn of_attention(query: Tensor, key: Tensor, value: Tensor) -> Form {
    let is_decode = query.shape[1] == 1 && key.shape[1] > 1;
    let mut output = query.shape.clone();
    output[3] = value.shape[3];
    Form {
        class: if is_decode { KernelClass::DecodeAttention } else { KernelClass::PrefillAttention },
        layout: None,
        suffix: if is_decode { "_decode" } else { "_prefill" },
        output: Some(Tensor { shape: output, dtype: query.dtype }),
        inputs: vec![query, key, value],
    }
}

/// Batch, tokens, heads, size, however they stand.
fn batch_tokens_heads(tensor: &Tensor, heads_first: bool) -> Option<Tensor> {
    let &[batch, second, third, size] = &*tensor.shape else { return None };
    let shape = if heads_first { vec![batch, third, second, size] } else { tensor.shape.clone() };
    Some(Tensor { shape, dtype: tensor.dtype })
}

/// The result, where all tensors are alike and it is too. Nothing but the tensors decides: calls of the same inputs are one row.
fn output_of(kind: Option<OperatorKind>, arguments: &[Option<Tensor>]) -> Option<Tensor> {
    let mut tensors = arguments.iter().flatten();
    let first = tensors.next()?;
    match kind? {
        OperatorKind::Unary | OperatorKind::Softmax => Some(first.clone()),
        OperatorKind::Binary { compares: false } => tensors.all(|other| other == first).then(|| first.clone()),
        _ => None,
    }
}

/// An operator as the name of a table: `aten::mm` is `aten_mm`.
fn file_name(operator: &str) -> String {
    let mut name = String::new();
    for character in operator.chars() {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '-') {
            name.push(character);
        } else if !name.ends_with('_') || character == '_' {
            name.push('_');
        }
    }
    let name = name.trim_start_matches(['.', '-']);
    if name.len() > LONGEST_NAME {
        // Names of generated operators list everything that was fused, and end with a number of their own.
        format!("{}-{}", &name[..LONGEST_NAME - ENDING], &name[name.len() - ENDING..])
    } else {
        name.to_owned()
    }
}

const LONGEST_NAME: usize = 120;
const ENDING: usize = 20;
