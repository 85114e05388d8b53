//! Writers that are killed, that meet each other, that may not write, that have no room.
//!
//! Processes are needed for that, so this program starts itself again: with `PERFDB_TEST_WRITER` set it is one of the writers.

use perfdb_files::lock::{LOCK_FILE, LockOptions};
use perfdb_store::table::{ReadOptions, Table};
use perfdb_store::update::{AggregateOptions, Mode, UpdateOptions, aggregate, find_summaries, prepare};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const OPERATORS: [&str; 6] = ["Add", "Index", "RmsNorm", "Slice", "Sort", "SwiGlu"];
const ROWS: usize = 60;

/// A database with rows that have no duration, and a profile that measures them all and adds one row per operator.
fn database(folder: &Path) -> Result<(PathBuf, PathBuf), Box<dyn std::error::Error>> {
    let (database, profile) = (folder.join("db"), folder.join("PROF_1"));
    let output = profile.join("mindstudio_profiler_output");
    fs::create_dir_all(&database)?;
    fs::create_dir_all(&output)?;
    let shapes = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types";
    let mut summary = format!("OP Type,Task Type,Task Duration(us),{shapes}\n");
    for operator in OPERATORS {
        let mut table = format!("{shapes},Average Duration(us),note\r\n");
        for row in 0..=ROWS {
            let case = format!("{row},DT_BF16,ND,{row},DT_BF16");
            if row < ROWS {
                table.push_str(&format!("{case},,kept {row}\r\n"));
            }
            summary.push_str(&format!("{operator},AI_CORE,{}.5,{case}\n", row + 1));
        }
        fs::write(database.join(format!("{operator}.csv")), table)?;
    }
    fs::write(output.join("op_summary_1.csv"), summary)?;
    Ok((database, profile))
}

fn update(database: &Path, profile: &Path, tool: &str) -> Result<(), perfdb_store::Error> {
    let samples =
        aggregate(&find_summaries(profile)?, &AggregateOptions { threads: 1, ..AggregateOptions::default() })?;
    let lock = LockOptions { tool, timeout: Duration::from_secs(60), notice: &|_| {} };
    let mut pending = prepare(&samples, &UpdateOptions::new(database, Mode::All, lock))?;
    pending.add_file(&database.join("reports/report.md"), b"# report\n")?;
    pending.commit().map(drop)
}

/// Every table of a database, as bytes. Fails for one that is not whole.
fn tables(database: &Path) -> Result<Vec<Vec<u8>>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for operator in OPERATORS {
        let path = database.join(format!("{operator}.csv"));
        let bytes = fs::read(&path)?;
        Table::parse(&path, bytes.clone(), &ReadOptions::database())?;
        found.push(bytes);
    }
    Ok(found)
}

fn writer(kind: &str, arguments: &[&Path]) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--exact", "safety::writer_process", "--nocapture"]).env("PERFDB_TEST_WRITER", kind);
    for (name, argument) in ["PERFDB_TEST_A", "PERFDB_TEST_B"].iter().zip(arguments) {
        command.env(name, argument);
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Does nothing unless this process was started as a writer.
#[test]
fn writer_process() -> TestResult {
    let Ok(kind) = std::env::var("PERFDB_TEST_WRITER") else { return Ok(()) };
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from).unwrap_or_default();
    match kind.as_str() {
        "update" => update(&path("PERFDB_TEST_A"), &path("PERFDB_TEST_B"), "writer")?,
        "append" => append_rows(&path("PERFDB_TEST_A"), &path("PERFDB_TEST_B").to_string_lossy())?,
        other => return Err(format!("no such writer: {other}").into()),
    }
    Ok(())
}

#[test]
fn an_update_that_is_killed_at_any_instant_leaves_every_table_whole() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (database_path, profile) = database(folder.path())?;
    let old = tables(&database_path)?;
    let started = std::time::Instant::now();
    assert!(writer("update", &[&database_path, &profile])?.wait()?.success());
    let whole_run = started.elapsed();
    let new = tables(&database_path)?;
    assert_ne!(old, new);
    // Instants spread over a whole run, in an order that is fixed but has no pattern.
    let (mut whole, mut mixed) = (0, 0);
    for round in 0..200u32 {
        for (operator, bytes) in OPERATORS.iter().zip(&old) {
            fs::write(database_path.join(format!("{operator}.csv")), bytes)?;
        }
        let mut child = writer("update", &[&database_path, &profile])?;
        std::thread::sleep(whole_run * (round * 89 % 200) / 180);
        child.kill()?;
        child.wait()?;
        let found = tables(&database_path)?;
        for ((bytes, old), new) in found.iter().zip(&old).zip(&new) {
            assert!(bytes == old || bytes == new, "round {round}: a table is neither old nor new");
        }
        whole += u32::from(found == old || found == new);
        mixed += u32::from(found != old && found != new);
        if round % 20 == 0 {
            update(&database_path, &profile, "again")?;
            assert_eq!(tables(&database_path)?, new, "round {round}: the same command again does not complete");
            let is_left = |name: &str| name.contains(".tmp-") || name == LOCK_FILE;
            let left = fs::read_dir(&database_path)?
                .filter(|entry| entry.as_ref().is_ok_and(|entry| is_left(&entry.file_name().to_string_lossy())));
            assert_eq!(left.count(), 0, "round {round}: something is left behind");
        }
    }
    assert_eq!(whole + mixed, 200);
    Ok(())
}

/// Adds a row to the table, a hundred times, under the lock.
fn append_rows(path: &Path, name: &str) -> TestResult {
    let folder = path.parent().ok_or("no folder")?;
    for round in 0..100 {
        let lock = LockOptions { tool: name, timeout: Duration::from_secs(60), notice: &|_| {} };
        let _locks = perfdb_files::lock::DirectoryLocks::acquire([folder], &lock)?;
        let mut table = Table::read(path, &ReadOptions::database())?;
        let text = format!("{name} {round}");
        table.push_row(|_, _| text.as_str());
        let content = table.to_csv(perfdb_store::table::Written::PLAIN);
        perfdb_files::replace::replace(path, &content, perfdb_files::replace::Parents::MustExist)?;
    }
    Ok(())
}

#[test]
fn two_writers_at_once_lose_nothing_in_a_hundred_rounds() -> TestResult {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("Add.csv");
    fs::write(&path, "row\n")?;
    let children = [writer("append", &[&path, Path::new("first")])?, writer("append", &[&path, Path::new("second")])?];
    for mut child in children {
        assert!(child.wait()?.success());
    }
    let table = Table::read(&path, &ReadOptions::database())?;
    for name in ["first", "second"] {
        let rows: Vec<&str> = table.rows().map(|row| row.cell(0)).filter(|row| row.starts_with(name)).collect();
        let expected: Vec<String> = (0..100).map(|round| format!("{name} {round}")).collect();
        assert_eq!(rows, expected);
    }
    Ok(())
}

#[test]
fn a_directory_that_takes_no_files_stays_as_it_is() -> TestResult {
    // Nobody may write into /proc, root neither.
    let refused =
        perfdb_files::replace::replace("/proc/self/perfdb".as_ref(), b"x", perfdb_files::replace::Parents::MustExist);
    assert!(refused.is_err());
    let folder = tempfile::tempdir()?;
    let (database_path, profile) = database(folder.path())?;
    let old = tables(&database_path)?;
    // A folder in the place of the temporary of one table: its content cannot be staged, whoever runs this.
    let blocked = database_path.join(format!(".Sort.csv.tmp-{}", std::process::id()));
    fs::create_dir_all(blocked.join("x"))?;
    let refused = update(&database_path, &profile, "test").err().ok_or("the update went through")?;
    assert!(refused.to_string().contains("Sort.csv"), "{refused}");
    assert_eq!(tables(&database_path)?, old);
    assert!(!database_path.join("reports").exists());
    assert!(!database_path.join(LOCK_FILE).exists());
    Ok(())
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (database_path, profile) = database(folder.path())?;
    let old = tables(&database_path)?;
    // A limit on the size of files stands for the full disk: writing fails on the way, and the signal is ignored.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact safety::writer_process --nocapture";
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe()?)
        .env("PERFDB_TEST_WRITER", "update")
        .env("PERFDB_TEST_A", &database_path)
        .env("PERFDB_TEST_B", &profile)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    assert!(!status.success() && status.code().is_some(), "the update ended with {status}");
    assert_eq!(tables(&database_path)?, old);
    assert_eq!(fs::read_dir(&database_path)?.count(), OPERATORS.len(), "something is left behind");
    Ok(())
}
