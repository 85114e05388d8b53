//! Reads a `config.json`, as it is published with a model's weights.

use super::{Attention, Experts, Model, Router, Stored};
use crate::{Error, Quantization};
use perfdb_files::escape::excerpt;
use perfdb_trace::source::Source;
use serde_json::{Map, Value};
use std::path::Path;

/// Larger sizes are mistakes.
const LARGEST: i64 = 1 << 24;

/// What distinguishes one architecture from another beyond its sizes.
#[derive(Clone, Copy)]
struct Family {
    /// `model_type`.
    name: &'static str,
    /// Queries and keys are normalised head by head.
    normalises_heads: bool,
    /// Queries, keys and values have a bias, for any description.
    has_bias: bool,
    body: Body,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Dense,
    Experts,
    Latent,
}

const FAMILIES: [Family; 7] = [
    Family { name: "llama", normalises_heads: false, has_bias: false, body: Body::Dense },
    Family { name: "mistral", normalises_heads: false, has_bias: false, body: Body::Dense },
    Family { name: "qwen2", normalises_heads: false, has_bias: true, body: Body::Dense },
    Family { name: "qwen3", normalises_heads: true, has_bias: false, body: Body::Dense },
    Family { name: "qwen3_moe", normalises_heads: true, has_bias: false, body: Body::Experts },
    Family { name: "deepseek_v3", normalises_heads: false, has_bias: false, body: Body::Latent },
    Family { name: "kimi_k2", normalises_heads: false, has_bias: false, body: Body::Latent },
];

pub(super) fn read(path: &Path) -> Result<Model, Error> {
    let folder_file = path.join("config.json");
    let path = if path.is_dir() { &folder_file } else { path };
    let malformed = |reason: String| Error::Malformed { path: path.to_owned(), reason };
    let bytes = Source::open(path)?.read_all()?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| malformed(format!("no JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(malformed("a model description must be a JSON object".to_owned()));
    };
    let description = Description(fields);
    model(&description).map_err(|Fault { field, reason }| Error::Field { path: path.to_owned(), field, reason })
}

struct Description(Map<String, Value>);

struct Fault {
    field: String,
    reason: String,
}

type Field<T> = Result<T, Fault>;

fn fault<T>(field: &str, reason: impl Into<String>) -> Field<T> {
    Err(Fault { field: field.to_owned(), reason: reason.into() })
}

impl Description {
    /// The field, if it is there and not null.
    fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    /// A size; `least` is 0 or 1.
    fn size(&self, field: &str, least: i64) -> Field<Option<i64>> {
        let Some(value) = self.get(field) else { return Ok(None) };
        match value.as_i64() {
            Some(size) if (least..=LARGEST).contains(&size) => Ok(Some(size)),
            _ => fault(
                field,
                format!("must be an integer from {least} to {LARGEST}, not {}", excerpt(&value.to_string())),
            ),
        }
    }

    fn required(&self, field: &str) -> Field<i64> {
        match self.size(field, 1)? {
            Some(size) => Ok(size),
            None => fault(field, "is missing"),
        }
    }

    fn flag(&self, field: &str) -> Field<Option<bool>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => fault(field, format!("must be true or false, not {}", excerpt(&other.to_string()))),
        }
    }

    fn text(&self, field: &str) -> Field<Option<&str>> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => fault(field, format!("must be a text, not {}", excerpt(&other.to_string()))),
        }
    }

    /// A field that the forecast has no operators for unless it has this value.
    fn only<T: Into<Value>>(&self, field: &str, value: T) -> Field<()> {
        let only = value.into();
        match self.get(field) {
            Some(other) if *other != only => {
                fault(field, format!("only {only} can be forecast, not {}", excerpt(&other.to_string())))
            }
            _ => Ok(()),
        }
    }
}

fn family(description: &Description) -> Field<Family> {
    let Some(name) = description.text("model_type")? else { return fault("model_type", "is missing") };
    match FAMILIES.into_iter().find(|family| family.name == name) {
        Some(family) => Ok(family),
        None => {
            let known = FAMILIES.map(|family| family.name).join(", ");
            fault("model_type", format!("the architecture {} is not known (known: {known})", excerpt(name)))
        }
    }
}

fn model(description: &Description) -> Field<Model> {
    let family = family(description)?;
    description.only("hidden_act", "silu")?;
    let epsilon = match description.get("rms_norm_eps").map(|value| (value, value.as_f64())) {
        Some((_, Some(epsilon))) => epsilon,
        Some((value, None)) => {
            return fault("rms_norm_eps", format!("must be a number, not {}", excerpt(&value.to_string())));
        }
        None => return fault("rms_norm_eps", "is missing"),
    };
    let attention = match family.body {
        Body::Dense | Body::Experts => grouped(description, family)?,
        Body::Latent => latent(description)?,
    };
    let layers = description.required("num_hidden_layers")?;
    let experts = match family.body {
        Body::Dense => None,
        Body::Experts => Some(softmax_experts(description, layers)?),
        Body::Latent => Some(fused_experts(description, layers)?),
    };
    let has_dense_layers = experts.as_ref().is_none_or(|experts| experts.dense_layers > 0);
    Ok(Model {
        hidden_size: description.required("hidden_size")?,
        layers,
        vocabulary: description.required("vocab_size")?,
        longest_sequence: description.required("max_position_embeddings")?,
        norm_epsilon: epsilon,
        intermediate_size: if has_dense_layers { description.required("intermediate_size")? } else { 0 },
        attention,
        experts,
        stored: stored(description)?,
    })
}

fn grouped(description: &Description, family: Family) -> Field<Attention> {
    let heads = description.required("num_attention_heads")?;
    let kv_heads = description.size("num_key_value_heads", 1)?.unwrap_or(heads);
    if heads % kv_heads != 0 {
        return fault("num_key_value_heads", format!("{kv_heads} does not divide the {heads} attention heads"));
    }
    let head_dim = match description.size("head_dim", 1)? {
        Some(size) => size,
        None => (description.required("hidden_size")? / heads).max(1),
    };
    if !family.has_bias {
        description.only("attention_bias", false)?;
    }
    description.only("mlp_bias", false)?;
    description.only("use_sliding_window", false)?;
    Ok(Attention::Grouped {
        heads,
        kv_heads,
        head_dim,
        normalises_heads: family.normalises_heads,
        has_bias: family.has_bias,
    })
}

fn latent(description: &Description) -> Field<Attention> {
    description.only("attention_bias", false)?;
    Ok(Attention::Latent {
        heads: description.required("num_attention_heads")?,
        q_lora_rank: description.required("q_lora_rank")?,
        kv_lora_rank: description.required("kv_lora_rank")?,
        qk_nope_head_dim: description.required("qk_nope_head_dim")?,
        qk_rope_head_dim: description.required("qk_rope_head_dim")?,
        v_head_dim: description.required("v_head_dim")?,
    })
}

/// Layers with experts as Qwen3-MoE lays them out: every `decoder_sparse_step`-th one but those of `mlp_only_layers`.
fn softmax_experts(description: &Description, layers: i64) -> Field<Experts> {
    let step = description.size("decoder_sparse_step", 1)?.unwrap_or(1);
    let dense: Vec<i64> = match description.get("mlp_only_layers") {
        None => Vec::new(),
        Some(value) => match value.as_array().map(|items| items.iter().map(Value::as_i64).collect()) {
            Some(Some(dense)) => dense,
            _ => return fault("mlp_only_layers", "must be a list of integers"),
        },
    };
    let dense_layers = (0..layers).filter(|layer| dense.contains(layer) || (layer + 1) % step != 0).count() as i64;
    experts(description, "num_experts", dense_layers, 0, Router::SoftmaxTopK)
}

/// Layers with experts as DeepSeek-V3 lays them out: all from `first_k_dense_replace` on, with shared experts.
fn fused_experts(description: &Description, layers: i64) -> Field<Experts> {
    description.only("moe_layer_freq", 1)?;
    let Some(dense_layers) = description.size("first_k_dense_replace", 0)? else {
        return fault("first_k_dense_replace", "is missing");
    };
    let Some(shared) = description.size("n_shared_experts", 0)? else { return fault("n_shared_experts", "is missing") };
    experts(description, "n_routed_experts", dense_layers.min(layers), shared, Router::FusedTopK)
}

fn experts(description: &Description, count: &str, dense_layers: i64, shared: i64, router: Router) -> Field<Experts> {
    let (name, count) = (count, description.required(count)?);
    let per_token = description.required("num_experts_per_tok")?;
    if per_token > count {
        return fault("num_experts_per_tok", format!("{per_token} is more than the {count} of {name}"));
    }
    let intermediate_size = description.required("moe_intermediate_size")?;
    Ok(Experts {
        count,
        per_token,
        intermediate_size,
        shared_intermediate_size: shared * intermediate_size,
        dense_layers,
        normalises_weights: description.flag("norm_topk_prob")?.unwrap_or(false),
        router,
    })
}

/// How the weights are stored: `quantize` of Ascend's exporters, `quantization_config` of the others.
fn stored(description: &Description) -> Field<Stored> {
    if let Some(name) = description.text("quantize")? {
        return Ok(match name {
            "w8a8" => Stored::Known(Quantization::W8A8Static),
            "w8a8_dynamic" => Stored::Known(Quantization::W8A8Dynamic),
            other => Stored::Other { field: "quantize", value: excerpt(other) },
        });
    }
    Ok(match description.get("quantization_config") {
        None => Stored::Known(Quantization::None),
        Some(config) => {
            let method = config.get("quant_method").and_then(Value::as_str).unwrap_or("missing");
            Stored::Other { field: "quantization_config.quant_method", value: excerpt(method) }
        }
    })
}
