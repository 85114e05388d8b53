//! How weights and caches are stored, under the names that tables of operators use.

use serde_json::Value;

/// A number format of weights, or of cached keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// 16-bit floats.
    Bf16,
    /// 8-bit floats, one scale a tensor or a token.
    Fp8,
    /// 8-bit floats, one scale a block of 128 × 128.
    Fp8Block,
    /// 4-bit floats of NVIDIA, one scale for 16 values.
    Nvfp4,
    /// 4-bit floats of OCP, one scale for 32 values; activations in 16 bits.
    Mxfp4,
    /// 4-bit integers; activations in 16 bits.
    Int4,
}

impl Scheme {
    const ALL: [(Scheme, &'static str, f64); 6] = [
        (Scheme::Bf16, "bfloat16", 2.0),
        (Scheme::Fp8, "fp8", 1.0),
        (Scheme::Fp8Block, "fp8_block", 1.0),
        (Scheme::Nvfp4, "nvfp4", 0.5625),
        (Scheme::Mxfp4, "w4a16_mxfp4", 0.53125),
        (Scheme::Int4, "int4_wo", 0.5),
    ];

    fn row(self) -> (&'static str, f64) {
        Scheme::ALL.iter().find(|(scheme, ..)| *scheme == self).map_or(("", 2.0), |(_, name, bytes)| (name, *bytes))
    }

    /// The name in tables: `bfloat16`, `fp8`, `fp8_block`, `nvfp4`, `w4a16_mxfp4`, `int4_wo`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The names of all schemes.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Scheme::ALL.iter().map(|(_, name, _)| *name)
    }

    /// Bytes of a value, its share of the scales included.
    pub fn bytes(self) -> f64 {
        self.row().1
    }

    /// The scheme of a name in tables; `fp8_static` and the like count as `fp8`.
    pub fn of(name: &str) -> Option<Scheme> {
        let known = Scheme::ALL.iter().find(|(_, known, _)| *known == name).map(|(scheme, ..)| *scheme);
        known.or(match name {
            "bf16" | "float16" | "fp16" => Some(Scheme::Bf16),
            "fp8_static" | "fp8_ootb" => Some(Scheme::Fp8),
            "fp4" => Some(Scheme::Nvfp4),
            "int4" => Some(Scheme::Int4),
            "mxfp4" => Some(Scheme::Mxfp4),
            _ => None,
        })
    }

    /// The scheme of a cache.
    ///
    /// # Errors
    /// Another name than those of the two that tables of attention have.
    pub fn of_cache(name: &str) -> Result<Scheme, String> {
        let found = Scheme::of(name).filter(|scheme| matches!(scheme, Scheme::Bf16 | Scheme::Fp8));
        found.ok_or_else(|| "not bfloat16 or fp8".to_owned())
    }
}

/// What is stored how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Projections of attention.
    pub attention: Scheme,
    /// Dense feed-forward layers and shared experts.
    pub dense: Scheme,
    /// Routed experts.
    pub experts: Scheme,
    /// Cached keys and values; `None` leaves it to the framework.
    pub cache: Option<Scheme>,
}

impl Storage {
    /// All of it in one scheme.
    pub fn all(scheme: Scheme) -> Storage {
        Storage { attention: scheme, dense: scheme, experts: scheme, cache: None }
    }

    /// What a description and the quantisation file beside it say.
    ///
    /// # Errors
    /// The name of a scheme that is not known.
    pub(super) fn read(config: &Value, beside: Option<&Value>) -> Result<Storage, String> {
        let inside = config.get("quantization_config").filter(|value| !value.is_null());
        let beside = beside.and_then(|value| value.get("quantization"));
        let Some(found) = beside.or(inside) else { return Ok(Storage::all(Scheme::Bf16)) };
        let mut storage = Storage::all(scheme_of(found)?);
        let kept = ["exclude_modules", "ignore", "modules_to_not_convert"].iter().find_map(|key| found.get(*key));
        let kept: Vec<&str> = kept.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let keeps = |mark: &str| kept.iter().filter(|name| name.contains(mark)).count();
        // A layer or two are often left out; a pattern without a number, or names of most layers, are the rule.
        let is_pattern = |name: &str| {
            name.contains('*') && (name.contains("layers.*") || !name.contains(|c: char| c.is_ascii_digit()))
        };
        let is_rule = |mark: &str| {
            let layers = config.get("num_hidden_layers").and_then(Value::as_u64).unwrap_or(2) as usize;
            kept.iter().any(|name| is_pattern(name) && name.contains(mark)) || keeps(mark) * 2 > layers
        };
        if is_rule("self_attn") || is_rule(".attn") {
            storage.attention = Scheme::Bf16;
        }
        if is_rule("shared_expert") {
            storage.dense = Scheme::Bf16;
        }
        // Formats with scales of 32 values are of experts alone.
        if storage.experts == Scheme::Mxfp4 {
            storage.attention = Scheme::Bf16;
            storage.dense = Scheme::Bf16;
        }
        let cache = found.get("kv_cache_quant_algo").or_else(|| found.get("kv_cache_scheme"));
        if cache.is_some_and(|cache| cache.as_str() == Some("FP8") || cache.get("num_bits").is_some()) {
            storage.cache = Some(Scheme::Fp8);
        }
        Ok(storage)
    }
}

/// The scheme of a quantisation's description.
fn scheme_of(found: &Value) -> Result<Scheme, String> {
    let text = |key: &str| found.get(key).and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let (method, algorithm) = (text("quant_method"), text("quant_algo"));
    let name = if algorithm.is_empty() { &method } else { &algorithm };
    if found.get("weight_block_size").is_some_and(|size| !size.is_null()) {
        return Ok(Scheme::Fp8Block);
    }
    Ok(match name.as_str() {
        "fp8" | "fp8_static" | "fp8_pb_wo" => Scheme::Fp8,
        "nvfp4" | "fp4" | "modelopt_fp4" | "mixed_precision" => Scheme::Nvfp4,
        "mxfp4" | "w4a16_mxfp4" => Scheme::Mxfp4,
        "awq" | "gptq" | "w4a16" | "w4a16_awq" => Scheme::Int4,
        "compressed-tensors" => match group_bits(found) {
            Some((4, true)) => Scheme::Nvfp4,
            Some((4, false)) => Scheme::Int4,
            Some((8, true)) => Scheme::Fp8,
            _ => return Err("quantization_config: no scheme is known for these compressed tensors".to_owned()),
        },
        _ => return Err(format!("quantization_config: the scheme '{name}' is not known")),
    })
}

/// Bits of the weights of the first group of compressed tensors, and whether they are floats.
fn group_bits(found: &Value) -> Option<(u64, bool)> {
    let weights = found.get("config_groups")?.as_object()?.values().next()?.get("weights")?;
    Some((weights.get("num_bits")?.as_u64()?, weights.get("type")?.as_str()? == "float"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemes_of_descriptions() {
        let read = |config: Value, beside: Option<Value>| Storage::read(&config, beside.as_ref());
        assert_eq!(read(json!({}), None), Ok(Storage::all(Scheme::Bf16)));
        let block = json!({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}});
        assert_eq!(read(block, None), Ok(Storage::all(Scheme::Fp8Block)));
        let beside = json!({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}});
        assert_eq!(
            read(json!({}), Some(beside)),
            Ok(Storage { cache: Some(Scheme::Fp8), ..Storage::all(Scheme::Fp8) })
        );
        let experts = json!({"num_hidden_layers": 36, "quantization_config": {"quant_method": "mxfp4"}});
        assert_eq!(read(experts, None), Ok(Storage { experts: Scheme::Mxfp4, ..Storage::all(Scheme::Bf16) }));
        let experts = json!({"num_hidden_layers": 61, "quantization_config": {"quant_method": "compressed-tensors",
            "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int"}}},
            "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"]}});
        assert_eq!(read(experts, None), Ok(Storage { experts: Scheme::Int4, ..Storage::all(Scheme::Bf16) }));
        let other = json!({"quantization_config": {"quant_method": "quip"}});
        assert_eq!(read(other, None), Err("quantization_config: the scheme 'quip' is not known".to_owned()));
    }
}
