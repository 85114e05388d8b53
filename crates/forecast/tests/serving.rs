//! Forecasts of served models: published counts of parameters, and truths planted in made-up tables.

use perfdb_forecast::serving::{
    Architecture, Calibration, Forecast, Parallel, Part, Request, Source, Tables, Work, forecast,
};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/forecast")
}

fn model() -> Result<Architecture, perfdb_forecast::Error> {
    Architecture::read(&testdata().join("model"))
}

fn described(text: &str) -> Result<Architecture, Box<dyn Error>> {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("config.json"), text)?;
    Ok(Architecture::read(folder.path())?)
}

fn request(tensor: u64, batch: u64) -> Request {
    Request { parallel: Parallel::tensor(tensor), batch, input: 1024, output: 512, cache: None }
}

/// A copy of the tables in which the durations of tables of this name are so many times as long.
fn tables(table: &str, factor: f64) -> Result<(TempDir, Tables), Box<dyn Error>> {
    let folder = TempDir::new()?;
    let from = testdata().join("tables/h100_sxm/vllm/1.0.0");
    let to = folder.path().join("h100_sxm/vllm/1.0.0");
    fs::create_dir_all(&to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(entry.path())?;
        let text = if name.starts_with(table) && factor != 1.0 { scaled(&text, factor)? } else { text };
        fs::write(to.join(name), text)?;
    }
    let tables = Tables::open(&to)?;
    Ok((folder, tables))
}

fn scaled(text: &str, factor: f64) -> Result<String, Box<dyn Error>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers()?.clone();
    let duration = headers.iter().position(|name| name.ends_with("Duration(us)")).ok_or("no durations")?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&headers)?;
    for row in reader.records() {
        let row = row?;
        let cells = row.iter().enumerate().map(|(at, cell)| match at == duration {
            true => (cell.parse::<f64>().unwrap_or(f64::NAN) * factor).to_string(),
            false => cell.to_owned(),
        });
        writer.write_record(cells)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

fn asked(table: &str, factor: f64, request: &Request) -> Result<Forecast, Box<dyn Error>> {
    let (_folder, mut tables) = tables(table, factor)?;
    Ok(forecast(&model()?, request, &mut tables, &Calibration::built_in()?)?)
}

#[test]
fn parameters_are_those_that_are_published() -> TestResult {
    let dense = |kind: &str, hidden, layers, heads, kv, head_dim, inner, vocabulary, ties| {
        format!(
            r#"{{"model_type": "{kind}", "hidden_size": {hidden}, "num_hidden_layers": {layers}, "num_attention_heads": {heads},
            "num_key_value_heads": {kv}, "head_dim": {head_dim}, "intermediate_size": {inner}, "vocab_size": {vocabulary},
            "tie_word_embeddings": {ties}"#
        )
    };
    let plain = |kind: &str, hidden, layers, heads, kv, head_dim, inner, vocabulary, ties| {
        dense(kind, hidden, layers, heads, kv, head_dim, inner, vocabulary, ties) + "}"
    };
    let experts = |base: String, further: &str| format!("{base}, {further}}}");
    let latent = |kind: &str, heads, vocabulary, experts, first_dense| {
        format!(
            r#"{{"model_type": "{kind}", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": {heads},
            "intermediate_size": 18432, "vocab_size": {vocabulary}, "n_routed_experts": {experts}, "num_experts_per_tok": 8,
            "n_shared_experts": 1, "moe_intermediate_size": 2048, "first_k_dense_replace": {first_dense}, "q_lora_rank": 1536,
            "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}}"#
        )
    };
    let known = [
        ("Qwen3-0.6B", 0.596e9, plain("qwen3", 1024, 28, 16, 8, 128, 3072, 151_936, true)),
        ("Qwen3-1.7B", 1.7206e9, plain("qwen3", 2048, 28, 16, 8, 128, 6144, 151_936, true)),
        ("Qwen3-4B", 4.0224e9, plain("qwen3", 2560, 36, 32, 8, 128, 9728, 151_936, true)),
        ("Qwen3-8B", 8.1907e9, plain("qwen3", 4096, 36, 32, 8, 128, 12_288, 151_936, false)),
        ("Qwen3-14B", 14.7683e9, plain("qwen3", 5120, 40, 40, 8, 128, 17_408, 151_936, false)),
        ("Qwen3-32B", 32.7621e9, plain("qwen3", 5120, 64, 64, 8, 128, 25_600, 151_936, false)),
        ("Qwen2.5-7B", 7.6156e9, plain("qwen2", 3584, 28, 28, 4, 128, 18_944, 152_064, false)),
        ("Qwen2.5-72B", 72.7062e9, plain("qwen2", 8192, 80, 64, 8, 128, 29_568, 152_064, false)),
        ("Llama-2-7B", 6.7384e9, plain("llama", 4096, 32, 32, 32, 128, 11_008, 32_000, false)),
        ("Llama-3.1-8B", 8.0303e9, plain("llama", 4096, 32, 32, 8, 128, 14_336, 128_256, false)),
        ("Llama-3.1-70B", 70.5537e9, plain("llama", 8192, 80, 64, 8, 128, 28_672, 128_256, false)),
        ("Llama-3.1-405B", 405.8534e9, plain("llama", 16_384, 126, 128, 8, 128, 53_248, 128_256, false)),
        ("Mistral-7B", 7.2417e9, plain("mistral", 4096, 32, 32, 8, 128, 14_336, 32_000, false)),
        (
            "Mixtral-8x7B",
            46.7028e9,
            experts(
                dense("mixtral", 4096, 32, 32, 8, 128, 14_336, 32_000, false),
                r#""num_local_experts": 8, "num_experts_per_tok": 2"#,
            ),
        ),
        (
            "Mixtral-8x22B",
            140.6206e9,
            experts(
                dense("mixtral", 6144, 56, 48, 8, 128, 16_384, 32_000, false),
                r#""num_local_experts": 8, "num_experts_per_tok": 2"#,
            ),
        ),
        (
            "Qwen3-30B-A3B",
            30.5321e9,
            experts(
                dense("qwen3_moe", 2048, 48, 32, 4, 128, 6144, 151_936, false),
                r#""num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768"#,
            ),
        ),
        (
            "Qwen3-235B-A22B",
            235.0936e9,
            experts(
                dense("qwen3_moe", 4096, 94, 64, 4, 128, 12_288, 151_936, false),
                r#""num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1536"#,
            ),
        ),
        (
            "Qwen3-Coder-480B",
            480.1549e9,
            experts(
                dense("qwen3_moe", 6144, 62, 96, 8, 128, 8192, 151_936, false),
                r#""num_experts": 160, "num_experts_per_tok": 8, "moe_intermediate_size": 2560"#,
            ),
        ),
        (
            "gpt-oss-120b",
            116.8292e9,
            experts(
                dense("gpt_oss", 2880, 36, 64, 8, 64, 2880, 201_088, false),
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

#[test]
fn what_is_not_known_is_named() -> TestResult {
    let refused = |text: &str| described(text).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(
        refused(r#"{"model_type": "rwkv"}"#).contains("model_type: the architecture rwkv is not known (known: llama,")
    );
    assert!(refused(r#"{"model_type": "llama", "num_hidden_layers": 2}"#).contains("is missing"));
    assert!(refused("[]").contains("must be a JSON object"));
    // Python writes what JSON does not have.
    let text = fs::read_to_string(testdata().join("model/config.json"))?;
    let with_infinity = text.replacen('{', "{\"attn_temperature\": Infinity, ", 1);
    assert_eq!(described(&with_infinity)?, model()?);
    Ok(())
}

#[test]
fn the_parts_are_the_step() -> TestResult {
    let found = asked("", 1.0, &request(2, 16))?;
    let parts: f64 = Part::ALL.iter().map(|part| found.decode.part_ms(*part)).sum();
    assert!((parts - found.decode.total_ms()).abs() < 1e-9);
    assert!(found.tpot.low_ms < found.tpot.value_ms && found.tpot.value_ms < found.tpot.high_ms);
    assert_eq!(found.decode.sums(), 17);
    // 16 tokens and these sizes are rows of the table.
    let qkv = found.decode.operators.iter().find(|priced| priced.operator.name == "qkv").ok_or("no qkv")?;
    assert_eq!((qkv.operator.calls, qkv.answer.source), (8, Source::Measured));
    assert!(matches!(qkv.operator.work, Work::Product { rows: 16, columns: 1024, inner: 1024, .. }));
    Ok(())
}

#[test]
fn a_table_that_is_twice_as_slow_moves_its_part_alone() -> TestResult {
    let before = asked("", 1.0, &request(2, 16))?;
    for (table, part) in
        [("gemm", Part::Gemm), ("generation_attention", Part::Attention), ("hcom_allReduce", Part::Communication)]
    {
        let after = asked(table, 2.0, &request(2, 16))?;
        for other in Part::ALL {
            let expected = before.decode.part_ms(other) * if other == part { 2.0 } else { 1.0 };
            assert!((after.decode.part_ms(other) - expected).abs() < 1e-9, "{table}: {}", other.name());
        }
    }
    Ok(())
}

#[test]
fn one_device_exchanges_nothing_and_more_work_takes_longer() -> TestResult {
    assert_eq!(asked("", 1.0, &request(1, 16))?.decode.part_ms(Part::Communication), 0.0);
    let times: Vec<f64> = [1, 2, 4, 16, 64, 200]
        .into_iter()
        .map(|batch| Ok(asked("", 1.0, &request(1, batch))?.decode.total_ms()))
        .collect::<Result<_, Box<dyn Error>>>()?;
    assert!(times.is_sorted(), "{times:?}");
    Ok(())
}

#[test]
fn bad_requests_are_one_error() -> TestResult {
    let refused = |request: Request| asked("", 1.0, &request).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(refused(request(1, 0)), "batch: must be from 1 to 16777216, not 0");
    assert_eq!(refused(request(3, 1)), "tensor parallel size: 3 does not divide the 16 heads");
    assert!(refused(Request { input: 1 << 20, ..request(1, 1024) }).starts_with("memory: 0."), "too much cache");
    let (_folder, mut without) = tables("", 1.0)?;
    let quantised = Architecture {
        storage: perfdb_forecast::serving::Storage::all(perfdb_forecast::serving::Scheme::Nvfp4),
        ..model()?
    };
    let error =
        forecast(&quantised, &request(1, 1), &mut without, &Calibration::built_in()?).err().ok_or("no error")?;
    assert!(error.to_string().contains("no version has a table of gemm"), "{error}");
    Ok(())
}

#[test]
fn a_prefill_within_a_step_reads_weights_that_are_read_anyway() -> TestResult {
    for batch in [1, 16, 64] {
        let found = asked("gemm", 1.0, &request(2, batch))?;
        let alone_ms = found.prefill.total_ms();
        assert!(found.joined_ms > 0.0 && found.joined_ms < alone_ms, "{batch}: {} of {alone_ms}", found.joined_ms);
        // Attention has no weights: all of it is added.
        assert!(found.joined_ms > found.prefill.part_ms(Part::Attention), "{batch}");
    }
    Ok(())
}

#[test]
fn a_framework_delays_by_what_a_prefill_adds_or_by_all_of_it() -> TestResult {
    let (_folder, mut tables) = tables("gemm", 1.0)?;
    let mut calibration = Calibration::built_in()?;
    let mut delay_ms = |mixes| -> Result<f64, Box<dyn Error>> {
        for constants in calibration.frameworks.values_mut() {
            constants.mixes = mixes;
            (constants.interference, constants.collective_us, constants.host_ms) = (1.0, 0.0, 0.0);
        }
        let found = forecast(&model()?, &request(1, 65), &mut tables, &calibration)?;
        let own = if mixes { found.joined_ms } else { found.prefill.total_ms() };
        assert!((found.interference_ms - 64.0 / 512.0 * own).abs() < 1e-9, "{}", found.interference_ms);
        Ok(found.interference_ms)
    };
    assert!(delay_ms(true)? < delay_ms(false)?);
    Ok(())
}
