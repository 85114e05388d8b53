//! query-database as it is called: exit statuses, what people read, answers for programs.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::error::Error;
use std::path::{Path, PathBuf};

type TestResult = Result<(), Box<dyn Error>>;

const MAPPING: &str = "\
version: '1.0'
operator_mappings:
  aten.mm.default:
    kernel_type: MatMulV2
";
const ROWS: &str = "\
Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Duration(us)
\"\"\"16,512;512,768\"\"\",DT_BF16;DT_BF16,ND;ND,\"\"\"16,768\"\"\",DT_BF16,ND,5.0
\"\"\"64,512;512,768\"\"\",DT_BF16;DT_BF16,ND;ND,\"\"\"64,768\"\"\",DT_BF16,ND,20.0
";

struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A small database.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Result<Folder, Box<dyn Error>> {
        let folder = Folder(tempfile::tempdir()?);
        std::fs::create_dir(folder.0.path().join("db"))?;
        std::fs::write(folder.0.path().join("db/op_mapping.yaml"), MAPPING)?;
        std::fs::write(folder.0.path().join("db/MatMulV2.csv"), ROWS)?;
        Ok(folder)
    }

    fn run(&self, arguments: &[&str], stdin: &str) -> Result<Ran, Box<dyn Error>> {
        run(self.0.path(), &[&["--database-path", "db"], arguments].concat(), stdin)
    }
}

fn run(folder: &Path, arguments: &[&str], stdin: &str) -> Result<Ran, Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_query-database"));
    let output = command.current_dir(folder).args(arguments).write_stdin(stdin).output()?;
    Ok(Ran {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

const EXACT: [&str; 3] = ["aten.mm.default", "16,512:bf16", "512,768:bf16"];
const BETWEEN: [&str; 3] = ["aten.mm.default", "40,512:bf16", "512,768:bf16"];
const OUTSIDE: [&str; 3] = ["aten.mm.default", "40,513:bf16", "513,768:bf16"];

#[test]
fn exit_statuses() -> TestResult {
    let folder = Folder::new()?;
    let status = |arguments: &[&str]| -> Result<Option<i32>, Box<dyn Error>> { Ok(folder.run(arguments, "")?.status) };
    assert_eq!(status(&EXACT)?, Some(0));
    // Without an answer a person's query has failed; a program reads that there is none.
    assert_eq!(status(&OUTSIDE)?, Some(1));
    assert_eq!(status(&[&OUTSIDE[..], &["--json", "-"]].concat())?, Some(0));
    assert_eq!(status(&[&OUTSIDE[..], &["--require"]].concat())?, Some(3));
    assert_eq!(status(&[&BETWEEN[..], &["--require"]].concat())?, Some(0));
    assert_eq!(status(&[&BETWEEN[..], &["--require", "--layer", "measured"]].concat())?, Some(3));
    // A list without queries answers nothing; a program reads an empty list.
    assert_eq!(status(&[])?, Some(1));
    assert!(folder.run(&[], "\n")?.stderr.starts_with("error: stdin: no query in it; "));
    assert_eq!(status(&["--json", "-"])?, Some(0));
    assert_eq!(status(&["aten.mm.default", "16"])?, Some(1));
    assert_eq!(status(&["aten.mm.default", "16,512"])?, Some(2));
    assert_eq!(status(&["aten.mm.default", "16,512:bf17"])?, Some(2));
    assert_eq!(status(&[&EXACT[..], &["--json", "-", "--csv", "-"]].concat())?, Some(2));
    assert_eq!(status(&["--compare"])?, Some(2));
    assert_eq!(status(&["--manifest", "nothing.jsonl"])?, Some(1));
    assert_eq!(status(&["--from-trace", "db/MatMulV2.csv"])?, Some(1));
    Ok(())
}

#[test]
fn a_kernel_is_asked_like_an_operator() -> TestResult {
    let folder = Folder::new()?;
    let kernel = ["--kernel", "MatMulV2", "--input-shapes", "16,512;512,768", "--types", "DT_BF16", "--csv", "-"];
    assert_eq!(
        folder.run(&kernel, "")?.stdout,
        "query,duration_us,source,confidence,kernel_type,rule,rows,reason\n\
         MatMulV2,5,MEASURED,1,MatMulV2,identity,MatMulV2.csv:2,\n"
    );
    Ok(())
}

#[test]
fn options_may_stand_behind_the_arguments() -> TestResult {
    let folder = Folder::new()?;
    let ran = folder.run(&[&EXACT[..], &["--json", "-"]].concat(), "")?;
    assert_eq!(ran.stdout.lines().count(), 1);
    assert!(
        ran.stdout.starts_with(
            r#"{"id": null, "format_version": 2, "answer": {"hit": true, "duration_us": 5.0, "latency_us": 5.0, "#
        ),
        "{}",
        ran.stdout
    );
    let line: Value = serde_json::from_str(&ran.stdout)?;
    assert_eq!((&line["answer"]["duration_us"], &line["answer"]["rows"]), (&json!(5.0), &json!(["MatMulV2.csv:2"])));
    Ok(())
}

#[test]
fn what_people_read() -> TestResult {
    let folder = Folder::new()?;
    let mut text = String::new();
    for arguments in [
        EXACT.to_vec(),
        [&BETWEEN[..], &["--explain", "--nearest", "2"]].concat(),
        OUTSIDE.to_vec(),
        vec!["aten.what.default", "--explain"],
    ] {
        let ran = folder.run(&arguments, "")?;
        text.push_str(&format!("$ query-database {}\n{}{}\n", arguments.join(" "), ran.stdout, ran.stderr));
    }
    insta::assert_snapshot!(text);
    Ok(())
}

#[test]
fn stdout_is_for_programs_alone_where_they_read_it() -> TestResult {
    let folder = Folder::new()?;
    let plain = folder.run(&[&BETWEEN[..], &["--json", "-"]].concat(), "")?;
    let explained = folder.run(&[&BETWEEN[..], &["--json", "-", "--explain", "--nearest", "1"]].concat(), "")?;
    assert_eq!(plain.stdout, explained.stdout);
    assert_eq!(plain.stderr, "");
    assert!(explained.stderr.contains("how aten.mm.default was looked up"), "{}", explained.stderr);
    assert!(explained.stderr.contains("nearest rows to aten.mm.default"), "{}", explained.stderr);
    Ok(())
}

#[test]
fn a_malformed_manifest_is_told_with_line_and_field() -> TestResult {
    let folder = Folder::new()?;
    for (line, message) in [
        ("{", "not JSON: EOF while parsing an object at column 1"),
        ("[]", "not an object"),
        (r#"{"id": 1}"#, "query: missing"),
        (r#"{"query": []}"#, "query: not an object"),
        (r#"{"query": {"opp": "x"}}"#, "query.opp: unknown field"),
        (
            r#"{"query": {"op": "x", "inputs": [{"shape": [1, -2], "dtype": "bf16"}]}}"#,
            "query.inputs[0].shape: a dimension below 0",
        ),
        (r#"{"query": {"op": "x", "inputs": [null, {"shape": [1], "dtype": "b"}]}}"#, "query.inputs[0]: not a tensor"),
        (
            r#"{"query": {"op": "x", "args": [null, {"shape": [1], "dtype": "b"}]}}"#,
            r#"query.args[1].dtype: unknown data type "b""#,
        ),
    ] {
        let text = format!("{{\"query\": {{\"op\": \"x\"}}}}\n\n{line}\n");
        let ran = folder.run(&["--json", "-"], &text)?;
        // What was asked before is answered.
        assert_eq!((ran.status, ran.stdout.lines().count()), (Some(1), 1), "{line}");
        assert_eq!(ran.stderr, format!("error: stdin:3: {message}\n"));
    }
    Ok(())
}

/// An answer at the first or second try: by the folder alone, by near names, in either spelling of a tensor.
#[test]
fn a_newcomer_gets_an_answer() -> TestResult {
    let folder = Folder::new()?;
    let ask = |arguments: &[&str]| run(folder.0.path(), &[&["db"], arguments].concat(), "");
    for (name, hint) in [
        ("mm", "did you mean aten.mm.default?"),
        ("aten.mm", "did you mean aten.mm.default?"),
        ("matmulv2", "MatMulV2 is a table: use --kernel MatMulV2"),
        ("zzz", "--list shows what is here (operators: 1, tables: 1)"),
    ] {
        let ran = ask(&[name, "16,512:bf16"])?;
        assert_eq!((ran.status, ran.stderr), (Some(1), format!("error: {name}: no answer; {hint}\n")));
    }
    let row = "MatMulV2: 5.000 µs, measured\n  kernel MatMulV2, rows MatMulV2.csv:2, rule identity, confidence 1.00\n";
    for arguments in [
        &["--kernel", "MatMulV2", "16,512:bf16", "512,768:bf16"][..],
        &["--kernel", "MatMulV2", "16x512", "512x768"],
        &["--kernel", "MatMulV2", "--input-shapes", "16x512 512,768"],
    ] {
        let ran = ask(arguments)?;
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), (row, ""), "{arguments:?}");
    }
    let list = "tables: 1, measured rows: 2, operators: 1\n\n\
                kernel (--kernel)  rows\nMatMulV2              2\n\n\
                operator         kernels\naten.mm.default  MatMulV2\n";
    for arguments in [&["--list"][..], &["--list", "mm"]] {
        assert_eq!(ask(arguments)?.stdout, list);
    }
    assert_eq!(ask(&["--from-trace", "t.json", "x"])?.status, Some(2));
    let above = run(folder.0.path(), &[".", "aten.mm.default"], "")?;
    let line =
        "error: .: not a database: neither a table (*.csv) nor op_mapping.yaml is in it; databases below it: db\n";
    assert_eq!((above.status, above.stderr.as_str()), (Some(1), line));
    Ok(())
}

/// A total, shapes and calls; what costs nothing is counted.
#[test]
fn a_trace_is_read_as_what_it_costs() -> TestResult {
    let folder = Folder::new()?;
    let mapping = format!("{MAPPING}  aten.view.default:\n    zero_cost: true\n");
    std::fs::write(folder.0.path().join("db/op_mapping.yaml"), mapping)?;
    let event = |name: &str, tokens: u32| {
        let tensor = |size: &str| format!("tensor(..., device='meta', size=({size}), dtype=torch.bfloat16)");
        let inputs = format!("({}, {}) kwargs: {{}}", tensor(&format!("{tokens}, 512")), tensor("512, 768"));
        json!({"name": name, "cat": "empirical", "ph": "X", "ts": 0, "dur": 5, "pid": 0, "tid": 0,
               "args": {"Inputs": inputs, "Output": "None", "simulation_shapes": "[]", "source": "MEASURED"}})
    };
    let mm = "aten.mm.default";
    let events = [event(mm, 16), event(mm, 16), event(mm, 64), event("aten.view.default", 16), event(mm, 9999)];
    std::fs::write(folder.0.path().join("t.json"), json!({ "traceEvents": events }).to_string())?;
    let ran = folder.run(&["--from-trace", "t.json"], "")?;
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
    let expected = "\
total 30.0 µs; 5 calls: 4 measured, 1 without an answer
total us  calls      us  source    operator         inputs          rows
    20.0      1  20.000  MEASURED  aten.mm.default  64,512 512,768  MatMulV2.csv:3
    10.0      2   5.000  MEASURED  aten.mm.default  16,512 512,768  MatMulV2.csv:2
calls that cost nothing (views and the like), not listed: 1

no answer to aten.mm.default 9999,512 512,768: ";
    assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
    let ran = folder.run(&["--from-trace", "t.json", "--json", "-"], "")?;
    let first: Value = serde_json::from_str(ran.stdout.lines().next().ok_or("nothing")?)?;
    assert_eq!((&first["calls"], &first["input_shapes"]), (&json!(2), &json!("16,512 512,768")));
    Ok(())
}

#[test]
fn what_goes_to_a_file_quietly_goes_there_alone() -> TestResult {
    let folder = Folder::new()?;
    for (option, name) in [("--json", "a.json"), ("--csv", "a.csv")] {
        let ran = folder.run(&[&EXACT[..], &[option, name, "-q"]].concat(), "")?;
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""), "{option}");
        assert!(std::fs::read_to_string(folder.0.path().join(name))?.contains("MatMulV2"));
    }
    Ok(())
}

/// Whoever asks one question at a time, and waits for the answer, gets it.
#[test]
fn a_question_is_answered_before_the_next_one_is_there() -> TestResult {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};

    let folder = Folder::new()?;
    let mut child = Command::new(env!("CARGO_BIN_EXE_query-database"))
        .current_dir(folder.0.path())
        .args(["--database-path", "db", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no stdin")?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
    for id in 0..3 {
        writeln!(input, r#"{{"id": {id}, "query": {{"op": "aten.mm.default", "inputs": []}}}}"#)?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        assert_eq!(serde_json::from_str::<Value>(&line)?["id"], json!(id));
    }
    drop(input);
    assert!(child.wait()?.success());
    Ok(())
}

#[test]
fn a_manifest_that_breaks_off_leaves_the_file_of_answers_as_it_was() -> TestResult {
    let folder = Folder::new()?;
    std::fs::write(folder.0.path().join("answers.jsonl"), "before\n")?;
    let question = r#"{"query": {"op": "aten.mm.default", "inputs": []}}"#;
    let ran = folder.run(&["--json", "answers.jsonl"], &format!("{question}\n{{\n"))?;
    assert_eq!(ran.status, Some(1));
    assert_eq!(std::fs::read_to_string(folder.0.path().join("answers.jsonl"))?, "before\n");
    let ran = folder.run(&["--json", "answers.jsonl"], &format!("{question}\n{question}\n"))?;
    assert_eq!(ran.status, Some(0));
    assert_eq!(std::fs::read_to_string(folder.0.path().join("answers.jsonl"))?.lines().count(), 2);
    Ok(())
}

/// Of a large table the near rows are named, and of the others it is counted in what they differ.
#[test]
fn large_tables_are_explained_by_their_nearest_rows() -> TestResult {
    let folder = Folder::new()?;
    let mut table = ROWS.to_owned();
    for at in 0..30 {
        let types = if at % 3 == 0 { "FLOAT;INT8" } else { "DT_BF16;DT_BF16" };
        table.push_str(&format!("\"{},512;512,768\",{types},ND;ND,,,,1\n", 1000 + at));
    }
    std::fs::write(folder.0.path().join("db/MatMulV2.csv"), table)?;
    let ran = folder.run(&[&BETWEEN[..], &["--explain"]].concat(), "")?;
    assert!(ran.stdout.contains("  MatMulV2: 32 rows with a duration"), "{}", ran.stdout);
    assert!(ran.stdout.contains("    12 more rows: 2 differ in sizes, 10 differ in types"), "{}", ran.stdout);
    Ok(())
}

#[test]
fn a_trace_without_lookups_is_no_agreement() -> TestResult {
    let folder = Folder::new()?;
    std::fs::write(folder.0.path().join("t.json"), r#"{"traceEvents": []}"#)?;
    let ran = folder.run(&["--from-trace", "t.json", "--compare"], "")?;
    assert_eq!((ran.status, ran.stderr.lines().count()), (Some(1), 1));
    assert!(ran.stderr.starts_with("error: t.json: no calls that were looked up"), "{}", ran.stderr);
    Ok(())
}

/// The vectors of the newest reader, through the program: one line comes back for each, in order, with the same answer.
#[test]
fn a_manifest_of_vectors_comes_back_answered() -> TestResult {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/golden/lookup-newest");
    let vectors: Value = serde_json::from_str(&std::fs::read_to_string(golden.join("vectors.json"))?)?;
    let database = vectors["database"].as_str().ok_or("no database")?;
    let cases = vectors["cases"].as_array().ok_or("no cases")?;
    let manifest: String =
        cases.iter().map(|case| format!("{}\n", json!({"id": case["name"], "query": case["query"]}))).collect();
    for (layer, key) in [("measured", "exact"), ("interpolating", "with_interpolation")] {
        let arguments = ["--database-path", database, "--semantics", "upstream", "--layer", layer, "--json", "-"];
        let ran = run(&golden, &arguments, &manifest)?;
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
        let lines: Vec<Value> = ran.stdout.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        assert_eq!(lines.len(), cases.len());
        for (case, line) in cases.iter().zip(&lines) {
            assert_eq!(line["id"], case["name"]);
            let (answer, expected) = (&line["answer"], &case[key]);
            if expected.get("error").is_some() {
                continue;
            }
            assert_eq!(answer["hit"], expected["hit"], "{line}");
            if let Some(expected) = expected["latency_us"].as_f64().filter(|_| expected["unique"] != false) {
                let own = answer["duration_us"].as_f64().ok_or("no duration")?;
                assert_eq!(answer["latency_us"], answer["duration_us"], "{line}");
                assert!((own - expected).abs() <= 1e-9 * expected.abs(), "{line}\n{expected}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_database_of_another_version_is_refused() -> TestResult {
    let folder = Folder::new()?;
    let name = "vllm0.18.0_torch2.9.0_cann8.5";
    std::fs::rename(folder.0.path().join("db"), folder.0.path().join(name))?;
    let ask = |version: &str| {
        let options = ["--database-path", name, "--vllm-version", version];
        run(folder.0.path(), &[&options[..], &EXACT[..]].concat(), "")
    };
    assert_eq!(ask("0.18.0")?.status, Some(0));
    let other = ask("0.19.0")?;
    assert_eq!((other.status, other.stdout.as_str()), (Some(1), ""));
    assert!(
        other.stderr.contains("error: vllm0.18.0_torch2.9.0_cann8.5: other version: vllm0.19.0_"),
        "{}",
        other.stderr
    );
    Ok(())
}

#[test]
fn a_database_without_the_folder_of_its_collectives_says_so() -> TestResult {
    let folder = Folder::new()?;
    let answered = folder.run(&EXACT, "")?;
    assert_eq!((answered.status, answered.stderr.as_str()), (Some(0), ""));
    std::fs::write(folder.0.path().join("db/op_mapping.yaml"), format!("communication_data_ref: ../hccl\n{MAPPING}"))?;
    let warning = "warning: db: the folder of its collectives is missing, so none has a duration: db/../hccl\n";
    // Also for a kernel that is no collective, without a mapping's operator, and for a list.
    let kernel = ["--kernel", "MatMulV2", "16,512:bf16", "512,768:bf16"];
    for words in [&EXACT[..], &kernel, &["--list"]] {
        let ran = folder.run(words, "")?;
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), warning), "{words:?}");
    }
    std::fs::create_dir(folder.0.path().join("hccl"))?;
    assert_eq!(folder.run(&EXACT, "")?.stderr, "");
    Ok(())
}
