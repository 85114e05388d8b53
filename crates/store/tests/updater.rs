//! Measurements of a profile on their way into tables: which are taken, which rows they go to, and what is told of it.

use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions};
use perfdb_store::directory::Home;
use perfdb_store::update::{
    AggregateOptions, ChangeKind, Mode, Samples, TableUpdate, UpdateOptions, aggregate, find_profiles, find_summaries,
    prepare, target_tables,
};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type TestResult = Result<(), Box<dyn Error>>;

const HEADER: &str = "OP State,OP Type,Task Type,Task Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,\
                      Output Data Types,Output Formats,aicore_time(us),aiv_time(us)\n";

/// A database and a profile.
struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> std::io::Result<Fixture> {
        let fixture = Fixture { folder: tempfile::tempdir()? };
        fs::create_dir(fixture.database())?;
        Ok(fixture)
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("database")
    }

    fn table(&self, name: &str) -> std::io::Result<String> {
        fs::read_to_string(self.database().join(name))
    }

    fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        fs::write(self.database().join(name), text)
    }

    /// The summary of a profile of that name.
    fn profile(&self, name: &str, rows: &str) -> std::io::Result<PathBuf> {
        let folder = self.folder.path().join("run").join(name).join("mindstudio_profiler_output");
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("op_summary_1.csv"), format!("{HEADER}{rows}"))?;
        Ok(self.folder.path().join("run"))
    }

    fn samples(&self, rows: &str, options: &AggregateOptions) -> Result<Samples, Box<dyn Error>> {
        let run = self.profile("PROF_1", rows)?;
        Ok(aggregate(&find_summaries(&run)?, options)?)
    }

    fn update(
        &self,
        samples: &Samples,
        change: impl Fn(&mut UpdateOptions<'_>),
    ) -> Result<Vec<TableUpdate>, Box<dyn Error>> {
        let lock = LockOptions { tool: "updater", timeout: DEFAULT_TIMEOUT, notice: &|_| {} };
        let database = self.database();
        let mut options = UpdateOptions::new(&database, Mode::All, lock);
        change(&mut options);
        let pending = prepare(samples, &options)?;
        let told = pending.updates().to_vec();
        let updates = pending.commit()?.to_vec();
        assert_eq!(told.len(), updates.len());
        Ok(updates)
    }
}

fn add(duration_us: &str, shape: &str) -> String {
    format!(
        "static,Add,AI_VECTOR_CORE,{duration_us},\"{shape};{shape}\",DT_BF16;DT_BF16,ND;ND,\"{shape}\",DT_BF16,ND,1.5,4\n"
    )
}

#[test]
fn the_shortest_of_equal_cases_counts_and_metrics_are_means() -> TestResult {
    let fixture = Fixture::new()?;
    let rows = format!(
        "{}{}{}static,N/A,AI_CORE,1,,,,,,,,\nstatic,,AI_CORE,1,,,,,,,,\n{}{}",
        add("7.5", "2,3"),
        add("5", "2,3").replace("1.5,4\n", "2.5,N/A\n"),
        add("9", "8"),
        add("0", "8"),
        add("nan", "9"),
    );
    let options = AggregateOptions { keep_durations: true, threads: 1, ..AggregateOptions::default() };
    let samples = fixture.samples(&rows, &options)?;
    assert_eq!(samples.operators().collect::<Vec<_>>(), ["Add"]);
    assert_eq!(samples.ignored_rows, 2);
    let found: Vec<_> = samples
        .iter()
        .map(|(operator, signature, sample)| {
            let parts: Vec<String> = signature.parts().map(str::to_owned).collect();
            (
                operator,
                parts[0].clone(),
                sample.count(),
                sample.durations_us().to_vec(),
                sample.task_type(),
                sample.text_form(),
            )
        })
        .collect();
    let expected = [
        ("Add", "2,3;2,3".to_owned(), 2, vec![7.5, 5.0], "AI_VECTOR_CORE", "2,3;2,3 -> 2,3".to_owned()),
        ("Add", "8;8".to_owned(), 1, vec![9.0], "AI_VECTOR_CORE", "8;8 -> 8".to_owned()),
    ];
    assert_eq!(found, expected);
    let updates = fixture.update(&samples, |_| {})?;
    assert_eq!(updates.iter().map(|update| (update.operator.as_str(), update.added)).collect::<Vec<_>>(), [("Add", 2)]);
    let table = fixture.table("Add.csv")?;
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().ok_or("no header")?.split(',').collect();
    assert!(!header.contains(&"EP Size"), "only expert groups have one");
    let first = lines.next().ok_or("no row")?;
    assert!(
        first.starts_with("static,AI_VECTOR_CORE,\"2,3;2,3\",DT_BF16;DT_BF16,ND;ND,\"2,3\",DT_BF16,ND,5.000000,"),
        "{first}"
    );
    let cells: Vec<&str> = first.rsplit(',').collect();
    let metric = |name: &str| {
        let behind = header.len() - 1 - header.iter().position(|column| *column == name).unwrap_or_default();
        cells[behind]
    };
    assert_eq!((metric("MicroBench aicore_time(us)"), metric("MicroBench aiv_time(us)")), ("2.000000", "2.000000"));
    assert_eq!(lines.count(), 1);
    Ok(())
}

#[test]
fn files_of_several_profiles_come_in_order_and_are_counted_by_themselves() -> TestResult {
    let fixture = Fixture::new()?;
    let many: String = (0..9000).map(|size| add("5", &format!("{},7", 1 + size))).collect();
    fixture.profile("PROF_1", &many)?;
    fixture.profile(
        "PROF_2",
        &format!("{}{}", many.replace(",5,", ",4,"), add("3", "1,7").replace("AI_VECTOR_CORE", "HOST_CPU")),
    )?;
    let run = fixture.profile("deeper/PROF_3", "")?;
    fs::write(run.join("PROF_9"), "no folder")?;
    let profiles = find_profiles(&run)?;
    let names = ["PROF_1", "PROF_2", "deeper/PROF_3"].map(|name| run.join(name));
    assert_eq!(profiles, names);
    let summaries = find_summaries(&run)?;
    assert_eq!(summaries.len(), 3);
    for threads in [1, 3] {
        // A time of the host has no place in an accelerator's table: the line is that of its own file.
        let refused = aggregate(&summaries, &AggregateOptions { threads, ..AggregateOptions::default() });
        let error = refused.err().ok_or("it was taken")?.to_string();
        assert!(error.contains("PROF_2") && error.contains(":9002") && error.contains("HOST_CPU"), "{error}");
        let any = AggregateOptions { threads, home: None, keep_durations: true, ..AggregateOptions::default() };
        let samples = aggregate(&summaries, &any)?;
        let cases: Vec<_> = samples.iter().map(|(_, _, sample)| sample.durations_us().to_vec()).collect();
        assert_eq!(cases.len(), 9000);
        assert_eq!((&cases[0], &cases[8999]), (&vec![5.0, 4.0, 3.0], &vec![5.0, 4.0]));
    }
    let host = AggregateOptions { home: Some(Home::Host), ..AggregateOptions::default() };
    assert!(aggregate(&summaries, &host).is_err());
    assert!(find_summaries(&fixture.database()).is_err());
    Ok(())
}

#[test]
fn a_quote_that_stays_open_is_told_with_its_line() -> TestResult {
    let fixture = Fixture::new()?;
    let rows = format!("{}{}", add("5", "8"), add("6", "9").replace("DT_BF16,ND,1.5,4\n", "\"DT_BF16"));
    let samples = fixture.samples(&rows, &AggregateOptions { threads: 1, ..AggregateOptions::default() })?;
    assert_eq!(samples.open_quotes.iter().map(|(_, line)| *line).collect::<Vec<_>>(), [3]);
    Ok(())
}

const TABLE: &str = "OP State,Accelerator Core,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,\
                     Output Formats,Average Duration(us),Profiling Average Duration(us),note\r\n";

fn row(shape: &str, cells: &str) -> String {
    format!("static,AI_VECTOR_CORE,\"{shape};{shape}\",DT_BF16;DT_BF16,ND;ND,\"{shape}\",DT_BF16,ND,{cells}\r\n")
}

#[test]
fn rows_are_found_by_their_case_and_everything_else_stays() -> TestResult {
    let fixture = Fixture::new()?;
    let before =
        [row("2,3", "1.5,10,\"a \"\"b\"\"\""), row("4,4", ",,keep"), row("2,3", ",,again"), row("7,1", "8,,x")]
            .concat();
    fixture.write("Add.csv", &format!("{TABLE}{before}"))?;
    fixture.write("note.csv", "x\n")?;
    let rows = format!("{}{}{}", add("6", "2,3"), add("3", "4,4"), add("2", "5,5"));
    let samples = fixture.samples(&rows, &AggregateOptions::default())?;

    let missing_only = |options: &mut UpdateOptions<'_>| options.mode = Mode::MissingOnly;
    let updates = fixture.update(&samples, |options| (options.dry_run, options.mode) = (true, Mode::MissingOnly))?;
    assert_eq!(updates[0].updated, 1);
    assert_eq!(fixture.table("Add.csv")?, format!("{TABLE}{before}"), "a dry run writes nothing");
    let updates = fixture.update(&samples, missing_only)?;
    let told = &updates[0];
    assert_eq!((updates.len(), told.updated, told.unchanged, told.added), (1, 1, 1, 0));
    assert_eq!(told.missing, ["5,5;5,5 -> 5,5"]);
    assert_eq!(told.duplicates, [("2,3;2,3 -> 2,3".to_owned(), 2)]);
    assert!(told.is_written && told.changes.is_none() && told.path == fixture.database().join("Add.csv"));
    assert_eq!(told.gaps.len(), 1);
    let gap = &told.gaps[0];
    assert_eq!((gap.measured_us, gap.profiled_us, gap.difference_us(), gap.ratio()), (1.5, 10.0, 8.5, 0.15));
    assert!(gap.is_hotspot());
    let filled = before.replace(",ND,,,keep", ",ND,3.000000,,keep");
    assert_eq!(fixture.table("Add.csv")?, format!("{TABLE}{filled}"));

    let again = fixture.update(&samples, missing_only)?;
    assert!(!again[0].is_written && again[0].updated == 0 && again[0].unchanged == 2);

    let all = fixture.update(&samples, |options| options.record_changes = true)?;
    assert_eq!((all[0].updated, all[0].unchanged, all[0].added), (1, 0, 1));
    let changes = all[0].changes.as_ref().ok_or("no changes")?;
    let rows: Vec<_> = changes.rows.iter().map(|change| (change.row, change.kind, change.shape.as_str())).collect();
    assert_eq!(rows, [(Some(2), ChangeKind::Updated, "2,3;2,3 -> 2,3"), (None, ChangeKind::Added, "5,5;5,5 -> 5,5")]);
    let old_and_new = [Some("1.5".to_owned()), Some("6.000000".to_owned())];
    assert_eq!(changes.rows[0].cells.get("Average Duration(us)"), Some(&old_and_new));
    assert_eq!(changes.rows[1].cells.get("Input Shapes"), Some(&[None, Some("5,5;5,5".to_owned())]));
    assert!(!changes.created && changes.columns_added.is_empty() && changes.columns_removed.is_empty());
    let replaced = filled.replace(",ND,1.5,10,", ",ND,6.000000,10,");
    assert_eq!(fixture.table("Add.csv")?, format!("{TABLE}{replaced}{}", row("5,5", "2.000000,,")));
    assert_eq!(fixture.table("note.csv")?, "x\n");

    let pruned = fixture.update(&samples, |options| options.prune = true)?;
    assert_eq!(pruned[0].deleted, ["2,3;2,3 -> 2,3"]);
    assert!(!fixture.table("Add.csv")?.contains("again"));
    Ok(())
}

/// A product without bias, with one, and with its weight the other way round have one signature.
#[test]
fn a_product_with_a_bias_is_measured_beside_the_one_without() -> TestResult {
    let product = |inputs: &str, types: &str, cells: &str| {
        format!("static,AI_CORE,\"{inputs}\",{types},ND;ND;ND,\"4,8\",DT_BF16,ND,{cells}\r\n")
    };
    let sample = |inputs: &str, types: &str, us: &str| {
        format!("static,MatMulV2,AI_CORE,{us},\"{inputs}\",{types},ND;ND;ND,\"4,8\",DT_BF16,ND,1.5,4\n")
    };
    let (two, three) = ("DT_BF16;DT_BF16", "DT_BF16;DT_BF16;FLOAT");
    let (plain, bias, turned) = ("4,6;8,6", "4,6;8,6;8", "4,6;6,8");
    let summary = [
        sample(bias, three, "9"),
        sample(plain, two, "5"),
        sample(turned, two, "4"),
        sample(bias, three, "8"),
        sample(plain, two, "6"),
    ]
    .concat();
    let rows = |first: &str, second: &str| [product(plain, two, first), product(bias, three, second)].concat();

    let fixture = Fixture::new()?;
    fixture.write("MatMulV2.csv", &format!("{TABLE}{}", rows(",,", ",,")))?;
    let samples = fixture.samples(&summary, &AggregateOptions::default())?;
    let updates = fixture.update(&samples, |options| options.prune = true)?;
    assert_eq!((updates[0].updated, updates[0].deleted.len(), updates[0].duplicates.len()), (2, 0, 1));
    // No row has the weight the other way round: it is one more measurement of the first.
    assert_eq!(fixture.table("MatMulV2.csv")?, format!("{TABLE}{}", rows("4.000000,,", "8.000000,,")));

    // Only the row that waits for its duration is filled.
    fixture.write("MatMulV2.csv", &format!("{TABLE}{}", rows("7,,", ",,")))?;
    fixture.update(&samples, |options| (options.mode, options.prune) = (Mode::MissingOnly, true))?;
    assert_eq!(fixture.table("MatMulV2.csv")?, format!("{TABLE}{}", rows("7,,", "8.000000,,")));

    // A table without such a row takes all of them for one case.
    fixture.write("MatMulV2.csv", &format!("{TABLE}{}", product(plain, two, ",,")))?;
    fixture.update(&samples, |_| {})?;
    assert_eq!(fixture.table("MatMulV2.csv")?, format!("{TABLE}{}", product(plain, two, "4.000000,,")));
    Ok(())
}

#[test]
fn tables_are_those_of_operators_that_can_be_replayed_or_that_are_named() -> TestResult {
    let fixture = Fixture::new()?;
    for name in ["Add.csv", "MatMulV2.csv", "Unknown.csv", "reports.txt"] {
        fixture.write(name, &format!("{TABLE}{}", row("8", "1,,")))?;
    }
    fs::create_dir(fixture.database().join("sub"))?;
    fixture.write("sub/Add.csv", TABLE)?;
    let names = |operators: Option<&[String]>| -> Result<Vec<String>, Box<dyn Error>> {
        let shown = |table: PathBuf| Ok(table.strip_prefix(fixture.database())?.display().to_string());
        target_tables(&fixture.database(), operators)?.into_iter().map(shown).collect()
    };
    assert_eq!(names(None)?, ["Add.csv", "MatMulV2.csv"]);
    let mut named = names(Some(&["Add".to_owned(), "Unknown".to_owned()]))?;
    named.sort();
    assert_eq!(named, ["Add.csv", "Unknown.csv", "sub/Add.csv"]);
    assert!(target_tables(Path::new("/no/such/folder"), None)?.is_empty());
    let mut samples = fixture.samples(&add("5", "8"), &AggregateOptions::default())?;
    samples.retain_operators(&["MatMulV2".to_owned()]);
    assert_eq!(samples.operators().count(), 0);
    Ok(())
}

#[test]
fn the_size_of_an_expert_group_is_part_of_its_case() -> TestResult {
    let fixture = Fixture::new()?;
    let rows = add("5", "8").replace(",Add,", ",DispatchFFNCombine,");
    for (ep_size, text) in [(16, ",16"), (4, ",4")] {
        let samples = fixture.samples(&rows, &AggregateOptions { ep_size, ..AggregateOptions::default() })?;
        fixture.update(&samples, |_| {})?;
        let table = fixture.table("DispatchFFNCombine.csv")?;
        assert!(table.lines().next().is_some_and(|header| header.ends_with(",EP Size")), "{table}");
        assert!(table.lines().any(|line| line.ends_with(text)), "{table}");
    }
    assert_eq!(fixture.table("DispatchFFNCombine.csv")?.lines().count(), 3);
    // A table that says no size takes that of the samples.
    let fixture = Fixture::new()?;
    fixture.write("DispatchFFNCombine.csv", &format!("{TABLE}{}", row("8", "9,,x")))?;
    let samples = fixture.samples(&rows, &AggregateOptions::default())?;
    let updates = fixture.update(&samples, |_| {})?;
    assert_eq!((updates[0].updated, updates[0].added, updates[0].notices.len()), (1, 0, 1));
    assert!(fixture.table("DispatchFFNCombine.csv")?.contains(",ND,5.000000,,x,16\r\n"));
    Ok(())
}

#[test]
fn what_has_no_table_is_told_and_reports_stay_in_the_database() -> TestResult {
    let fixture = Fixture::new()?;
    fixture.write("Add.csv", TABLE)?;
    let rows = format!("{}{}", add("5", "8"), add("5", "8").replace(",Add,", ",Slice,"));
    let samples = fixture.samples(&rows, &AggregateOptions::default())?;
    let database = fixture.database();
    let lock = || LockOptions { tool: "updater", timeout: DEFAULT_TIMEOUT, notice: &|_| {} };
    let pending = |operators: &[String], follow_links: bool| {
        let options = UpdateOptions {
            follow_links,
            operators: Some(operators),
            ..UpdateOptions::new(&database, Mode::All, lock())
        };
        prepare(&samples, &options)
    };
    let [add, slice, sort] = ["Add", "Slice", "Sort"].map(str::to_owned);
    let of_all = pending(&[add.clone(), slice, sort], false)?;
    assert_eq!(of_all.warnings().len(), 1, "{:?}", of_all.warnings());
    assert!(of_all.warnings()[0].ends_with("no table for Slice, its measurements are not kept"));
    drop(of_all);

    let outside = fixture.folder.path().join("outside");
    fs::create_dir(&outside)?;
    std::os::unix::fs::symlink(&outside, database.join("reports"))?;
    let mut of_one = pending(std::slice::from_ref(&add), false)?;
    assert!(of_one.warnings().is_empty());
    let error = of_one.add_file(&database.join("reports/r.md"), b"x").err().ok_or("it was taken")?;
    assert!(error.to_string().contains("leads out of the database"), "{error}");
    drop(of_one);
    assert_eq!(
        (fixture.table("Add.csv")?.as_str(), fs::read_dir(&outside)?.count()),
        (TABLE, 0),
        "nothing is committed"
    );
    let mut followed = pending(&[add], true)?;
    followed.add_file(&database.join("reports/r.md"), b"x")?;
    followed.add_file(&database.join("made/r.md"), b"y")?;
    let updates = followed.commit()?;
    assert_eq!(updates.iter().map(|update| update.added).collect::<Vec<_>>(), [1]);
    assert_eq!(
        (fs::read(outside.join("r.md"))?, fs::read(database.join("made/r.md"))?),
        (b"x".to_vec(), b"y".to_vec())
    );
    assert_eq!((Mode::All.name(), Mode::MissingOnly.name()), ("all", "missing-only"));
    Ok(())
}

#[test]
fn an_empty_row_of_a_single_column_stays_a_row() -> TestResult {
    let fixture = Fixture::new()?;
    fixture.write("Add.csv", "Average Duration(us)\r\n\"\"\r\n5\r\n")?;
    let samples = fixture.samples(&add("6", "8"), &AggregateOptions::default())?;
    fixture.update(&samples, |_| {})?;
    assert_eq!(fixture.table("Add.csv")?, "Average Duration(us)\r\n\"\"\r\n5\r\n6.000000\r\n");
    Ok(())
}

#[test]
fn what_a_killed_run_left_among_the_reports_goes() -> TestResult {
    let fixture = Fixture::new()?;
    fixture.write("Add.csv", TABLE)?;
    let reports = fixture.database().join("reports");
    let leftover = reports.join(".r.md.tmp-4194303");
    fs::create_dir(&reports)?;
    fs::write(&leftover, "half")?;
    fs::write(reports.join("r.md"), "whole")?;
    let samples = fixture.samples(&add("6", "8"), &AggregateOptions::default())?;
    fixture.update(&samples, |options| options.dry_run = true)?;
    assert!(leftover.exists(), "a dry run removes nothing");
    fixture.update(&samples, |_| {})?;
    assert!(!leftover.exists() && reports.join("r.md").exists());
    Ok(())
}

#[test]
fn only_cells_that_differ_are_told() -> TestResult {
    let fixture = Fixture::new()?;
    let header = TABLE.replace(",note", ",MicroBench aicore_time(us)");
    fixture.write("Add.csv", &format!("{header}{}", row("8", "9,,1.500000")))?;
    let mut samples = fixture.samples(&add("6", "8"), &AggregateOptions::default())?;
    samples.retain_operators(&["Add".to_owned()]);
    let updates = fixture.update(&samples, |options| options.record_changes = true)?;
    let changes = updates[0].changes.as_ref().ok_or("no changes")?;
    assert_eq!(changes.rows[0].cells.keys().collect::<Vec<_>>(), ["Average Duration(us)"]);
    Ok(())
}

#[test]
fn a_cell_beyond_the_limit_is_told_with_its_line() -> TestResult {
    let fixture = Fixture::new()?;
    let rows = format!("{}{}", add("6", "8"), add("6", "8").replace("static", &"x".repeat(131_073)));
    let error = fixture.samples(&rows, &AggregateOptions::default()).err().ok_or("it was taken")?.to_string();
    assert!(error.contains("op_summary_1.csv:3"), "{error}");
    Ok(())
}

#[test]
fn updates_wait_for_the_lock_and_dry_runs_do_not() -> TestResult {
    let fixture = Fixture::new()?;
    let samples = fixture.samples(&add("6", "8"), &AggregateOptions::default())?;
    let at_once = || LockOptions { tool: "updater", timeout: std::time::Duration::ZERO, notice: &|_| {} };
    let database = fixture.database();
    let held = perfdb_files::lock::DirectoryLocks::acquire([&database], &at_once())?;
    let options = |dry_run| UpdateOptions { dry_run, ..UpdateOptions::new(&database, Mode::All, at_once()) };
    assert!(prepare(&samples, &options(false)).is_err());
    assert!(prepare(&samples, &options(true)).is_ok());
    drop(held);
    assert!(prepare(&samples, &options(false)).is_ok());
    Ok(())
}
