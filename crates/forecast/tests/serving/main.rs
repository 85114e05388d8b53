//! Forecasts of served models: published counts of parameters, and truths planted in made-up tables.

mod published;

use perfdb_forecast::serving::{
    Against, Architecture, Calibration, Forecast, Parallel, Part, Phase, Request, Source, Sweep, Tables, Work, forecast,
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
        let cells = row.iter().enumerate().map(|(at, cell)| {
            if at == duration {
                (cell.parse::<f64>().unwrap_or(f64::NAN) * factor).to_string()
            } else {
                cell.to_owned()
            }
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
fn sizes_that_no_model_has_are_refused_before_anything_is_computed() -> TestResult {
    let refused = |change: &str| -> Result<String, Box<dyn Error>> {
        let text = format!(
            r#"{{"model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 16,
            "num_key_value_heads": 4, "vocab_size": 1000, "num_experts": 8, "num_experts_per_tok": 2,
            "moe_intermediate_size": 64, {change}}}"#
        );
        Ok(described(&text).err().ok_or_else(|| format!("{change} is accepted"))?.to_string())
    };
    for (change, reason) in [
        (r#""num_hidden_layers": 16777216"#, "num_hidden_layers: 16777216 is more than 4096"),
        (r#""hidden_size": 99999999"#, "hidden_size: must be an integer from 1 to 16777216, not 99999999"),
        (r#""hidden_size": 0"#, "hidden_size: must be an integer from 1 to 16777216, not 0"),
        (
            r#""hidden_size": 16777216, "num_experts": 16777216, "moe_intermediate_size": 16777216"#,
            "more than any model has",
        ),
        (r#""num_experts_per_tok": 9"#, "num_experts_per_tok: 9 is more than the 8 experts"),
        (r#""num_key_value_heads": 3"#, "num_key_value_heads: 3 does not divide the 16 attention heads"),
        (r#""tie_word_embeddings": "yes""#, "tie_word_embeddings: must be true or false"),
        (r#""quantize": "w8a8""#, "quantize: the scheme 'w8a8' has no tables"),
        (r#""quantization_config": {"quant_method": "quip"}"#, "quantization_config: the scheme 'quip' is not known"),
    ] {
        let found = refused(change)?;
        assert!(found.contains(reason), "{change}: {found}");
    }
    Ok(())
}

/// The model of the test data as a list of layers.
const LISTED: &str = "
name: by-hand
hidden_size: 1024
vocabulary: 32000
ties_embeddings: false
layers:
  - count: 8
    mixer: {kind: grouped, heads: 16, kv_heads: 8, head_dim: 64}
    feed_forward: {kind: dense, inner: 4096}
";

fn listed(text: &str) -> Result<Architecture, Box<dyn Error>> {
    let folder = TempDir::new()?;
    let file = folder.path().join("layers.yaml");
    fs::write(&file, text)?;
    Ok(Architecture::read_layers(&file)?)
}

#[test]
fn a_list_of_layers_is_the_model_that_a_description_describes() -> TestResult {
    assert_eq!(Architecture { family: "llama".to_owned(), ..listed(LISTED)? }, model()?);
    Ok(())
}

#[test]
fn operators_of_a_list_are_called_and_counted() -> TestResult {
    let with = format!(
        "{LISTED}    operators:
      - {{name: in_proj, columns: 4096, inner: 1024, split: columns}}
      - {{name: scan, bytes_per_token: 1000, state_bytes: 2000000, operations_per_token: 500, split: columns}}
"
    );
    let (plain, more) = (listed(LISTED)?, listed(&with)?);
    assert_eq!(more.parameters() - plain.parameters(), 8 * 4096 * 1024);
    assert_eq!(more.cache_bytes(100, 2, 2.0) - plain.cache_bytes(100, 2, 2.0), 8.0 * 1e6);
    assert_eq!(more.operations_per_token() - plain.operations_per_token(), 8.0 * (2.0 * 4096.0 * 1024.0 + 500.0));
    let (_folder, mut tables) = tables("", 1.0)?;
    let found = forecast(&more, &request(2, 16), &mut tables, &Calibration::built_in()?)?;
    let of = |name: &str| found.decode.operators.iter().find(|priced| priced.operator.name == name);
    let product = of("in_proj").ok_or("no product")?;
    assert!(matches!(product.operator.work, Work::Product { rows: 16, columns: 2048, inner: 1024, .. }));
    let scan = of("scan").ok_or("no scan")?;
    assert_eq!(scan.operator.calls, 8);
    assert_eq!(scan.operator.work, Work::Bytes { bytes: 500.0 * 16.0 + 2e6 * 16.0, operations: 250.0 * 16.0 });
    Ok(())
}

#[test]
fn what_a_list_of_layers_lacks_is_named() -> TestResult {
    let refused = |from: &str, to: &str| listed(&LISTED.replace(from, to)).err().map(|error| error.to_string());
    for (from, to, reason) in [
        ("hidden_size: 1024\n", "", "hidden_size"),
        ("hidden_size: 1024", "hidden_size: 0", "hidden_size: must be from 1 to 4294967296, not 0"),
        ("grouped", "spiral", "spiral"),
        ("kv_heads: 8", "kv_heads: 5", "layers[0].mixer.kv_heads: 5 does not divide the 16 heads"),
        ("kv_heads: 8", "kv_heads: 0", "layers[0].mixer.kv_heads: must be from 1"),
        ("count: 8", "count: 4294967296", "more than any model has"),
        ("ties_embeddings: false", "storage: {dense: int3}", "storage: 'int3' is not one of bfloat16, fp8,"),
        ("    feed_forward", "    operators: [{name: x}]\n    feed_forward", "operators: x: does nothing"),
        (
            "    feed_forward",
            "    operators: [{name: x, inner: 3}]\n    feed_forward",
            "a product has columns and inner",
        ),
    ] {
        let found = refused(from, to).ok_or_else(|| format!("{to} is accepted"))?;
        assert!(found.contains(reason), "{to}: {found}");
    }
    Ok(())
}

/// A file beside which forecasts are put.
fn against(name: &str, text: &str) -> Result<Against, Box<dyn Error>> {
    let (_folder, tables) = tables("", 1.0)?;
    let folder = TempDir::new()?;
    let file = folder.path().join(name);
    fs::write(&file, text)?;
    Ok(Against::read(&file, &model()?, &testdata().join("model"), &tables)?)
}

#[test]
fn measured_times_are_those_of_the_same_deployment() -> TestResult {
    let measured = "tp,batch,isl,osl,tpot_ms,ttft_ms\n2,16,1024,512,3,40\n2,16,1024,512,5,\n2,16,1024,512,4,60\n1,16,1024,512,9,90\n";
    let found = against("measured.csv", measured)?;
    let reference = found.of(&request(2, 16)).ok_or("no row")?;
    let times = [reference.tpot, reference.ttft].map(|estimate| estimate.map(|estimate| estimate.value_ms));
    assert_eq!((reference.rows, reference.is_measured(), times), (3, true, [Some(4.0), Some(60.0)]));
    assert_eq!(found.of(&request(2, 17)), None);
    assert_eq!(found.of(&Request { output: 513, ..request(2, 16) }), None);
    // A list of points has other models, systems, frameworks and types as well.
    let list = "model_path,system,backend,gemm_quant_mode,batch_size,isl,osl,tp_size,silicon_tpot_ms
made/model,h100_sxm,vllm,bfloat16,16,1024,512,2,4
made/model-FP8,h100_sxm,vllm,fp8,16,1024,512,2,5
made/other,h100_sxm,vllm,bfloat16,16,1024,512,2,6
made/model,b200_sxm,vllm,bfloat16,16,1024,512,2,7
made/model,h100_sxm,sglang,bfloat16,16,1024,512,2,8
";
    assert_eq!(against("list.csv", list)?.of(&request(2, 16)).ok_or("no row")?.rows, 1);
    Ok(())
}

#[test]
fn another_forecast_is_read_with_its_intervals() -> TestResult {
    let csv =
        "tp,ep,dp,pp,batch,input_tokens,output_tokens,tpot_ms,tpot_low_ms,tpot_high_ms,ttft_ms,ttft_low_ms,ttft_high_ms
2,1,1,1,16,1024,512,4,3,5,60,50,90
";
    let json = r#"{"forecasts": [{"parallel": {"tensor": 2, "data": 1, "pipeline": 1, "expert_tensor": 2, "expert": 1}, "batch": 16,
        "input_tokens": 1024, "output_tokens": 512, "tpot": {"value_ms": 4, "low_ms": 3, "high_ms": 5},
        "ttft": {"value_ms": 60, "low_ms": 50, "high_ms": 90}}]}"#;
    let (of_csv, of_json) = (against("a.csv", csv)?.of(&request(2, 16)), against("a.json", json)?.of(&request(2, 16)));
    assert_eq!(of_csv, of_json);
    let reference = of_csv.ok_or("no row")?;
    assert!(!reference.is_measured() && reference.ttft.is_some_and(|ttft| ttft.high_ms == 90.0));
    Ok(())
}

#[test]
fn a_file_without_times_of_the_model_is_named() -> TestResult {
    let refused = |name: &str, text: &str| against(name, text).err().map(|error| error.to_string()).unwrap_or_default();
    for (name, text, reason) in [
        ("a.csv", "tp,batch,isl,osl\n1,1,1,1\n", "has no column of times: tpot_ms or ttft_ms"),
        ("a.csv", "tp,batch,isl,tpot_ms\n1,1,1,1\n", "has no column osl or output_tokens"),
        ("a.csv", "tp,batch,isl,osl,tpot_ms\n1,many,1,1,1\n", "line 2: batch_size: 'many' is not a size"),
        ("a.csv", "tp,batch,isl,osl,tpot_ms\n", "has no times of this model on h100_sxm with vllm"),
        ("a.csv", "system,tp,batch,isl,osl,tpot_ms\nb200_sxm,1,1,1,1,1\n", "has no times of this model"),
        ("a.json", "[]", "is not the JSON of a forecast"),
        ("a.json", "{", "is not the JSON of a forecast"),
    ] {
        let found = refused(name, text);
        assert!(found.contains(reason), "{text}: {found}");
    }
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
    assert_eq!(refused(Request { input: 0, ..request(1, 1) }), "input: must be from 1 to 16777216, not 0");
    assert_eq!(refused(Request { output: 0, ..request(1, 1) }), "output: must be from 1 to 16777216, not 0");
    assert!(refused(Request { input: 1 << 24, ..request(1, 1 << 24) }).contains("tokens on each of 1 groups are more"));
    assert_eq!(refused(request(3, 1)), "tensor parallel size: 3 does not divide the 16 heads");
    assert_eq!(refused(request(0, 1)), "tensor parallel size: must be from 1 to 4096, not 0");
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
        // Requests that wait for their first token delay nobody.
        let after_ms = 512.0 * found.tpot.value_ms;
        let share = after_ms / (found.ttft.value_ms + after_ms);
        assert!((found.interference_ms - 64.0 / 512.0 * own * share).abs() < 1e-9, "{}", found.interference_ms);
        Ok(found.interference_ms)
    };
    assert!(delay_ms(true)? < delay_ms(false)?);
    Ok(())
}

#[test]
fn linear_attention_is_the_sum_of_its_two_kernels() -> TestResult {
    let (folder, mut without) = tables("", 1.0)?;
    let step = |phase, tokens, heads| {
        let sequences = if phase == Phase::Prefill { 1 } else { tokens };
        Work::LinearAttention { phase, sequences, tokens, heads: [8, heads], widths: [128, 128] }
    };
    let decode = |heads| step(Phase::Decode, 16, heads);
    assert_eq!(without.answer(&decode(32))?.source, Source::Roofline);
    let columns = ["batch_size", "num_tokens", "head_k_dim", "head_v_dim", "num_v_heads", "phase", "kernel_source"];
    let head = columns.map(|name| format!("aiconfigurator {name}")).join(",");
    let database = folder.path().join("h100_sxm/vllm/1.0.0");
    let table = |name: &str, rows: &str| fs::write(database.join(name), format!("Average Duration(us),{head}\n{rows}"));
    table("gdn_generation_a.csv", "4,16,16,128,128,32,generation,causal_conv1d_update\n")?;
    let rule = "40,16,16,128,128,32,generation,fused_recurrent\n160,16,16,128,128,64,generation,fused_recurrent\n";
    table("gdn_generation_b.csv", rule)?;
    // Prompts are prefilled one by one: rows of several say nothing.
    let context = "6,1,64,128,128,32,context,causal_conv1d_fn\n20,1,64,128,128,32,context,chunk\n3,4,64,128,128,32,context,chunk\n";
    table("gdn_context_a.csv", context)?;
    let mut with = Tables::open(&database)?;
    let found = with.answer(&decode(32))?;
    assert!((found.duration_us - 44.0).abs() < 1e-9 && found.source == Source::Measured, "{found:?}");
    assert!((with.answer(&step(Phase::Prefill, 64, 32))?.duration_us - 26.0).abs() < 1e-9);
    let fewer = with.answer(&decode(16))?;
    assert!((fewer.duration_us - 44.0).abs() < 1e-9 && fewer.source == Source::Extrapolated, "{fewer:?}");
    let between = with.answer(&decode(48))?;
    assert!(between.duration_us > 80.0 && between.duration_us < 164.0, "{between:?}");
    Ok(())
}

#[test]
fn a_sweep_has_each_deployment_once_and_the_reason_of_those_that_cannot_be() -> TestResult {
    let (_folder, mut tables) = tables("", 1.0)?;
    let sweep = Sweep {
        tensor: vec![1, 3],
        batch: vec![1, 16],
        data: 1,
        expert: 1,
        pipeline: 1,
        input: 1024,
        output: 512,
        cache: None,
    };
    let calibration = Calibration::built_in()?;
    let found = sweep.forecast(&model()?, &mut tables, &calibration)?;
    let deployments: Vec<_> =
        found.iter().map(|(request, forecast)| (request.parallel.tensor, request.batch, forecast.is_ok())).collect();
    assert_eq!(deployments, [(1, 1, true), (1, 16, true), (3, 1, false), (3, 16, false)]);
    let spread = Sweep { expert: 2, ..sweep }.forecast(&model()?, &mut tables, &calibration);
    assert_eq!(
        spread.err().map(|error| error.to_string()).as_deref(),
        Some("expert parallel size: 2, but the model has no experts")
    );
    Ok(())
}

#[test]
fn experts_take_the_fastest_kernel_of_any_version_where_the_framework_chooses() -> TestResult {
    let experts = described(
        r#"{"model_type": "qwen3_moe", "hidden_size": 1024, "num_hidden_layers": 8, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 32000, "num_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 512}"#,
    )?;
    let (folder, _tables) = tables("", 1.0)?;
    let [fixed, framework] = ["vllm", "sglang"].map(|name| folder.path().join("h100_sxm").join(name));
    fs::rename(&fixed, &framework)?;
    let with_experts = |version: &str, us: f64| -> TestResult {
        let columns = ["num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size"];
        let mut table = "Average Duration(us)".to_owned();
        for column in columns.iter().chain(&["moe_dtype", "distribution"]) {
            table += &format!(",aiconfigurator {column}");
        }
        for tokens in [1, 4096] {
            table += &format!("\n{us},{tokens},1024,512,2,8,1,1,bfloat16,power_law_1.2");
        }
        fs::create_dir_all(framework.join(version))?;
        fs::write(framework.join(version).join("moe_bfloat16_power_law_1.2.csv"), table + "\n")?;
        Ok(())
    };
    with_experts("1.0.0", 50.0)?;
    with_experts("1.1.0", 20.0)?;
    let experts_us = |framework: &Path, version: &str| -> Result<f64, Box<dyn Error>> {
        let mut tables = Tables::open(&framework.join(version))?;
        let found = forecast(&experts, &request(1, 16), &mut tables, &Calibration::built_in()?)?;
        let is_experts =
            |priced: &&perfdb_forecast::serving::Priced| matches!(priced.operator.work, Work::Experts { .. });
        Ok(found.decode.operators.iter().find(is_experts).ok_or("no experts")?.answer.duration_us)
    };
    for version in ["1.0.0", "1.1.0"] {
        assert!((experts_us(&framework, version)? - 20.0).abs() < 1e-9, "{version}");
    }
    // Of a calibrated copy its own rows count.
    with_experts("mine", 70.0)?;
    assert!((experts_us(&framework, "mine")? - 70.0).abs() < 1e-9);
    fs::rename(&framework, &fixed)?;
    assert!((experts_us(&fixed, "1.0.0")? - 50.0).abs() < 1e-9);
    Ok(())
}
