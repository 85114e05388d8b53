//! Reads `config.json` as it is published with a model's weights: what differs between families is a table.

use super::{Architecture, FeedForward, Indexer, Layers, Mixer};
use crate::Error;
use crate::serving::precision::Storage;
use perfdb_files::escape::excerpt;
use perfdb_trace::source::Source;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Larger sizes are mistakes.
const LARGEST: u64 = 1 << 24;

/// What distinguishes a family beyond what its description says.
struct Family {
    /// `model_type`, also of the text part of models that see.
    name: &'static str,
    attention: AttentionForm,
    normalises: bool,
    has_bias: bool,
    ties_embeddings: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AttentionForm {
    Grouped,
    Latent,
}

const fn grouped(name: &'static str, normalises: bool, has_bias: bool) -> Family {
    Family { name, attention: AttentionForm::Grouped, normalises, has_bias, ties_embeddings: false }
}

const fn latent(name: &'static str) -> Family {
    Family { name, attention: AttentionForm::Latent, normalises: false, has_bias: false, ties_embeddings: false }
}

const FAMILIES: [Family; 29] = [
    grouped("llama", false, false),
    grouped("mistral", false, false),
    grouped("mixtral", false, false),
    grouped("qwen2", false, true),
    grouped("qwen2_moe", false, true),
    grouped("mimo", false, true),
    grouped("qwen3", true, false),
    grouped("qwen3_moe", true, false),
    grouped("qwen3_vl_text", true, false),
    grouped("qwen3_vl_moe_text", true, false),
    grouped("qwen3_next", true, false),
    grouped("qwen3_5", true, false),
    grouped("qwen3_5_text", true, false),
    grouped("qwen3_5_moe", true, false),
    grouped("qwen3_5_moe_text", true, false),
    grouped("gpt_oss", false, true),
    grouped("minimax_m2", true, false),
    grouped("glm4", false, true),
    grouped("glm4_moe", true, true),
    grouped("llama4", false, false),
    grouped("llama4_text", false, false),
    Family { name: "gemma3_text", ties_embeddings: true, ..grouped("", true, false) },
    Family { name: "gemma3", ties_embeddings: true, ..grouped("", true, false) },
    latent("deepseek_v2"),
    latent("deepseek_v3"),
    latent("deepseek_v32"),
    latent("kimi_k2"),
    latent("glm_moe_dsa"),
    latent("kimi_k25"),
];

pub(super) fn read(path: &Path) -> Result<Architecture, Error> {
    let path = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
    let config = json(&path)?;
    let beside = quantization_file(&path);
    let beside = if beside.is_file() { Some(json(&beside)?) } else { None };
    let field = |reason: Fault| Error::Field { path: path.clone(), field: reason.0, reason: reason.1 };
    let text = config.get("text_config").filter(|text| text.is_object()).unwrap_or(&config);
    let mut found = architecture(text).map_err(field)?;
    let quantized = if text.get("quantization_config").is_some() { text } else { &config };
    found.storage = Storage::read(quantized, beside.as_ref()).map_err(|reason| match reason.split_once(": ") {
        Some((name, reason)) => field((name.to_owned(), reason.to_owned())),
        None => field(("quantization_config".to_owned(), reason)),
    })?;
    Ok(found)
}

/// `hf_quant_config.json` beside `config.json`, and `NAME_hf_quant_config.json` beside `NAME_config.json`.
fn quantization_file(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().replace("config.json", "hf_quant_config.json");
    path.with_file_name(name)
}

/// A description in Python's JSON; `Infinity` and `NaN` become null, as no size that is looked at is one of them.
fn json(path: &Path) -> Result<Value, Error> {
    let malformed = |reason: String| Error::Malformed { path: path.to_owned(), reason };
    let bytes = Source::open(path)?.read_all()?;
    let read = perfdb_trace::json::parse(&bytes).map_err(|error| malformed(format!("no JSON: {error}")))?;
    let value = serde_json::to_value(&read).map_err(|error| malformed(format!("no JSON: {error}")))?;
    if value.is_object() { Ok(value) } else { Err(malformed("a model description must be a JSON object".to_owned())) }
}

/// A field, and what is wrong with it.
type Fault = (String, String);

fn fault<T>(field: &str, reason: impl Into<String>) -> Result<T, Fault> {
    Err((field.to_owned(), reason.into()))
}

struct Description<'v>(&'v Value);

impl Description<'_> {
    fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    fn size(&self, field: &str) -> Result<Option<u64>, Fault> {
        let Some(value) = self.get(field) else { return Ok(None) };
        match value.as_u64() {
            Some(size) if size <= LARGEST => Ok(Some(size)),
            _ => fault(field, format!("must be an integer up to {LARGEST}, not {}", excerpt(&value.to_string()))),
        }
    }

    /// The first of these fields that is there and not 0.
    fn first(&self, fields: &[&str]) -> Result<Option<u64>, Fault> {
        for field in fields {
            if let Some(size) = self.size(field)?.filter(|size| *size > 0) {
                return Ok(Some(size));
            }
        }
        Ok(None)
    }

    fn required(&self, field: &str) -> Result<u64, Fault> {
        match self.first(&[field])? {
            Some(size) => Ok(size),
            None => fault(field, "is missing"),
        }
    }

    fn flag(&self, field: &str) -> Option<bool> {
        self.get(field).and_then(Value::as_bool)
    }

    fn list(&self, field: &str) -> Option<&Vec<Value>> {
        self.get(field).and_then(Value::as_array)
    }
}

fn architecture(text: &Value) -> Result<Architecture, Fault> {
    let description = Description(text);
    let Some(name) = description.get("model_type").and_then(Value::as_str) else {
        return fault("model_type", "is missing");
    };
    let Some(family) = FAMILIES.iter().find(|family| family.name == name) else {
        let known: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        return fault(
            "model_type",
            format!("the architecture {} is not known (known: {})", excerpt(name), known.join(", ")),
        );
    };
    if description.get("block_configs").is_some() {
        return fault("block_configs", "layers that differ one by one are not known");
    }
    let count = description.required("num_hidden_layers")?;
    let mut layers: Vec<Layers> = Vec::new();
    for layer in 0..count {
        let (mixer, feed_forward) = (mixer(&description, family, layer)?, feed_forward(&description, family, layer)?);
        match layers.iter_mut().find(|known| known.mixer == mixer && known.feed_forward == feed_forward) {
            Some(known) => known.count += 1,
            None => layers.push(Layers { count: 1, mixer, feed_forward }),
        }
    }
    Ok(Architecture {
        family: family.name.to_owned(),
        hidden_size: description.required("hidden_size")?,
        vocabulary: description.required("vocab_size")?,
        ties_embeddings: description.flag("tie_word_embeddings").unwrap_or(family.ties_embeddings),
        layers,
        storage: Storage::all(crate::serving::precision::Scheme::Bf16),
    })
}

/// What `layer_types` says of a layer, or the interval that stands for such a list.
fn layer_type<'v>(description: &Description<'v>, layer: u64) -> &'v str {
    if let Some(types) = description.0.get("layer_types").and_then(Value::as_array) {
        return types.get(layer as usize).and_then(Value::as_str).unwrap_or("full_attention");
    }
    let interval = |field: &str| description.0.get(field).and_then(Value::as_u64).filter(|interval| *interval > 0);
    if let Some(interval) = interval("full_attention_interval") {
        return if (layer + 1).is_multiple_of(interval) { "full_attention" } else { "linear_attention" };
    }
    match interval("sliding_window_pattern") {
        Some(interval) if !(layer + 1).is_multiple_of(interval) => "sliding_attention",
        _ => "full_attention",
    }
}

fn mixer(description: &Description<'_>, family: &Family, layer: u64) -> Result<Mixer, Fault> {
    let kind = layer_type(description, layer);
    if kind == "linear_attention" {
        return Ok(Mixer::GatedDelta {
            key_heads: description.required("linear_num_key_heads")?,
            value_heads: description.required("linear_num_value_heads")?,
            key_dim: description.required("linear_key_head_dim")?,
            value_dim: description.required("linear_value_head_dim")?,
            convolution: description.required("linear_conv_kernel_dim")?,
        });
    }
    let heads = description.required("num_attention_heads")?;
    if family.attention == AttentionForm::Latent {
        let indexer = match description.first(&["index_topk"])? {
            None => None,
            Some(chosen) => Some(Indexer {
                heads: description.required("index_n_heads")?,
                head_dim: description.required("index_head_dim")?,
                chosen,
            }),
        };
        return Ok(Mixer::Latent {
            heads,
            query_rank: description.first(&["q_lora_rank"])?,
            kv_rank: description.required("kv_lora_rank")?,
            nope_dim: description.required("qk_nope_head_dim")?,
            rope_dim: description.required("qk_rope_head_dim")?,
            value_dim: description.required("v_head_dim")?,
            indexer,
        });
    }
    let head_dim = match description.first(&["head_dim"])? {
        Some(size) => size,
        None => (description.required("hidden_size")? / heads).max(1),
    };
    let window = match kind {
        "sliding_attention" => description.first(&["sliding_window"])?,
        "chunked_attention" => description.first(&["attention_chunk_size"])?,
        _ => None,
    };
    Ok(Mixer::Grouped {
        heads,
        kv_heads: description.first(&["num_key_value_heads"])?.unwrap_or(heads),
        head_dim,
        window,
        is_gated: description.flag("attn_output_gate").unwrap_or(family.name == "qwen3_next"),
        has_bias: description.flag("attention_bias").unwrap_or(family.has_bias),
        normalises: family.normalises,
    })
}

fn feed_forward(description: &Description<'_>, family: &Family, layer: u64) -> Result<FeedForward, Fault> {
    let dense = || -> Result<FeedForward, Fault> {
        Ok(FeedForward::Dense {
            inner: description
                .first(&["intermediate_size_mlp", "intermediate_size"])?
                .map_or_else(|| fault("intermediate_size", "is missing"), Ok)?,
        })
    };
    let Some(count) = description.first(&["num_experts", "num_local_experts", "n_routed_experts"])? else {
        return dense();
    };
    if !has_experts(description, layer)? {
        return dense();
    }
    let inner = description.first(&["moe_intermediate_size", "intermediate_size"])?;
    let inner = inner.map_or_else(|| fault("moe_intermediate_size", "is missing"), Ok)?;
    let shared = match description.first(&["shared_expert_intermediate_size", "shared_intermediate_size"])? {
        Some(size) => size,
        None => description.first(&["n_shared_experts", "num_shared_experts"])?.unwrap_or(0) * inner,
    };
    let shared_inner = if family.name.starts_with("llama4") { inner } else { shared };
    let Some(per_token) = description.first(&["num_experts_per_tok", "experts_per_token"])? else {
        return fault("num_experts_per_tok", "is missing");
    };
    Ok(FeedForward::Experts { count, per_token, inner, shared_inner, has_bias: family.name == "gpt_oss" })
}

/// Whether a layer has experts: some families begin with dense layers, some mix them in.
fn has_experts(description: &Description<'_>, layer: u64) -> Result<bool, Fault> {
    if let Some(kinds) = description.list("mlp_layer_types") {
        return Ok(kinds.get(layer as usize).and_then(Value::as_str) != Some("dense"));
    }
    if let Some(listed) = description.list("moe_layer_freq") {
        return Ok(listed.get(layer as usize).and_then(Value::as_u64) != Some(0));
    }
    if let Some(listed) = description.list("moe_layers") {
        return Ok(listed.iter().any(|listed| listed.as_u64() == Some(layer)));
    }
    let only_dense =
        description.list("mlp_only_layers").is_some_and(|dense| dense.iter().any(|at| at.as_u64() == Some(layer)));
    let step = description.first(&["decoder_sparse_step", "interleave_moe_layer_step"])?.unwrap_or(1);
    let first = description.size("first_k_dense_replace")?.unwrap_or(0);
    Ok(!only_dense && (layer + 1).is_multiple_of(step) && layer >= first)
}
