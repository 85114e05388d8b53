//! Inputs that hold more than there is memory: an error that names the bound, never a process out of memory.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

type TestResult = Result<(), Box<dyn Error>>;

/// What a tool may take up, in KiB of addresses: less than the files below hold.
const MEMORY_KIB: u32 = 1 << 20;

/// A member of `content`, and `count` members of 64 MiB of one text.
fn bomb(path: &Path, content: &str, repeated: &str) -> TestResult {
    let mut start = GzEncoder::new(Vec::new(), Compression::fast());
    start.write_all(content.as_bytes())?;
    let mut member = GzEncoder::new(Vec::new(), Compression::fast());
    let piece = repeated.repeat((1 << 20) / repeated.len());
    for _ in 0..64 {
        member.write_all(piece.as_bytes())?;
    }
    let (start, member) = (start.finish()?, member.finish()?);
    Ok(std::fs::write(path, [start, member.repeat(24)].concat())?)
}

/// Runs a command line where memory is limited.
fn run(folder: &Path, line: &str) -> std::io::Result<Output> {
    let mut words = line.split(' ');
    let tool = assert_cmd::cargo::cargo_bin(words.next().unwrap_or_default());
    let script = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    // The C library keeps addresses for every thread otherwise.
    command.env("MALLOC_ARENA_MAX", "1");
    command.args(["-c", &script]).arg(tool).args(words).current_dir(folder).output()
}

fn is_refused(folder: &Path, line: &str) -> TestResult {
    let output = run(folder, line)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {:?} {stderr}", output.status);
    assert!(stderr.contains("longer than 64 MiB"), "{line}: {stderr}");
    Ok(())
}

const EVENT: &str = r#"{"traceEvents": [{"ph": "X", "cat": "kernel", "ts": 1, "dur": 1, "pid": 0, "tid": 0, "name": ""#;

#[test]
fn a_text_without_end_in_a_trace() -> TestResult {
    let folder = tempfile::tempdir()?;
    bomb(&folder.path().join("t.json.gz"), EVENT, "a")?;
    std::fs::write(folder.path().join("p.csv"), "Type,Duration(us),Input Shapes\n")?;
    is_refused(folder.path(), "trace-to-csv --trace t.json.gz --output o.csv")?;
    is_refused(folder.path(), "compute-m6 --tc-trace t.json.gz --prof-trace p.csv")?;
    is_refused(folder.path(), "compare-traces t.json.gz t.json.gz")
}

#[test]
fn a_list_and_spaces_without_end_in_a_trace() -> TestResult {
    let folder = tempfile::tempdir()?;
    let list = r#"{"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "name": "a", "args": {"source": ["#;
    bomb(&folder.path().join("list.json.gz"), list, "1,")?;
    bomb(&folder.path().join("spaces.json.gz"), r#"{"traceEvents": [{"ph": "X", "ts": "#, " ")?;
    is_refused(folder.path(), "trace-to-csv --trace list.json.gz --output o.csv")?;
    is_refused(folder.path(), "trace-to-csv --trace spaces.json.gz --output o.csv")
}

#[test]
fn a_cell_without_end_in_a_table() -> TestResult {
    let folder = tempfile::tempdir()?;
    bomb(&folder.path().join("p.csv.gz"), "Type,Start Time(us),Duration(us),Input Shapes\nAdd,1,2,\"", "a")?;
    std::fs::write(folder.path().join("t.json"), "{\"traceEvents\": []}")?;
    is_refused(folder.path(), "compute-m6 --tc-trace t.json --prof-trace p.csv.gz")?;
    is_refused(folder.path(), "cut-forward-pass p.csv.gz")?;
    is_refused(folder.path(), "check-trace p.csv.gz")?;
    let mut columns = vec!["Type", "Duration(us)"];
    columns.extend(perfdb_store::columns::BASE);
    columns.extend(perfdb_store::columns::METRICS);
    bomb(&folder.path().join("kernel_details.csv"), &format!("{}\nAdd,\"", columns.join(",")), "a")?;
    is_refused(folder.path(), "parse-kernel-details --profiling-path kernel_details.csv --database-path db")
}

/// Command lines with a file that is read as a whole, `BIG`. Those of `WRITTEN` are files that people write.
const WHOLE: [&str; 7] = [
    "compute-m6 --tc-trace t.json --prof-trace p.csv --baseline BIG --fail-regression 5",
    "compare-traces g.json g.json --baseline BIG --fail-regression 5",
    "audit-coverage --database-path db --manifest BIG",
    "check-density --database-path db --manifest BIG",
    "audit-coverage --database-path db --model BIG --context 1 --phase decode",
    "merge-databases into db --decisions BIG",
    "bundle-reports BIG --output o.html",
];
const WRITTEN: [&str; 8] = [
    "check-density --database-path db --ranges BIG",
    "check-density --database-path db --density BIG",
    "audit-coverage --database-path db --manifest q.jsonl --ranges BIG",
    "explain-prediction --tc-trace t.json --prof-trace p.csv --families BIG",
    "generate-op-comparison --data-dir db --scenarios BIG",
    "compare-traces g.json g.json --devices BIG",
    "compare-traces g.json g.json --registry BIG",
    "compare-traces --pairs BIG",
];

/// A folder with what the command lines name beside the large file.
fn inputs() -> Result<tempfile::TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let inputs = perfdb_harness::reliability::world::inputs().map_err(|error| error.to_string())?;
    perfdb_harness::reliability::files::write(&inputs, folder.path()).map_err(|error| error.to_string())?;
    std::fs::create_dir(folder.path().join("into"))?;
    std::fs::copy(folder.path().join("gpu1.json"), folder.path().join("g.json"))?;
    Ok(folder)
}

#[test]
fn a_file_that_is_read_as_a_whole_is_refused_before_it_is_read() -> TestResult {
    let folder = inputs()?;
    std::fs::File::create(folder.path().join("big"))?.set_len(5 << 30)?;
    for line in WHOLE.iter().chain(&WRITTEN) {
        let output = run(folder.path(), &line.replace("BIG", "big"))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains("error: big: is longer than "), "{line}: {stderr}");
    }
    Ok(())
}

#[test]
fn a_device_without_end_is_read_up_to_the_bound() -> TestResult {
    let folder = inputs()?;
    for line in WRITTEN {
        let output = run(folder.path(), &line.replace("BIG", "/dev/zero"))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
        assert!(stderr.contains("/dev/zero: is longer than 64 MiB"), "{line}: {stderr}");
    }
    Ok(())
}

#[test]
fn a_manifest_without_a_line_end_is_refused_at_its_bound() -> TestResult {
    let folder = inputs()?;
    std::fs::File::create(folder.path().join("zeros"))?.set_len(3 << 30)?;
    let output = run(folder.path(), "query-database --database-path db --manifest zeros")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("error: zeros:1: is longer than 64 MiB"), "{stderr}");
    Ok(())
}

#[test]
fn a_long_name_of_a_query_does_not_pad_the_others() -> TestResult {
    let folder = inputs()?;
    let query = std::fs::read_to_string(folder.path().join("q.jsonl"))?;
    let lines: Vec<String> = (0..300)
        .map(|number| {
            let id = if number == 7 { "a".repeat(1 << 20) } else { number.to_string() };
            query.trim_end().replace("\"id\": 1", &format!("\"id\": \"{id}\""))
        })
        .collect();
    std::fs::write(folder.path().join("long.jsonl"), lines.join("\n"))?;
    let output = run(folder.path(), "query-database --database-path db --manifest long.jsonl")?;
    assert!(output.stdout.len() < 1 << 20, "{} bytes", output.stdout.len());
    let output = run(folder.path(), "query-database --database-path db --manifest long.jsonl --csv -")?;
    assert!(output.stdout.len() > 1 << 20, "a table for programs has whole names");
    Ok(())
}

#[test]
fn a_name_beyond_the_bound_is_refused_by_every_reader_of_traces() -> TestResult {
    let folder = tempfile::tempdir()?;
    let trace = format!("{EVENT}{}\"}}]}}", "a".repeat(100 << 20));
    std::fs::write(folder.path().join("t.json"), trace)?;
    std::fs::write(folder.path().join("p.csv"), "Type,Duration(us),Input Shapes\n")?;
    is_refused(folder.path(), "check-trace t.json")?;
    is_refused(folder.path(), "trace-to-csv --trace t.json --output o.csv")?;
    is_refused(folder.path(), "compute-m6 --tc-trace t.json --prof-trace p.csv")?;
    is_refused(folder.path(), "compare-traces t.json t.json")
}

#[test]
fn blanks_without_end_are_refused() -> TestResult {
    let folder = tempfile::tempdir()?;
    bomb(&folder.path().join("blank.json.gz"), "", " ")?;
    for line in [
        "check-trace blank.json.gz",
        "check-trace blank.json.gz --repair good.json",
        "compare-traces blank.json.gz blank.json.gz",
    ] {
        is_refused(folder.path(), line)?;
    }
    Ok(())
}
