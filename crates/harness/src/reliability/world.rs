//! A folder with something to read for every tool, and command lines for it.

use crate::reliability::Error;
use crate::reliability::files::{self, Entry, Files};
use std::path::{Path, PathBuf};

const TRACE: &str = r#"{"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}},
{"name": "aten.mm.default", "ph": "X", "ts": 0, "dur": 90, "pid": 0, "tid": 0, "args": {"simulation_shapes": "[[16, 5120], [5120, 768]]", "source": "MEASURED", "kernel_type": "MatMulV2"}},
{"name": "aten.add.Tensor", "ph": "X", "ts": 90, "dur": 10, "pid": 0, "tid": 0, "args": {"simulation_shapes": "[[16]]"}}]}"#;
const PASS: &str =
    "Type,Start Time(us),Duration(us),Input Shapes\nMatMulV2,0.5\t,100,\"\"\"16,5120;5120,768\"\"\"\nAdd,101\t,4,16\n";
const GPU_TRACE: &str = r#"{"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 16, "dur": 2, "args": {"stream": 7, "correlation": 2}}]}"#;
const TABLE: &str = "\
Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\n\
x;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND,\n\
4;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND,2.0\n";
const SCENARIOS: &str = "\
- {name: first, tc_trace: t.json, trace_csv: p.csv, m6: m6.json}\n\
- {name: second, tc_trace: t.json, trace_csv: p.csv, m6: computed.json}\n";
const MAPPING: &str =
    "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}, aten.add.Tensor: {kernel_type: Add}}\n";
const SUMMARY: &str = "OP Type,Task Type,Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n\
     Add,AI_CORE,5,4;4,FLOAT;FLOAT,ND;ND,4,FLOAT\n";
const GEMM: &str = "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n\
     VLLM,1.0,X,gemm,s,bfloat16,16,512,1024,0.0125\nVLLM,1.0,X,gemm,s,fp8,32,512,1024,0.025\n";
const COLLECTIVES: &str =
    "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n1024,2,DT_BF16,0,10.0,2.0\n";
const QUESTION: &str = r#"{"id": 1, "query": {"op": "aten.add.Tensor", "args": [{"shape": [4], "dtype": "float32"}, {"shape": [4], "dtype": "float32"}]}}"#;

/// Command lines that write, with the files that they are asked to write.
pub const WRITERS: &[(&str, &[&str])] = &[
    (
        "generate-op-comparison --data-dir db --scenarios scenarios.yaml --compute-missing-m6 --output o.json --html o.html --csv o.csv",
        &["o.json", "o.html", "o.csv"],
    ),
    (
        "explain-prediction --tc-trace t.json --prof-trace p.csv --data-dir db --measure-dir rows --json o.json --csv o.csv --html o.html",
        &["o.json", "o.csv", "o.html"],
    ),
    ("cut-forward-pass p.csv --pass 1 --output o.csv --json o.json", &["o.csv", "o.json"]),
    ("query-database --database-path db --manifest q.jsonl --json o.json --csv o.csv", &["o.json", "o.csv"]),
    ("evaluate-database --database-path db --json o.json --html o.html", &["o.json", "o.html"]),
    (
        "audit-coverage --database-path db --manifest q.jsonl --json o.json --csv o.csv --html o.html",
        &["o.json", "o.csv", "o.html"],
    ),
    (
        "audit-coverage --database-path db --manifest further.jsonl --suggest 1 --append --json o.json --csv o.csv",
        &["o.json", "o.csv"],
    ),
    ("diff-databases db grid --json o.json --csv o.csv --html o.html", &["o.json", "o.csv", "o.html"]),
    ("merge-databases db grid --json o.json --conflicts o.csv", &["o.json", "o.csv"]),
    ("parse-kernel-details --profiling-path kd --database-path db --json o.json", &["o.json"]),
    ("start-microbench --prof-path PROF_1 --database-path db --json o.json --html o.html", &["o.json", "o.html"]),
    (
        "generate-comm-microbench --from-results results --output-dir comm --report o.csv --html o.html",
        &["o.csv", "o.html"],
    ),
    (
        "generate-per-shape-comparison --tc-trace t.json --prof-trace p.csv --output o.csv --html o.html",
        &["o.csv", "o.html"],
    ),
    ("check-trace odd.json --repair o.json --result-json r.json", &["o.json", "r.json"]),
    ("bundle-reports page.html page.html --output o.html", &["o.html"]),
    ("merge-databases copied db", &[]),
    ("parse-kernel-details --profiling-path kd --database-path db --merge", &[]),
    ("export-database db --parquet parquet", &[]),
    ("import-database --from aiconfigurator measured --database-path imported", &[]),
    ("explain-prediction --scenarios scenarios.yaml --data-dir db --json o.json --shard 1/2 --shard-dir parts", &[]),
    ("generate-shape-grid --database-path grid --rows 3 --seed 1 --json o.json", &["o.json"]),
    (
        "op-replay Add --csv db/Add.csv --invalid-rows drop --backend native --repeat-count 1 --output out --results o.json --dump-outputs d.json",
        &["o.json", "d.json"],
    ),
    (
        "run-all-op --database-path db --ops Add --invalid-rows drop --backend native --repeat-count 1 --output out --status-file s.json --results o.json --dump-outputs d.json",
        &["o.json", "d.json"],
    ),
    (
        "run-all-op --database-path db --ops Add --invalid-rows drop --backend native --repeat-count 1 --output out --status-file s.json --execution-mode subprocess --results o.json --dump-outputs d.json",
        &["o.json", "d.json"],
    ),
];

/// Command lines that read, and print or write one file.
pub const READERS: &[&str] = &[
    "compute-m6 --tc-trace t.json --prof-trace p.csv --json-output o.json",
    "generate-op-comparison --data-dir db --tc-trace t.json --prof-trace p.csv",
    "trace-to-csv --trace t.json --output o.csv",
    "trace-to-csv --trace t.json --output o.csv --parquet o.parquet",
    "explain-prediction --tc-trace t.json --prof-trace p.csv --families families.yaml --trace-out o.json",
    "explain-prediction --scenarios scenarios.yaml --data-dir db --json o.json",
    "cut-forward-pass p.csv --list",
    "cut-forward-pass kd/kernel_details.csv --pass 1 --output o.csv",
    "compare-traces gpu1.json gpu2.json --registry registry.yaml --output o.txt",
    "compare-traces gpu1.json gpu2.json --result-json o.json --html o.html",
    "compare-traces gpu1.json gpu2.json --explain --events o.csv",
    "check-trace t.json --repair o.json",
    "check-trace gpu1.json --json o.json",
    "check-trace p.csv --json o.json",
    "check-database --database-path db --json o.json",
    "check-database --database-path grid --all",
    "check-density --database-path db --manifest q.jsonl --baseline-database grid --json o.json",
    "evaluate-database --database-path db",
    "query-database --database-path db --manifest q.jsonl --json -",
    "query-database --database-path db --from-trace t.json --compare --semantics upstream",
    "query-database --database-path db --semantics best aten.add.Tensor 9:float32 9:float32",
    "audit-coverage --database-path db --from-trace t.json --json o.json",
    "diff-databases db grid --workload t.json",
    "merge-databases db grid --prefer ask-list --conflicts o.csv",
    "merge-databases db grid --prefer ask-list --decisions list.csv",
    "validate-comm-alignment --csv-dir comm",
    "run-comm-bench --plan-out o.json",
    "generate-comm-microbench --from-results results --output-dir comm",
    "fill-fia-runtime-metadata --csv-path fia/Fia.csv --jsonl-path records.jsonl --output-path o.csv",
    "fill-fia-runtime-metadata --csv-path fia/Fia.csv --jsonl-path records.jsonl",
    "generate-shape-grid --database-path grid --rows 3 --seed 1 --dry-run",
    "generate-shape-grid --database-path grid --semantics corrected --plan-measurements 3",
    "op-replay Add --csv db/Add.csv --plan --plan-format json",
    "export-database db --parquet parquet",
    "start-microbench --prof-path PROF_1 --database-path db --dry-run",
];

/// Everything that is read.
pub fn inputs() -> Result<Files, Error> {
    let texts = [
        ("t.json", TRACE.to_owned()),
        ("odd.json", GPU_TRACE.replace("\"dur\": 2", "\"dur\": NaN")),
        ("measured/h100/vllm/1.0/gemm_perf.txt", GEMM.to_owned()),
        ("p.csv", PASS.to_owned()),
        ("m6.json", "{\"n_forward_passes\": 1, \"m6_ratio\": 1.0}\n".to_owned()),
        ("scenarios.yaml", SCENARIOS.to_owned()),
        ("families.yaml", "MyKernel: mine\n".to_owned()),
        ("gpu1.json", GPU_TRACE.to_owned()),
        ("gpu2.json", GPU_TRACE.to_owned()),
        ("registry.yaml", "rules: []\n".to_owned()),
        ("page.html", PAGE.to_owned()),
        ("db/Add.csv", TABLE.to_owned()),
        ("db/op_mapping.yaml", MAPPING.to_owned()),
        ("q.jsonl", format!("{QUESTION}\n")),
        ("further.jsonl", format!("{}\n", QUESTION.replace("[4]", "[9]"))),
        ("list.csv", "kernel_type,case,duration,from,from_line,keep\n".to_owned()),
        ("kd/kernel_details.csv", kernel_details()),
        ("PROF_1/mindstudio_profiler_output/op_summary_1.csv", SUMMARY.to_owned()),
        ("records.jsonl", "{}\n".to_owned()),
        ("fia/Fia.csv", "Input Shapes\n\"1,2\"\n".to_owned()),
        ("grid/Add.csv", "Input Shapes,Input Data Types\n\"1,2;1,2\",FLOAT;FLOAT\n".to_owned()),
        ("comm/hcom_allReduce_.csv", COLLECTIVES.to_owned()),
    ];
    let mut inputs: Files =
        texts.into_iter().map(|(name, text)| (PathBuf::from(name), Entry::File(text.into_bytes()))).collect();
    let results = files::read(&testdata().join("golden/generate-comm-microbench/r07-gloo-report/results"))?;
    inputs.extend(results.into_iter().map(|(path, entry)| (Path::new("results").join(path), entry)));
    Ok(inputs)
}

/// What bundle-reports takes for a page.
const PAGE: &str = "<meta name=\"generator\" content=\"perfdb report 1\"><!--report--><h1>Page</h1><!--/report-->";

fn kernel_details() -> String {
    let mut columns = vec!["Type", "Duration(us)"];
    columns.extend(perfdb_store::columns::BASE);
    columns.extend(perfdb_store::columns::METRICS);
    let cells: Vec<&str> = columns.iter().map(|column| if *column == "Type" { "Add" } else { "4" }).collect();
    format!("{}\n{}\n", columns.join(","), cells.join(","))
}

/// The folder of small inputs.
pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}
