//! Made-up tables in the layouts of AIConfigurator.

use perfdb_files::lock::LockOptions;
use perfdb_files::replace::{Parents, Staged, commit};
use perfdb_files::tables::{Batch, Kind, Schema, Values};
use perfdb_store::parquet::aiconfigurator::{Choices, Converted, import as import_with};
use perfdb_store::parquet::{Error, open};
use perfdb_store::table::{ReadOptions, Table};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Nobody else is at work here.
const LOCK: LockOptions<'static> = LockOptions { tool: "test", timeout: Duration::ZERO, notice: &|_| {} };

fn import(source: &Path, target: &Path, lock: &LockOptions<'_>) -> Result<Converted, Error> {
    import_with(source, target, Choices::default(), lock)
}

type TestResult = Result<(), Box<dyn std::error::Error>>;

fn fixture() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/aiconfigurator"))
}

fn column(path: &Path, name: &str) -> Vec<String> {
    let table = Table::read(path, &ReadOptions::database()).unwrap_or_else(|error| panic!("{error}"));
    table.rows().map(|row| row.get(name).unwrap_or("no such column").to_owned()).collect()
}

#[test]
fn every_operator_becomes_a_table() -> TestResult {
    let target = tempfile::tempdir()?;
    let converted = import(fixture(), target.path(), &LOCK)?;
    assert_eq!((converted.databases, converted.rows, converted.without_duration), (2, 18, 1));
    assert_eq!(converted.passed_over.into_iter().collect::<Vec<_>>(), [("mamba2".to_owned(), 1)]);
    let at = target.path().join("example_gpu/vllm/1.0");
    let names: std::collections::BTreeSet<String> = fs::read_dir(&at)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<_>>()?;
    let expected = [
        "context_attention_bfloat16_kv_fp8.csv",
        "context_mla_bfloat16_kv_bfloat16.csv",
        "gemm_bfloat16.csv",
        "gemm_fp8_kernel_a.csv",
        "gemm_fp8_kernel_b.csv",
        "generation_attention_bfloat16_kv_bfloat16.csv",
        "generation_attention_bfloat16_kv_bfloat16_window128.csv",
        "generation_mla_bfloat16_kv_fp8.csv",
        "hcom_allReduce_kernel_a_eager.csv",
        "hcom_allReduce_kernel_a_graph.csv",
        "mla_gen_post_bfloat16.csv",
        "mla_gen_pre_bfloat16.csv",
        "moe_fp8_block_balanced.csv",
        "op_mapping.yaml",
    ];
    assert!(names.iter().eq(expected), "{names:?}");
    assert_eq!(column(&at.join("gemm_bfloat16.csv"), "Input Shapes"), ["16,64;64,32", "32,64;64,32"]);
    // Milliseconds there, microseconds here.
    assert_eq!(column(&at.join("gemm_bfloat16.csv"), "Average Duration(us)"), ["2.5", "4"]);
    assert_eq!(column(&at.join("gemm_bfloat16.csv"), "aiconfigurator latency"), ["0.0025", "0.004"]);
    let context = at.join("context_attention_bfloat16_kv_fp8.csv");
    assert_eq!(column(&context, "Input Shapes"), ["2,128,8,64;2,128,2,64;2,128,2,64"]);
    assert_eq!(column(&context, "Input Data Types"), ["DT_BF16;FLOAT8_E4M3FN;FLOAT8_E4M3FN"]);
    // One token on all before it; no key heads are as many as heads.
    let generation = at.join("generation_attention_bfloat16_kv_bfloat16.csv");
    assert_eq!(column(&generation, "Input Shapes"), ["4,1,8,64;4,1024,8,64;4,1024,8,64"]);
    // What one of two devices holds.
    assert_eq!(column(&at.join("moe_fp8_block_balanced.csv"), "Input Shapes"), ["8,256;4,256,256;8,2"]);
    assert_eq!(column(&at.join("moe_fp8_block_balanced.csv"), "EP Size"), ["2"]);
    let mapping = fs::read_to_string(at.join("op_mapping.yaml"))?;
    assert!(mapping.contains("aten.mm.default:\n    kernel_type: gemm_bfloat16\n"), "{mapping}");
    for line in [
        "  gemm_fp8_kernel_a: {class: matmul, layout: k_n, source: \"kernel_a\"}\n",
        "  generation_attention_bfloat16_kv_bfloat16_window128: {class: attention_decode, source: \"kernel_a\", window: 128}\n",
        "  hcom_allReduce_kernel_a_graph: {class: collective, source: \"kernel_a_graph\"}\n",
        "  moe_fp8_block_balanced: {class: experts, source: \"kernel_a\"}\n",
        "    sub_kernels: [gemm_bfloat16, hcom_allReduce_kernel_a_graph]\n",
    ] {
        assert!(mapping.contains(line), "{line} in {mapping}");
    }
    // Both are measured: servers run the graph.
    assert!(mapping.contains("all_reduce.default:\n    kernel_type: hcom_allReduce_kernel_a_graph\n"), "{mapping}");
    assert!(mapping.contains("  aten.view.default:\n    zero_cost: true\n"), "{mapping}");
    let nccl = target.path().join("example_gpu/nccl/2.0");
    assert_eq!(column(&nccl.join("hcom_allReduce_.csv"), "message_bytes"), ["512"]);
    // The whole result's elements there, the bytes of one device here.
    assert_eq!(column(&nccl.join("hcom_allGather_.csv"), "message_bytes"), ["1024"]);
    assert_eq!(column(&nccl.join("hcom_allGather_.csv"), "bandwidth_gbps"), ["0.1"]);
    Ok(())
}

#[test]
fn parquet_in_newer_folders() -> TestResult {
    let source = tempfile::tempdir()?;
    let path = source.path().join("gpu/gemm/vllm/2.0/gemm_perf.parquet");
    let columns = [
        ("gemm_dtype", Kind::Text),
        ("m", Kind::Integer),
        ("n", Kind::Integer),
        ("k", Kind::Integer),
        ("latency", Kind::Real),
    ];
    let schema = Schema::new("gemm", columns.map(|(name, kind)| (name.to_owned(), kind)).into());
    let mut writer = open(Staged::create(&path, Parents::Create)?, &schema)?;
    let sizes = [64, 32, 16].map(|size| Values::Integer(vec![Some(size)]));
    let rest = [Values::Real(vec![Some(0.125)])];
    let first = [Values::Text(vec![Some("int8_wo".to_owned())])];
    writer.write(Batch { columns: first.into_iter().chain(sizes).chain(rest).collect() })?;
    commit(vec![writer.finish()?])?;
    let target = tempfile::tempdir()?;
    import(source.path(), target.path(), &LOCK)?;
    let table = target.path().join("gpu/vllm/2.0/gemm_int8_wo.csv");
    assert_eq!(column(&table, "Input Shapes"), ["64,16;16,32"]);
    assert_eq!(column(&table, "Input Data Types"), ["DT_BF16;INT8"]);
    assert_eq!(column(&table, "Average Duration(us)"), ["125"]);
    // An import that was killed can be repeated; what has another content is not replaced.
    import(source.path(), target.path(), &LOCK)?;
    fs::write(&table, "mine")?;
    assert!(import(source.path(), target.path(), &LOCK).is_err());
    assert_eq!(fs::read_to_string(&table)?, "mine");
    Ok(())
}

/// A folder of a version with some tables.
fn version(source: &Path, family: &str, version: &str, files: &[(&str, &str)]) -> std::io::Result<()> {
    let folder = source.join("gpu").join(family).join("vllm").join(version);
    fs::create_dir_all(&folder)?;
    files.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text))
}

#[test]
fn kernels_without_shapes_have_their_numbers_as_sizes() -> TestResult {
    let source = tempfile::tempdir()?;
    let text = "framework,kernel_source,model,phase,gemm_type,batch_size,isl,step,latency\n\
                VLLM,fla,deepseek-ai/V3,context,fp8_block,2,128,0,0.5\nVLLM,fla,deepseek-ai/V3,generation,fp8_block,2,1,127,0.25\n";
    let halves = "hidden_size,num_token,dispatch_transmit_us,dispatch_notify_us,combine_transmit_us\n7168,8,40,2,50\n";
    version(
        source.path(),
        "sparse_attention",
        "1.0",
        &[("dsa_module_perf.txt", text), ("nothing_perf.txt", "m\n1\n2\n")],
    )?;
    version(source.path(), "comm", "1.0", &[("deepep_perf.txt", halves)])?;
    let target = tempfile::tempdir()?;
    let converted = import(source.path(), target.path(), &LOCK)?;
    assert_eq!(converted.passed_over.into_iter().collect::<Vec<_>>(), [("nothing".to_owned(), 2)]);
    let at = target.path().join("gpu/vllm/1.0");
    let context = at.join("dsa_module_V3_context_fp8_block.csv");
    assert_eq!(column(&context, "Input Shapes"), ["2,128,0"]);
    assert_eq!(column(&context, "Input Data Types"), ["FLOAT8_E4M3FN"]);
    assert_eq!(column(&at.join("dsa_module_V3_generation_fp8_block.csv"), "Average Duration(us)"), ["250"]);
    assert_eq!(column(&at.join("deepep_dispatch.csv"), "Average Duration(us)"), ["42"]);
    assert_eq!(column(&at.join("deepep_combine.csv"), "Average Duration(us)"), ["50"]);
    let mapping = fs::read_to_string(at.join("op_mapping.yaml"))?;
    let line = "dsa_module_V3_context_fp8_block: {class: generic, source: \"fla\", sizes: [batch_size, isl, step]}\n";
    assert!(mapping.contains(line), "{mapping}");
    Ok(())
}

#[test]
fn rows_of_one_case_are_one_row_with_a_deviation() -> TestResult {
    let source = tempfile::tempdir()?;
    let text = "gemm_dtype,m,n,k,latency\nfp8,1,2,3,0.010\nfp8,4,2,3,0.5\nfp8,1,2,3,0.014\n";
    version(source.path(), "gemm", "1.0", &[("gemm_perf.txt", text)])?;
    let target = tempfile::tempdir()?;
    let converted = import(source.path(), target.path(), &LOCK)?;
    assert_eq!((converted.rows, converted.repeats), (3, 1));
    let table = target.path().join("gpu/vllm/1.0/gemm_fp8.csv");
    assert_eq!(column(&table, "Average Duration(us)"), ["12", "500"]);
    let deviations = column(&table, "Profiling Std Duration(us)");
    assert!(deviations[0].starts_with("2.82842712") && deviations[1].is_empty(), "{deviations:?}");
    // The bandwidth of a collective is that of its mean duration.
    let source = tempfile::tempdir()?;
    let head = "op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n";
    let text = format!("{head}all_reduce,NCCL,half,2,64000,0.010\nall_reduce,NCCL,half,2,64000,0.030\n");
    version(source.path(), "comm", "1.0", &[("nccl_perf.txt", &text)])?;
    let target = tempfile::tempdir()?;
    import(source.path(), target.path(), &LOCK)?;
    let table = target.path().join("gpu/vllm/1.0/hcom_allReduce_.csv");
    let cells = ["Duration(us)", "bandwidth_gbps"].map(|name| column(&table, name));
    assert_eq!(cells, [["20"], ["6.4"]]);
    Ok(())
}

#[test]
fn tables_of_other_versions_come_along() -> TestResult {
    let source = tempfile::tempdir()?;
    let table = |us: &str| format!("gemm_dtype,m,n,k,latency\nbfloat16,1,2,3,{us}\n");
    let reuse = |table: &str, version: &str| format!("reuse:\n- table: {table}\n  from_version: {version}\n");
    version(source.path(), "gemm", "1.0", &[("gemm_perf.txt", &table("0.001"))])?;
    version(source.path(), "gemm", "2.0", &[("reuse.yaml", &reuse("gemm_perf", "1.0"))])?;
    version(source.path(), "gemm", "3.0", &[("reuse.yaml", &reuse("gemm_perf", "2.0"))])?;
    version(source.path(), "moe", "3.0", &[("reuse.yaml", &reuse("moe_perf", "2.0"))])?;
    let target = tempfile::tempdir()?;
    let converted = import(source.path(), target.path(), &LOCK)?;
    assert_eq!((converted.databases, converted.reused, converted.missing.len()), (3, 2, 1));
    assert!(converted.missing[0].ends_with("moe_perf of 2.0"), "{:?}", converted.missing);
    for version in ["2.0", "3.0"] {
        let table = target.path().join(format!("gpu/vllm/{version}/gemm_bfloat16.csv"));
        assert_eq!(column(&table, "Average Duration(us)"), ["1"], "{version}");
    }
    Ok(())
}

#[test]
fn graphs_answer_for_collectives_unless_single_calls_are_asked_for() -> TestResult {
    for (is_eager, expected) in [(false, "hcom_allReduce_kernel_a_graph"), (true, "hcom_allReduce_kernel_a_eager")] {
        let target = tempfile::tempdir()?;
        import_with(fixture(), target.path(), Choices { is_eager }, &LOCK)?;
        let mapping = fs::read_to_string(target.path().join("example_gpu/vllm/1.0/op_mapping.yaml"))?;
        let entry = format!("tensor_cast.all_reduce.default:\n    kernel_type: {expected}\n");
        assert!(mapping.contains(&entry), "{mapping}");
    }
    Ok(())
}

#[test]
fn a_row_that_says_no_size_is_named() -> TestResult {
    let source = tempfile::tempdir()?;
    let folder = source.path().join("gpu/vllm/1.0");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("gemm_perf.txt"), "gemm_dtype,m,n,k,latency\nbfloat16,1,2,3,0.5\nbfloat16,many,2,3,0.5\n")?;
    let target = tempfile::tempdir()?;
    let error = import(source.path(), target.path(), &LOCK).unwrap_err().to_string();
    assert!(error.ends_with("gemm_perf.txt: column m: row 2: many is no size"), "{error}");
    fs::write(folder.join("gemm_perf.txt"), "gemm_dtype,m,n,latency\nbfloat16,1,2,0.5\n")?;
    let error = import(source.path(), target.path(), &LOCK).unwrap_err().to_string();
    assert!(error.ends_with("column k: is missing"), "{error}");
    fs::write(folder.join("gemm_perf.txt"), "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")?;
    assert!(import(source.path(), target.path(), &LOCK).is_err());
    assert_eq!(fs::read_dir(target.path())?.count(), 0);
    Ok(())
}

#[test]
fn sizes_that_no_sum_holds_are_named() -> TestResult {
    let source = tempfile::tempdir()?;
    let folder = source.path().join("gpu/vllm/1.0");
    fs::create_dir_all(&folder)?;
    let most = u64::MAX;
    for (name, header, row) in [
        (
            "context_attention",
            "batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,step,latency",
            format!("2,128,8,2,64,bfloat16,fp8,{most},0.05"),
        ),
        (
            "generation_mla",
            "batch_size,isl,num_heads,mla_dtype,kv_cache_dtype,step,latency",
            format!("2,1,8,bfloat16,fp8,{most},0.05"),
        ),
    ] {
        let path = folder.join(format!("{name}_perf.txt"));
        fs::write(&path, format!("{header}\n{row}\n"))?;
        let error = import(source.path(), tempfile::tempdir()?.path(), &LOCK).unwrap_err().to_string();
        assert!(error.ends_with(&format!("column step: row 1: {most} is more than any sequence has")), "{error}");
        fs::remove_file(&path)?;
    }
    Ok(())
}
