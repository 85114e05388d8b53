//! Rows that are appended while others write to the same database: each comes once, and the figures are of one state of it.

use perfdb_audit::coverage::{AnswerSource, Options, Question, Settled, Workload, append, audit, settle, suggest};
use perfdb_files::lock::{DirectoryLocks, LockOptions, Notice};
use perfdb_query::{DType, Database, Query, Tensor};
use perfdb_store::op_mapping::OpMapping;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

type TestResult = Result<(), Box<dyn Error>>;

const HEADER: &str =
    "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\n";
const MAPPING: &str = "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}\n";

fn row(rows: u32, us: &str) -> String {
    format!("\"{rows},512;512,256\",DT_BF16;DT_BF16,ND;ND,\"{rows},256\",DT_BF16,ND,{us}\n")
}

fn write_table(folder: &Path, rows: &[String]) -> TestResult {
    Ok(fs::write(folder.join("MatMulV2.csv"), format!("{HEADER}{}", rows.concat()))?)
}

fn call(rows: u32) -> Question {
    let tensor = |a, b| Tensor::new([a, b], DType::BFloat16);
    let query = Query::operator("aten.mm.default").input(tensor(rows.into(), 512)).input(tensor(512, 256));
    Question::new("mm", query.output(tensor(rows.into(), 256)))
}

/// A database of 16 and 64 rows, and a workload that asks for 16, 100 and 200.
fn database(folder: &Path) -> Result<(Database, Options, Vec<Workload>), Box<dyn Error>> {
    write_table(folder, &[row(16, "5.0"), row(64, "8.0")])?;
    let mapping = folder.join("op_mapping.yaml");
    fs::write(&mapping, MAPPING)?;
    let options = Options {
        directory: folder.to_owned(),
        mapping: OpMapping::load(&mapping)?.ok_or("no mapping")?,
        leave_out: false,
        ..Options::default()
    };
    let questions = [16, 100, 200].map(call).into();
    Ok((Database::open(folder)?, options, vec![Workload { name: "decode".to_owned(), questions }]))
}

/// Settles while another run holds the lock, which writes these rows and ends as soon as it is waited for.
fn settle_beside(
    theirs: &[String],
    folder: &Path,
    database: &Database,
    workloads: Vec<Workload>,
    options: &Options,
    count: usize,
) -> Result<Settled, Box<dyn Error>> {
    let lock = |notice| LockOptions { tool: "test", timeout: Duration::from_secs(60), notice };
    let other = Mutex::new(Some(DirectoryLocks::acquire([folder], &lock(&|_| {}))?));
    let on_waiting = |_: &Notice| {
        write_table(folder, theirs).expect("the table can be written");
        drop(other.lock().expect("no panic").take());
    };
    let settled = settle(database, workloads, options, count, &lock(&on_waiting))?;
    assert!(other.lock().expect("no panic").is_none(), "the lock was waited for");
    Ok(settled)
}

#[test]
fn an_audit_is_of_the_database_as_it_is_at_its_end() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (database, options, workloads) = database(folder.path())?;
    write_table(folder.path(), &[row(16, "5.0"), row(64, "8.0"), row(100, "9.0")])?;
    let audit = audit(&database, workloads.clone(), &options)?;
    assert_eq!(audit.workloads[0].shares.of(AnswerSource::Exact).calls, 2);
    assert_eq!(audit.into_workloads(), workloads);
    Ok(())
}

#[test]
fn what_another_run_has_appended_meanwhile_is_not_appended_again() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (database, options, workloads) = database(folder.path())?;
    let audited = audit(&database, workloads.clone(), &options)?;
    assert_eq!(suggest(&database, folder.path(), &options.mapping, &audited, 5)?.rows.len(), 2);
    // The other run measures one of the two, and leaves the other one to be measured.
    let theirs = [row(16, "5.0"), row(64, "8.0"), row(100, "9.0"), row(200, "")];
    let settled = settle_beside(&theirs, folder.path(), &database, workloads, &options, 5)?;
    assert_eq!(settled.audit.workloads[0].shares.of(AnswerSource::Exact).calls, 2);
    assert_eq!((settled.suggestions.rows.len(), settled.suggestions.waiting), (0, 1));
    assert!(append(&settled.suggestions.rows)?.is_empty());
    Ok(())
}

#[test]
fn rows_come_behind_those_that_another_run_has_appended() -> TestResult {
    let folder = tempfile::tempdir()?;
    let (database, options, workloads) = database(folder.path())?;
    let theirs = [row(16, "5.0"), row(64, "8.0"), row(100, "9.0")];
    let settled = settle_beside(&theirs, folder.path(), &database, workloads, &options, 1)?;
    settled.locks.commit(append(&settled.suggestions.rows)?)?;
    let text = fs::read_to_string(folder.path().join("MatMulV2.csv"))?;
    assert_eq!(text, format!("{HEADER}{}{}", theirs.concat(), row(200, "")));
    Ok(())
}
