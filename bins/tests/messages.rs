//! What a newcomer gets wrong, and what the tools say to it.

use assert_cmd::Command;
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// `DATA` in a command line is the folder of the shipped inputs.
fn run(folder: &TempDir, line: &str) -> Result<Ran, Box<dyn Error>> {
    let line = line.replace("DATA", &testdata().display().to_string());
    let mut words = line.split(' ');
    let output =
        Command::cargo_bin(words.next().unwrap_or_default())?.args(words).current_dir(folder.path()).output()?;
    Ok(Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

const PROFILE: &str = "first-database/profile/ASCEND_PROFILER_OUTPUT/kernel_details.csv";
const PASS: &str = "DATA/scenarios/qwen3_32b_decode/forward_pass.csv";
const TRACE: &str = "DATA/scenarios/qwen3_32b_decode/trace.json";

#[test]
fn devices_are_suggested_by_family() -> TestResult {
    let ran = run(&TempDir::new()?, "check-database --device ATLAS_800_A3")?;
    assert_eq!(ran.code, Some(2));
    let tip = ran.stderr.lines().find(|line| line.contains("tip:")).unwrap_or_default();
    assert!(tip.contains("'ATLAS_800_A3_752T_128G_DIE'") && !tip.contains("_A2_"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn files_that_no_tool_reads_are_named_as_what_they_are() -> TestResult {
    let folder = TempDir::new()?;
    for (name, content, expected) in [
        ("a.zst", &b"\x28\xb5\x2f\xfd\x00\x01\x02"[..], "it is a zstd file: unpack it (zstd -d a.zst)"),
        ("a.xz", b"\xfd7zXZ\0\x00\xff", "it is an xz file: unpack it (xz -dk a.xz)"),
        ("a.zip", b"PK\x03\x04\x14\x00\xff\xff", "it is a zip archive: unpack it (unzip a.zip)"),
        ("a.parquet", b"PAR1\x15\x00\xff\xfe", "it is a Parquet file: write it as CSV"),
        ("a.db", b"SQLite format 3\0\x10\x00\xff\xfe", "it is an SQLite database: "),
    ] {
        fs::write(folder.path().join(name), content)?;
        for line in [
            format!("compute-m6 --prof-trace {PASS} --tc-trace {name}"),
            format!("compute-m6 --tc-trace {TRACE} --prof-trace {name}"),
            format!("parse-kernel-details --database-path db --profiling-path {name}"),
            format!("compare-traces DATA/gpu-traces/h100.json {name}"),
            format!("cut-forward-pass {name}"),
        ] {
            let ran = run(&folder, &line)?;
            assert_eq!(ran.code, Some(1), "{line}");
            assert!(ran.stderr.contains(expected), "{line}: {}", ran.stderr);
        }
        let ran = run(&folder, &format!("check-trace {name}"))?;
        assert!(ran.stderr.contains(&format!("note: {name}: {expected}")), "{}", ran.stderr);
    }
    Ok(())
}

#[test]
fn a_profilers_timeline_is_no_trace_of_the_simulator() -> TestResult {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("trace_view.json"), r#"[{"ph": "X", "name": "aten::empty", "ts": "1.5", "dur": 1}]"#)?;
    let ran = run(&folder, &format!("compute-m6 --prof-trace {PASS} --tc-trace trace_view.json"))?;
    assert!(ran.stderr.contains("the simulator's trace is an object with \"traceEvents\""), "{}", ran.stderr);
    Ok(())
}

#[test]
fn a_folder_in_the_place_of_a_file_names_a_file_in_it() -> TestResult {
    let folder = TempDir::new()?;
    let ran = run(&folder, &format!("compute-m6 --tc-trace DATA/scenarios/qwen3_32b_decode --prof-trace {PASS}"))?;
    assert!(ran.stderr.contains("Is a directory (os error 21); name a file in it, such as "), "{}", ran.stderr);
    assert!(ran.stderr.contains("/qwen3_32b_decode/forward_pass.csv"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn semicolons_are_recognised() -> TestResult {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("semi.csv"), "Type;Start Time(us);Duration(us);Input Shapes\nAdd;1;2;3\n")?;
    let expected = "its columns are separated by ';': write it with ',' instead";
    for line in [
        format!("explain-prediction --tc-trace {TRACE} --prof-trace semi.csv"),
        format!("compute-m6 --tc-trace {TRACE} --prof-trace semi.csv"),
        "cut-forward-pass semi.csv".to_owned(),
        "parse-kernel-details --database-path db --profiling-path semi.csv".to_owned(),
    ] {
        let ran = run(&folder, &line)?;
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.stderr);
    }
    Ok(())
}

#[test]
fn a_missing_mapping_is_said() -> TestResult {
    let folder = TempDir::new()?;
    fs::create_dir(folder.path().join("db"))?;
    fs::copy(testdata().join("first-database/database/MatMulV2.csv"), folder.path().join("db/MatMulV2.csv"))?;
    let expected = "warning: db/op_mapping.yaml: no such file";
    for line in [
        "query-database --database-path db aten.mm.default 16,5120:bf16 5120,768:bf16",
        &format!("generate-op-comparison --tc-trace {TRACE} --prof-trace {PASS} --data-dir db --output o.json"),
    ] {
        let ran = run(&folder, line)?;
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.stderr);
    }
    let of_kernel =
        "query-database --database-path db --kernel MatMulV2 --input-shapes 16,5120;768,5120 --types DT_BF16";
    assert_eq!(run(&folder, of_kernel)?.stderr, "");
    Ok(())
}

#[test]
fn packed_tables_are_found_in_folders() -> TestResult {
    let folder = TempDir::new()?;
    let profile = fs::read(testdata().join(PROFILE))?;
    fs::create_dir(folder.path().join("profile"))?;
    fs::write(folder.path().join("profile/kernel_details.csv.gz"), gzip(&profile)?)?;
    let ran = run(&folder, "parse-kernel-details --profiling-path profile --database-path db")?;
    assert_eq!(ran.stdout, "Generated 8 csv file(s) under db from profile\n", "{}", ran.stderr);
    assert!(run(&folder, "cut-forward-pass profile --list")?.stdout.contains(", found by step column"));

    let summary = "PROF_000001_20260101000000_EXAMPLE/mindstudio_profiler_output/op_summary_20260101000000.csv";
    let packed = gzip(&fs::read(testdata().join("first-database").join(summary))?)?;
    fs::create_dir_all(folder.path().join("PROF_1/mindstudio_profiler_output"))?;
    fs::write(folder.path().join("PROF_1/mindstudio_profiler_output/op_summary_1.csv.gz"), packed)?;
    let ran = run(&folder, "start-microbench --database-path db --prof-path PROF_1")?;
    assert!(ran.stdout.contains("| Rows updated         | 24 "), "{}{}", ran.stdout, ran.stderr);
    Ok(())
}

/// Every option that a line on stderr names is one of the tool's.
#[test]
fn advice_names_options_that_are_there() -> TestResult {
    let folder = TempDir::new()?;
    for line in [
        "probe-dfc-constraints --backend torch-cpu --pause 0 --python false",
        "probe-dfc-constraints --pause 0 --worker false",
    ] {
        let ran = run(&folder, line)?;
        let help = run(&folder, "probe-dfc-constraints --help")?.stdout;
        for option in ran.stderr.split(|character: char| !character.is_alphanumeric() && character != '-') {
            assert!(!option.starts_with("--") || help.contains(option), "{option} in {}", ran.stderr);
        }
    }
    assert!(run(&folder, "probe-dfc-constraints --help")?.stdout.contains("--python <PATH>"));
    Ok(())
}

/// A gate that compares nothing does not hold.
#[test]
fn nothing_to_check_fails_where_that_is_asked_for() -> TestResult {
    let folder = TempDir::new()?;
    fs::create_dir(folder.path().join("empty"))?;
    let ran = run(&folder, "validate-comm-alignment --csv-dir empty")?;
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("warning: empty: no table has a row to compare"), "{}", ran.stderr);
    let ran = run(&folder, "validate-comm-alignment --csv-dir empty --fail-empty")?;
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(3), "limit: empty: no table has a row to compare (limit at least 1)\n")
    );
    // A row that is compared is enough, and one that fails keeps its own status.
    let ran = run(&folder, "validate-comm-alignment --csv-dir DATA/first-database/hccl/v8.5 --fail-empty")?;
    assert_eq!(ran.code, Some(1));
    assert_eq!(run(&folder, "check-database --database-path empty")?.code, Some(1));
    Ok(())
}

/// A trace with the analytic and the empirical model's events: each by its process, both by their columns.
#[test]
fn both_models_of_a_trace_can_be_told_apart() -> TestResult {
    let folder = TempDir::new()?;
    let table = |options: &str| -> Result<String, Box<dyn Error>> {
        let ran = run(&folder, &format!("trace-to-csv --trace DATA/first-database/trace.json {options}"))?;
        Ok(ran.stdout.replace("\r\n", "\n"))
    };
    let both = table("--columns pid,cat,op_name,dur_us,is_compute_bound")?;
    assert_eq!(both.lines().filter(|line| line.starts_with("0,empirical,")).count(), 7);
    assert_eq!(both.lines().filter(|line| line.starts_with("1,analytic,") && line.ends_with(",False")).count(), 7);
    assert_eq!(table("--pid 1 --columns dur_us")?, "dur_us\n7\n44\n2\n7\n44\n2\n12\n");
    assert_eq!(table("--pid 0 --columns dur_us")?, "dur_us\n10\n47\n4\n10\n47\n4\n19\n");
    Ok(())
}

#[test]
fn warnings_in_the_words_of_the_originals_are_silenced_like_others() -> TestResult {
    let case = testdata().join("golden/start-microbench/matmul-family-aliases");
    let line = format!(
        "start-microbench --prof-path {0}/PROF_000001_20260101_ABCDEF --database-path {0}/db --dry-run",
        case.display()
    );
    let folder = TempDir::new()?;
    let (heard, silenced) = (run(&folder, &line)?, run(&folder, &format!("{line} -q"))?);
    let without: String = heard.stdout.split_inclusive('\n').filter(|line| !line.starts_with("[WARN]")).collect();
    assert!(heard.stdout.contains("[WARN]"), "{}", heard.stdout);
    assert_eq!((silenced.stdout, silenced.stderr), (without, String::new()));
    Ok(())
}

#[test]
fn long_texts_end_where_they_are_asked_to() -> TestResult {
    let folder = TempDir::new()?;
    let trace = "DATA/first-database/trace.json";
    let database = "--database-path DATA/first-database/database";
    for (line, more) in [
        (format!("query-database {database} --from-trace {trace} --limit 1"), "more answers"),
        (format!("audit-coverage {database} --from-trace {trace} --limit 1"), ""),
        (format!("check-density {database} --limit 0"), "more findings"),
        (format!("check-database {database} --limit 0"), "more (--all)"),
        (format!("explain-prediction --tc-trace {TRACE} --prof-trace {PASS} --limit 1"), "more (--limit"),
    ] {
        let short = run(&folder, &line)?;
        let long = run(&folder, &line.replace("--limit 0", "--top 99").replace("--limit 1", "--top 99"))?;
        assert!(matches!(short.code, Some(0 | 3)), "{line}: {}", short.stderr);
        assert!(short.stdout.contains(more) || long.stdout == short.stdout, "{line}: {}", short.stdout);
        assert!(short.stdout.lines().count() <= long.stdout.lines().count(), "{line}: {}", long.stdout);
    }
    Ok(())
}

#[test]
fn text_is_not_written_under_the_name_of_a_parquet_file() -> TestResult {
    let folder = TempDir::new()?;
    for (line, hint) in [
        (
            "compare-traces DATA/gpu-traces/mi300x.json DATA/gpu-traces/h100.json --events k.parquet",
            "choose another name",
        ),
        ("query-database --database-path DATA/first-database/database --csv k.parquet x", "choose another name"),
        (
            "query-database --database-path DATA/first-database/database --result-json=k.PARQUET x",
            "choose another name",
        ),
    ] {
        let ran = run(&folder, line)?;
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        let reason = format!("this option does not write Parquet; {hint}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(&reason), "{}", ran.stderr);
        assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    }
    // The original writes what it is asked to write.
    let plain = run(&folder, &format!("trace-to-csv --trace {TRACE} --output k.csv"))?;
    let ran = run(&folder, &format!("trace-to-csv --trace {TRACE} --output k.parquet"))?;
    assert_eq!((plain.code, ran.code), (Some(0), Some(0)), "{}", ran.stderr);
    assert!(!plain.stderr.contains("Parquet"), "{}", plain.stderr);
    let warning = "warning: --output: k.parquet: this option does not write Parquet; choose another name\n";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert_eq!(fs::read(folder.path().join("k.parquet"))?, fs::read(folder.path().join("k.csv"))?);
    Ok(())
}

/// The inputs of a tool need no flags; given twice, or a word that would become a database, they are refused.
#[test]
fn inputs_stand_beside_their_flags() -> TestResult {
    let folder = TempDir::new()?;
    let trace = "DATA/scenarios/qwen3_32b_decode/trace.json";
    let both = |tool: &str, rest: &str| -> Result<[Ran; 2], Box<dyn Error>> {
        let flags = format!("{tool} --tc-trace {trace} --prof-trace {PASS}{rest}");
        Ok([run(&folder, &format!("{tool} {trace}{rest} {PASS}"))?, run(&folder, &flags)?])
    };
    for tool in ["compute-m6", "explain-prediction", "generate-per-shape-comparison"] {
        let [bare, flagged] = both(tool, " -q")?;
        assert_eq!((bare.code, bare.stdout), (Some(0), flagged.stdout), "{tool}: {}", bare.stderr);
    }
    let database = "DATA/first-database/database";
    for (bare, flagged) in [
        (format!("check-database {database}"), format!("check-database --database-path {database}")),
        (format!("evaluate-database {database} -q"), format!("evaluate-database --database-path {database} -q")),
        (format!("trace-to-csv {trace}"), format!("trace-to-csv --trace {trace}")),
        (
            "forecast DATA/forecast/model DATA/forecast/tables/h100_sxm/vllm/1.0.0 --batch 16".to_owned(),
            "forecast --model DATA/forecast/model --database-path DATA/forecast/tables/h100_sxm/vllm/1.0.0 --batch 16"
                .to_owned(),
        ),
        (
            format!("audit-coverage {database} DATA/first-database/trace.json"),
            format!("audit-coverage --database-path {database} --from-trace DATA/first-database/trace.json"),
        ),
        (
            format!("query-database {database} aten.mm.default 16,5120:bf16 5120,768:bf16"),
            format!("query-database --database-path {database} aten.mm.default 16,5120:bf16 5120,768:bf16"),
        ),
    ] {
        let (bare, flagged) = (run(&folder, &bare)?, run(&folder, &flagged)?);
        assert_eq!((bare.code, &bare.stdout), (flagged.code, &flagged.stdout), "{}", bare.stderr);
        assert!(!bare.stdout.is_empty());
    }
    let twice = run(&folder, &format!("check-database {database} --database-path {database}"))?;
    assert_eq!(twice.code, Some(2));
    assert!(twice.stderr.contains("DIR is given twice: "), "{}", twice.stderr);
    let word = run(&folder, "start-microbench MatMulV2")?;
    assert_eq!(word.code, Some(2));
    assert!(word.stderr.contains("MatMulV2: this folder does not exist"), "{}", word.stderr);
    assert!(!folder.path().join("MatMulV2").exists());
    Ok(())
}

#[test]
fn an_unknown_option_names_the_one_that_is_meant() -> TestResult {
    let folder = TempDir::new()?;
    for (line, meant) in [
        ("explain-prediction a.json b.csv --out x.html", "--output"),
        ("compute-m6 a.json b.csv --tc_trace x.json", "--tc-trace"),
        ("check-database --db x", "--database-path"),
        ("explain-prediction a.json b.csv --database-path x", "--data-dir"),
        ("query-database x --kernel K --shapes 16,16", "--input-shapes"),
        ("query-database x --kernel K --dtype bf16 16,16", "--types"),
        ("trace-to-csv -t x.json", "--trace"),
    ] {
        let ran = run(&folder, line)?;
        assert_eq!(ran.code, Some(2), "{line}");
        assert!(ran.stderr.contains(&format!("'{meant}'")), "{line}: {}", ran.stderr);
        assert!(!ran.stderr.contains("-- -"), "{line}: {}", ran.stderr);
    }
    Ok(())
}

#[test]
fn a_file_of_another_kind_is_named() -> TestResult {
    let folder = TempDir::new()?;
    let (trace, gpu) = ("DATA/scenarios/qwen3_32b_decode/trace.json", "DATA/gpu-traces/h100.json");
    let kernel = r#"{"ph": "X", "name": "MatMulV2", "pid": 1, "tid": 2, "ts": "1.5", "dur": 1, "args": {"Task Type": "AI_CORE", "Stream Id": 2}}"#;
    fs::write(folder.path().join("trace_view.json"), format!("[{kernel}]"))?;
    for (line, part) in [
        (
            format!("explain-prediction trace_view.json {PASS}"),
            "; this is an Ascend timeline (explain-trace, compare-traces and ",
        ),
        (format!("compute-m6 {PASS} {trace}"), "; the two inputs are swapped: compute-m6 "),
        (format!("explain-prediction {PASS} {trace}"), "; the two inputs are swapped: explain-prediction "),
        (
            format!("explain-prediction {trace} {gpu}"),
            "; this is a GPU trace (explain-trace, compare-traces and check-trace take it)",
        ),
        (format!("compare-traces {trace} {gpu}"), "this is a simulator's trace (explain-prediction, compute-m6"),
        (format!("explain-trace {trace}"), "this is a simulator's trace (explain-prediction, compute-m6"),
        (format!("query-database {PASS} mm"), "this is a kernel CSV of a profile (cut-forward-pass, "),
        (
            "check-database --database-path DATA/first-database/database/MatMulV2.csv".to_owned(),
            "this is a table of a database (--database-path takes its folder)",
        ),
    ] {
        let ran = run(&folder, &line)?;
        assert_eq!(ran.code, Some(1), "{line}");
        let errors: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{line}: {}", ran.stderr);
        assert!(errors[0].contains(part), "{line}: {}", ran.stderr);
    }
    // The original ends with status 0 where the pass has no columns.
    let ran = run(&folder, &format!("compute-m6 {trace} {trace}"))?;
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains(": this is a simulator's trace ("), "{}", ran.stderr);
    Ok(())
}

/// Paths in a list lead from the list; from the current folder with a word about it.
#[test]
fn scenarios_lead_from_their_file_and_then_from_here() -> TestResult {
    let folder = TempDir::new()?;
    let lists = folder.path().join("lists");
    fs::create_dir(&lists)?;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/scenarios/qwen3_32b_decode");
    fs::copy(data.join("trace.json"), lists.join("t.json"))?;
    fs::copy(data.join("forward_pass.csv"), folder.path().join("p.csv"))?;
    fs::write(lists.join("list.yaml"), "- {name: a, tc_trace: t.json, trace_csv: p.csv}\n")?;
    let ran = run(&folder, "explain-prediction --scenarios lists/list.yaml")?;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let note =
        "note: lists/list.yaml: p.csv: relative to the current folder, because nothing is there relative to the list";
    assert!(ran.stderr.lines().any(|line| line == note), "{}", ran.stderr);
    fs::rename(folder.path().join("p.csv"), lists.join("p.csv"))?;
    let ran = run(&folder, "explain-prediction --scenarios lists/list.yaml")?;
    assert_eq!((ran.code, ran.stderr.contains("relative to")), (Some(0), false), "{}", ran.stderr);
    fs::remove_file(lists.join("p.csv"))?;
    let ran = run(&folder, "generate-op-comparison --scenarios lists/list.yaml")?;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("error: lists/list.yaml: no scenario was compared: each lacks a file"),
        "{}",
        ran.stderr
    );
    assert!(!folder.path().join("results").exists());
    // The same of a list of pairs.
    fs::copy(testdata().join("gpu-traces/h100.json"), lists.join("a.json"))?;
    fs::copy(testdata().join("gpu-traces/mi300x.json"), folder.path().join("b.json"))?;
    fs::write(lists.join("pairs.yaml"), "pairs: [{trace1: a.json, trace2: b.json}]")?;
    let ran = run(&folder, "compare-traces --pairs lists/pairs.yaml --output-dir out")?;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("note: lists/pairs.yaml: b.json: relative to the current folder, "), "{}", ran.stderr);
    Ok(())
}

/// A folder that was copied without the collectives that its mapping refers to; a whole copy has them.
#[test]
fn a_copy_without_its_collectives_is_named_by_every_tool() -> TestResult {
    let folder = TempDir::new()?;
    fs::create_dir(folder.path().join("copy"))?;
    for name in ["MatMulV2.csv", "SwiGlu.csv", "op_mapping.yaml"] {
        fs::copy(testdata().join("first-database/database").join(name), folder.path().join("copy").join(name))?;
    }
    // Other errors are more, and come later.
    fs::write(folder.path().join("copy/A.csv"), "Input Shapes,Average Duration(us)\nx,1\ny,1\n")?;
    let checked = run(&folder, "check-database copy")?;
    let first = checked.stdout.lines().nth(2).unwrap_or_default();
    assert!(first.contains("communication_data_ref: ../hccl/ does not exist"), "{}", checked.stdout);
    fs::remove_file(folder.path().join("copy/A.csv"))?;
    let trace = "DATA/first-database/trace.json";
    let warning = "warning: copy: the folder of its collectives is missing, so none has a duration: ";
    for line in [
        "query-database copy --list".to_owned(),
        format!("audit-coverage copy {trace}"),
        format!("explain-prediction {TRACE} {PASS} --data-dir copy"),
        "export-database copy tables".to_owned(),
    ] {
        let ran = run(&folder, &line)?;
        assert!(ran.stderr.contains(warning.trim_end_matches(", so none has a duration: ")), "{line}: {}", ran.stderr);
        assert!(line.starts_with("export") || ran.stderr.contains(warning), "{line}: {}", ran.stderr);
    }
    fs::create_dir(folder.path().join("hccl"))?;
    let table = "hcom_allReduce_.csv";
    fs::copy(testdata().join("first-database/hccl/v8.5").join(table), folder.path().join("hccl").join(table))?;
    fs::create_dir(folder.path().join("whole"))?;
    let merged = run(&folder, "merge-databases whole copy")?;
    assert_eq!(merged.code, Some(0), "{}", merged.stderr);
    fs::remove_dir_all(folder.path().join("hccl"))?;
    assert_eq!(run(&folder, "query-database whole --list")?.stderr, "");
    Ok(())
}

/// The word of an error that leads on, for what newcomers give.
#[test]
fn an_error_says_what_to_do_instead() -> TestResult {
    let folder = TempDir::new()?;
    let tables = "DATA/forecast/tables/h100_sxm/vllm";
    fs::create_dir_all(folder.path().join("g/vllm/1.0"))?;
    for (line, code, part) in [
        (
            "forecast --model meta-llama/Llama-3.1-8B --database-path DATA".to_owned(),
            1,
            "save the config.json of the model",
        ),
        (format!("forecast --model DATA/forecast/model --database-path {tables}"), 1, "name a version below it"),
        (
            "forecast --model DATA/forecast/model --database-path g/vllm/1.0".to_owned(),
            1,
            "SYSTEM/FRAMEWORK/VERSION, such as h100_sxm/vllm/0.19.0, and \"g\" is not a device that is known",
        ),
        (format!("database-from-trace DATA/{PROFILE} --database-path new"), 1, "parse-kernel-details makes a database"),
        (format!("explain-prediction {TRACE}"), 2, "  PASS (--prof-trace <FILE>)"),
        (format!("explain-prediction {TRACE} {PASS} --data-dir DATA"), 1, "; databases below it: "),
        ("import-database DATA/aiconfigurator new".to_owned(), 2, "--from aiconfigurator takes them"),
        ("explain-trace DATA/ranks".to_owned(), 1, "holds 4 profiles, name one: rank0.json, "),
        ("compare-traces DATA/runs/main DATA/runs/change".to_owned(), 1, "--before and --after take folders of runs"),
        ("explain-trace a.json b.json".to_owned(), 2, "two traces are compared by compare-traces"),
        ("compare-traces a.json".to_owned(), 2, "explain-trace (perfdb trace explain) reads one"),
        ("query-database DATA/first-database --kernel MatMulV2 16x16".to_owned(), 1, "databases below it: "),
        (
            "query-database DATA/first-database/database aten.mm.default -o x.xlsx".to_owned(),
            2,
            "the suffix chooses the form",
        ),
        ("cut-trace DATA/gpu-traces/h100.json -o x.csv".to_owned(), 2, "the output is a trace (gzip: .json.gz)"),
    ] {
        let ran = run(&folder, &line)?;
        assert_eq!(ran.code, Some(code), "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(part), "{line}: {}", ran.stderr);
    }
    fs::write(folder.path().join("one.json.gz"), gzip(&fs::read(testdata().join("gpu-traces/h100.json"))?)?)?;
    let ran = run(&folder, "explain-trace .")?;
    assert!(ran.stdout.starts_with("one step takes 12.946 ms"), "{} {}", ran.stdout, ran.stderr);
    Ok(())
}
