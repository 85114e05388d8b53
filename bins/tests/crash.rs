//! Every tool that writes is ended, or refused by the system, at every call that changes a file. Whatever happens: each file is old or new, an
//! error leaves all of them old, the same command again completes the work, and nothing is left behind.
//!
//! `PERFDB_FAULT=<n>:<kind>` has the n-th such call meet with a fault; the feature `fault-injection` of perfdb-files, which is on in tests alone.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;
type Files = BTreeMap<PathBuf, Vec<u8>>;

const FAULTS: [&str; 6] = ["kill", "enospc", "eio", "term", "int", "hup"];
const SHAPES: &str = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types";

/// A command, the folder in which it runs, and what is looked at afterwards.
struct Scene {
    program: &'static str,
    arguments: Vec<&'static str>,
    /// What is there before.
    files: Vec<(&'static str, String)>,
    /// The folders and files that the command may change; what is in them is compared.
    outputs: Vec<&'static str>,
}

impl Scene {
    fn folder(&self) -> Result<TempDir, Box<dyn Error>> {
        let folder = TempDir::new()?;
        for (name, content) in &self.files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().ok_or("a folder")?)?;
            fs::write(path, content)?;
        }
        Ok(folder)
    }

    fn run(&self, folder: &Path, fault: Option<&str>) -> std::io::Result<Output> {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin(self.program));
        command
            .args(&self.arguments)
            .current_dir(folder)
            .env("SOURCE_DATE_EPOCH", "1767225600")
            .env_remove("PERFDB_FAULT");
        if let Some(fault) = fault {
            command.env("PERFDB_FAULT", fault);
        }
        command.output()
    }

    /// All files of the outputs, by their paths.
    fn found(&self, folder: &Path) -> Result<Files, Box<dyn Error>> {
        let mut files = Files::new();
        let mut waiting: Vec<PathBuf> = self.outputs.iter().map(|output| folder.join(output)).collect();
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                for entry in fs::read_dir(&path)? {
                    waiting.push(entry?.path());
                }
            } else if path.exists() {
                files.insert(path.strip_prefix(folder)?.to_owned(), fs::read(&path)?);
            }
        }
        Ok(files)
    }

    /// Runs the command with a fault of every kind at every call in turn.
    fn survives_every_fault(&self) -> TestResult {
        self.survives_all(&FAULTS)
    }

    /// One fault of each sort: the call that fails, the signal that can be caught, the one that cannot.
    fn survives_one_of_each_sort(&self) -> TestResult {
        self.survives_all(&["kill", "enospc", "term"])
    }

    fn survives_all(&self, faults: &[&str]) -> TestResult {
        let folder = self.folder()?;
        let old = self.found(folder.path())?;
        let output = self.run(folder.path(), None)?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let new = self.found(folder.path())?;
        assert!(new.keys().all(|path| !is_left_over(path)), "{:?}", new.keys());
        assert_ne!(old, new);
        for fault in faults {
            let mut at = 1;
            while self
                .survives(fault, at, &old, &new)
                .map_err(|error| format!("{} {fault} at {at}: {error}", self.program))?
            {
                at += 1;
            }
            assert!(at > 4, "{fault} met only {at} calls of {}", self.program);
        }
        Ok(())
    }

    /// Whether the run came to that call.
    fn survives(&self, fault: &str, at: u32, old: &Files, new: &Files) -> Result<bool, Box<dyn Error>> {
        let folder = self.folder()?;
        let output = self.run(folder.path(), Some(&format!("{at}:{fault}")))?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if !stderr.contains("fault: ") {
            assert!(output.status.success(), "{stderr}");
            return Ok(false);
        }
        let found = self.found(folder.path())?;
        let place = format!("{} {fault} at {at} ({})", self.program, stderr.trim());
        for (path, content) in &found {
            let is_known = [old, new].iter().any(|files| files.get(path) == Some(content));
            assert!(is_known || is_left_over(path), "{place}: {} is neither old nor new", path.display());
        }
        assert!(old.keys().all(|path| found.contains_key(path)), "{place}: a file is gone: {:?}", found.keys());
        match output.status.code() {
            Some(0) => assert_eq!(found.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>(), "{place}"),
            Some(_) if output.status.signal().is_none() && stderr.contains("error: ") => {
                assert_eq!(&found, old, "{place}: an error changed files");
            }
            _ => {}
        }
        self.check_again(folder.path(), fault, &place, &found, new, |_| true)?;
        Ok(true)
    }

    /// Nothing is left behind, and the same command again completes the work: the files that count are the new ones.
    fn check_again(
        &self,
        folder: &Path,
        fault: &str,
        place: &str,
        found: &Files,
        new: &Files,
        counts: impl Fn(&Path) -> bool,
    ) -> Result<(), Box<dyn Error>> {
        if fault != "kill" {
            assert!(found.keys().all(|path| !is_left_over(path)), "{place}: left behind: {:?}", found.keys());
        }
        let again = self.run(folder, None)?;
        assert!(again.status.success(), "{place}: then {}", String::from_utf8_lossy(&again.stderr));
        let end = self.found(folder)?;
        assert!(end.keys().all(|path| !is_left_over(path)), "{place}: not removed: {:?}", end.keys());
        for (path, content) in new.iter().filter(|(path, _)| counts(path)) {
            assert_eq!(end.get(path), Some(content), "{place}: {} after the same command again", path.display());
        }
        Ok(())
    }
}

/// Temporaries, locks and journals.
fn is_left_over(path: &Path) -> bool {
    path.iter().any(|name| name.to_string_lossy().starts_with('.'))
}

fn kernel_details() -> String {
    let mut columns = vec!["Type".to_owned(), "Duration(us)".to_owned()];
    columns.extend(perfdb_store::columns::BASE.map(str::to_owned));
    columns.extend(perfdb_store::columns::METRICS.map(str::to_owned));
    let mut text = columns.join(",") + "\n";
    for (row, kernel) in ["Add", "Mul", "Sort", "Add"].into_iter().enumerate() {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| match column.as_str() {
                "Type" => kernel.to_owned(),
                _ => (row + 1).to_string(),
            })
            .collect();
        text.push_str(&(cells.join(",") + "\n"));
    }
    text
}

#[test]
fn parse_kernel_details() -> TestResult {
    let measured = "Input Shapes,Average Duration(us)\r\n4,5.000000\r\n".to_owned();
    Scene {
        program: "parse-kernel-details",
        arguments: vec!["--profiling-path", "kernel_details.csv", "--database-path", "db", "--json", "summary.json"],
        files: vec![
            ("kernel_details.csv", kernel_details()),
            ("db/Add.csv", measured.clone()),
            ("db/Other.csv", measured),
        ],
        outputs: vec!["db", "summary.json"],
    }
    .tables_alone()
}

#[test]
fn start_microbench_on_a_new_database() -> TestResult {
    let rows = ["Add", "Sort", "Cast"].map(|op| format!("{op},AI_CORE,5,4,DT_BF16,ND,4,DT_BF16\n")).concat();
    let summary = format!("OP Type,Task Type,Task Duration(us),{SHAPES}\n{rows}");
    Scene {
        program: "start-microbench",
        arguments: vec!["--prof-path", "PROF_1", "--database-path", "db"],
        files: vec![("PROF_1/mindstudio_profiler_output/op_summary_1.csv", summary)],
        outputs: vec!["db"],
    }
    .tables_alone()
}

#[test]
fn fill_fia_runtime_metadata() -> TestResult {
    Scene {
        program: "fill-fia-runtime-metadata",
        arguments: vec!["--csv-path", "db/Fia.csv", "--jsonl-path", "records.jsonl", "--output-path", "db/Filled.csv"],
        files: vec![("db/Fia.csv", "Input Shapes\n\"1,2\"\n".to_owned()), ("records.jsonl", "{}\n".to_owned())],
        outputs: vec!["db"],
    }
    .survives_every_fault()
}

#[test]
fn generate_shape_grid() -> TestResult {
    let table = |shape: &str| format!("Input Shapes,Input Data Types\n\"{shape};{shape}\",FLOAT;FLOAT\n");
    let arguments = vec!["--database-path", "db", "--rows", "3", "--seed", "1", "--json", "summary.json"];
    let files = vec![("db/Add.csv", table("1,2")), ("db/Mul.csv", table("3,4")), ("db/Sub.csv", table("5,6"))];
    Scene { program: "generate-shape-grid", arguments, files, outputs: vec!["db"] }.first_run_alone()
}

#[test]
fn rows_that_op_replay_drops_are_kept_once() -> TestResult {
    let header = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\n";
    let table = format!("{header}x;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND\n4;4,FLOAT;FLOAT,ND;ND,4,FLOAT,ND\n");
    let arguments =
        ["Add", "--csv", "db/Add.csv", "--invalid-rows", "drop", "--backend", "native", "--repeat-count", "1"];
    let arguments = arguments.into_iter().chain(["--output", "out", "--run-id", "1"]).collect();
    Scene { program: "op-replay", arguments, files: vec![("db/Add.csv", table)], outputs: vec!["db"] }.tables_alone()
}

#[test]
fn merge_databases() -> TestResult {
    let table = |rows: &str| format!("Input Shapes,Average Duration(us)\n{rows}");
    Scene {
        program: "merge-databases",
        arguments: vec!["db", "ana", "wei", "--prefer", "fastest"],
        files: vec![
            ("db/Add.csv", table("4,5\n8,\n")),
            ("ana/Add.csv", table("4,3\n8,7\n16,9\n")),
            ("wei/Add.csv", table("4,4\n")),
            ("wei/Mul.csv", table("4,4\n")),
            ("wei/op_mapping.yaml", MAPPING.to_owned()),
        ],
        outputs: vec!["db"],
    }
    .survives_every_fault()
}

impl Scene {
    /// Reports have a name of their own for every run; the tables are the same whatever happened before.
    fn tables_alone(self) -> TestResult {
        self.survives_with(|path| {
            path.extension().is_some_and(|ending| ending == "csv") && path.parent() == Some(Path::new("db"))
        })
    }

    /// A second run draws again.
    fn first_run_alone(self) -> TestResult {
        self.survives_with(|_| false)
    }

    /// [`Scene::survives_every_fault`], where the command again gives the same only for some files.
    fn survives_with(self, is_the_same: impl Fn(&Path) -> bool) -> TestResult {
        let folder = self.folder()?;
        let old = self.found(folder.path())?;
        let output = self.run(folder.path(), None)?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let new = self.found(folder.path())?;
        assert_ne!(old, new);
        for fault in FAULTS {
            let mut at = 1;
            loop {
                let folder = self.folder()?;
                let output = self.run(folder.path(), Some(&format!("{at}:{fault}")))?;
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                if !stderr.contains("fault: ") {
                    break;
                }
                let place = format!("{} {fault} at {at} ({})", self.program, stderr.trim());
                let found = self.found(folder.path())?;
                for (path, content) in &found {
                    let is_known = [&old, &new].iter().any(|files| files.get(path) == Some(content));
                    assert!(is_known || is_left_over(path), "{place}: {} is neither old nor new", path.display());
                }
                if output.status.code() == Some(1) {
                    let tables = |files: &Files| {
                        files
                            .iter()
                            .filter(|(path, _)| is_the_same(path))
                            .map(|(path, content)| (path.clone(), content.clone()))
                            .collect::<Files>()
                    };
                    assert!(tables(&found) == tables(&old), "{place}: an error changed tables");
                }
                self.check_again(folder.path(), fault, &place, &found, &new, &is_the_same)?;
                at += 1;
            }
            assert!(at > 4, "{fault} met only {at} calls of {}", self.program);
        }
        Ok(())
    }
}

const TRACE: &str = r#"{"traceEvents": [
{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}},
{"name": "aten.mm.default", "ph": "X", "ts": 0, "dur": 90, "pid": 0, "tid": 0, "args": {"simulation_shapes": "[[16, 5120], [5120, 768]]", "source": "MEASURED", "kernel_type": "MatMulV2"}}]}"#;
const PASS: &str = "Type,Start Time(us),Duration(us),Input Shapes\nMatMulV2,0.5\t,100,\"\"\"16,5120;5120,768\"\"\"\n";
const GPU_TRACE: &str = r#"{"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"stream": 7, "correlation": 1}}]}"#;
const MAPPING: &str = "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}\n";

/// A command line that writes `outputs`, of which the first is there already.
fn writes(line: &'static str, outputs: &[&'static str]) -> TestResult {
    let mut words = line.split(' ');
    let mut files: Vec<(&'static str, String)> = vec![
        ("t.json", TRACE.to_owned()),
        ("p.csv", PASS.to_owned()),
        ("gpu.json", GPU_TRACE.to_owned()),
        ("db/op_mapping.yaml", MAPPING.to_owned()),
        ("db/MatMulV2.csv", format!("{SHAPES},Average Duration(us)\n\"16,5120;5120,768\",A;A,ND;ND,\"16,768\",A,5\n")),
        ("db2/MatMulV2.csv", "Input Shapes,Average Duration(us)\n1,1\n".to_owned()),
        ("q.jsonl", "{\"id\": 1, \"query\": {\"kernel\": \"MatMulV2\", \"inputs\": []}}\n".to_owned()),
    ];
    files.extend(outputs.first().map(|first| (*first, "old".to_owned())));
    let program = words.next().ok_or("a program")?;
    Scene { program, arguments: words.collect(), files, outputs: outputs.to_vec() }.survives_one_of_each_sort()
}

#[test]
fn the_comparisons() -> TestResult {
    writes("compute-m6 --tc-trace t.json --prof-trace p.csv --json-output o.json", &["o.json"])?;
    writes("generate-per-shape-comparison --tc-trace t.json --prof-trace p.csv --output o.csv", &["o.csv"])?;
    writes("trace-to-csv --trace t.json --output o.csv", &["o.csv"])?;
    writes("compare-traces gpu.json gpu.json --output o.txt", &["o.txt"])
}

#[test]
fn the_comparisons_with_several_outputs() -> TestResult {
    let line = "generate-op-comparison --data-dir db --tc-trace t.json --prof-trace p.csv --output o.json --csv o.csv";
    writes(line, &["o.json", "o.csv"])?;
    let line = "explain-prediction --tc-trace t.json --prof-trace p.csv --data-dir db --json o.json --html o.html";
    writes(line, &["o.json", "o.html"])
}

#[test]
fn traces_and_questions() -> TestResult {
    writes("run-comm-bench --plan-out o.json", &["o.json"])?;
    writes("cut-forward-pass p.csv --pass 1 --output o.csv --json o.json", &["o.csv", "o.json"])?;
    writes("check-trace t.json --repair o.json", &["o.json"])?;
    writes("evaluate-database --database-path db --json o.json --html o.html", &["o.json", "o.html"])?;
    writes("audit-coverage --database-path db --manifest q.jsonl --json o.json --csv o.csv", &["o.json", "o.csv"])?;
    writes("query-database --database-path db --manifest q.jsonl --json o.json --csv o.csv", &["o.json", "o.csv"])?;
    writes("diff-databases db db2 --json o.json --csv o.csv", &["o.json", "o.csv"])
}

#[test]
fn a_shard_in_place_of_an_earlier_one() -> TestResult {
    let scenarios = "scenarios:\n- {name: one, trace_csv: p.csv, tc_trace: t.json}\n".to_owned();
    for earlier in [None, Some(("parts/shard-1-of-2/manifest.json", "earlier".to_owned()))] {
        let mut files = vec![
            ("t.json", TRACE.to_owned()),
            ("p.csv", PASS.to_owned()),
            ("scenarios.yaml", scenarios.clone()),
            ("db/op_mapping.yaml", MAPPING.to_owned()),
            ("db/MatMulV2.csv", format!("{SHAPES},Average Duration(us)\n")),
        ];
        files.extend(earlier);
        let line = "--scenarios scenarios.yaml --data-dir db --shard 1/2 --shard-dir parts";
        let arguments = line.split(' ').collect();
        Scene { program: "explain-prediction", arguments, files, outputs: vec!["parts"] }.survives_every_fault()?;
    }
    Ok(())
}

#[test]
fn tables_of_collectives() -> TestResult {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata/golden/generate-comm-microbench/r07-gloo-report/results");
    let read = |name: &str| fs::read_to_string(folder.join(name));
    let files = vec![
        ("results/plan.json", read("plan.json")?),
        ("results/run.json", read("run.json")?),
        ("results/rank0.jsonl", read("rank0.jsonl")?),
        ("results/rank1.jsonl", read("rank1.jsonl")?),
        ("results/rank2.jsonl", read("rank2.jsonl")?),
        ("results/rank3.jsonl", read("rank3.jsonl")?),
    ];
    let mut arguments = vec!["--from-results", "results", "--output-dir", "out", "--report", "report.csv"];
    arguments.extend(["--measured-by", "Ana"]);
    let outputs = vec!["out", "report.csv"];
    Scene { program: "generate-comm-microbench", arguments, files, outputs }.survives_one_of_each_sort()
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_leaves_nothing() -> TestResult {
    let scene = Scene {
        program: "parse-kernel-details",
        arguments: Vec::new(),
        files: vec![("kernel_details.csv", kernel_details())],
        outputs: vec!["db"],
    };
    let folder = scene.folder()?;
    let tool = assert_cmd::cargo::cargo_bin("parse-kernel-details");
    // The system sends SIGXFSZ to whoever writes beyond the limit, and ends who does not expect it.
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 1; exec \"$0\" --profiling-path kernel_details.csv --database-path db"])
        .arg(tool)
        .current_dir(folder.path())
        .output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(scene.found(folder.path())?.is_empty() && !folder.path().join("db").exists());
    Ok(())
}
