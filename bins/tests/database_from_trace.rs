//! database-from-trace at the command line: rows of operators, that they answer at once, and what is left out.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

/// An operator on the host with its arguments, and the kernels that it launches with their durations.
struct Operator<'a> {
    name: &'a str,
    arguments: Value,
    kernels: &'a [(&'a str, f64)],
}

/// A trace of operators one after the other.
fn trace(operators: &[Operator<'_>], more: &[Value]) -> String {
    let mut events = more.to_vec();
    let mut id = 0;
    for (at, operator) in operators.iter().enumerate() {
        let start = 1000.0 * (at + 1) as f64;
        events.push(json!({
            "ph": "X", "cat": "cpu_op", "name": operator.name, "pid": 1, "tid": 1, "ts": start, "dur": 900, "args": operator.arguments,
        }));
        let mut on_device = start + 100.0;
        for (kernel, us) in operator.kernels {
            id += 1;
            let launch = start + 10.0 * f64::from(id);
            let name = "cudaLaunchKernel";
            let arguments = json!({"correlation": id});
            events.push(json!({
                "ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": 1, "ts": launch.min(start + 899.0), "dur": 0.5, "args": arguments,
            }));
            events.push(json!({
                "ph": "X", "cat": if kernel.starts_with("Memset") { "gpu_memset" } else { "kernel" }, "name": kernel, "pid": 0, "tid": 7, "ts": on_device, "dur": us,
                "args": {"correlation": id, "device": 0, "stream": 7},
            }));
            on_device += us + 1.0;
        }
    }
    json!({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}).to_string()
}

fn product(kernels: &'static [(&'static str, f64)]) -> Operator<'static> {
    let arguments = json!({
        "Input Dims": [[32, 64], [64, 48]], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Concrete Inputs": ["", ""],
    });
    Operator { name: "aten::mm", arguments, kernels }
}

fn example() -> Vec<Operator<'static>> {
    let list = json!({"Input Dims": [[[4, 4], [4, 4]], []], "Input type": ["TensorList", "Scalar"]});
    let sum = json!({
        "Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 8,
    });
    vec![
        product(&[("nvjet_tst_64x8", 10.0), ("splitKreduce_kernel", 1.5), ("Memset (Device)", 0.5)]),
        product(&[("nvjet_tst_64x8", 18.0)]),
        product(&[("nvjet_tst_64x8", 14.0)]),
        Operator {
            name: "aten::add",
            arguments: json!({"Input Dims": [[32, 48], [32, 48], []], "Input type": ["float", "float", "Scalar"]}),
            kernels: &[("void at::native::vectorized_elementwise_kernel<4>", 3.0)],
        },
        Operator { name: "aten::cat", arguments: list, kernels: &[("CatArrayBatchedCopy", 1.0)] },
        Operator { name: "mine::no_shapes", arguments: json!({}), kernels: &[("my_kernel", 1.5)] },
        Operator { name: "record_param_comms", arguments: sum, kernels: &[("ncclDevKernel_AllReduce_Sum_bf16", 25.0)] },
    ]
}

struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Result<World, Box<dyn Error>> {
        Ok(World { folder: tempfile::tempdir()? })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Status, stdout and stderr of a tool that runs in the folder.
    fn run(&self, tool: &str, arguments: &[&str]) -> Result<(Option<i32>, String, String), Box<dyn Error>> {
        let output = Command::cargo_bin(tool)?.args(arguments).current_dir(&self.folder).output()?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
    }

    fn made(&self, traces: &[&str]) -> Result<String, Box<dyn Error>> {
        let arguments = [traces, &["--database-path", "db"]].concat();
        let (status, stdout, stderr) = self.run("database-from-trace", &arguments)?;
        assert_eq!(status, Some(0), "{stderr}");
        Ok(stdout)
    }
}

/// The cells of a row by the names of their columns.
type Row = Vec<(String, String)>;

/// The rows of a table by column.
fn rows(path: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut reader = csv::Reader::from_path(path)?;
    let header: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let row = |record: csv::StringRecord| header.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
    Ok(reader.records().collect::<Result<Vec<_>, _>>()?.into_iter().map(row).collect())
}

fn cell<'r>(row: &'r [(String, String)], column: &str) -> &'r str {
    row.iter().find(|(name, _)| name == column).map_or("no such column", |(_, cell)| cell)
}

#[test]
fn each_set_of_shapes_and_types_is_a_row_with_the_spread_of_its_calls() -> TestResult {
    let world = World::new()?;
    fs::write(world.path("run1.json"), trace(&example(), &[]))?;
    fs::write(world.path("run2.json"), trace(&example()[1..4], &[]))?;
    let shown = world.made(&["run1.json", "run2.json"])?;
    assert!(shown.starts_with("3 tables with 3 rows → db; 97.7 % of 0.110 ms of kernel time\n"), "{shown}");
    assert!(shown.contains("aten::cat: list of tensors without data types"), "{shown}");
    assert!(shown.contains("mine::no_shapes: no shapes; record them with record_shapes=True"), "{shown}");
    let products = rows(&world.path("db/aten_mm_cublas.csv"))?;
    let [product] = products.as_slice() else { panic!("{products:?}") };
    // Calls of 12, 18, 14 and, in the second run, 18 and 14 us.
    for (column, expected) in [
        ("Input Shapes", "32,64;64,48"),
        ("Input Data Types", "DT_BF16;DT_BF16"),
        ("Output Shapes", "32,48"),
        ("Average Duration(us)", "14"),
        ("Profiling Average Duration(us)", "15.2"),
        ("Profiling P10 Duration(us)", "12.8"),
        ("Profiling P90 Duration(us)", "18"),
        ("Profiling Calls", "5"),
        ("Profiling Runs", "2"),
        ("Profiling Kernels", "nvjet_tst_64x8 | splitKreduce_kernel | memset"),
    ] {
        assert_eq!(cell(product, column), expected, "{column}");
    }
    let sums = rows(&world.path("db/hcom_allReduce_.csv"))?;
    assert_eq!((cell(&sums[0], "message_bytes"), cell(&sums[0], "num_devices")), ("2048", "8"));
    assert_eq!((cell(&sums[0], "dtype"), cell(&sums[0], "Duration(us)")), ("DT_BF16", "25"));
    let mapping = fs::read_to_string(world.path("db/op_mapping.yaml"))?;
    assert!(mapping.contains("  aten_mm_cublas: {class: matmul, layout: k_n, source: \"cublas\"}\n"), "{mapping}");
    let record = fs::read_to_string(world.path("db/database.toml"))?;
    assert!(
        record.contains("device = \"NVIDIA H100 80GB HBM3\"") && record.contains("run1.json, run2.json"),
        "{record}"
    );
    Ok(())
}

#[test]
fn every_row_answers_the_query_of_its_own_shapes() -> TestResult {
    let world = World::new()?;
    fs::write(world.path("run.json"), trace(&example(), &[]))?;
    world.made(&["run.json"])?;
    for (kernel, shapes, types, expected) in
        [("aten_mm_cublas", "32,64;64,48", "DT_BF16;DT_BF16", 14.0), ("aten_add", "32,48;32,48", "FLOAT;FLOAT", 3.0)]
    {
        for semantics in ["corrected", "best"] {
            let arguments = [
                "db",
                "--kernel",
                kernel,
                "--input-shapes",
                shapes,
                "--types",
                types,
                "--semantics",
                semantics,
                "--json",
                "-",
            ];
            let (status, stdout, stderr) = world.run("query-database", &arguments)?;
            assert_eq!(status, Some(0), "{stderr}");
            let answer: Value = serde_json::from_str(stdout.lines().next().unwrap_or_default())?;
            assert_eq!(answer["answer"]["duration_us"], json!(expected), "{kernel} {semantics}: {answer}");
            assert_eq!(answer["answer"]["source"], "MEASURED", "{kernel} {semantics}: {answer}");
        }
    }
    let (status, stdout, stderr) =
        world.run("query-database", &["db", "aten.mm.default", "32x64:bf16", "64x48:bf16"])?;
    assert!(status == Some(0) && stdout.contains("14"), "{stdout}{stderr}");
    let (status, stdout, stderr) = world.run("check-database", &["--database-path", "db"])?;
    assert!(status == Some(0) && stdout.starts_with("passed: no findings"), "{stdout}{stderr}");
    Ok(())
}

#[test]
fn nothing_that_is_there_is_replaced_and_nothing_half_is_left() -> TestResult {
    let world = World::new()?;
    fs::write(world.path("run.json"), trace(&example(), &[]))?;
    world.made(&["run.json"])?;
    let before = fs::read(world.path("db/aten_mm_cublas.csv"))?;
    let (status, _, stderr) = world.run("database-from-trace", &["run.json", "--database-path", "db"])?;
    assert_eq!(status, Some(1));
    assert!(stderr.contains("is there already, and nothing is replaced"), "{stderr}");
    assert_eq!(fs::read(world.path("db/aten_mm_cublas.csv"))?, before);
    // Another device in one database, and a trace without any shapes.
    fs::write(world.path("other.json"), trace(&example(), &[]).replace("H100", "B200"))?;
    let (status, _, stderr) =
        world.run("database-from-trace", &["run.json", "other.json", "--database-path", "new"])?;
    assert!(
        status == Some(1) && stderr.contains("is of the device NVIDIA B200 80GB HBM3, but run.json is of"),
        "{stderr}"
    );
    fs::write(world.path("bare.json"), trace(&example()[5..6], &[]))?;
    let (status, _, stderr) = world.run("database-from-trace", &["bare.json", "--database-path", "new"])?;
    assert!(status == Some(1) && stderr.contains("bare.json: no row: no shapes; record them"), "{stderr}");
    assert!(!world.path("new").exists());
    Ok(())
}

#[test]
fn types_that_a_trace_lacks_can_be_named() -> TestResult {
    let world = World::new()?;
    let arguments = json!({"Input Dims": [[32, 64], [64, 48]]});
    let untyped = Operator { name: "aten::mm", arguments, kernels: &[("nvjet_tst_64x8", 10.0)] };
    fs::write(world.path("run.json"), trace(&[untyped], &[]))?;
    let (status, _, stderr) = world.run("database-from-trace", &["run.json", "--database-path", "db"])?;
    assert!(status == Some(1) && stderr.contains("shapes without data types; --dtype names one"), "{stderr}");
    world.made(&["run.json", "--dtype", "fp16"])?;
    assert_eq!(cell(&rows(&world.path("db/aten_mm_cublas.csv"))?[0], "Input Data Types"), "FLOAT16;FLOAT16");
    Ok(())
}

#[test]
fn attention_inside_cudnn_is_attention_and_what_it_clears_is_not() -> TestResult {
    let world = World::new()?;
    // As nsys writes it: shapes without values.
    let arguments = json!({
        "Input Dims": [[32, 16, 1, 128], [32, 4, 1024, 128], [32, 4, 1024, 128]],
        "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"],
    });
    let call = |kernels| Operator { name: "aten::_cudnn_attention_forward", arguments: arguments.clone(), kernels };
    let calls =
        [call(&[("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", 20.0)]), call(&[("Memset (Device)", 0.5)])];
    fs::write(world.path("run.json"), trace(&calls, &[]))?;
    world.made(&["run.json"])?;
    let mapping = fs::read_to_string(world.path("db/op_mapping.yaml"))?;
    let class_of = |table: &str| {
        let line = mapping.lines().find(|line| line.trim_start().starts_with(&format!("{table}:")));
        line.and_then(|line| line.split("class: ").nth(1)).map(|rest| rest.split([',', '}']).next().unwrap_or(rest))
    };
    assert_eq!(class_of("aten__cudnn_attention_forward_decode_cudnn"), Some("attention_decode"), "{mapping}");
    assert_eq!(class_of("aten__cudnn_attention_forward_memset"), Some("generic"), "{mapping}");
    Ok(())
}

#[test]
fn attention_of_a_server_takes_its_lengths_from_the_step() -> TestResult {
    let world = World::new()?;
    let call = || Operator {
        name: "vllm::unified_attention_with_output",
        arguments: json!({
            "Input Dims": [[8, 32, 128], [8, 8, 128], [8, 8, 128]],
            "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"],
        }),
        kernels: &[("fmhaSm100aKernel_QkvBfloat16OBfloat16H128PagedKvCausalVarSeqQ", 40.0)],
    };
    let step = |name: &str, start: u32| json!({"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": 950});
    let none = "(sq0sk0sqsq0sqsk0)";
    let steps = [
        step(&format!("execute_8_context_0{none}_generation_8(sq8sk8000sqsq8sqsk8000)"), 990),
        step(&format!("execute_8_context_2(sq8sk8sqsq32sqsk32)_generation_0{none}"), 1990),
        step("execute_8_context_1(sq4sk4sqsq16sqsk16)_generation_4(sq4sk400sqsq4sqsk400)", 2990),
    ];
    fs::write(world.path("server.json"), trace(&[call(), call(), call()], &steps))?;
    let shown = world.made(&["server.json"])?;
    let table = |phase: &str| {
        let files = fs::read_dir(world.path("db"))?.collect::<Result<Vec<_>, _>>()?;
        let found = files.iter().find(|file| file.file_name().to_string_lossy().contains(phase));
        rows(&found.ok_or(format!("no table of {phase}: {shown}"))?.path())
    };
    let query = |rows: Vec<Vec<(String, String)>>| cell(&rows[0], "Input Shapes").to_owned();
    assert_eq!(query(table("_decode")?), "8,1,32,128;8,1000,8,128;8,1000,8,128");
    assert_eq!(query(table("_prefill")?), "2,4,32,128;2,4,8,128;2,4,8,128");
    // Both in one call: what it did for either, and of no phase.
    let mixed = "1,4,32,128;1,4,8,128;1,4,8,128;4,1,32,128;4,100,8,128;4,100,8,128";
    assert_eq!(query(table("_mixed")?), mixed);
    let mapping = fs::read_to_string(world.path("db/op_mapping.yaml"))?;
    let class = mapping.lines().find(|line| line.contains("_mixed") && line.contains("class:"));
    assert!(class.is_some_and(|line| line.contains("class: generic")), "{mapping}");
    Ok(())
}

/// A capture of graphs, each of the same operators on rows of its own, whose launches name no kernel, as NVIDIA's profiler has it.
fn capture(graphs: &[u64]) -> String {
    let mut events = Vec::new();
    let mut correlation = 0;
    for (number, rows) in graphs.iter().enumerate() {
        let start = 10_000.0 * number as f64;
        let types = ["c10::BFloat16", "c10::BFloat16"];
        let operators = [
            ("aten::index_copy_", json!({"Input Dims": [[64, 64], [rows, 64]], "Input type": types})),
            ("aten::mm", json!({"Input Dims": [[rows, 64], [64, 48]], "Input type": types})),
        ];
        let mut add = |category: &str, name: &str, at: f64, dur: f64, arguments: Value| {
            events.push(json!({
                "ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start + at, "dur": dur, "args": arguments,
            }));
        };
        add("cuda_runtime", "cudaStreamBeginCapture", 10.0, 1.0, json!({"correlation": 900 + number}));
        for (at, (name, arguments)) in operators.into_iter().enumerate() {
            let at = 100.0 * (at + 1) as f64;
            correlation += 1;
            add("cpu_op", name, at, 50.0, arguments);
            add("cuda_runtime", "cudaLaunchKernel", at + 10.0, 5.0, json!({"correlation": correlation}));
        }
        add("cuda_runtime", "cudaStreamEndCapture", 1000.0, 1.0, json!({"correlation": 950 + number}));
    }
    json!({"traceEvents": events}).to_string()
}

/// Replays of such graphs, each with its rows; their kernels have a block per row, where that is recorded.
fn replays(graphs: &[u64], has_sizes: bool) -> String {
    let mut events = Vec::new();
    for (number, rows) in graphs.iter().enumerate() {
        let start = 1000.0 * number as f64;
        events.push(json!({
            "ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 1, "ts": start, "dur": 5, "args": {"correlation": 7 + number},
        }));
        for (at, (name, us)) in [("index_copy_kernel", 3.0), ("nvjet_tst_64x8", 10.0)].into_iter().enumerate() {
            let mut arguments = json!({"correlation": 7 + number, "device": 0, "stream": 7});
            if has_sizes {
                (arguments["grid"], arguments["block"]) = (json!([rows, 1, 1]), json!([64, 1, 1]));
            }
            events.push(json!({
                "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start + 20.0 * (at + 1) as f64,
                "dur": us + *rows as f64 / 16.0 - 1.0, "args": arguments,
            }));
        }
    }
    json!({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}).to_string()
}

#[test]
fn kernels_of_replays_have_the_operators_of_their_capture() -> TestResult {
    let world = World::new()?;
    fs::write(world.path("replays.json"), replays(&[16, 16], false))?;
    fs::write(world.path("capture.json"), capture(&[16]))?;
    let shown = world.made(&["replays.json", "--capture", "capture.json"])?;
    assert!(shown.starts_with("2 tables with 2 rows → db; 100.0 % of 0.026 ms of kernel time\n"), "{shown}");
    let copies = rows(&world.path("db/aten_index_copy_.csv"))?;
    assert_eq!(cell(&copies[0], "Input Shapes"), "64,64;16,64");
    assert_eq!((cell(&copies[0], "Average Duration(us)"), cell(&copies[0], "Profiling Calls")), ("3", "2"));
    assert_eq!(cell(&rows(&world.path("db/aten_mm_cublas.csv"))?[0], "Input Shapes"), "16,64;64,48");
    Ok(())
}

#[test]
fn captures_of_one_size_are_told_apart_by_the_blocks_of_their_kernels() -> TestResult {
    let world = World::new()?;
    fs::write(world.path("replays.json"), replays(&[32, 16, 32], true))?;
    fs::write(world.path("capture.json"), capture(&[16, 32]))?;
    let shown = world.made(&["replays.json", "--capture", "capture.json"])?;
    assert!(shown.starts_with("2 tables with 4 rows → db; 100.0 % of"), "{shown}");
    let copies = rows(&world.path("db/aten_index_copy_.csv"))?;
    let mut found: Vec<_> = copies
        .iter()
        .map(|row| ["Input Shapes", "Average Duration(us)", "Profiling Calls"].map(|column| cell(row, column)))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [["64,64;16,64", "3", "1"], ["64,64;32,64", "4", "2"]]);
    Ok(())
}

#[test]
fn replays_that_several_captures_fit_get_no_shapes() -> TestResult {
    let world = World::new()?;
    // No sizes; one of two batches replayed; a batch that was not captured; both one size larger than those that were.
    let cases: [(&[u64], bool, &[u64]); 4] = [
        (&[16, 16], false, &[16, 32]),
        (&[16], true, &[16, 32]),
        (&[16, 32], true, &[16]),
        (&[16, 32], true, &[8, 16]),
    ];
    for (number, (replayed, has_sizes, captured)) in cases.into_iter().enumerate() {
        fs::write(world.path("replays.json"), replays(replayed, has_sizes))?;
        fs::write(world.path("capture.json"), capture(captured))?;
        let database = format!("db{number}");
        let arguments = ["replays.json", "--capture", "capture.json", "--database-path", &database];
        let (status, _, stderr) = world.run("database-from-trace", &arguments)?;
        assert_eq!(status, Some(1), "case {number}: {stderr}");
        assert!(stderr.contains("several in --capture fit, or one of another batch"), "case {number}: {stderr}");
    }
    Ok(())
}
