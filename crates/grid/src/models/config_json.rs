//! Model descriptions from a local `config.json`, as published with model weights.

use std::path::Path;

use indexmap::IndexMap;
use perfdb_pycompat::value::Value;
use perfdb_trace::source::Source;

use super::Model;
use crate::error::Error;

/// Reads the description in `file`; `name` is how the user called it.
pub(super) fn read(file: &Path, name: &str) -> Result<Model, Error> {
    let bytes = Source::open(file)?.read_all()?;
    let malformed = |reason: String| Error::Malformed { path: file.to_owned(), reason };
    let value = perfdb_trace::json::parse(&bytes).map_err(|error| malformed(error.to_string()))?;
    let Value::Dict(entries) = value else {
        return Err(malformed("a model description must be a JSON object".to_owned()));
    };
    let description = Description(entries);
    model(&description, name).map_err(|Fault { key, reason }| malformed(format!("{key}: {reason}")))
}

struct Description(IndexMap<String, Value>);

struct Fault {
    key: &'static str,
    reason: String,
}

impl Fault {
    fn new(key: &'static str, reason: impl Into<String>) -> Self {
        Self { key, reason: reason.into() }
    }
}

/// Larger sizes are mistakes; up to here no product of the generators leaves 127 bits.
const LARGEST: i64 = 1 << 32;

impl Description {
    /// The first of these keys that is there and not null, and its value.
    fn size(&self, keys: &[&'static str]) -> Result<Option<(&'static str, i128)>, Fault> {
        for &key in keys {
            match self.0.get(key) {
                None | Some(Value::None) => {}
                Some(Value::Int(size @ 0..=LARGEST)) => return Ok(Some((key, i128::from(*size)))),
                Some(other) => {
                    let reason = format!("must be an integer from 0 to {LARGEST}, not {}", other.repr());
                    return Err(Fault::new(key, perfdb_files::escape::excerpt(&reason)));
                }
            }
        }
        Ok(None)
    }

    /// A size that must be there and not zero.
    fn required(&self, keys: &[&'static str]) -> Result<i128, Fault> {
        match self.size(keys)? {
            Some((key, 0)) => Err(Fault::new(key, "must be at least 1")),
            Some((_, size)) => Ok(size),
            None => Err(Fault::new(keys[0], "is missing")),
        }
    }

    fn or(&self, keys: &[&'static str], default: i128) -> Result<i128, Fault> {
        Ok(self.size(keys)?.map_or(default, |(_, size)| size))
    }
}

fn model(description: &Description, name: &str) -> Result<Model, Fault> {
    let hidden_size = description.required(&["hidden_size", "d_model"])?;
    let intermediate_size = description.or(&["intermediate_size"], 0)?;
    let heads = description.required(&["num_attention_heads"])?;
    let kv_heads = description.or(&["num_key_value_heads", "multi_query_group_num"], heads)?;
    let q_lora_rank = description.or(&["q_lora_rank"], 0)?;
    let kv_lora_rank = description.or(&["kv_lora_rank"], 0)?;
    let qk_nope_head_dim = description.or(&["qk_nope_head_dim"], 0)?;
    let qk_rope_head_dim = description.or(&["qk_rope_head_dim", "rotary_dim"], 64)?;
    let head_dim = if q_lora_rank > 0 || kv_lora_rank > 0 {
        description.or(&["v_head_dim", "qk_head_dim", "head_dim"], 128)?
    } else {
        description.or(&["head_dim", "kv_channels"], hidden_size / heads)?
    };
    let experts = description.or(&["n_routed_experts", "num_experts"], 0)?;
    let top_k: &[&str] = &["num_experts_per_tok", "top_k", "num_experts_per_token"];
    let expert_size: &[&str] = &["moe_intermediate_size", "expert_intermediate_size"];
    let (experts_per_token, expert_intermediate_size, experts_per_card) = if experts > 0 {
        let per_card = description.or(&["n_experts_per_card"], experts)?;
        (description.required(top_k)?, description.required(expert_size)?, per_card)
    } else {
        (description.or(top_k, 0)?, description.or(expert_size, 0)?, 0)
    };
    let expert_parallel_sizes = [1, 2, 4, 8].into_iter().filter(|size| *size == 1 || *size <= experts).collect();
    Ok(Model {
        name: name.to_owned(),
        hub_id: None,
        names: Vec::new(),
        key: super::normalised(name),
        default: false,
        hidden_size,
        intermediate_size,
        heads,
        kv_heads,
        head_dim,
        q_lora_rank,
        kv_lora_rank,
        qk_nope_head_dim,
        qk_rope_head_dim,
        experts,
        experts_per_card,
        expert_intermediate_size,
        experts_per_token,
        tensor_parallel_sizes: vec![1, 2, 4, 8, 16],
        expert_parallel_sizes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_name_the_key_that_is_there() {
        let fault = |rest: &str| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("config.json");
            std::fs::write(&file, format!(r#"{{"num_attention_heads": 8, "n_routed_experts": 8, {rest}}}"#)).unwrap();
            let message = read(&file, "m").unwrap_err().to_string();
            message.rsplit_once("config.json: ").unwrap().1.to_owned()
        };
        assert_eq!(fault(r#""hidden_size": null, "d_model": 0"#), "d_model: must be at least 1");
        assert_eq!(fault(r#""d_model": 64, "top_k": 0"#), "top_k: must be at least 1");
        assert_eq!(fault(r#""d_model": 64"#), "num_experts_per_tok: is missing");
        assert_eq!(fault(r#""hidden_size": 64.0"#), "hidden_size: must be an integer from 0 to 4294967296, not 64.0");
    }
}
