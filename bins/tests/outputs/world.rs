//! A folder with something to read for every tool.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) type TestResult = Result<(), Box<dyn Error>>;
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

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

/// Everything that is read, by tool.
fn inputs() -> Vec<(&'static str, String)> {
    let mapping =
        "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}, aten.add.Tensor: {kernel_type: Add}}\n";
    let summary = "OP Type,Task Type,Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n\
                   Add,AI_CORE,5,4;4,FLOAT;FLOAT,ND;ND,4,FLOAT\n";
    let communication =
        "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n1024,2,DT_BF16,0,10.0,2.0\n";
    let question = r#"{"id": 1, "query": {"op": "aten.add.Tensor", "args": [{"shape": [4], "dtype": "float32"}, {"shape": [4], "dtype": "float32"}]}}"#;
    vec![
        ("t.json", TRACE.to_owned()),
        ("p.csv", PASS.to_owned()),
        ("m6.json", "{\"n_forward_passes\": 1, \"m6_ratio\": 1.0}\n".to_owned()),
        ("scenarios.yaml", SCENARIOS.to_owned()),
        ("families.yaml", "MyKernel: mine\n".to_owned()),
        ("gpu1.json", GPU_TRACE.to_owned()),
        ("gpu2.json", GPU_TRACE.to_owned()),
        ("registry.yaml", "rules: []\n".to_owned()),
        ("db/Add.csv", TABLE.to_owned()),
        ("db/op_mapping.yaml", mapping.to_owned()),
        ("q.jsonl", format!("{question}\n")),
        ("further.jsonl", format!("{}\n", question.replace("[4]", "[9]"))),
        ("list.csv", "kernel_type,case,duration,from,from_line,keep\n".to_owned()),
        ("kd/kernel_details.csv", kernel_details()),
        ("PROF_1/mindstudio_profiler_output/op_summary_1.csv", summary.to_owned()),
        ("records.jsonl", "{}\n".to_owned()),
        ("fia/Fia.csv", "Input Shapes\n\"1,2\"\n".to_owned()),
        ("grid/Add.csv", "Input Shapes,Input Data Types\n\"1,2;1,2\",FLOAT;FLOAT\n".to_owned()),
        ("comm/hcom_allReduce_.csv", communication.to_owned()),
    ]
}

fn kernel_details() -> String {
    let mut columns = vec!["Type", "Duration(us)"];
    columns.extend(perfdb_store::columns::BASE);
    columns.extend(perfdb_store::columns::METRICS);
    let cells: Vec<&str> = columns.iter().map(|column| if *column == "Type" { "Add" } else { "4" }).collect();
    format!("{}\n{}\n", columns.join(","), cells.join(","))
}

/// The folder.
pub(crate) struct World(TempDir);

impl World {
    pub(crate) fn new() -> Result<World, Box<dyn Error>> {
        let world = World(TempDir::new()?);
        for (name, content) in inputs() {
            let path = world.at(name);
            fs::create_dir_all(path.parent().ok_or("a folder")?)?;
            fs::write(path, content)?;
        }
        copy(&testdata("golden/generate-comm-microbench/r07-gloo-report/results"), &world.at("results"))?;
        Ok(world)
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Runs a command line: the tool and its arguments, split at blanks.
    pub(crate) fn run(&self, line: &str) -> Result<Output, Box<dyn Error>> {
        let mut words = line.split(' ');
        let tool = words.next().ok_or("a tool")?;
        let mut command = Command::new(assert_cmd::cargo::cargo_bin(tool));
        command.args(words).current_dir(self.0.path()).env("SOURCE_DATE_EPOCH", "1767225600");
        Ok(command.output()?)
    }

    /// All files, by their paths.
    pub(crate) fn files(&self) -> Result<Files, Box<dyn Error>> {
        let mut files = Files::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(path.strip_prefix(self.0.path())?.to_owned(), fs::read(&path)?);
                }
            }
        }
        Ok(files)
    }
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(name)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to)? } else { fs::copy(entry.path(), to).map(drop)? }
    }
    Ok(())
}
