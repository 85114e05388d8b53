//! `-o FILE`: each tool is asked for each form, and what it writes is read back.

use super::world::TestResult;
use perfdb_tools::all_tools::TOOLS;
use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const FORMS: [&str; 5] = [".json", ".csv", ".parquet", ".html", ".md"];

/// Command lines in the folder of the examples with the forms that they write; any other form is refused. `OUT` is a new folder, `PAGE`
/// a report.
const LINES: [(&str, &str); 27] = [
    ("audit-coverage first-database/database first-database/trace.json", ".json .csv .parquet .html .md"),
    ("bundle-reports PAGE", ".html"),
    ("calibrate-database first-database/database --with first-database/database -o OUT", ".md"),
    ("check-database first-database/database", ".json .csv .md"),
    ("check-density first-database/database", ".json .csv .md"),
    ("check-trace gpu-traces/h100.json", ".json .csv .html .md"),
    ("compare-traces --before runs/main --after runs/change", ".json .csv .parquet .html .md"),
    ("compare-traces --ranks ranks", ".json .csv .parquet .html .md"),
    ("compare-traces --ranks1 ranks --ranks2 ranks", ".json .csv .parquet .html .md"),
    ("compare-traces gpu-traces/mi300x.json gpu-traces/h100.json", ".json .csv .parquet .html .md"),
    ("cut-forward-pass scenarios/qwen3_32b_decode/forward_pass.csv --list", ".json .md"),
    ("cut-forward-pass scenarios/qwen3_32b_decode/forward_pass.csv --pass 1", ".csv .json"),
    ("cut-trace gpu-traces/h100.json", ".md"),
    ("cut-trace gpu-traces/h100.json --step 0", ".json"),
    ("database-from-trace gpu-traces/shapes-h100.json --database-path OUT", ".md"),
    ("diff-databases first-database/database demo-database/HOST_CPU/demo", ".json .csv .parquet .html .md"),
    ("evaluate-database first-database/database --kernel SwiGlu", ".json .csv .html .md"),
    (
        "explain-prediction scenarios/qwen3_32b_decode/trace.json scenarios/qwen3_32b_decode/forward_pass.csv",
        ".json .csv .parquet .html .md",
    ),
    ("explain-trace gpu-traces/h100.json", ".json .csv .parquet .html .md"),
    ("export-database first-database/database OUT", ".md"),
    (
        "forecast --model forecast/model --database-path forecast/tables/h100_sxm/vllm/1.0.0 --tp 1,2",
        ".json .csv .parquet .html .md",
    ),
    ("import-database --from aiconfigurator aiconfigurator --database-path OUT", ".md"),
    ("merge-databases first-database/database demo-database/HOST_CPU/demo --dry-run", ".json .md"),
    ("query-database first-database/database --from-trace first-database/trace.json", ".json .csv .parquet .html .md"),
    (
        "query-database first-database/database --from-trace first-database/trace.json --compare",
        ".json .csv .parquet .html .md",
    ),
    ("query-database first-database/database --kernel MatMulV2 100x5120 768x5120", ".json .csv .parquet .html .md"),
    ("query-database first-database/database --list", ".json .csv .md"),
];

/// Drop-ins, whose own `--output` keeps its meaning.
const DROP_INS: [&str; 3] = ["compute-m6", "generate-op-comparison", "validate-comm-alignment"];

/// Runs `perfdb`, which has all forms.
fn perfdb(folder: &Path, line: &str, files: &[PathBuf]) -> Result<Output, Box<dyn Error>> {
    let at = |name: &str| folder.join(name).display().to_string();
    let line = line.replace("OUT", &at("out")).replace("PAGE", &at("page.html"));
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("perfdb"));
    command.args(line.split(' ')).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata"));
    files.iter().for_each(|file| {
        command.arg("-o").arg(file);
    });
    Ok(command.output()?)
}

fn file(folder: &Path, suffix: &str) -> PathBuf {
    folder.join(format!("x{suffix}"))
}

/// Reads a file back; the verdict that it begins with, where the form has one.
fn check(path: &Path, suffix: &str) -> TestResult {
    match suffix {
        // Some documents have a line for each answer.
        ".json" => {
            let text = std::fs::read_to_string(path)?;
            let values = serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>();
            let values = values.collect::<Result<Vec<_>, _>>()?;
            if values.is_empty() {
                return Err("no value".into());
            }
        }
        ".csv" => {
            let mut reader = csv::Reader::from_path(path)?;
            if reader.headers()?.len() < 2 {
                return Err("no columns".into());
            }
            // A record of another length is an error of the reader.
            reader.records().collect::<Result<Vec<_>, _>>()?;
        }
        #[cfg(feature = "parquet")]
        ".parquet" => {
            let table = perfdb_store::parquet::ParquetFile::open(path)?;
            if table.row_count()? == 0 {
                return Err("no rows".into());
            }
        }
        ".html" => {
            let page = std::fs::read_to_string(path)?;
            let verdict = page.split("<p class=\"verdict\">").nth(1).and_then(|rest| rest.split("</p>").next());
            if !verdict.is_some_and(|verdict| verdict.ends_with('.') && !verdict.contains("NaN")) {
                return Err(format!("verdict {verdict:?}").into());
            }
        }
        _ => {
            if !std::fs::read_to_string(path)?.starts_with("**") {
                return Err("no verdict in front".into());
            }
        }
    }
    Ok(())
}

#[test]
fn every_form_is_written_and_read_back_or_refused() -> TestResult {
    let mut tried = BTreeSet::new();
    for (line, forms) in LINES {
        let tool = line.split(' ').next().unwrap_or_default();
        tried.insert(tool);
        let forms: Vec<&str> =
            forms.split(' ').filter(|form| cfg!(feature = "parquet") || *form != ".parquet").collect();
        let folder = TempDir::new()?;
        if line.contains("PAGE") {
            let page = [folder.path().join("page.html")];
            assert!(perfdb(folder.path(), "explain-trace gpu-traces/h100.json", &page)?.status.success());
        }
        for suffix in FORMS.iter().filter(|suffix| !forms.contains(suffix)) {
            let path = file(folder.path(), suffix);
            let output = perfdb(folder.path(), line, std::slice::from_ref(&path))?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{line} -o x{suffix}: {stderr}");
            assert_eq!(stderr.lines().filter(|line| line.starts_with("error: ")).count(), 1, "{line}: {stderr}");
            // The forms that there are, or the option that says what the product is.
            let says = if stderr.contains("--output: ") {
                forms.iter().all(|form| stderr.contains(form))
            } else {
                ["--pass", "--step", "--output <FILE>"].iter().any(|option| stderr.contains(option))
            };
            assert!(says, "{line} -o x{suffix}: {stderr}");
            assert!(!path.exists(), "{line} -o x{suffix}");
        }
        let files: Vec<PathBuf> = forms.iter().map(|suffix| file(folder.path(), suffix)).collect();
        let output = perfdb(folder.path(), line, &files)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{line}: {stderr}");
        for (path, suffix) in files.iter().zip(&forms) {
            check(path, suffix).map_err(|error| format!("{line} -o x{suffix}: {error}"))?;
        }
    }
    for tool in TOOLS.iter().filter(|tool| !DROP_INS.contains(&tool.name)) {
        let has_option = (tool.command)().get_arguments().any(|option| option.get_short() == Some('o'));
        assert_eq!(has_option, tried.contains(tool.name), "{}: add a line to LINES", tool.name);
    }
    Ok(())
}

#[test]
fn a_form_on_stdout_has_it_for_itself() -> TestResult {
    let folder = TempDir::new()?;
    for line in [
        "explain-trace gpu-traces/h100.json",
        "check-trace gpu-traces/h100.json",
        "query-database first-database/database --list",
        "cut-trace gpu-traces/h100.json --step 0",
        "list",
    ] {
        let output = perfdb(folder.path(), line, &["-.json".into()])?;
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).map_err(|error| format!("{line}: {error}"))?;
    }
    let output = perfdb(folder.path(), "list", &[folder.path().join("x.csv")])?;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the suffix chooses the form: .json"));
    Ok(())
}
