//! Published counts of parameters.

use super::{TestResult, described};

fn dense(
    kind: &str,
    [hidden, layers, heads, kv, head_dim]: [u64; 5],
    [inner, vocabulary]: [u64; 2],
    ties: bool,
) -> String {
    format!(
        r#"{{"model_type": "{kind}", "hidden_size": {hidden}, "num_hidden_layers": {layers}, "num_attention_heads": {heads},
            "num_key_value_heads": {kv}, "head_dim": {head_dim}, "intermediate_size": {inner}, "vocab_size": {vocabulary},
            "tie_word_embeddings": {ties}"#
    )
}

fn plain(kind: &str, sizes: [u64; 5], inner: [u64; 2], ties: bool) -> String {
    dense(kind, sizes, inner, ties) + "}"
}

fn experts(kind: &str, sizes: [u64; 5], inner: [u64; 2], further: &str) -> String {
    format!("{}, {further}}}", dense(kind, sizes, inner, false))
}

fn latent(kind: &str, heads: u64, vocabulary: u64, experts: u64, first_dense: u64) -> String {
    format!(
        r#"{{"model_type": "{kind}", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": {heads},
            "intermediate_size": 18432, "vocab_size": {vocabulary}, "n_routed_experts": {experts}, "num_experts_per_tok": 8,
            "n_shared_experts": 1, "moe_intermediate_size": 2048, "first_k_dense_replace": {first_dense}, "q_lora_rank": 1536,
            "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}}"#
    )
}

#[test]
fn parameters_are_those_that_are_published() -> TestResult {
    let of_eight = r#""num_local_experts": 8, "num_experts_per_tok": 2"#;
    let known = [
        ("Qwen3-0.6B", 0.596e9, plain("qwen3", [1024, 28, 16, 8, 128], [3072, 151_936], true)),
        ("Qwen3-1.7B", 1.7206e9, plain("qwen3", [2048, 28, 16, 8, 128], [6144, 151_936], true)),
        ("Qwen3-4B", 4.0224e9, plain("qwen3", [2560, 36, 32, 8, 128], [9728, 151_936], true)),
        ("Qwen3-8B", 8.1907e9, plain("qwen3", [4096, 36, 32, 8, 128], [12_288, 151_936], false)),
        ("Qwen3-14B", 14.7683e9, plain("qwen3", [5120, 40, 40, 8, 128], [17_408, 151_936], false)),
        ("Qwen3-32B", 32.7621e9, plain("qwen3", [5120, 64, 64, 8, 128], [25_600, 151_936], false)),
        ("Qwen2.5-7B", 7.6156e9, plain("qwen2", [3584, 28, 28, 4, 128], [18_944, 152_064], false)),
        ("Qwen2.5-72B", 72.7062e9, plain("qwen2", [8192, 80, 64, 8, 128], [29_568, 152_064], false)),
        ("Llama-2-7B", 6.7384e9, plain("llama", [4096, 32, 32, 32, 128], [11_008, 32_000], false)),
        ("Llama-3.1-8B", 8.0303e9, plain("llama", [4096, 32, 32, 8, 128], [14_336, 128_256], false)),
        ("Llama-3.1-70B", 70.5537e9, plain("llama", [8192, 80, 64, 8, 128], [28_672, 128_256], false)),
        ("Llama-3.1-405B", 405.8534e9, plain("llama", [16_384, 126, 128, 8, 128], [53_248, 128_256], false)),
        ("Mistral-7B", 7.2417e9, plain("mistral", [4096, 32, 32, 8, 128], [14_336, 32_000], false)),
        ("Mixtral-8x7B", 46.7028e9, experts("mixtral", [4096, 32, 32, 8, 128], [14_336, 32_000], of_eight)),
        ("Mixtral-8x22B", 140.6206e9, experts("mixtral", [6144, 56, 48, 8, 128], [16_384, 32_000], of_eight)),
        (
            "Qwen3-30B-A3B",
            30.5321e9,
            experts(
                "qwen3_moe",
                [2048, 48, 32, 4, 128],
                [6144, 151_936],
                r#""num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768"#,
            ),
        ),
        (
            "Qwen3-235B-A22B",
            235.0936e9,
            experts(
                "qwen3_moe",
                [4096, 94, 64, 4, 128],
                [12_288, 151_936],
                r#""num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1536"#,
            ),
        ),
        (
            "Qwen3-Coder-480B",
            480.1549e9,
            experts(
                "qwen3_moe",
                [6144, 62, 96, 8, 128],
                [8192, 151_936],
                r#""num_experts": 160, "num_experts_per_tok": 8, "moe_intermediate_size": 2560"#,
            ),
        ),
        (
            "gpt-oss-120b",
            116.8292e9,
            experts(
                "gpt_oss",
                [2880, 36, 64, 8, 64],
                [2880, 201_088],
                r#""num_local_experts": 128, "experts_per_token": 4"#,
            ),
        ),
        ("DeepSeek-V3", 671.0264e9, latent("deepseek_v3", 128, 129_280, 256, 3)),
        ("Kimi-K2", 1026.4082e9, latent("kimi_k2", 64, 163_840, 384, 1)),
    ];
    for (name, published, text) in known {
        let found = described(&text).map_err(|error| format!("{name}: {error}"))?.parameters() as f64;
        assert!((found / published - 1.0).abs() < 0.005, "{name}: {found} for {published}");
    }
    Ok(())
}
