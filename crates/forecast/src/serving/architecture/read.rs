//! Layers and storage of a model from its `config.json`: what differs between families is a table.

use super::{Architecture, FeedForward, Indexer, Layers, MOST_PARAMETERS, Mixer};
use crate::Error;
use crate::description::{AttentionForm, Description, Fault, Field, ModelFamily, fault};
use crate::serving::precision::{Scheme, Storage};
use serde_json::Value;
use std::path::Path;

/// More layers are a mistake.
const MOST_LAYERS: u64 = 1 << 12;

pub(super) fn read(path: &Path) -> Result<Architecture, Error> {
    let description = Description::open(path)?;
    let in_file = |fault: Fault| fault.in_file(&description.path);
    let family = description.family(|_| true).map_err(in_file)?;
    let mut found = architecture(&description, family).map_err(in_file)?;
    if let Some(method) = description.name("quantize").map_err(in_file)? {
        let reason = format!("the scheme '{method}' has no tables of served models");
        return Err(in_file(Fault { field: "quantize".to_owned(), reason }));
    }
    let storage = Storage::read(description.quantized(), description.beside.as_ref());
    found.storage = storage.map_err(|reason| {
        let (field, reason) = reason.split_once(": ").unwrap_or(("quantization_config", &reason));
        in_file(Fault { field: field.to_owned(), reason: reason.to_owned() })
    })?;
    Ok(found)
}

/// The layers, their weights in 16 bits.
pub(crate) fn architecture(description: &Description, family: &ModelFamily) -> Field<Architecture> {
    if description.get("block_configs").is_some() {
        return fault("block_configs", "layers that differ one by one are not known");
    }
    let count = description.required("num_hidden_layers")?;
    if count > MOST_LAYERS {
        return fault("num_hidden_layers", format!("{count} is more than {MOST_LAYERS}"));
    }
    let mut layers: Vec<Layers> = Vec::new();
    for layer in 0..count {
        let (mixer, feed_forward) = (mixer(description, family, layer)?, feed_forward(description, family, layer)?);
        match layers.iter_mut().find(|known| known.mixer == mixer && known.feed_forward == feed_forward) {
            Some(known) => known.count += 1,
            None => layers.push(Layers { count: 1, mixer, feed_forward, operators: Vec::new() }),
        }
    }
    let found = Architecture {
        family: family.name.to_owned(),
        hidden_size: description.required("hidden_size")?,
        vocabulary: description.required("vocab_size")?,
        ties_embeddings: description.flag("tie_word_embeddings")?.unwrap_or(family.ties_embeddings),
        layers,
        storage: Storage::all(Scheme::Bf16),
    };
    match found.parameters() {
        parameters if parameters > MOST_PARAMETERS => fault(
            "hidden_size",
            format!("the sizes make {:.0e} parameters, more than any model has", parameters as f64),
        ),
        _ => Ok(found),
    }
}

/// What `layer_types` says of a layer, or the interval that stands for such a list.
fn layer_type<'d>(description: &'d Description, family: &ModelFamily, layer: u64) -> &'d str {
    if let Some(types) = description.list("layer_types") {
        return types.get(layer as usize).and_then(Value::as_str).unwrap_or("full_attention");
    }
    let interval = |field: &str| description.get(field).and_then(Value::as_u64).filter(|interval| *interval > 0);
    if let Some(interval) = interval("full_attention_interval") {
        return if (layer + 1).is_multiple_of(interval) { "full_attention" } else { "linear_attention" };
    }
    match interval("sliding_window_pattern") {
        Some(interval) if !(layer + 1).is_multiple_of(interval) => "sliding_attention",
        // The first models of this family see through a window in all layers.
        None if family.name == "mistral" && description.get("sliding_window").is_some() => "sliding_attention",
        _ => "full_attention",
    }
}

fn mixer(description: &Description, family: &ModelFamily, layer: u64) -> Field<Mixer> {
    let kind = layer_type(description, family, layer);
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
    let kv_heads = description.first(&["num_key_value_heads"])?.unwrap_or(heads);
    if !heads.is_multiple_of(kv_heads) {
        return fault("num_key_value_heads", format!("{kv_heads} does not divide the {heads} attention heads"));
    }
    Ok(Mixer::Grouped {
        heads,
        kv_heads,
        head_dim,
        window,
        is_gated: description.flag("attn_output_gate")?.unwrap_or(family.name == "qwen3_next"),
        has_bias: description.flag("attention_bias")?.unwrap_or(family.has_bias),
        normalises: family.normalises,
    })
}

fn feed_forward(description: &Description, family: &ModelFamily, layer: u64) -> Field<FeedForward> {
    let dense = || -> Field<FeedForward> {
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
    if per_token > count {
        return fault("num_experts_per_tok", format!("{per_token} is more than the {count} experts"));
    }
    Ok(FeedForward::Experts { count, per_token, inner, shared_inner, has_bias: family.name == "gpt_oss" })
}

/// Whether a layer has experts: some families begin with dense layers, some mix them in.
fn has_experts(description: &Description, layer: u64) -> Field<bool> {
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
