//! Tools that measure: every row is measured once, on one of the machines.

use super::support::{COUNTS, Shown, TestResult, copy_folder, do_shards, files, perfdb, testdata, text};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A table of small Add rows, two of them alike, and the worker of the golden cases, which notes what it is asked.
fn table(folder: &Path) -> TestResult {
    fs::copy(testdata("golden/op-replay/worker-ok/fake_worker.py"), folder.join("fake_worker.py"))?;
    let rules = r#"{"rows": {"5": {"do": "error", "message": "no"}}, "log": "calls.log"}"#;
    fs::write(folder.join("worker.json"), rules)?;
    let mut table = "OP State,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types\n".to_owned();
    for row in (1..=20).chain([7]) {
        table.push_str(&format!("dynamic,\"{row},8;{row},8\",FLOAT;FLOAT,ND;ND,\"{row},8\",FLOAT\n"));
    }
    table.push_str("dynamic,N/A,FLOAT,ND,,\n");
    fs::write(folder.join("Add.csv"), table)?;
    Ok(())
}

const OP_REPLAY: [&str; 15] = [
    "op-replay",
    "Add",
    "--csv",
    "Add.csv",
    "--backend",
    "torch-cpu",
    "--worker",
    "python3 fake_worker.py",
    "--repeat-count",
    "2",
    "--results",
    "results.json",
    "--output",
    "out",
    "--run-id=run",
];

/// The rows that the worker was asked for, in order of their numbers.
fn asked(folder: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut asked: Vec<String> = fs::read_to_string(folder.join("calls.log"))?.lines().map(str::to_owned).collect();
    asked.retain(|line| line.contains("Add"));
    asked.sort();
    Ok(asked)
}

#[test]
fn op_replay_measures_every_row_once() -> TestResult {
    let whole = TempDir::new()?;
    table(whole.path())?;
    let expected = perfdb(whole.path(), &OP_REPLAY).output()?;
    assert!(expected.status.success(), "{}", text(&expected.stderr));
    let rows = asked(whole.path())?;
    assert!(rows.len() >= 20, "{rows:?}");
    for of in [1, 2, 7] {
        let folder = TempDir::new()?;
        table(folder.path())?;
        for number in 1..=of {
            let shard = format!("{number}/{of}");
            let output = perfdb(folder.path(), &[&OP_REPLAY[..], &["--shard", &shard]].concat()).output()?;
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        assert_eq!(asked(folder.path())?, rows, "{of} shards");
        // Putting them together asks nobody.
        let merged = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
        assert_eq!(Shown::of(&merged), Shown::of(&expected), "{of} shards");
        assert_eq!(asked(folder.path())?, rows, "{of} shards");
    }
    Ok(())
}

/// The results of a run, and its samples without the moments at which they were taken.
fn measured(folder: &Path) -> Result<(String, Vec<csv::StringRecord>), Box<dyn std::error::Error>> {
    let summary = files(&folder.join("out"))?.into_values().next().ok_or("no op_summary")?;
    let mut table = csv::Reader::from_reader(summary.as_slice());
    let is_of_clock = |name: &str| matches!(name, "Task Start Time(us)" | "Task Wait Time(us)");
    let kept: Vec<bool> = table.headers()?.iter().map(|name| !is_of_clock(name)).collect();
    let mut records = Vec::new();
    for record in table.records() {
        let record = record?;
        records.push(record.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell).collect());
    }
    Ok((fs::read_to_string(folder.join("results.json"))?, records))
}

#[test]
fn op_replay_merges_to_the_whole() -> TestResult {
    // The worker says the same times whoever asks.
    let whole = TempDir::new()?;
    table(whole.path())?;
    let expected = perfdb(whole.path(), &OP_REPLAY).output()?;
    for of in COUNTS {
        let folder = TempDir::new()?;
        table(folder.path())?;
        do_shards(folder.path(), &OP_REPLAY, of)?;
        let merged = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
        assert_eq!(Shown::of(&merged), Shown::of(&expected), "{of} shards");
        assert!(measured(folder.path())? == measured(whole.path())?, "{of} shards");
    }
    Ok(())
}

const MICROBENCH: [&str; 8] = [
    "start-microbench",
    "--database-path",
    "HOST_CPU/demo",
    "--backend",
    "native",
    "--repeat-count",
    "1",
    "--json=s.json",
];

fn database(folder: &Path) -> TestResult {
    copy_folder(&testdata("demo-database"), folder)?;
    let grid = [
        "generate-shape-grid",
        "--database-path",
        "HOST_CPU/demo",
        "--config",
        "rules.yaml",
        "--rows",
        "12",
        "--seed",
        "1",
    ];
    let output = perfdb(folder, &grid).output()?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    Ok(())
}

/// The path of a table, its rows, and those of them that have a time.
type RowCounts = (String, usize, usize);

/// The tables without their times.
fn rows_without_times(folder: &Path) -> Result<Vec<RowCounts>, Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for (path, content) in files(folder)? {
        if path.extension().is_some_and(|ending| ending == "csv")
            && path.starts_with("HOST_CPU/demo")
            && !path.starts_with("HOST_CPU/demo/reports")
        {
            let mut table = csv::Reader::from_reader(content.as_slice());
            let measured =
                table.headers()?.iter().position(|name| name == "Average Duration(us)").ok_or("no column")?;
            let records = table.into_records().collect::<Result<Vec<_>, _>>()?;
            let with_times = records.iter().filter(|record| !record[measured].is_empty()).count();
            rows.push((path.display().to_string(), records.len(), with_times));
        }
    }
    Ok(rows)
}

#[test]
fn start_microbench_measures_every_row_once_and_writes_back() -> TestResult {
    let whole = TempDir::new()?;
    database(whole.path())?;
    let expected = perfdb(whole.path(), &MICROBENCH).output()?;
    assert!(expected.status.success(), "{}", text(&expected.stderr));
    let expected_rows = rows_without_times(whole.path())?;
    assert!(expected_rows.iter().all(|(_, rows, measured)| rows == measured), "{expected_rows:?}");
    for of in COUNTS {
        let folder = TempDir::new()?;
        database(folder.path())?;
        let before = files(folder.path())?;
        do_shards(folder.path(), &MICROBENCH, of)?;
        assert!(files(folder.path())? == before, "{of} shards: the database changed before they were put together");
        let merged = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
        assert!(merged.status.success(), "{of} shards: {}", text(&merged.stderr));
        assert_eq!(rows_without_times(folder.path())?, expected_rows, "{of} shards");
        let cases = |folder: &Path| -> Result<Vec<serde_json::Value>, Box<dyn std::error::Error>> {
            let path = folder.join("HOST_CPU/demo/reports/profile_update_report_20260101_000000.json");
            let origin: serde_json::Value = serde_json::from_str(&fs::read_to_string(path)?)?;
            // Operator, shape, kind of task and number of samples.
            Ok(origin["cases"]
                .as_array()
                .ok_or("no cases")?
                .iter()
                .map(|case| serde_json::json!([case[0], case[1], case[2], case[3]]))
                .collect())
        };
        assert!(cases(folder.path())? == cases(whole.path())?, "{of} shards");
        // Once written back, they are not written back again.
        let again = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
        assert_eq!(again.status.code(), Some(1));
        assert!(text(&again.stderr).contains("made of another job: another content of"), "{}", text(&again.stderr));
    }
    Ok(())
}

/// A database on NPUs with a row that leaves its table, and an msprof.
fn npu_database(folder: &Path) -> TestResult {
    table(folder)?;
    fs::create_dir(folder.join("db"))?;
    fs::rename(folder.join("Add.csv"), folder.join("db/Add.csv"))?;
    let rules = r#"{"rows": {"5": {"do": "error", "message": "no"}}, "hello": {"timing": "profiler"}}"#;
    fs::write(folder.join("worker.json"), rules)?;
    fs::create_dir(folder.join("bin"))?;
    let msprof = folder.join("bin/msprof");
    fs::write(&msprof, include_str!("fake_msprof.py"))?;
    fs::set_permissions(&msprof, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// The database, without what the worker of the golden cases has measured itself: it gives times under msprof too.
fn files_of_npus(folder: &Path) -> Result<std::collections::BTreeMap<PathBuf, Vec<u8>>, Box<dyn std::error::Error>> {
    let mut found = files(&folder.join("db"))?;
    found.retain(|path, _| !path.to_string_lossy().starts_with("PROF_"));
    Ok(found)
}

#[test]
fn under_msprof_every_shard_profiles_its_rows() -> TestResult {
    let start = |folder: &Path, further: &[&str]| {
        let program = assert_cmd::cargo::cargo_bin("perfdb");
        let arguments = [
            "start-microbench",
            "--database-path",
            "db",
            "--ops",
            "Add",
            "--repeat-count",
            "1",
            "--worker",
            "python3 fake_worker.py",
        ];
        let is_merge = further.first() == Some(&"merge-shards");
        let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        perfdb(folder, if is_merge { &[] } else { &arguments })
            .args(further)
            .env("PATH", path)
            .env("PERFDB_VISIBLE_NPUS", "2")
            .env("PERFDB_RUN_ALL_OP", format!("{} run-all-op", program.display()))
            .output()
    };
    let whole = TempDir::new()?;
    npu_database(whole.path())?;
    let output = start(whole.path(), &[])?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = files_of_npus(whole.path())?;
    assert!(expected.contains_key(Path::new("Add.csv.dropped.csv")), "no row has left the table");
    for of in [1, 3, 40] {
        let folder = TempDir::new()?;
        npu_database(folder.path())?;
        let before = files_of_npus(folder.path())?;
        for number in 1..=of {
            let output = start(folder.path(), &["--shard", &format!("{number}/{of}")])?;
            assert!(output.status.success(), "{number}/{of}: {}", text(&output.stderr));
        }
        assert!(files_of_npus(folder.path())? == before, "{of} shards: the database has changed");
        let output = start(folder.path(), &["merge-shards", "shards"])?;
        assert!(output.status.success(), "{of} shards: {}", text(&output.stderr));
        let merged = files_of_npus(folder.path())?;
        assert_eq!(merged.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for table in ["Add.csv", "Add.csv.dropped.csv"] {
            let (merged, expected) = (text(&merged[Path::new(table)]), text(&expected[Path::new(table)]));
            assert_eq!(merged, expected, "{of} shards: {table}");
        }
    }
    Ok(())
}

#[test]
fn a_row_that_no_shard_has_measured_stops_the_merge() -> TestResult {
    let folder = TempDir::new()?;
    table(folder.path())?;
    for shard in ["1/2", "2/2"] {
        let output = perfdb(folder.path(), &[&OP_REPLAY[..], &["--shard", shard]].concat()).output()?;
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    // A journal without one of its lines, and a manifest that knows of it.
    let shard = folder.path().join("shards/shard-1-of-2");
    let journal = fs::read_to_string(shard.join("replay_journal.jsonl"))?;
    let cut: Vec<&str> = journal.lines().take(journal.lines().count() - 1).collect();
    fs::write(shard.join("replay_journal.jsonl"), cut.join("\n") + "\n")?;
    let merged = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
    assert_eq!(merged.status.code(), Some(1));
    assert!(text(&merged.stderr).contains("replay_journal.jsonl: damaged or cut short"), "{}", text(&merged.stderr));
    let sum = sha256_of(&shard.join("replay_journal.jsonl"))?;
    let mut manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(shard.join("manifest.json"))?)?;
    for file in manifest["files"].as_array_mut().ok_or("no files")? {
        if file["name"] == "replay_journal.jsonl" {
            file["bytes"] = (cut.join("\n").len() + 1).into();
            file["sha256"] = sum.clone().into();
        }
    }
    fs::write(shard.join("manifest.json"), manifest.to_string())?;
    let merged = perfdb(folder.path(), &["merge-shards", "shards"]).output()?;
    assert_eq!(merged.status.code(), Some(1), "{}", text(&merged.stdout));
    assert!(
        text(&merged.stderr).contains("error: Add: 1 row(s) were measured by no shard"),
        "{}",
        text(&merged.stderr)
    );
    assert!(!folder.path().join("results.json").exists() && !folder.path().join("out").exists());
    Ok(())
}

fn sha256_of(path: &Path) -> Result<String, Box<dyn std::error::Error>> {
    Ok(perfdb_files::shards::Fingerprint::of_content(path)?.sha256)
}
