//! What a person sees on a terminal: lines that fit, colours, bars, progress. The terminal is that of `script` (util-linux).

use std::error::Error;
use std::fs;
use std::io::{BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata")
}

/// Starts a command line in a terminal of so many columns. `None` where there is no `script`.
fn start(
    folder: &Path,
    columns: usize,
    variables: &[(&str, &str)],
    line: &str,
) -> Result<Option<Child>, Box<dyn Error>> {
    let (tool, arguments) = line.split_once(' ').ok_or("a tool and its arguments")?;
    let tool = assert_cmd::cargo::cargo_bin(tool);
    let line = format!("stty cols {columns} rows 50; exec '{}' {arguments}", tool.display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(folder).env("TERM", "xterm").env_remove("NO_COLOR");
    command.envs(variables.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
    match command.spawn() {
        Ok(child) => Ok(Some(child)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no script (util-linux)");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// What a command line shows in the end.
fn shown(columns: usize, variables: &[(&str, &str)], line: &str) -> Result<Option<String>, Box<dyn Error>> {
    // Progress goes to stderr.
    let line = format!("{line} 2>/dev/null");
    let Some(child) = start(&testdata(), columns, variables, &line)? else { return Ok(None) };
    let output = child.wait_with_output()?;
    Ok(Some(String::from_utf8(output.stdout)?.replace("\r\n", "\n")))
}

/// The text without its colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split("\u{1b}[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

const LINES: [&str; 11] = [
    "compare-traces gpu-traces/mi300x.json gpu-traces/h100.json --layers --explain",
    "check-trace gpu-traces/mi300x.json",
    "evaluate-database --database-path first-database/database",
    "audit-coverage --database-path first-database/database --from-trace first-database/trace.json --suggest 3",
    "check-density --database-path first-database/database",
    "check-database --database-path first-database/database",
    "query-database --database-path first-database/database --from-trace first-database/trace.json --semantics best",
    "query-database --database-path first-database/database --from-trace first-database/trace.json --compare",
    "diff-databases first-database/database demo-database/HOST_CPU/demo --workload first-database/trace.json",
    "merge-databases first-database/database demo-database/HOST_CPU/demo --dry-run",
    "explain-prediction --tc-trace scenarios/qwen3_32b_decode/trace.json --prof-trace scenarios/qwen3_32b_decode/forward_pass.csv --data-dir scenarios",
];

#[test]
fn lines_fit_the_terminal() -> TestResult {
    for line in LINES {
        let Some(text) = shown(72, &[], line)? else { return Ok(()) };
        for shown in plain(&text).lines() {
            // Patterns are there to be copied into a file, and a word cannot be parted.
            let is_whole = shown.starts_with("  - {pattern:") || !shown.trim().contains(' ');
            assert!(shown.chars().count() <= 72 || is_whole, "{line}: {shown}");
        }
        // What a check prints is only coloured where something is wrong.
        assert!(
            text.contains("\u{1b}[") || line.starts_with("check-") || line.starts_with("merge-"),
            "{line}: no colours:\n{text}"
        );
    }
    Ok(())
}

#[test]
fn nobody_who_forbids_colours_gets_some() -> TestResult {
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let Some(text) = shown(100, &[variable], LINES[0])? else { return Ok(()) };
        assert!(!text.contains('\u{1b}') && text.contains('█'), "{variable:?}");
    }
    Ok(())
}

#[test]
fn a_wide_line_has_whole_names_and_a_pipe_what_files_have() -> TestResult {
    let name = "void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>(int)";
    let Some(narrow) = shown(60, &[], LINES[0])? else { return Ok(()) };
    let wide = shown(60, &[], &format!("{} --wide", LINES[0]))?.unwrap_or_default();
    assert!(!narrow.contains(name) && narrow.contains('…') && wide.contains(name), "{wide}");
    let (tool, arguments) = LINES[0].split_once(' ').unwrap_or_default();
    let run = |more: &[&str]| -> Result<String, Box<dyn Error>> {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin(tool));
        let output = command.args(arguments.split(' ')).args(more).current_dir(testdata()).output()?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let piped = run(&[])?;
    assert!(!piped.contains(['\u{1b}', '█', '…']), "{piped}");
    assert!(run(&["--wide"])?.lines().zip(piped.lines()).any(|(wide, piped)| wide != piped));
    Ok(())
}

/// Tools that read a trace, which is a pipe that this test fills as slowly as it likes.
#[test]
fn progress_is_shown_while_a_tool_waits_for_its_input() -> TestResult {
    let pass = testdata().join("scenarios/qwen3_32b_decode/forward_pass.csv");
    let pass = pass.display();
    let predicted = "scenarios/qwen3_32b_decode/trace.json";
    let gpu = testdata().join("gpu-traces/h100.json");
    for (trace, shown, line) in [
        ("gpu-traces/h100.json", "traces ", format!("compare-traces slow {}", gpu.display())),
        (predicted, "reading", format!("compute-m6 --tc-trace slow --prof-trace {pass}")),
        (
            predicted,
            "reading",
            format!("generate-per-shape-comparison --tc-trace slow --prof-trace {pass} --output o.csv"),
        ),
        (
            predicted,
            "reading",
            format!(
                "generate-op-comparison --data-dir {0} --tc-trace slow --prof-trace {pass} --output o.json",
                testdata().join("scenarios").display()
            ),
        ),
        (predicted, "reading", format!("explain-prediction --tc-trace slow --prof-trace {pass}")),
        (predicted, "reading", "trace-to-csv --trace slow --output o.csv".to_owned()),
    ] {
        let folder = TempDir::new()?;
        let slow = folder.path().join("slow");
        let made = Command::new("mkfifo").arg(&slow).status()?;
        assert!(made.success());
        let Some(mut child) = start(folder.path(), 100, &[], &line)? else { return Ok(()) };
        let trace = fs::read(testdata().join(trace))?;
        let (first, rest) = trace.split_at(trace.len() / 2);
        let mut pipe = fs::OpenOptions::new().write(true).open(&slow)?;
        pipe.write_all(first)?;
        let mut output = BufReader::new(child.stdout.take().ok_or("the terminal's output")?);
        let mut seen = Vec::new();
        // The rest comes when the progress has been seen, and not before: bytes, not files.
        while !String::from_utf8_lossy(&seen).contains("KiB") {
            let mut byte = [0];
            assert_eq!(output.read(&mut byte)?, 1, "{line}: it ended: {}", String::from_utf8_lossy(&seen));
            seen.extend(byte);
        }
        assert!(String::from_utf8_lossy(&seen).contains(shown), "{line}");
        pipe.write_all(rest)?;
        drop(pipe);
        output.read_to_end(&mut seen)?;
        assert!(child.wait()?.success(), "{line}: {}", String::from_utf8_lossy(&seen));
    }
    Ok(())
}

/// Two runs read the same half of a trace; when the later one shows how far it is, the other has had the time to do so as well.
#[test]
fn no_progress_is_shown_to_those_who_want_none() -> TestResult {
    let pass = testdata().join("scenarios/qwen3_32b_decode/forward_pass.csv");
    let trace = fs::read(testdata().join("scenarios/qwen3_32b_decode/trace.json"))?;
    let (first, rest) = trace.split_at(trace.len() / 2);
    let folder = TempDir::new()?;
    let mut runs = Vec::new();
    for (pipe, option) in [("quiet", "--no-progress"), ("loud", "")] {
        let path = folder.path().join(pipe);
        assert!(Command::new("mkfifo").arg(&path).status()?.success());
        let line = format!("compute-m6 --tc-trace {pipe} --prof-trace {} {option}", pass.display());
        let Some(mut child) = start(folder.path(), 100, &[], &line)? else { return Ok(()) };
        let mut pipe = fs::OpenOptions::new().write(true).open(&path)?;
        pipe.write_all(first)?;
        let output = BufReader::new(child.stdout.take().ok_or("the terminal's output")?);
        runs.push((child, pipe, output));
    }
    let mut shown = [Vec::new(), Vec::new()];
    while !String::from_utf8_lossy(&shown[1]).contains("/s") {
        let mut byte = [0];
        assert_eq!(runs[1].2.read(&mut byte)?, 1, "it ended: {}", String::from_utf8_lossy(&shown[1]));
        shown[1].extend(byte);
    }
    for ((mut child, mut pipe, mut output), shown) in runs.into_iter().zip(&mut shown) {
        pipe.write_all(rest)?;
        drop(pipe);
        output.read_to_end(shown)?;
        assert!(child.wait()?.success());
    }
    let [quiet, loud] = shown.map(|shown| String::from_utf8_lossy(&shown).into_owned());
    assert!(loud.contains("reading"), "{loud}");
    assert!(quiet.contains("M6") && !quiet.contains("reading"), "{quiet}");
    Ok(())
}

/// What tools print by default about the shipped inputs.
const SCREENS: [&str; 34] = [
    "audit-coverage first-database/database first-database/trace.json",
    "audit-coverage first-database/database first-database/trace.json --suggest 3",
    "calibrate-database first-database/database --with first-database/database -o OUT",
    "check-database first-database/database",
    "check-density first-database/database",
    "check-trace gpu-traces/mi300x.json",
    "check-trace scenarios/qwen3_32b_decode/forward_pass.csv",
    "compare-traces --before runs/main --after runs/change",
    "compare-traces --ranks ranks",
    "compare-traces gpu-traces/mi300x.json gpu-traces/h100.json",
    "compare-traces gpu-traces/shapes-a100.json gpu-traces/shapes-h100.json",
    "cut-forward-pass scenarios/qwen3_32b_decode/forward_pass.csv --list",
    "cut-trace gpu-traces/h100.json",
    "database-from-trace gpu-traces/shapes-h100.json --database-path OUT",
    "diff-databases first-database/database demo-database/HOST_CPU/demo --workload first-database/trace.json",
    "evaluate-database first-database/database",
    "explain-prediction scenarios/deepseek_v3_prefill/trace.json scenarios/deepseek_v3_prefill/forward_pass.csv",
    "explain-prediction scenarios/qwen3_32b_decode/trace.json scenarios/qwen3_32b_decode/forward_pass.csv --data-dir scenarios",
    "explain-trace gpu-traces/h100.json",
    "explain-trace gpu-traces/mi300x.json",
    "explain-trace gpu-traces/shapes-h100.json",
    "explain-trace profiles/vllm.rpd",
    "export-database first-database/database OUT",
    "forecast --model forecast/model --database-path forecast/tables/h100_sxm/vllm/1.0.0 --tp 1,2 --batch 1,16,64",
    "forecast --model forecast/model --database-path forecast/tables/h100_sxm/vllm/1.0.0 --tp 2 --batch 16",
    "import-database --from aiconfigurator aiconfigurator --database-path OUT",
    "merge-databases first-database/database demo-database/HOST_CPU/demo --dry-run",
    "query-database first-database/database --from-trace first-database/trace.json",
    "query-database first-database/database --from-trace first-database/trace.json --compare",
    "query-database first-database/database --from-trace first-database/trace.json --semantics best",
    "query-database first-database/database --kernel MatMulV2 100x5120 768x5120",
    "query-database first-database/database --kernel MatMulV2 100x5120 768x5120 --semantics best",
    "query-database first-database/database --kernel MatMulV2 16x5120 768x5120",
    "query-database first-database/database --list",
];

/// Tools whose text is that of an original, byte for byte, and bundle-reports, which prints nothing on stdout.
const WITHOUT_SCREEN: [&str; 15] = [
    "bundle-reports",
    "compute-m6",
    "fill-fia-runtime-metadata",
    "generate-comm-microbench",
    "generate-op-comparison",
    "generate-per-shape-comparison",
    "generate-shape-grid",
    "op-replay",
    "parse-kernel-details",
    "probe-dfc-constraints",
    "run-all-op",
    "run-comm-bench",
    "start-microbench",
    "trace-to-csv",
    "validate-comm-alignment",
];

#[test]
fn the_default_text_is_one_screen_that_begins_with_the_verdict() -> TestResult {
    let tool_of = |line: &&str| line.split(' ').next().unwrap_or_default().to_owned();
    for tool in perfdb_tools::all_tools::TOOLS {
        let has_screen = SCREENS.iter().map(tool_of).any(|name| name == tool.name);
        assert!(has_screen || WITHOUT_SCREEN.contains(&tool.name), "{}: add a line to SCREENS", tool.name);
    }
    let is_here = |line: &&&str| perfdb_tools::all_tools::find(&tool_of(line)).is_some();
    for line in SCREENS.iter().filter(is_here) {
        for columns in [80, 100] {
            let folder = TempDir::new()?;
            let line = line.replace("OUT", &folder.path().join("out").display().to_string());
            let Some(text) = shown(columns, &[], &line)? else { return Ok(()) };
            let text = plain(&text);
            // A line that is too long takes several of the terminal's.
            let lines: usize = text.lines().map(|line| line.chars().count().div_ceil(columns).max(1)).sum();
            assert!(lines <= 40, "{line}, {columns} columns: {lines} lines\n{text}");
            let verdict = text.lines().next().unwrap_or_default();
            assert!(verdict.contains(|character: char| character.is_ascii_digit()), "{line}: {verdict}");
        }
    }
    Ok(())
}
