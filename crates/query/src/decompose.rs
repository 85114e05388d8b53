//! Taking an operator apart into the kernels that run.

mod indexer;
mod latent;
mod projections;
mod sparse;

use crate::context::Context;
use crate::lookup::fields::Fields;
use crate::query::{Argument, Tensor};
use perfdb_pycompat::yaml::{Map, Node};
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::parts;
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// The parts of an operator.
pub(crate) enum Decomposed<'q> {
    /// No code takes this operator apart.
    NotKnown,
    /// This call cannot be taken apart.
    Nothing,
    Parts(Vec<PartQuery<'q>>),
}

/// A kernel of a decomposition and how it is asked for.
#[derive(Debug)]
pub(crate) struct PartQuery<'q> {
    pub(crate) kernel_types: SmallVec<[Cow<'q, str>; 2]>,
    pub(crate) kind: Kind,
}

/// How a part is asked for.
#[derive(Debug)]
pub(crate) enum Kind {
    Compute(ComputePart),
    Attention(Box<Fields>),
    Opaque(Box<OpaquePart>),
    Cache(CachePart),
    Scatter(ScatterPart),
}

impl Kind {
    /// What the simulator's reader calls it.
    pub(crate) fn mode(&self) -> &'static str {
        match self {
            Kind::Compute(_) => "compute",
            Kind::Attention(_) => "attention",
            Kind::Opaque(_) => "mlapo_preprocess",
            Kind::Cache(_) => "cache_postprocess",
            Kind::Scatter(_) => "scatter_cache_write",
        }
    }

    /// What it calls a row that fits.
    pub(crate) fn exact_method(&self) -> &'static str {
        match self {
            Kind::Compute(_) => "exact_compute_match",
            Kind::Attention(_) => "exact_attention_params",
            Kind::Opaque(_) => "exact_mlapo_preprocess",
            Kind::Cache(_) => "exact_cache_postprocess",
            Kind::Scatter(_) => "exact_scatter_cache_write",
        }
    }
}

/// A kernel by its inputs.
#[derive(Debug)]
pub(crate) struct ComputePart {
    pub(crate) shapes: SmallVec<[SmallVec<[i64; 4]>; 3]>,
    pub(crate) dtypes: SmallVec<[Option<&'static str>; 3]>,
    pub(crate) count: usize,
}

/// The kernel that prepares latent attention as a whole.
#[derive(Debug)]
pub(crate) struct OpaquePart {
    pub(crate) dtype: &'static str,
    pub(crate) num_tokens: i64,
    pub(crate) hidden_size: i64,
    pub(crate) local_num_heads: i64,
    pub(crate) q_lora_rank: i64,
    pub(crate) kv_lora_rank: i64,
    pub(crate) qk_nope_head_dim: i64,
    pub(crate) qk_rope_head_dim: i64,
    pub(crate) block_size: i64,
    pub(crate) cache_mode: String,
    pub(crate) quant_mode: String,
    pub(crate) weight_format: String,
    pub(crate) enable_inner_out: bool,
    pub(crate) weight_quantized: bool,
}

impl OpaquePart {
    /// All numbers, which have to be positive.
    pub(crate) fn numbers(&self) -> [i64; 8] {
        [
            self.num_tokens,
            self.hidden_size,
            self.local_num_heads,
            self.q_lora_rank,
            self.kv_lora_rank,
            self.qk_nope_head_dim,
            self.qk_rope_head_dim,
            self.block_size,
        ]
    }
}

/// Writing normalised keys into a cache of any number of blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CachePart {
    pub(crate) tokens: i64,
    pub(crate) kv: i64,
    pub(crate) rank: i64,
    pub(crate) rope: i64,
    pub(crate) block: i64,
    pub(crate) dtype: &'static str,
}

/// Writing rows into a cache of any number of blocks.
#[derive(Debug, Clone)]
pub(crate) struct ScatterPart {
    pub(crate) tokens: i64,
    pub(crate) feature: i64,
    pub(crate) dtype: &'static str,
    /// The cache as the call has it, for interpolation.
    pub(crate) cache: SmallVec<[i64; 4]>,
}

impl<'q> PartQuery<'q> {
    /// A kernel by inputs of one type.
    fn compute(kernel_type: impl Into<Cow<'q, str>>, dtype: &'static str, shapes: &[&[i64]], count: usize) -> Self {
        PartQuery {
            kernel_types: smallvec![kernel_type.into()],
            kind: Kind::Compute(ComputePart {
                shapes: shapes.iter().map(|shape| SmallVec::from_slice(shape)).collect(),
                dtypes: shapes.iter().map(|_| Some(dtype)).collect(),
                count,
            }),
        }
    }

    /// Quantising activations.
    fn quantise(dtype: &'static str, shapes: &[&[i64]], count: usize) -> Self {
        PartQuery::compute(parts::QUANTISE, dtype, shapes, count).or("AscendQuantV2Aicore")
    }

    /// With another table to look in.
    fn or(mut self, kernel_type: impl Into<Cow<'q, str>>) -> Self {
        self.kernel_types.push(kernel_type.into());
        self
    }

    /// The kernel type that is asked first.
    pub(crate) fn kernel_type(&self) -> &str {
        self.kernel_types.first().map_or("", |name| name)
    }
}

/// The parts of a call of an operator that code knows.
pub(crate) fn decomposed<'q>(context: &Context<'q>, entry: &'q Entry) -> Decomposed<'q> {
    let parts = match context.query.name() {
        "tensor_cast.multihead_latent_attention.default" => latent::parts(context, entry, false, false),
        "tensor_cast.multihead_latent_attention_quant.default" => latent::parts(context, entry, false, true),
        "tensor_cast.mla_sparse_attention.default" => latent::parts(context, entry, true, false),
        "tensor_cast.mla_sparse_attention_quant.default" => latent::parts(context, entry, true, true),
        "tensor_cast.mlapo.default" => projections::parts(context, entry, false),
        "tensor_cast.mlapo_quant.default" => projections::parts(context, entry, true),
        "tensor_cast.dsa_indexer.default" => indexer::parts(context, entry),
        _ => return Decomposed::NotKnown,
    };
    parts.map_or(Decomposed::Nothing, Decomposed::Parts)
}

/// `decomposer_options`, or a map in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options<'e>(Option<&'e Map>);

impl<'e> Options<'e> {
    pub(crate) fn of(entry: &'e Entry) -> Self {
        Options(entry.decomposer_options.as_ref().and_then(Node::as_map))
    }

    fn get(self, key: &str) -> Option<&'e Node> {
        self.0.and_then(|map| map.get(key))
    }

    pub(crate) fn map(self, key: &str) -> Option<Options<'e>> {
        self.get(key)?.as_map().map(|map| Options(Some(map)))
    }

    /// Whether a value is there that counts as true.
    pub(crate) fn flag(self, key: &str) -> bool {
        self.get(key).is_some_and(Node::is_truthy)
    }

    fn flag_or(self, key: &str, default: bool) -> bool {
        self.get(key).map_or(default, Node::is_truthy)
    }

    fn text(self, key: &str) -> Option<&'e str> {
        self.get(key)?.as_text()
    }

    fn integer(self, key: &str) -> Option<i64> {
        match self.get(key)? {
            Node::Integer(number) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    fn is_empty(self) -> bool {
        self.0.is_none_or(Map::is_empty)
    }
}

/// In which phase of inference a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Prefill,
    Decode,
}

/// The phase that the keywords tell; `Some(None)` if they do not, `None` if they contradict themselves.
fn phase(context: &Context<'_>, requests: Option<usize>) -> Option<Option<Phase>> {
    match context.query.keyword_value("phase") {
        Some(Argument::Text(text)) if text == "prefill" => return Some(Some(Phase::Prefill)),
        Some(Argument::Text(text)) if text == "decode" => return Some(Some(Phase::Decode)),
        _ => {}
    }
    let Some(values) = context.query.keyword_value("is_decode_values").filter(|value| **value != Argument::None) else {
        return Some(None);
    };
    let flag = |value: &Argument| match value {
        Argument::Boolean(value) => Some(*value),
        _ => None,
    };
    let flags: Vec<bool> = values.as_list()?.iter().map(flag).collect::<Option<_>>()?;
    if flags.is_empty() || requests.is_some_and(|requests| requests != flags.len()) {
        return None;
    }
    match (flags.iter().all(|flag| *flag), flags.iter().any(|flag| *flag)) {
        (true, _) => Some(Some(Phase::Decode)),
        (_, false) => Some(Some(Phase::Prefill)),
        _ => None,
    }
}

/// The number of requests: the length of the vector of lengths.
fn requests(lengths: &Tensor) -> usize {
    lengths.shape.first().map_or(1, |count| usize::try_from(*count).unwrap_or(0))
}
