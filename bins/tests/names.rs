//! Names that command a terminal, break lines, close a page's elements or make a spreadsheet compute: harmless in every output that no original
//! tool had.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

/// As JSON has it.
const NAME: &str = r#"=hostile\u001b[31m\rA\nINJECTED\u2028<script>alert(1)</script>"#;

fn name() -> Result<String, serde_json::Error> {
    serde_json::from_str(&format!("\"{NAME}\""))
}

/// A trace, a measured pass, two GPU traces and a database, all with that name.
fn folder() -> Result<TempDir, Box<dyn Error>> {
    let folder = TempDir::new()?;
    let write = |name: &str, text: String| fs::write(folder.path().join(name), text);
    let args = format!(r#"{{"simulation_shapes": "[[16]]", "source": "MEASURED", "kernel_type": "{NAME}"}}"#);
    write(
        "t.json",
        format!(
            r#"{{"traceEvents": [{{"name": "{NAME}", "ph": "X", "ts": 0, "dur": 90, "pid": 0, "tid": 0, "args": {args}}}]}}"#
        ),
    )?;
    let cell = name()?.replace('"', "\"\"");
    write(
        "p.csv",
        format!(
            "Type,Name,Start Time(us),Duration(us),Input Shapes\n\"{cell}\",\"{cell}\",0,100,16\n\"{cell}2\",x,100,5,16\n"
        ),
    )?;
    let kernel = |at: u32| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{NAME}", "pid": 0, "tid": 7, "ts": {at}, "dur": 5, "args": {{"stream": 7, "correlation": {at}}}}}"#
        )
    };
    write("gpu.json", format!(r#"{{"traceEvents": [{}, {}]}}"#, kernel(10), kernel(10)))?;
    fs::create_dir(folder.path().join("db"))?;
    write("db/op_mapping.yaml", format!("operator_mappings: {{\"{NAME}\": {{kernel_type: Add}}}}\n"))?;
    write("db/Add.csv", "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us)\n4,A,ND,4,A,5\n".to_owned())?;
    write("q.jsonl", format!(r#"{{"id": 1, "query": {{"op": "{NAME}", "args": []}}}}"#) + "\n")?;
    Ok(folder)
}

/// Runs a command line; what it prints and, where it writes `o`, what is in that file.
fn run(folder: &Path, line: &str) -> Result<[String; 3], Box<dyn Error>> {
    let mut words = line.split(' ');
    let tool = assert_cmd::cargo::cargo_bin(words.next().unwrap_or_default());
    let output = Command::new(tool).args(words).current_dir(folder).output()?;
    let file = fs::read_to_string(folder.join("o")).unwrap_or_default();
    let _ = fs::remove_file(folder.join("o"));
    Ok([String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?, file])
}

fn is_harmless(text: &str) -> bool {
    let commands = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    !text.contains(|character| commands(character) || character == '\u{2028}')
        && !text.lines().any(|line| line.trim_start().starts_with("INJECTED"))
}

#[test]
fn what_people_read_stays_on_its_lines() -> TestResult {
    let folder = folder()?;
    for line in [
        "explain-prediction --tc-trace t.json --prof-trace p.csv --csv o",
        "explain-prediction --tc-trace t.json --prof-trace p.csv --data-dir db",
        "cut-forward-pass p.csv --list",
        "check-trace gpu.json",
        "check-trace p.csv",
        "check-database --database-path db",
        "evaluate-database --database-path db",
        "audit-coverage --database-path db --manifest q.jsonl --csv o",
        "check-density --database-path db --manifest q.jsonl",
        "query-database --database-path db --manifest q.jsonl --explain",
        "query-database --database-path db --manifest q.jsonl --csv o",
        "generate-op-comparison --data-dir db --tc-trace t.json --prof-trace p.csv --output m.json --csv o",
    ] {
        let [stdout, stderr, file] = run(folder.path(), line)?;
        // The original's own table keeps its bytes.
        let stdout = if line.starts_with("generate-op") { String::new() } else { stdout };
        for (place, text) in [("stdout", &stdout), ("stderr", &stderr), ("file", &file)] {
            assert!(is_harmless(text), "{line}: {place}: {text:?}");
        }
        // The name of a question begins with its number.
        let cell = if line.starts_with("query") { "1 =hostile" } else { "'=hostile" };
        assert!(!line.ends_with(" o") || file.contains(cell), "{line}: {file}");
    }
    Ok(())
}

#[test]
fn pages_have_no_script_of_anybody_else() -> TestResult {
    let folder = folder()?;
    for line in [
        "explain-prediction --tc-trace t.json --prof-trace p.csv --html o",
        "generate-op-comparison --data-dir db --tc-trace t.json --prof-trace p.csv --output m.json --html-output o",
        "generate-per-shape-comparison --tc-trace t.json --prof-trace p.csv --html o",
        "compare-traces gpu.json gpu.json --html o",
        "audit-coverage --database-path db --manifest q.jsonl --html o",
    ] {
        let [_, stderr, page] = run(folder.path(), line)?;
        assert!(page.contains("hostile"), "{line}: {stderr}");
        assert!(!page.contains("<script>alert"), "{line}");
        assert!(!page.contains('\u{1b}') && !page.contains('\u{2028}'), "{line}");
    }
    Ok(())
}
