//! diff-databases and merge-databases as they are called: what people read, gates, lists of decisions, writers that meet, who measured what.

use assert_cmd::cargo::cargo_bin;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

const HEADER: &str =
    "OP State,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us)";

fn write(folder: &Path, file: &str, text: &str) -> std::io::Result<()> {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(path, text)
}

fn product(tokens: u32, us: f64) -> String {
    format!("static,\"{tokens},512;768,512\",DT_BF16;DT_BF16,ND;ND,\"{tokens},768\",DT_BF16,{us}\n")
}

fn table(rows: &[(u32, f64)]) -> String {
    let rows: String = rows.iter().map(|(tokens, us)| product(*tokens, *us)).collect();
    format!("{HEADER}\n{rows}")
}

/// A status, stdout and stderr.
type Outcome = (Option<i32>, String, String);

fn run(folder: &Path, line: &str) -> Result<Outcome, Box<dyn Error>> {
    let mut words = line.split(' ');
    let output = Command::new(cargo_bin(words.next().unwrap_or_default()))
        .args(words)
        .current_dir(folder)
        .env("SOURCE_DATE_EPOCH", "1767225600")
        .output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

/// Two versions: small products became slower, others did not.
fn versions() -> Result<TempDir, Box<dyn Error>> {
    let folder = TempDir::new()?;
    let (old, new) = ("vllm1_torch2_cann8.5", "vllm1_torch2_cann8.6");
    let sizes = [1, 8, 16, 64, 256, 1024];
    let before: Vec<(u32, f64)> = sizes.iter().map(|size| (*size, f64::from(*size) + 10.0)).collect();
    let after: Vec<(u32, f64)> = before
        .iter()
        .map(|(size, us)| (*size, if *size <= 16 { us * 1.25 } else { us * 0.95 }))
        .chain([(4096, 9.0)])
        .collect();
    write(folder.path(), &format!("{old}/MatMulV2.csv"), &table(&before))?;
    write(folder.path(), &format!("{new}/MatMulV2.csv"), &table(&after).replacen("static", "dynamic", 1))?;
    write(folder.path(), &format!("{old}/Gone.csv"), &table(&[(4, 1.0)]))?;
    let mapping = "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}\n";
    for name in [old, new] {
        write(folder.path(), &format!("{name}/op_mapping.yaml"), mapping)?;
    }
    let call = |(at, tokens): (usize, &u32)| {
        let tensor = |shape: String| format!("tensor(..., device='meta', size=({shape}), dtype=torch.bfloat16)");
        let inputs = format!("({}, {})", tensor(format!("{tokens}, 512")), tensor("512, 768".to_owned()));
        format!(
            r#"{{"name": "aten.mm.default", "ph": "X", "ts": {at}, "dur": 5, "pid": 0, "tid": 0, "args": {{"Inputs": "{inputs}", "simulation_shapes": "[[{tokens}, 512], [512, 768]]", "source": "MEASURED", "kernel_type": "MatMulV2"}}}}"#
        )
    };
    let process = r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#;
    let calls: Vec<String> = [16, 16, 256, 4096].iter().enumerate().map(call).collect();
    write(folder.path(), "trace.json", &format!("{{\"traceEvents\": [{process},\n{}]}}", calls.join(",\n")))?;
    Ok(folder)
}

const DIFF: &str = "diff-databases vllm1_torch2_cann8.5 vllm1_torch2_cann8.6";

#[test]
fn people_read_what_changed() -> TestResult {
    let folder = versions()?;
    let (status, stdout, stderr) = run(folder.path(), DIFF)?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("what_changed", stdout);
    let (status, stdout, stderr) = run(folder.path(), &format!("{DIFF} --workload trace.json --worst 0"))?;
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!("what_a_forward_pass_feels", stdout);
    Ok(())
}

#[test]
fn a_gate_judges_kernel_types_with_enough_rows() -> TestResult {
    let folder = versions()?;
    let at = |options: &str| run(folder.path(), &format!("{DIFF} --quiet {options}"));
    // The mean of three ratios of 1.25 and three of 0.95.
    let (status, _, stderr) = at("--fail-slower 8")?;
    assert_eq!(status, Some(3));
    assert!(
        stderr.starts_with("limit: all rows: 9.0 % slower over 6 rows (limit 8 %)\nlimit: MatMulV2: 9.0 %"),
        "{stderr}"
    );
    // A table that is gone is not a pass.
    let (status, _, stderr) = at("--fail-slower 9.5")?;
    assert_eq!((status, stderr.contains("limit: Gone: nothing to compare")), (Some(3), true), "{stderr}");
    fs::remove_file(folder.path().join("vllm1_torch2_cann8.5/Gone.csv"))?;
    assert_eq!(at("--fail-slower 9.5")?.0, Some(0));
    assert_eq!(at("--fail-slower 8 --min-rows 7")?.0, Some(0));
    Ok(())
}

#[test]
fn programs_read_every_case() -> TestResult {
    let folder = versions()?;
    assert_eq!(run(folder.path(), &format!("{DIFF} --csv o.csv --json o.json"))?.0, Some(0));
    let csv = fs::read_to_string(folder.path().join("o.csv"))?;
    let second = csv.lines().nth(2).ok_or("rows")?;
    assert_eq!(
        second,
        "MatMulV2,\"1,512;768,512 -> 1,768 DT_BF16;DT_BF16\",slower,,1.25,measured,11,13.75,,,2,2,OP State: static | dynamic"
    );
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.path().join("o.json"))?)?;
    let range = &json["tables"][1]["slower_range"];
    assert_eq!((&range["bound"], &range["size"], &range["rows"]), (&"≤".into(), &16.into(), &3.into()));
    assert_eq!(json["total"]["only_a"], 1);
    assert_eq!(json["differences"][0]["what"], "CANN");
    Ok(())
}

#[test]
fn a_folder_above_the_databases_is_the_same_error_in_every_tool() -> TestResult {
    let folder = versions()?;
    fs::create_dir(folder.path().join("above"))?;
    for name in ["vllm1_torch2_cann8.5", "vllm1_torch2_cann8.6"] {
        fs::rename(folder.path().join(name), folder.path().join("above").join(name))?;
    }
    write(folder.path(), "above/notes.txt", "")?;
    let (first, second) = ("above/vllm1_torch2_cann8.5", "above/vllm1_torch2_cann8.6");
    let below = format!("is in it; databases below it: {first} {second}\n");
    for line in [
        "check-database --database-path above".to_owned(),
        "check-density --database-path above".to_owned(),
        format!("check-density --database-path {first} --baseline-database above"),
        "evaluate-database --database-path above".to_owned(),
        "query-database --database-path above --list".to_owned(),
        "audit-coverage --database-path above --manifest none".to_owned(),
        format!("diff-databases above {second}"),
        format!("diff-databases {first} above"),
        format!("merge-databases above {second}"),
        format!("merge-databases {first} above"),
    ] {
        let (status, _, stderr) = run(folder.path(), &line)?;
        assert_eq!(status, Some(1), "{line}: {stderr}");
        assert!(stderr.starts_with("error: above: not a database: ") && stderr.ends_with(&below), "{line}: {stderr}");
    }
    Ok(())
}

#[test]
fn no_output_of_a_merge_is_a_table_of_its_database() -> TestResult {
    let folder = versions()?;
    let merge = "merge-databases vllm1_torch2_cann8.5 vllm1_torch2_cann8.5b --dry-run";
    write(folder.path(), "vllm1_torch2_cann8.5b/MatMulV2.csv", &table(&[(1, 7.0)]))?;
    for output in ["--json", "--conflicts"] {
        let (status, _, stderr) = run(folder.path(), &format!("{merge} {output} ./vllm1_torch2_cann8.5/Add.csv"))?;
        assert_eq!(status, Some(2), "{stderr}");
        assert!(stderr.contains("would be a table of it"), "{stderr}");
    }
    Ok(())
}

#[test]
fn what_cannot_be_compared_is_said() -> TestResult {
    let folder = versions()?;
    let at = folder.path();
    fs::create_dir(at.join("empty"))?;
    for (line, status, said) in [
        (
            "diff-databases empty vllm1_torch2_cann8.5",
            1,
            "error: empty: not a database: neither a table (*.csv) nor op_mapping.yaml is in it",
        ),
        ("diff-databases nowhere vllm1_torch2_cann8.5", 1, "error: nowhere: "),
        ("diff-databases empty/../vllm1_torch2_cann8.5 vllm1_torch2_cann8.5", 2, "are the same database"),
        ("diff-databases vllm1_torch2_cann8.5", 2, "error: "),
        ("merge-databases vllm1_torch2_cann8.5 empty", 1, "error: empty: not a database: "),
        ("merge-databases vllm1_torch2_cann8.5 nowhere", 1, "error: nowhere: "),
        ("merge-databases vllm1_torch2_cann8.5 vllm1_torch2_cann8.5", 2, "are the same database"),
        ("merge-databases vllm1_torch2_cann8.5 vllm1_torch2_cann8.6", 1, "CANN 8.5 and 8.6"),
    ] {
        let (found, _, stderr) = run(at, line)?;
        assert_eq!(found, Some(status), "{line}: {stderr}");
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
    write(at, "vllm1_torch2_cann8.6/Bad.csv", "version https://git-lfs.github.com/spec/v1\n")?;
    let (status, stdout, stderr) = run(at, DIFF)?;
    assert_eq!(status, Some(3));
    assert!(stderr.contains("Bad.csv: Git LFS pointer") && stdout.contains("MatMulV2"), "{stderr}");
    Ok(())
}

#[test]
fn a_merge_says_what_it_did_and_leaves_the_list_to_decide() -> TestResult {
    let folder = TempDir::new()?;
    let at = folder.path();
    write(at, "db/MatMulV2.csv", &table(&[(1, 10.0), (8, 20.0)]))?;
    write(at, "ana/MatMulV2.csv", &table(&[(1, 9.0), (8, 20.0), (16, 30.0)]))?;
    write(at, "ana/Add.csv", &table(&[(4, 1.0)]))?;
    write(at, "ana/op_mapping.yaml", "operator_mappings: {}\n")?;
    let line = "merge-databases db ana --prefer ask-list --conflicts list.csv";
    let (status, dry, _) = run(at, &format!("{line} --dry-run"))?;
    assert_eq!((status, fs::read_dir(at.join("db"))?.count()), (Some(3), 1));
    let (status, stdout, stderr) = run(at, line)?;
    assert_eq!((status, stdout.replacen("changed", "would change", 1)), (Some(3), dry));
    insta::assert_snapshot!("a_merge", format!("{stdout}{stderr}"));
    let list = fs::read_to_string(at.join("list.csv"))?;
    write(at, "list.csv", &list.replace("9,\r\n", "9,from\r\n"))?;
    let (status, stdout, _) = run(at, "merge-databases db ana --prefer ask-list --decisions list.csv")?;
    assert_eq!(status, Some(0), "{stdout}");
    assert!(fs::read_to_string(at.join("db/MatMulV2.csv"))?.contains("DT_BF16,9\n"));
    assert!(fs::read_to_string(at.join("db/MatMulV2.conflicts.csv"))?.contains("replaced,ana,static,"));
    let (status, stdout, _) =
        run(at, "check-database --database-path db --ignore table-without-mapping not-replayable")?;
    assert_eq!(status, Some(0), "{stdout}");
    assert!(stdout.contains("  2026-01-01T00:00:00Z merge-databases from ana: Add, MatMulV2\n"), "{stdout}");
    Ok(())
}

/// A database of one table with a hundred rows.
fn hundred(at: &Path, name: &str, duration: impl Fn(u32) -> String) -> std::io::Result<()> {
    let row = |tokens: u32| product(tokens, 1.0).replace(",1\n", &format!(",{}\n", duration(tokens)));
    write(at, &format!("{name}/MatMulV2.csv"), &format!("{HEADER}\n{}", (1..=100).map(row).collect::<String>()))
}

#[test]
fn lost_rows_pass_no_gate() -> TestResult {
    let folder = TempDir::new()?;
    let at = folder.path();
    hundred(at, "a", |tokens| tokens.to_string())?;
    for lost in ["", "nan", "inf", "0", "-1", "1e400"] {
        hundred(at, "b", |_| lost.to_owned())?;
        let (status, stdout, stderr) = run(at, "diff-databases a b --fail-slower 50")?;
        assert_eq!(status, Some(3), "{lost}");
        assert!(stdout.lines().next().is_some_and(|line| line.contains("100 have no duration")), "{lost}: {stdout}");
        assert!(stderr.contains("limit: no durations could be compared"), "{lost}: {stderr}");
    }
    write(at, "b/MatMulV2.csv", &table(&[(1, 1.0), (2, 2.0)]))?;
    let (status, stdout, stderr) = run(at, "diff-databases a b --fail-missing 97")?;
    assert_eq!((status, stderr.as_str()), (Some(3), "limit: 98 cases are gone or have no duration (limit 97)\n"));
    assert!(stdout.lines().next().is_some_and(|line| line.contains("98 cases are gone")), "{stdout}");
    assert_eq!(run(at, "diff-databases a b --fail-missing 98")?.0, Some(0));
    fs::remove_file(at.join("b/MatMulV2.csv"))?;
    write(at, "b/Add.csv", &table(&[(1, 1.0)]))?;
    let (_, stdout, _) = run(at, "diff-databases a b")?;
    let first = stdout.lines().next().unwrap_or_default();
    assert!(first.contains("100 cases are gone (MatMulV2: the whole table)"), "{first}");
    Ok(())
}

#[test]
fn a_common_movement_is_told_from_slower_rows() -> TestResult {
    let folder = TempDir::new()?;
    let at = folder.path();
    hundred(at, "a", |tokens| (tokens + 10).to_string())?;
    let scaled = |factor: f64, tokens: u32| (f64::from(tokens + 10) * factor).to_string();
    hundred(at, "b", |tokens| scaled(if tokens == 3 { 1.0 } else { 1.1 }, tokens))?;
    let method = "the measuring method may have changed";
    assert!(run(at, "diff-databases a b")?.1.contains(method));
    hundred(at, "b", |tokens| scaled(if tokens <= 50 { 1.0 } else { 1.1 }, tokens))?;
    assert!(!run(at, "diff-databases a b")?.1.contains(method));
    Ok(())
}

#[test]
fn a_product_with_bias_is_not_one_without() -> TestResult {
    let folder = TempDir::new()?;
    let at = folder.path();
    let bias = product(16, 20.0).replace("768,512\"", "768,512;768\"");
    let (first, second) = (product(16, 10.0), product(32, 12.0));
    write(at, "a/MatMulV2.csv", &format!("{HEADER}\n{first}{bias}{second}"))?;
    write(at, "b/MatMulV2.csv", &format!("{HEADER}\n{second}{bias}{first}"))?;
    let (status, stdout, _) = run(at, "diff-databases a b --fail-slower 0 --fail-missing 0")?;
    assert_eq!(status, Some(0), "{stdout}");
    assert!(stdout.contains("3 of 3 cases compared, equally fast"), "{stdout}");
    write(at, "c/MatMulV2.csv", &format!("{HEADER}\n{first}"))?;
    let (_, stdout, _) = run(at, "merge-databases c b")?;
    assert!(stdout.starts_with("1 table changed: 2 rows added, 0 filled, 1 the same, 0 conflicts"), "{stdout}");
    Ok(())
}

#[test]
fn a_decision_holds_for_its_durations_alone() -> TestResult {
    let folder = TempDir::new()?;
    let at = folder.path();
    write(at, "db/MatMulV2.csv", &table(&[(1, 10.0)]))?;
    write(at, "ana/MatMulV2.csv", &table(&[(1, 9.0)]))?;
    run(at, "merge-databases db ana --prefer ask-list --conflicts list.csv --dry-run")?;
    let list = fs::read_to_string(at.join("list.csv"))?;
    write(at, "list.csv", &list.replace("9,\r\n", "9,from\r\n"))?;
    write(at, "ana/MatMulV2.csv", &table(&[(1, 50.0)]))?;
    let (status, _, stderr) = run(at, "merge-databases db ana --prefer ask-list --decisions list.csv")?;
    assert_eq!(status, Some(3));
    assert!(stderr.contains("decisions that fit no conflict"), "{stderr}");
    assert!(fs::read_to_string(at.join("db/MatMulV2.csv"))?.contains("DT_BF16,10\n"));
    Ok(())
}

#[test]
fn two_merges_at_once_lose_nothing() -> TestResult {
    for _ in 0..8 {
        let folder = TempDir::new()?;
        let at = folder.path();
        write(at, "db/MatMulV2.csv", &table(&[(1, 10.0)]))?;
        for (name, tokens) in [("ana", 100), ("wei", 200)] {
            let rows: Vec<(u32, f64)> = (0..50).map(|row| (tokens + row, 5.0)).collect();
            write(at, &format!("{name}/MatMulV2.csv"), &table(&rows))?;
            write(at, &format!("{name}/{name}.csv"), &table(&rows))?;
        }
        let merge = |from: &str| {
            Command::new(cargo_bin("merge-databases"))
                .args(["db", from])
                .current_dir(at)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        };
        for mut child in [merge("ana")?, merge("wei")?] {
            assert!(child.wait()?.success());
        }
        assert_eq!(fs::read_to_string(at.join("db/MatMulV2.csv"))?.lines().count(), 102);
        let record = perfdb_store::provenance::Record::load(&at.join("db"))?.ok_or("a record")?;
        assert_eq!(record.runs().len(), 2);
        let mut names: Vec<_> = fs::read_dir(at.join("db"))?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_, _>>()?;
        names.sort();
        assert_eq!(names, ["MatMulV2.csv", "ana.csv", "database.toml", "wei.csv"]);
    }
    Ok(())
}

#[test]
fn who_measured_is_recorded_where_it_is_asked_for() -> TestResult {
    let folder = TempDir::new()?;
    let at = folder.path();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/first-database");
    let profile = testdata.join("PROF_000001_20260101000000_EXAMPLE").display().to_string();
    let parse =
        format!("parse-kernel-details --profiling-path {} --database-path db", testdata.join("profile").display());
    assert_eq!(run(at, &parse)?.0, Some(0));
    let line = format!("start-microbench --database-path db --prof-path {profile}");
    assert_eq!(run(at, &format!("{line} --dry-run --measured-by Ana"))?.0, Some(0));
    assert_eq!(run(at, &line)?.0, Some(0));
    assert!(!at.join("db/database.toml").exists());
    fs::remove_dir_all(at.join("db"))?;
    assert_eq!(run(at, &parse)?.0, Some(0));
    assert_eq!(run(at, &format!("{line} --measured-by Ana"))?.0, Some(0));
    let record = perfdb_store::provenance::Record::load(&at.join("db"))?.ok_or("a record")?;
    let found = record.runs().first().ok_or("a run")?;
    assert_eq!((found.by.as_deref(), found.tool.as_str()), (Some("Ana"), "start-microbench"));
    assert!(found.types.contains(&"MatMulV2".to_owned()));
    assert_eq!(found.settings.get("prof-path"), Some(&profile));
    write(at, "db/database.toml", "format_version = 1\nrun = 3\n")?;
    let (status, stdout, _) = run(at, "check-database --database-path db")?;
    assert_eq!(status, Some(3));
    assert!(stdout.contains("db/database.toml:2: unreadable: "), "{stdout}");
    Ok(())
}

#[test]
fn who_measured_collectives_is_recorded_where_it_is_asked_for() -> TestResult {
    let folder = TempDir::new()?;
    let at = folder.path();
    let results = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata/golden/generate-comm-microbench/r07-gloo-report/results");
    let line = format!("generate-comm-microbench --from-results {}", results.display());
    let database = "--output-dir HOST_CPU/hccl/v8.5";
    assert_eq!(run(at, &format!("{line} {database}"))?.0, Some(0));
    assert!(!at.join("HOST_CPU/hccl/v8.5/database.toml").exists());
    assert_eq!(run(at, &format!("{line} {database} --measured-by Ana"))?.0, Some(0));
    insta::assert_snapshot!(
        "who_measured_collectives",
        fs::read_to_string(at.join("HOST_CPU/hccl/v8.5/database.toml"))?
    );
    for without_database in ["--report o.csv", "--ops all_reduce --output-csv o.csv"] {
        let (status, _, stderr) = run(at, &format!("{line} --measured-by Ana {without_database}"))?;
        assert_eq!(status, Some(2), "{without_database}: {stderr}");
        assert!(!at.join("o.csv").exists() && stderr.contains("--output-dir"), "{stderr}");
    }
    write(at, "HOST_CPU/hccl/v8.5/database.toml", "format_version = 1\nrun = 3\n")?;
    let (status, _, stderr) = run(at, &format!("{line} {database} --measured-by Ana"))?;
    assert_eq!(status, Some(1));
    assert!(stderr.contains("error: HOST_CPU/hccl/v8.5/database.toml:2: "), "{stderr}");
    Ok(())
}

#[test]
fn a_database_is_held_against_its_samples() -> TestResult {
    let folder = TempDir::new()?;
    let header = format!("{HEADER},Profiling Average Duration(us),Profiling Std Duration(us)\n");
    let row = |tokens: u32, rest: &str| product(tokens, 10.0).replace('\n', rest);
    let rows = [row(1, ",10.5,\n"), row(2, ",14,1\n"), row(4, ",14,4\n")].concat();
    write(folder.path(), "db/MatMulV2.csv", &format!("{header}{rows}"))?;
    let line = "check-database --database-path db --ignore mapping-without-table not-replayable";
    assert_eq!(run(folder.path(), line)?.0, Some(0));
    let (status, stdout, _) = run(folder.path(), &format!("{line} --against-samples"))?;
    assert_eq!(status, Some(3));
    assert!(stdout.contains("db/MatMulV2.csv:3: sample-disagreement: measured 10 us is 0.71 times"), "{stdout}");
    assert!(stdout.starts_with("1 finding in 1 tables, 3 rows\n"), "{stdout}");
    Ok(())
}
