//! The forecast against what the simulator wrote.

use perfdb_forecast::{Batch, Call, Deployment, Layout, Model, Phase, Quantization, forecast};
use perfdb_query::{ParallelConfig, Query, read_trace};
use std::path::{Path, PathBuf};

const QWEN3: &str = r#"{"model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
    "intermediate_size": 25600, "max_position_embeddings": 40960, "num_attention_heads": 64, "num_hidden_layers": 64,
    "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null, "tie_word_embeddings": false, "vocab_size": 151936}"#;
const DEEPSEEK: &str = r#"{"model_type": "deepseek_v3", "attention_bias": false, "first_k_dense_replace": 3, "hidden_act": "silu",
    "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840,
    "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
    "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
    "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config": {"quant_method": "fp8"},
    "rms_norm_eps": 1e-06, "v_head_dim": 128, "vocab_size": 129280}"#;

fn shared() -> Option<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let is_there = data.join("tc-traces").is_dir();
    if !is_there {
        println!("skipped: no recorded traces in {}", data.display());
    }
    is_there.then_some(data)
}

fn model(config: &str) -> Model {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("config.json"), config).expect("a file");
    Model::read(folder.path()).expect("a model")
}

/// Without what a trace tells beside the call.
fn bare(query: &Query) -> Query {
    query.clone().tp_size(None).ep_size(None).tier(None)
}

/// Calls of the trace that are forecast, out of all of them; what differs is printed.
fn shared_calls(calls: &[Call], trace: &Path) -> (u64, u64) {
    let forecast: Vec<(Query, u64)> = calls.iter().map(|call| (bare(&call.query), call.count)).collect();
    let traced = read_trace(trace, &ParallelConfig::default()).expect("a trace");
    let (mut common, mut total) = (0, 0);
    for call in &traced {
        let query = bare(&call.query);
        let count = forecast.iter().find(|(known, _)| *known == query).map_or(0, |(_, count)| *count);
        if count != call.count {
            println!("{}: traced {} times, forecast {count}: {query:?}", call.operator, call.count);
        }
        common += count.min(call.count);
        total += call.count;
    }
    for (query, count) in &forecast {
        if !traced.iter().any(|call| bare(&call.query) == *query) {
            println!("forecast {count} times only: {query:?}");
        }
    }
    (common, total.max(forecast.iter().map(|(_, count)| count).sum()))
}

#[test]
fn the_recorded_passes_are_forecast_call_for_call() {
    let Some(data) = shared() else { return };
    let (qwen3, deepseek) = (model(QWEN3), model(DEEPSEEK));
    let prefill = |context| Batch { sequences: 1, context, phase: Phase::Prefill };
    let decode = |sequences| Batch { sequences, context: 4096, phase: Phase::Decode };
    let passes =
        [("qwen3_pf", prefill(4112)), ("qwen3_dc", decode(16)), ("dsv3_pf", prefill(4099)), ("dsv3_dc", decode(1))];
    for (layout, folder, ending) in [
        (Layout::Simulator2026, "tc-traces-newest", ".json.gz"),
        (Layout::Simulator2025, "tc-traces/profiling", ".json"),
    ] {
        for (name, batch) in &passes {
            let (model, expert_parallel, quantization) = if name.starts_with("qwen3") {
                (&qwen3, 1, None)
            } else {
                (&deepseek, 16, Some(Quantization::W8A8Static))
            };
            let deployment = Deployment { tensor_parallel: 16, expert_parallel, quantization, layout };
            let calls = forecast(model, &deployment, batch).unwrap();
            let trace = data.join(folder).join(format!("{name}_trace{ending}"));
            println!("{}", trace.display());
            let (common, total) = shared_calls(&calls, &trace);
            assert_eq!(common, total, "{name} of {layout:?}");
        }
    }
}
