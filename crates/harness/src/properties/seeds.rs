//! Small inputs to start from: shipped files, and what they lack.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// No seed is longer: short inputs are tried more often.
const LONGEST_BYTES: usize = 12 * 1024;

/// Inputs of a property; none of a name that there is not.
///
/// # Errors
/// When a shipped file cannot be read.
pub fn seeds(property: &str) -> io::Result<Vec<Vec<u8>>> {
    match property {
        "chrome_json" => with(
            &[
                "first-database/trace.json",
                "gpu-traces/shapes-h100.json",
                "gpu-traces/shapes-a100.json",
                "ranks/rank0.json",
            ],
            &[
                r#"{"traceEvents": [{"ph": "X", "name": "a", "ts": 1, "dur": 0.5, "args": {"op": "x", "stream": 7}}], "x": NaN}"#,
                r#"[{"ph":"X","cat":"kernel","name":"k\ud83d\ude00","pid":0,"tid":"t","ts":1e3,"dur":-2,"id":"0x1"},{}]"#,
                r#"{"traceEvents": 1, "traceEvents": [{"args": null}], "traceEvents": []}"#,
            ],
        ),
        "comm_results" => Ok(comm_results()),
        "database_csv" => with(
            &[
                "first-database/database/MatMulV2.csv",
                "first-database/hccl/v8.5/hcom_allReduce_.csv",
                "demo-database/HOST_CPU/demo/Add.csv",
            ],
            &[
                "\u{feff}Input Shapes,Average Duration(us)\r\n\"16,512\",5.0\r\n\r\n\"8\",\n1;2,\"x\"\"y\"",
                "a\n\"\"\n",
                "a,b\r1\r",
            ],
        ),
        "fia_jsonl" => with(&["first-database/fia.jsonl"], &["{}\n", "\u{feff}{\"query_shape\": null}\r\n\n"]),
        "gzip" => gzip(),
        "kernel_csv" => with(
            &["first-database/profile/ASCEND_PROFILER_OUTPUT/kernel_details.csv"],
            &[
                "Type,Duration(us)\r\nMatMulV2,12.5\r\n\r\nAdd,0.5",
                "a,\"b\r\nc\"\n\"\"\"\",\"x",
                "\u{feff}a\n1_0\n\"\"\n",
            ],
        ),
        "literals" => with(
            &[],
            &[
                "[('a', 1_0), 0x1F, -1.5e-3, None, True]",
                "('it''s', \"\\u00e9\\x41\\N{BULLET}\", r'\\d')",
                "  [[1, 2], [3]] # shape\n",
                "1_000",
                "+12.5",
            ],
        ),
        "manifests" => with(
            &["scenarios.yaml"],
            &[
                "{\"query\": {\"op\": \"aten.mm.default\", \"inputs\": [{\"shape\": [16, 512], \"dtype\": \"bf16\"}, \
             {\"shape\": [512, 8], \"dtype\": \"bf16\"}]}, \"calls\": 3, \"critical\": true, \"id\": \"decode\"}\n",
                "format_version = 1\ndevice = \"A\"\nnote = 1\n[versions]\ncann = \"8.5\"\n[[run]]\ndate = \"2026-01-01\"\ntool = \"t\"\n",
                "{\"format\":\"perfdb.shard/1\",\"status\":\"complete\",\"shard\":1,\"of\":2,\"tool\":\"t\",\"version\":\"0.1.0\",\
             \"arguments\":[\"-a\"],\"cases\":{\"all\":2,\"sha256\":\"00\",\"own\":1,\"failed\":0},\"inputs\":[],\"case_inputs\":[],\
             \"files\":[]}",
            ],
        ),
        "parquet_import" => parquet_import(),
        "shape_expressions" => with(
            &[],
            &[
                "(tokens, D // 2)",
                "max(16, (tokens + block - 1) // block)",
                "tokens if n > 1 else D % 7",
                "-(D ** 2) / 3 <= n and not tokens == 1",
                "\"16,512; (2048, 512);N/A;\"",
            ],
        ),
        "worker_protocol" => Ok(worker_protocol()),
        "yaml" => with(
            &["first-database/op_mapping.yaml", "demo-database/rules.yaml", "scenarios/op_mapping.yaml"],
            &[
                "a: &x {kernel_type: A}\nb: *x\noperator_mappings: {torch.ops.c: {sub_kernels: [1, ~]}}\n",
                "- 1_000\n- 0x1F\n- .inf\n- 2001-01-01\n- |\n  text\n- \"\\u00e9\"\n",
            ],
        ),
        _ => Ok(Vec::new()),
    }
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Shipped files where they are short, and texts.
fn with(files: &[&str], texts: &[&str]) -> io::Result<Vec<Vec<u8>>> {
    let mut seeds: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    for file in files {
        let mut bytes = fs::read(testdata().join(file))?;
        bytes.truncate(LONGEST_BYTES);
        seeds.push(bytes);
    }
    Ok(seeds)
}

fn comm_results() -> Vec<Vec<u8>> {
    let lines = "{\"config\": 0, \"api\": \"all_reduce\", \"samples_us\": [24.5, 17, 22.25], \"verified\": true}\n\
                 {\"config\": 1, \"error\": \"out of memory\"}\n{\"done\": true}\n";
    let kernel = crate::properties::comm_results::RUN.replace("event", "profiler").replace("gloo", "hccl");
    let plan = crate::properties::comm_results::PLAN;
    [
        lines.to_owned(),
        format!("{lines}\0{kernel}"),
        format!("{lines}\0{}\0{plan}", crate::properties::comm_results::RUN),
    ]
    .map(String::into_bytes)
    .into()
}

fn gzip() -> io::Result<Vec<Vec<u8>>> {
    let member = |text: &str, level| {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish())
    };
    let text = "{\"traceEvents\": [{\"ph\": \"X\"}]}";
    let stored = member(text, Compression::none())?;
    let packed = member(&text.repeat(20), Compression::best())?;
    let two = [stored.clone(), packed.clone(), vec![0; 8]].concat();
    Ok(vec![stored, packed, two, text.into()])
}

/// Exports of small databases.
fn parquet_import() -> io::Result<Vec<Vec<u8>>> {
    let folder = tempfile::tempdir()?;
    let [database, tables] = ["database", "tables"].map(|name| folder.path().join(name));
    fs::create_dir(&database)?;
    fs::write(
        database.join("A.csv"),
        "Input Shapes,Average Duration(us)\r\n\"16,512\",5.0\r\n\r\n\"8\",\n1;2,\"x\"\"y\"",
    )?;
    fs::copy(testdata().join("first-database/database/MatMulV2.csv"), database.join("B.csv"))?;
    perfdb_store::parquet::export(&database, &tables).map_err(io::Error::other)?;
    ["A.parquet", "B.parquet"].into_iter().map(|name| fs::read(tables.join(name))).collect()
}

fn worker_protocol() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"type":"hello","protocol":1,"worker":"w","backend":"torch-cpu","device":"cpu","device_index":0,"timing":"worker","ops":["Add"],"versions":{"torch":null}}"#,
        r#"{"type":"result","id":1,"api":"torch.mm","outputs":[{"shape":[136,768],"dtype":"bfloat16","values":[1,"nan"]}],"samples":[[1.5,2]]}"#,
        r#"{"type":"error","id":3,"kind":"rejected","exception":"RuntimeError","message":"no","completed":0}"#,
        "{\"type\":\"log\",\"level\":\"warn\",\"message\":\"…\"}\nnoise\n{\"type\":\"progress\",\"id\":1,\"done\":3}\n{\"type\":\"bye\"}\n",
        r#"{"v":1,"op":"MatMulV2","csv":"db/MatMulV2.csv","row":2,"status":"ok","api":"torch.mm","inputs":[{"name":"a","shape":[136,5120],"dtype":"bfloat16","format":"ND","init":{"kind":"uniform","low":-1,"high":1}},{"name":"b","shape":[5120,768],"dtype":"bfloat16","format":"FRACTAL_NZ","init":{"kind":"values","values":[1,2]},"view":"t","storage":[768,5120]}],"args":[{"tensor":"a"},[1,{"dtype":"float16"}]],"kwargs":{"x":null},"outputs":[{"shape":[136,768],"dtype":"bfloat16"}],"check":"warn","repeat":30,"warmup":0,"fresh_inputs":false}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}
