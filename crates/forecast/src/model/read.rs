//! What the simulator's operators need to know of a model, beyond its layers.

use super::{Attention, Experts, Model, Router, Stored};
use crate::description::{AttentionForm, Description, Field, ModelFamily, fault};
use crate::serving::{Architecture, FeedForward, Layers, Mixer, architecture};
use crate::{Error, Quantization};
use perfdb_files::escape::excerpt;
use serde_json::Value;
use std::path::Path;

pub(super) fn read(path: &Path) -> Result<Model, Error> {
    let description = Description::open(path)?;
    model(&description).map_err(|fault| fault.in_file(&description.path))
}

fn model(description: &Description) -> Field<Model> {
    let family = description.family(|family| family.is_simulated)?;
    restricted(description, family)?;
    let Some(norm_epsilon) = description.get("rms_norm_eps") else { return fault("rms_norm_eps", "is missing") };
    let Some(norm_epsilon) = norm_epsilon.as_f64() else {
        return fault("rms_norm_eps", format!("must be a number, not {}", excerpt(&norm_epsilon.to_string())));
    };
    let layers = architecture(description, family)?;
    let dense = layers.layers.iter().find_map(|layers| match layers.feed_forward {
        FeedForward::Dense { inner } => Some(signed(inner)),
        _ => None,
    });
    Ok(Model {
        hidden_size: signed(layers.hidden_size),
        layers: signed(layers.layer_count()),
        vocabulary: signed(layers.vocabulary),
        longest_sequence: signed(description.required("max_position_embeddings")?),
        norm_epsilon,
        intermediate_size: dense.unwrap_or(0),
        attention: attention(&layers, family)?,
        experts: experts(description, &layers, family)?,
        stored: stored(description)?,
    })
}

/// No size of a description leaves 63 bits.
fn signed(size: u64) -> i64 {
    size as i64
}

/// Forms of a family for which no operators are known.
fn restricted(description: &Description, family: &ModelFamily) -> Field<()> {
    description.only("hidden_act", "silu")?;
    description.only("mlp_bias", false)?;
    description.only("use_sliding_window", false)?;
    if !family.has_bias {
        description.only("attention_bias", false)?;
    }
    if family.attention == AttentionForm::Latent {
        description.required("q_lora_rank")?;
        description.only("moe_layer_freq", 1)?;
        for field in ["first_k_dense_replace", "n_shared_experts"] {
            if description.size(field)?.is_none() {
                return fault(field, "is missing");
            }
        }
        description.required("n_routed_experts")?;
    }
    Ok(())
}

/// Attention, which is the same in all layers.
fn attention(found: &Architecture, family: &ModelFamily) -> Field<Attention> {
    let mixers: Vec<&Mixer> = found.layers.iter().map(|layers| &layers.mixer).collect();
    if mixers.windows(2).any(|pair| pair[0] != pair[1]) {
        return fault("layer_types", "only layers that attend alike can be forecast");
    }
    match mixers.first().copied() {
        Some(&Mixer::Grouped { heads, kv_heads, head_dim, window: None, is_gated: false, normalises, .. }) => {
            Ok(Attention::Grouped {
                heads: signed(heads),
                kv_heads: signed(kv_heads),
                head_dim: signed(head_dim),
                normalises_heads: normalises,
                has_bias: family.has_bias,
            })
        }
        Some(&Mixer::Latent {
            heads,
            query_rank: Some(query_rank),
            kv_rank,
            nope_dim,
            rope_dim,
            value_dim,
            indexer: None,
        }) => Ok(Attention::Latent {
            heads: signed(heads),
            q_lora_rank: signed(query_rank),
            kv_lora_rank: signed(kv_rank),
            qk_nope_head_dim: signed(nope_dim),
            qk_rope_head_dim: signed(rope_dim),
            v_head_dim: signed(value_dim),
        }),
        _ => fault("layer_types", "only attention on all keys can be forecast"),
    }
}

/// The experts, and how many layers have none.
fn experts(description: &Description, found: &Architecture, family: &ModelFamily) -> Field<Option<Experts>> {
    let has_experts = |layers: &&Layers| matches!(layers.feed_forward, FeedForward::Experts { .. });
    let Some(layers) = found.layers.iter().find(has_experts) else { return Ok(None) };
    let FeedForward::Experts { count, per_token, inner, shared_inner, .. } = layers.feed_forward else {
        return Ok(None);
    };
    let is_latent = family.attention == AttentionForm::Latent;
    Ok(Some(Experts {
        count: signed(count),
        per_token: signed(per_token),
        intermediate_size: signed(inner),
        shared_intermediate_size: signed(shared_inner),
        dense_layers: signed(found.layer_count() - found.expert_layers()),
        normalises_weights: description.flag("norm_topk_prob")?.unwrap_or(false),
        router: if is_latent { Router::FusedTopK } else { Router::SoftmaxTopK },
    }))
}

/// How the weights are stored: `quantize` of Ascend's exporters, `quantization_config` of the others.
fn stored(description: &Description) -> Field<Stored> {
    if let Some(name) = description.name("quantize")? {
        return Ok(match name {
            "w8a8" => Stored::Known(Quantization::W8A8Static),
            "w8a8_dynamic" => Stored::Known(Quantization::W8A8Dynamic),
            other => Stored::Other { field: "quantize", value: excerpt(other) },
        });
    }
    Ok(match description.quantized().get("quantization_config").filter(|config| !config.is_null()) {
        None => Stored::Known(Quantization::None),
        Some(config) => {
            let method = config.get("quant_method").and_then(Value::as_str).unwrap_or("missing");
            Stored::Other { field: "quantization_config.quant_method", value: excerpt(method) }
        }
    })
}
