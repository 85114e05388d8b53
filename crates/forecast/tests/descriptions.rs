//! What descriptions and deployments are refused, and why.

use perfdb_forecast::{Batch, Deployment, Model, Phase, forecast};
use serde_json::{Value, json};

fn dense() -> Value {
    json!({"model_type": "qwen3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100, "max_position_embeddings": 512, "rms_norm_eps": 1e-6})
}

fn latent() -> Value {
    json!({"model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
        "num_attention_heads": 8, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
        "v_head_dim": 8, "first_k_dense_replace": 1, "n_routed_experts": 16, "n_shared_experts": 1, "num_experts_per_tok": 4,
        "moe_intermediate_size": 32, "norm_topk_prob": true, "vocab_size": 100, "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6})
}

fn read(description: &Value) -> Result<Model, String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.json"), description.to_string()).expect("a file");
    Model::read(folder.path()).map_err(|error| match error.to_string().rsplit_once("config.json: ") {
        Some((_, message)) => message.to_owned(),
        None => error.to_string(),
    })
}

/// The message for a description with one field set to `value`, or taken away where it is null.
fn refusal(mut description: Value, field: &str, value: Value) -> String {
    description[field] = value;
    read(&description).expect_err("a refusal")
}

#[test]
fn an_unknown_family_names_the_field_and_the_known_ones() {
    let known = "(known: llama, mistral, qwen2, qwen3, qwen3_moe, deepseek_v3, kimi_k2)";
    assert_eq!(
        refusal(dense(), "model_type", json!("mamba")),
        format!("model_type: the architecture mamba is not known {known}")
    );
    assert_eq!(refusal(dense(), "model_type", Value::Null), "model_type: is missing");
    assert_eq!(refusal(dense(), "model_type", json!(3)), "model_type: must be a text, not 3");
}

#[test]
fn fields_without_which_there_is_no_forecast_are_named() {
    for field in
        ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size", "rms_norm_eps"]
    {
        assert_eq!(refusal(dense(), field, Value::Null), format!("{field}: is missing"));
    }
    for field in
        ["q_lora_rank", "kv_lora_rank", "v_head_dim", "n_routed_experts", "first_k_dense_replace", "n_shared_experts"]
    {
        assert_eq!(refusal(latent(), field, Value::Null), format!("{field}: is missing"));
    }
    assert_eq!(refusal(dense(), "hidden_size", json!(0)), "hidden_size: must be an integer from 1 to 16777216, not 0");
    assert_eq!(
        refusal(dense(), "vocab_size", json!("x")),
        "vocab_size: must be an integer from 1 to 16777216, not \"x\""
    );
    assert_eq!(
        refusal(dense(), "hidden_act", json!("gelu")),
        "hidden_act: only \"silu\" can be forecast, not \"gelu\""
    );
    assert_eq!(
        refusal(dense(), "num_key_value_heads", json!(3)),
        "num_key_value_heads: 3 does not divide the 8 attention heads"
    );
    assert_eq!(
        refusal(latent(), "num_experts_per_tok", json!(17)),
        "num_experts_per_tok: 17 is more than the 16 experts"
    );
    assert_eq!(read(&json!([1])).unwrap_err(), "a model description must be a JSON object");
}

#[test]
fn sizes_that_do_not_fit_together_are_named() {
    let message = |description: Value, tensor_parallel, expert_parallel, sequences| {
        let deployment = Deployment { tensor_parallel, expert_parallel, ..Deployment::default() };
        let batch = Batch { sequences, context: 128, phase: Phase::Decode };
        forecast(&read(&description).unwrap(), &deployment, &batch).unwrap_err().to_string()
    };
    assert_eq!(message(dense(), 3, 1, 1), "tensor parallel size: 3 does not divide the 8 attention heads");
    assert_eq!(message(dense(), 0, 1, 1), "tensor parallel size: must be from 1 to 4096, not 0");
    assert_eq!(message(dense(), 1, 2, 1), "expert parallel size: the model has no experts");
    assert_eq!(message(dense(), 1, 1, 0), "batch: must be from 1 to 65536, not 0");
    assert_eq!(message(latent(), 1, 3, 1), "expert parallel size: 3 does not divide the 16 experts");
    assert_eq!(
        message(latent(), 4, 2, 1),
        "expert parallel size: experts that are split cannot be forecast: 2 is not a multiple of tensor parallel size 4"
    );
}

#[test]
fn weights_in_a_format_without_operators_need_a_word_about_them() {
    let mut description = latent();
    description["quantization_config"] = json!({"quant_method": "fp8"});
    let model = read(&description).unwrap();
    let batch = Batch { sequences: 1, context: 128, phase: Phase::Prefill };
    let message = forecast(&model, &Deployment::default(), &batch).unwrap_err().to_string();
    assert_eq!(
        message,
        "quantization_config.quant_method: 'fp8' does not determine the operators of linear layers; \
         choose one of none, w8a8-static, w8a8-dynamic"
    );
    description["quantize"] = json!("w8a8");
    let calls = forecast(&read(&description).unwrap(), &Deployment::default(), &batch).unwrap();
    assert!(calls.iter().any(|call| call.query.name() == "tensor_cast.static_quant_linear.default"));
}
