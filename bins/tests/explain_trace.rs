//! explain-trace and cut-trace at the command line: forms, bounds, files, and what they refuse.

use assert_cmd::Command;
#[cfg(feature = "parquet")]
use perfdb_files::tables::Values;
#[cfg(feature = "parquet")]
use perfdb_store::parquet::ParquetFile;
use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

/// A trace of the examples.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/gpu-traces").join(name)
}

const EXAMPLES: [&str; 4] = ["h100.json", "mi300x.json", "shapes-a100.json", "shapes-h100.json"];

fn run(tool: &str, trace: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::cargo_bin(tool)?.arg(trace).args(arguments).output()?;
    assert!(output.status.success(), "{tool} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// The error of a run that fails with this status.
fn refused(tool: &str, arguments: &[&str], status: i32) -> Result<String, Box<dyn Error>> {
    let output = Command::cargo_bin(tool)?.args(arguments).output()?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(status), "{tool} {arguments:?}: {stderr}");
    Ok(stderr)
}

/// Whether a text is valid in its form.
fn is_valid(form: &str, text: &str) -> bool {
    match form {
        "json" => serde_json::from_str::<Value>(text).is_ok_and(|value| value["parts_ms"].is_object()),
        "csv" => {
            let columns = text.lines().next().map_or(0, |line| line.split(',').count());
            columns == 11 && text.lines().all(|line| line.split(',').count() == columns)
        }
        "html" => text.starts_with("<!doctype html>") && (text.contains("</html>") || text.ends_with("</pre>\n")),
        "markdown" => text.starts_with("**") && !text.contains("<table"),
        _ => text.contains("compute"),
    }
}

#[test]
fn answers_keep_to_their_bounds_in_every_form() -> TestResult {
    for name in EXAMPLES {
        for form in ["text", "json", "csv", "markdown", "html"] {
            let whole = run("explain-trace", &example(name), &["--format", form])?;
            let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
            for bytes in [512, 700, 1_500, 4_000, 20_000, 65_536] {
                let bound = bytes.to_string();
                let text = run("explain-trace", &example(name), &["--format", form, "--max-bytes", &bound])?;
                assert!(text.len() <= bytes, "{name}, {form}, {bytes}: {} bytes", text.len());
                assert!(is_valid(form, &text), "{name}, {form}, {bytes}: {text}");
                match form {
                    "json" => {
                        let verdict =
                            |text: &str| serde_json::from_str::<Value>(text).map(|value| value["verdict"].clone());
                        assert_eq!(verdict(&text)?, verdict(&whole)?);
                    }
                    "html" => {}
                    _ => assert_eq!(first(&text), first(&whole), "{name}, {form}, {bytes}"),
                }
                if whole.len() > bytes && !matches!(form, "csv" | "html") {
                    assert!(text.contains(if form == "json" { "truncated" } else { "left out: " }), "{form}: {text}");
                }
            }
        }
    }
    refused("explain-trace", &["--max-bytes", "511", "t.json"], 2)?;
    Ok(())
}

#[test]
fn the_text_is_one_screen() -> TestResult {
    for name in EXAMPLES {
        let text = run("explain-trace", &example(name), &[])?;
        assert!(text.lines().count() <= 40, "{name}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{name}: {text}");
        let markdown = run("explain-trace", &example(name), &["--format", "markdown"])?;
        assert!(markdown.lines().count() <= 60 && markdown.len() < 65_536, "{name}: {markdown}");
    }
    Ok(())
}

#[test]
fn a_long_name_of_a_step_leaves_room_for_the_trust() -> TestResult {
    let folder = TempDir::new()?;
    let path = folder.path().join(format!("{}.json", "file".repeat(15)));
    let step = format!("execute_{}", "sq8155sk8430".repeat(20));
    let events = serde_json::json!([
        {"ph": "X", "cat": "user_annotation", "name": step, "pid": 1, "tid": 1, "ts": 0, "dur": 10},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 9, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 5}},
    ]);
    std::fs::write(&path, events.to_string())?;
    let text = run("explain-trace", &path, &[])?;
    let about = text.lines().nth(1).ok_or("a second line")?;
    assert!(about.contains("; trust ") && !about.ends_with('…'), "{about}");
    Ok(())
}

#[test]
fn operators_without_shapes_say_what_adds_them() -> TestResult {
    for (name, has_shapes) in [("h100.json", false), ("shapes-h100.json", true)] {
        let text = run("explain-trace", &example(name), &[])?;
        assert_eq!(text.contains("OPERATORS BY SHAPE"), has_shapes, "{text}");
        assert_eq!(text.contains("record_shapes=True"), !has_shapes, "{text}");
    }
    Ok(())
}

#[test]
fn the_suffix_of_a_file_chooses_its_form() -> TestResult {
    let folder = TempDir::new()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [json, csv, html, markdown, tracks] = ["a.json", "a.csv", "a.html", "a.md", "a.trace.json.gz"].map(at);
    let files = ["-o", &json, "-o", &csv, "-o", &html, "-o", &markdown, "--trace-out", &tracks];
    assert!(run("explain-trace", &example("h100.json"), &files)?.starts_with("one step takes 12.946 ms"));
    for (form, file) in [("json", &json), ("csv", &csv), ("html", &html), ("markdown", &markdown)] {
        let text = std::fs::read_to_string(file)?;
        assert!(is_valid(form, &text), "{file}: {text}");
        assert_eq!(text, run("explain-trace", &example("h100.json"), &["--format", form])?.replace("\u{0}", ""));
    }
    // The page has the numbers of the text, and needs nothing from elsewhere.
    let page = std::fs::read_to_string(&html)?;
    let value: Value = serde_json::from_str(&std::fs::read_to_string(&json)?)?;
    assert!(page.contains(&format!("{:.3} ms", value["per_step_ms"].as_f64().ok_or("a number")?)), "{page}");
    assert!(!page.contains("http://") && !page.contains("src=") && !page.contains("<link"));
    // The tracks are a trace that check-trace can read.
    let checked = Command::cargo_bin("check-trace")?.args(["--json", &tracks]).output()?;
    let report: Value = serde_json::from_slice(&checked.stdout)?;
    assert!(!report.to_string().contains("MALFORMED_JSON"), "{report}");
    Ok(())
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_of_steps_has_the_numbers_of_the_report() -> TestResult {
    let folder = TempDir::new()?;
    let table = folder.path().join("steps.parquet");
    for name in EXAMPLES {
        let mut perfdb = Command::cargo_bin("perfdb")?;
        perfdb.arg("explain-trace").arg(example(name)).arg("-o").arg(&table).assert().success();
        let report: Value = serde_json::from_str(&run("explain-trace", &example(name), &["--json"])?)?;
        let steps = report["steps"].as_array().ok_or("a list")?;
        let file = ParquetFile::open(&table)?;
        assert_eq!(file.row_count()?, steps.len(), "{name}");
        for (column, pointer) in [
            ("elapsed_ms", "/elapsed_ms"),
            ("compute_ms", "/parts_ms/compute_ms"),
            ("host_late_ms", "/parts_ms/host_late_ms"),
            ("device_idle_ms", "/parts_ms/device_idle_ms"),
            ("first_kernel_after_ms", "/first_kernel_after_ms"),
        ] {
            let Some(Values::Real(cells)) = file.read_column(column)? else { return Err(column.into()) };
            let wanted: Vec<_> = steps.iter().map(|step| step.pointer(pointer).and_then(Value::as_f64)).collect();
            assert_eq!(cells, wanted, "{name}, {column}");
        }
        let Some(Values::Integer(kernels)) = file.read_column("kernels")? else { return Err("kernels".into()) };
        assert_eq!(kernels, steps.iter().map(|step| step["kernels"].as_i64()).collect::<Vec<_>>(), "{name}");
    }
    Ok(())
}

#[test]
fn a_pattern_says_which_annotations_are_steps() -> TestResult {
    let folder = TempDir::new()?;
    let path = folder.path().join("t.json");
    let step = |at: u32| {
        let start = 1000 * at;
        format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"denoise {at}","pid":1,"tid":1,"ts":{start},"dur":900}},
               {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{},"dur":5,"args":{{"correlation":{at}}}}},
               {{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{},"dur":400,"args":{{"device":0,"stream":7,"correlation":{at}}}}}"#,
            start + 10,
            start + 20
        )
    };
    std::fs::write(&path, format!(r#"{{"traceEvents":[{}]}}"#, [1, 2, 3].map(step).join(",")))?;
    let steps = |arguments: &[&str]| -> Result<u64, Box<dyn Error>> {
        let value: Value = serde_json::from_str(&run("explain-trace", &path, &[&["--json"], arguments].concat())?)?;
        value["step_count"].as_u64().ok_or_else(|| "no steps".into())
    };
    assert_eq!(steps(&[])?, 0);
    assert_eq!(steps(&["--steps", "^denoise"])?, 3);
    assert_eq!(steps(&["--steps", "denoise [12]"])?, 2);
    let path = path.display().to_string();
    let stderr = refused("explain-trace", &[&path, "--steps", "prefill"], 1)?;
    assert!(
        stderr.contains("no steps match \"prefill\": its annotations are denoise 1, denoise 2, denoise 3"),
        "{stderr}"
    );
    refused("explain-trace", &[&path, "--steps", "("], 1)?;
    Ok(())
}

#[test]
fn a_step_is_cut_out_and_explained_alike() -> TestResult {
    let folder = TempDir::new()?;
    let at = |name: &str| folder.path().join(name).display().to_string();
    for name in ["h100.json", "mi300x.json"] {
        let whole: Value = serde_json::from_str(&run("explain-trace", &example(name), &["--json"])?)?;
        let steps = whole["steps"].as_array().ok_or("steps")?.len();
        let list = run("cut-trace", &example(name), &[])?;
        if whole["step_count"] == 0 {
            assert!(list.starts_with("no steps"), "{list}");
            continue;
        }
        assert!(list.lines().count() <= 40 && list.lines().count() >= steps.min(36), "{list}");
        for step in ["0", &(steps - 1).to_string()] {
            let (cut, rest) = (at("cut.json.gz"), at("rest.json"));
            run("cut-trace", &example(name), &["--step", step, "-o", &cut, "--rest", &rest])?;
            let of_cut: Value = serde_json::from_str(&run("explain-trace", Path::new(&cut), &["--json"])?)?;
            let wanted: Value =
                serde_json::from_str(&run("explain-trace", &example(name), &["--json", "--step", step])?)?;
            for key in ["elapsed_ms", "parts_ms", "busy_ms", "kernel_count", "kernel_ms", "classes", "steps"] {
                assert_eq!(of_cut[key], wanted[key], "{name}, step {step}, {key}");
            }
        }
    }
    Ok(())
}

#[test]
fn cuts_that_cannot_be_are_refused() -> TestResult {
    let folder = TempDir::new()?;
    let out = folder.path().join("out.json").display().to_string();
    let trace = example("h100.json").display().to_string();
    for (arguments, status, reason) in [
        (&["--step", "0"][..], 2, "--output"),
        (&["-o", &out], 2, "one of --step, --phase and --window"),
        (&["--step", "nothing", "-o", &out], 1, "no step \"nothing\""),
        (&["--window", "5..1", "-o", &out], 2, "the end must be behind the start"),
        (&["--window", "0..9", "-o", &trace], 1, "is an input of this run"),
    ] {
        let stderr = refused("cut-trace", &[&[trace.as_str()], arguments].concat(), status)?;
        assert!(stderr.contains(reason), "{arguments:?}: {stderr}");
        assert!(!Path::new(&out).exists());
    }
    Ok(())
}

#[test]
fn a_suffix_that_says_no_form_is_refused() -> TestResult {
    let folder = TempDir::new()?;
    let out = folder.path().join("out.xyz").display().to_string();
    let trace = example("h100.json").display().to_string();
    let stderr = refused("explain-trace", &[&trace, "-o", &out], 2)?;
    assert!(stderr.contains("out.xyz: the suffix chooses the form: .json"), "{stderr}");
    assert!(!Path::new(&out).exists());
    Ok(())
}
