//! The database tools as their users see them: what is left when they are killed, two of them at once, odd inputs. What they
//! compute is in the golden cases.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

const PARSE: &str = env!("CARGO_BIN_EXE_parse-kernel-details");
const CHECK: &str = env!("CARGO_BIN_EXE_check-database");
const FILL: &str = env!("CARGO_BIN_EXE_fill-fia-runtime-metadata");
const MICROBENCH: &str = env!("CARGO_BIN_EXE_start-microbench");

const TYPES: [&str; 5] = ["Add", "MatMulV2", "RmsNorm", "Sort", "SwiGlu"];

/// A profile of some kernel types, and a database that holds older tables of them with a measured duration.
fn profile_and_database(folder: &Path) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    let (profile, database) = (folder.join("profile"), folder.join("db"));
    fs::create_dir(&profile)?;
    fs::create_dir(&database)?;
    let mut columns = vec!["Type".to_owned(), "Duration(us)".to_owned()];
    columns.extend(perfdb_store::columns::BASE.map(str::to_owned));
    columns.extend(perfdb_store::columns::METRICS.map(str::to_owned));
    let mut rows = columns.join(",") + "\n";
    for row in 0..2000 {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| match column.as_str() {
                "Type" => TYPES[row % TYPES.len()].to_owned(),
                "Input Shapes" | "Output Shapes" => (row / 10).to_string(),
                _ => (row % 7).to_string(),
            })
            .collect();
        rows.push_str(&(cells.join(",") + "\n"));
    }
    fs::write(profile.join("kernel_details.csv"), rows)?;
    for kernel_type in TYPES {
        fs::write(database.join(format!("{kernel_type}.csv")), old_table(kernel_type))?;
    }
    Ok((profile, database))
}

fn old_table(kernel_type: &str) -> String {
    format!("Input Shapes,Average Duration(us)\r\n4,5.000000 of {kernel_type}\r\n")
}

fn tables(database: &Path) -> std::io::Result<Vec<String>> {
    TYPES.iter().map(|kernel_type| fs::read_to_string(database.join(format!("{kernel_type}.csv")))).collect()
}

#[test]
fn a_killed_parse_leaves_every_table_old_or_new_and_loses_no_measurement() -> TestResult {
    let folder = TempDir::new()?;
    let (profile, database) = profile_and_database(folder.path())?;
    let old = tables(&database)?;
    let parse = || {
        let mut command = Command::new(PARSE);
        command.arg("--profiling-path").arg(&profile).arg("--database-path").arg(&database);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let started = std::time::Instant::now();
    assert!(parse().status()?.success());
    let whole_run = started.elapsed();
    let new = tables(&database)?;
    const ROUNDS: u32 = 60;
    for round in 0..ROUNDS {
        fs::remove_dir_all(&database)?;
        fs::create_dir(&database)?;
        for (kernel_type, text) in TYPES.iter().zip(&old) {
            fs::write(database.join(format!("{kernel_type}.csv")), text)?;
        }
        let mut child = parse().spawn()?;
        // Instants spread over a whole run and a little more, in an order without a pattern.
        std::thread::sleep(whole_run * (round * 37 % ROUNDS) / (ROUNDS - 10));
        child.kill()?;
        child.wait()?;
        for (kernel_type, ((found, old), new)) in TYPES.iter().zip(tables(&database)?.iter().zip(&old).zip(&new)) {
            assert!(found == old || found == new, "round {round}: {kernel_type} is neither old nor new");
            let kept = fs::read_to_string(database.join(format!("{kernel_type}.csv.replaced")));
            assert!(found == old || kept.is_ok_and(|kept| kept == *old), "round {round}: measurements are lost");
        }
        assert!(parse().status()?.success());
        assert_eq!(tables(&database)?, new, "round {round}: the same command again does not complete");
        let mut names: Vec<String> = fs::read_dir(&database)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<_>>()?;
        names.sort();
        let expected: Vec<String> =
            TYPES.iter().flat_map(|name| [format!("{name}.csv"), format!("{name}.csv.replaced")]).collect();
        assert_eq!(names, expected, "round {round}: something is left behind");
    }
    Ok(())
}

#[test]
fn a_parse_says_what_it_replaces_and_a_merge_replaces_nothing() -> TestResult {
    let folder = TempDir::new()?;
    let (profile, database) = profile_and_database(folder.path())?;
    let table = |name: &str| database.join(format!("{name}.csv"));
    // The profile has the shape 0 of Add; Sort has been filled in, and Other is not in the profile.
    fs::write(table("Add"), "Input Shapes,Average Duration(us)\r\n0,\r\n4000,\r\n")?;
    fs::write(table("Sort"), "Input Shapes,Runtime topk\r\n4001,2048\r\n")?;
    fs::write(table("Other"), "Input Shapes\r\n1\r\n")?;
    let parse = |flags: &[&str]| -> Result<(String, String), Box<dyn Error>> {
        let mut command = Command::new(PARSE);
        command.arg("--profiling-path").arg(&profile).arg("--database-path").arg(&database).args(flags);
        let output = command.output()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok((String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
    };
    let before = tables(&database)?;
    let (_, stderr) = parse(&["--dry-run"])?;
    assert!(stderr.contains("warning: would replace 5 tables and drop "), "{stderr}");
    assert_eq!(tables(&database)?, before);
    let (stdout, stderr) = parse(&["--merge"])?;
    assert!(stdout.starts_with("5 tables changed: ") && stdout.contains(" 0 answers changed"), "{stdout}");
    assert!(!stderr.contains("replace"), "{stderr}");
    for (name, row) in [("Add", "4000,"), ("Sort", "4001,2048"), ("MatMulV2", "4,5.000000 of MatMulV2")] {
        let text = fs::read_to_string(table(name))?;
        assert!(text.contains(&format!("\n{row}")), "{name}: {text}");
    }
    let record = fs::read_to_string(database.join("database.toml"))?;
    assert!(
        record.contains("tool = \"parse-kernel-details\"")
            && record.contains(&format!("from = [\"{}\"]", profile.display())),
        "{record}"
    );
    let merged = tables(&database)?;
    let (stdout, _) = parse(&["--merge"])?;
    assert!(stdout.starts_with("0 tables changed: 0 rows added"), "{stdout}");
    assert_eq!(tables(&database)?, merged);
    let (_, stderr) = parse(&[])?;
    let line =
        stderr.lines().find(|line| line.starts_with("warning: replaced 5 tables and dropped ")).unwrap_or_default();
    assert!(line.ends_with("; --merge keeps them"), "{stderr}");
    assert!(database.join("Sort.csv.replaced").exists());
    let (_, stderr) = parse(&[])?;
    assert_eq!(
        stderr.lines().filter(|line| line.starts_with("note: replaced 5 tables; the profile has all their ")).count(),
        1
    );
    assert_eq!(fs::read_to_string(table("Other"))?, "Input Shapes\r\n1\r\n");
    Ok(())
}

#[test]
fn two_updates_at_once_lose_nothing_in_a_hundred_rounds() -> TestResult {
    const ROUNDS: usize = 100;
    let folder = TempDir::new()?;
    let database = folder.path().join("db");
    fs::create_dir(&database)?;
    let shapes = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types";
    fs::write(database.join("Add.csv"), format!("{shapes},Average Duration(us)\r\n"))?;
    let profiles = ["first", "second"].map(|name| folder.path().join(name));
    for round in 1..=ROUNDS {
        let mut children = Vec::new();
        for (number, profile) in profiles.iter().enumerate() {
            let output = profile.join("mindstudio_profiler_output");
            fs::create_dir_all(&output)?;
            let shape = format!("{round},{}", number + 2);
            let row = format!("Add,AI_CORE,5,\"{shape}\",DT_BF16,ND,\"{shape}\",DT_BF16");
            fs::write(
                output.join("op_summary_1.csv"),
                format!("OP Type,Task Type,Task Duration(us),{shapes}\n{row}\n"),
            )?;
            let mut command = Command::new(MICROBENCH);
            command.arg("--prof-path").arg(profile).arg("--database-path").arg(&database);
            command.env("SOURCE_DATE_EPOCH", "1767225600").stdout(Stdio::null()).stderr(Stdio::null());
            children.push(command.spawn()?);
        }
        for mut child in children {
            assert!(child.wait()?.success());
        }
        let rows = fs::read_to_string(database.join("Add.csv"))?.lines().count() - 1;
        assert_eq!(rows, 2 * round, "round {round}: a row is lost");
    }
    // Reports of the same second do not overwrite each other.
    let reports = fs::read_dir(database.join("reports"))?.count();
    assert_eq!(reports, 2 * 2 * ROUNDS);
    Ok(())
}

#[test]
fn a_folder_without_tables_is_no_clean_database() -> TestResult {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("op_mapping.yaml"), "")?;
    let output = Command::new(CHECK).arg("--database-path").arg(folder.path()).output()?;
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(3), &b"FAILED: no tables; no findings in 0 tables, 0 rows\n"[..])
    );
    let warning = String::from_utf8(output.stderr)?;
    assert!(warning.starts_with("warning: ") && warning.contains("no table"), "{warning}");
    Ok(())
}

#[test]
fn rows_that_others_contradict_and_rows_that_no_replay_takes_are_named() -> TestResult {
    let folder = TempDir::new()?;
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for (number, rows) in (0..14).map(|number| (number, 1 << number)) {
        let us = if number == 7 { 900.0 } else { 3.0 + f64::from(rows) / 100.0 };
        table.push_str(&format!("\"{rows},64\",DT_BF16,ND,{us}\n"));
    }
    fs::write(folder.path().join("Cast.csv"), table)?;
    fs::write(
        folder.path().join("ArgMaxV2.csv"),
        "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n\"16,64;1\",DT_BF16;INT64,ND;ND,3\n",
    )?;
    fs::write(
        folder.path().join("op_mapping.yaml"),
        "operator_mappings:\n  aten._to_copy.default: {kernel_type: Cast}\n  aten.argmax.default: {kernel_type: ArgMaxV2}\n",
    )?;
    let output = Command::new(CHECK).arg("--database-path").arg(folder.path()).arg("--all").output()?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(output.status.code(), Some(3), "{text}");
    let named: Vec<&str> = text.lines().filter(|line| line.contains("standard deviations from")).collect();
    assert!(named.len() == 1 && named[0].contains("Cast.csv:9: outlier-duration: 900.0 us, "), "{text}");
    assert!(text.contains("ArgMaxV2.csv:2: not-replayable: op-replay refuses this row: "), "{text}");
    Ok(())
}

#[test]
fn a_link_in_place_of_the_lock_changes_nothing() -> TestResult {
    let folder = TempDir::new()?;
    let database = folder.path().join("db");
    fs::create_dir(&database)?;
    fs::write(folder.path().join("victim"), "precious")?;
    std::os::unix::fs::symlink("../victim", database.join(".perfdb.lock"))?;
    fs::write(database.join("table.csv"), "Input Shapes\n\"1,2\"\n")?;
    fs::write(folder.path().join("records.jsonl"), "{}\n")?;
    let output = Command::new(FILL)
        .args(["--csv-path", "db/table.csv", "--jsonl-path", "records.jsonl"])
        .current_dir(folder.path())
        .output()?;
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr)?;
    assert!(error.starts_with("error: db/.perfdb.lock: is not a lock file"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("victim"))?, "precious");
    assert_eq!(fs::read_dir(&database)?.count(), 2);
    Ok(())
}

#[test]
fn an_empty_output_path_is_none() -> TestResult {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("table.csv"), "Input Shapes\n\"1,2\"\n")?;
    fs::write(folder.path().join("records.jsonl"), "{}\n")?;
    let arguments = ["--csv-path", "table.csv", "--jsonl-path", "records.jsonl", "--output-path", ""];
    let output = Command::new(FILL).args(arguments).current_dir(folder.path()).output()?;
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout)?.trim_end().ends_with(" from records.jsonl into table.csv"));
    assert!(fs::read_to_string(folder.path().join("table.csv"))?.contains("Runtime avg_seq_len"));
    Ok(())
}

#[test]
fn the_attention_table_may_come_through_a_pipe() -> TestResult {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("records.jsonl"), "{}\n")?;
    let mut child = Command::new(FILL)
        .args(["--csv-path", "/dev/stdin", "--jsonl-path", "records.jsonl", "--output-path", "filled.csv"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().ok_or("stdin")?.write_all(b"Input Shapes\n\"1,2\"\n")?;
    let output = child.wait_with_output()?;
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout)?.starts_with("Backfilled 0/1 CSV rows matched, 1 output rows"));
    assert!(folder.path().join("filled.csv").is_file());
    Ok(())
}

/// Makes a pipe that nobody writes to yet, so that whoever reads it waits.
fn pipe(folder: &Path, name: &str) -> std::io::Result<PathBuf> {
    let path = folder.join(name);
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU)?;
    Ok(path)
}

fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<std::io::Result<_>>()?;
    names.sort();
    Ok(names)
}

#[test]
fn a_signal_leaves_no_temporary_behind_outside_databases_either() -> TestResult {
    use nix::sys::signal::{Signal, kill};
    use std::os::unix::process::ExitStatusExt;
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let folder = TempDir::new()?;
        let trace = pipe(folder.path(), "trace.json")?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_trace-to-csv"))
            .args(["--trace", "trace.json", "--output", "out.csv"])
            .current_dir(folder.path())
            .spawn()?;
        // Opens when the tool does, which has made its temporary before.
        let writer = fs::OpenOptions::new().write(true).open(&trace)?;
        assert_eq!(names(folder.path())?.len(), 2, "the pipe and the temporary");
        kill(nix::unistd::Pid::from_raw(i32::try_from(child.id())?), signal)?;
        let status = child.wait()?;
        drop(writer);
        assert_eq!(status.signal(), Some(signal as i32), "{status}");
        assert_eq!(names(folder.path())?, ["trace.json"], "{signal}");
    }
    Ok(())
}

#[test]
fn an_output_that_is_an_input_is_refused() -> TestResult {
    let folder = TempDir::new()?;
    let trace = "{\"traceEvents\": []}";
    fs::write(folder.path().join("t.json"), trace)?;
    std::os::unix::fs::symlink("t.json", folder.path().join("link"))?;
    for output in ["t.json", "./t.json", "link"] {
        let output = Command::new(env!("CARGO_BIN_EXE_trace-to-csv"))
            .args(["--trace", "t.json", "--output", output])
            .current_dir(folder.path())
            .output()?;
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8(output.stderr)?.contains("is an input of this run"));
        assert_eq!(fs::read_to_string(folder.path().join("t.json"))?, trace);
    }
    Ok(())
}

fn small_profile(folder: &Path, operator: &str) -> TestResult {
    let output = folder.join("PROF_1/mindstudio_profiler_output");
    fs::create_dir_all(&output)?;
    let shapes = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types";
    let row = format!("{operator},AI_CORE,5,4,DT_BF16,ND,4,DT_BF16");
    fs::write(output.join("op_summary_1.csv"), format!("OP Type,Task Type,Task Duration(us),{shapes}\n{row}\n"))?;
    Ok(())
}

fn microbench(folder: &Path, arguments: &[&str]) -> std::io::Result<std::process::Output> {
    let mut command = Command::new(MICROBENCH);
    command.args(["--prof-path", "PROF_1", "--database-path", "db"]).args(arguments);
    command.current_dir(folder).env("SOURCE_DATE_EPOCH", "1767225600").output()
}

#[test]
fn a_summary_or_a_stdout_that_takes_nothing_leaves_the_tables_as_they_were() -> TestResult {
    let folder = TempDir::new()?;
    small_profile(folder.path(), "Add")?;
    let output = microbench(folder.path(), &["--json", "/dev/full"])?;
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!folder.path().join("db").exists());
    let full = fs::OpenOptions::new().write(true).open("/dev/full")?;
    let status = Command::new(MICROBENCH)
        .args(["--prof-path", "PROF_1", "--database-path", "db"])
        .current_dir(folder.path())
        .stdout(full)
        .stderr(Stdio::null())
        .status()?;
    assert_eq!((status.code(), folder.path().join("db").exists()), (Some(1), false));
    Ok(())
}

#[test]
fn reports_that_lead_out_of_the_database_are_refused_unless_links_are_followed() -> TestResult {
    let folder = TempDir::new()?;
    small_profile(folder.path(), "Add")?;
    for place in ["db", "elsewhere"] {
        fs::create_dir(folder.path().join(place))?;
    }
    std::os::unix::fs::symlink("../elsewhere", folder.path().join("db/reports"))?;
    let refused = microbench(folder.path(), &[])?;
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8(refused.stderr)?.contains("leads out of the database"));
    assert_eq!(
        (names(&folder.path().join("db"))?, names(&folder.path().join("elsewhere"))?.len()),
        (vec!["reports".to_owned()], 0)
    );
    assert!(microbench(folder.path(), &["--follow-links"])?.status.success());
    assert_eq!(names(&folder.path().join("elsewhere"))?.len(), 2);
    Ok(())
}

#[test]
fn a_kernel_type_whose_table_no_tool_reads_is_refused() -> TestResult {
    let folder = TempDir::new()?;
    small_profile(folder.path(), "x.dropped")?;
    let output = microbench(folder.path(), &[])?;
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr)?;
    assert!(error.contains("kernel type x.dropped would be kept in x.dropped.csv"), "{error}");
    assert!(!folder.path().join("db").exists());
    Ok(())
}

#[test]
fn the_attention_table_may_go_to_stdout() -> TestResult {
    let folder = TempDir::new()?;
    fs::write(folder.path().join("table.csv"), "Input Shapes\n\"1,2\"\n")?;
    fs::write(folder.path().join("records.jsonl"), "{}\n")?;
    let arguments = ["--csv-path", "table.csv", "--jsonl-path", "records.jsonl", "--output-path", "/dev/stdout"];
    let output = Command::new(FILL).args(arguments).current_dir(folder.path()).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    assert!(text.contains("Backfilled 0/1") && text.contains("Runtime avg_seq_len"), "{text}");
    Ok(())
}

#[test]
fn leftovers_of_killed_runs_go_with_the_next_one_in_reports_too() -> TestResult {
    let folder = TempDir::new()?;
    small_profile(folder.path(), "Add")?;
    fs::create_dir_all(folder.path().join("db/reports"))?;
    for name in ["db/.Add.csv.tmp-999999999", "db/reports/.x.md.tmp-999999999"] {
        fs::write(folder.path().join(name), "half")?;
    }
    assert!(microbench(folder.path(), &[])?.status.success());
    let left = [names(&folder.path().join("db"))?, names(&folder.path().join("db/reports"))?].concat();
    assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
    Ok(())
}
