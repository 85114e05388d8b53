//! What is forecast for a small model of each family, call for call.

use perfdb_forecast::{Batch, Call, Deployment, Model, Phase, Quantization, forecast};
use perfdb_query::{Argument, Tensor};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Fields that all three have.
fn model(family: &str, others: Value) -> Model {
    let mut description = json!({"model_type": family, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 2,
        "num_attention_heads": 32, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6});
    for (field, value) in others.as_object().expect("fields") {
        description[field] = value.clone();
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.json"), description.to_string()).expect("a file");
    Model::read(folder.path()).expect("a model")
}

fn shown(argument: &Argument) -> String {
    let list = |items: &[Argument]| match items {
        [first, .., last] if items.len() > 4 && first == last => format!("[{} × {}]", items.len(), shown(first)),
        items => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
    };
    match argument {
        Argument::Tensor(Tensor { shape, dtype, values }) => match values {
            Some(values) => format!("{dtype}{values:?}"),
            None => format!("{dtype}{shape:?}"),
        },
        Argument::List(items) => list(items),
        Argument::Integer(number) => number.to_string(),
        Argument::Float(number) => number.to_string(),
        Argument::Boolean(value) => value.to_string(),
        Argument::Text(text) => text.clone(),
        Argument::None => "-".to_owned(),
    }
}

fn table(calls: &[Call]) -> String {
    let mut text = String::new();
    for Call { query, count } in calls {
        let arguments: Vec<String> = query.positional().iter().map(shown).collect();
        writeln!(text, "{count} {} {}", query.name(), arguments.join(", ")).expect("a line");
    }
    text
}

fn calls(model: &Model, ranks: [i64; 2], quantization: Quantization, batch: Batch) -> String {
    let [tensor_parallel, expert_parallel] = ranks;
    let deployment =
        Deployment { tensor_parallel, expert_parallel, quantization: Some(quantization), ..Deployment::default() };
    table(&forecast(model, &deployment, &batch).expect("a forecast"))
}

#[test]
fn a_dense_model_decodes() {
    let model = model("qwen3", json!({"num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}));
    let batch = Batch { sequences: 3, context: 300, phase: Phase::Decode };
    insta::assert_snapshot!(calls(&model, [4, 1], Quantization::W8A8Dynamic, batch));
}

#[test]
fn a_model_with_experts_decodes_on_ranks_with_sequences_of_their_own() {
    let fields = json!({"num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "num_experts": 16,
        "num_experts_per_tok": 4, "moe_intermediate_size": 768, "norm_topk_prob": true, "mlp_only_layers": [0]});
    let batch = Batch { sequences: 5, context: 1000, phase: Phase::Decode };
    insta::assert_snapshot!(calls(&model("qwen3_moe", fields), [1, 4], Quantization::None, batch));
}

#[test]
fn a_model_with_latent_attention_prefills() {
    let fields = json!({"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "first_k_dense_replace": 1, "n_routed_experts": 32, "n_shared_experts": 2, "num_experts_per_tok": 4,
        "moe_intermediate_size": 512, "norm_topk_prob": true, "vocab_size": 1001});
    let batch = Batch { sequences: 6, context: 99, phase: Phase::Prefill };
    insta::assert_snapshot!(calls(&model("deepseek_v3", fields), [4, 16], Quantization::W8A8Static, batch));
}
