//! What merging brings together, and what it keeps.

#[path = "merge/properties.rs"]
mod properties;

use perfdb_audit::versions::Error;
use perfdb_audit::versions::merge::{Decisions, Options, Prefer, TableMerge, Taken, prepare};
use perfdb_files::lock::{LOCK_FILE, LockOptions};
use perfdb_store::provenance::{Record, Run};
use perfdb_store::table::{ReadOptions, Table};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const HEADER: &str =
    "Input Shapes,Input Data Types,Average Duration(us),MicroBench aiv_time(us),Profiling Average Duration(us),note";

fn write(folder: &Path, file: &str, text: &str) -> std::io::Result<()> {
    let path = folder.join(file);
    fs::create_dir_all(perfdb_files::paths::parent_of(&path))?;
    fs::write(path, text)
}

fn merge_with(
    folder: &Path,
    into: &str,
    from: &[&str],
    prefer: Prefer,
    decisions: &Decisions,
) -> Result<Vec<TableMerge>, Error> {
    let from: Vec<PathBuf> = from.iter().map(|name| folder.join(name)).collect();
    let options = Options {
        into: &folder.join(into),
        from: &from,
        names: &[],
        prefer,
        decisions,
        dry_run: false,
        run: Run::new("2026-01-01T00:00:00Z", "test"),
        lock: LockOptions { tool: "test", timeout: Duration::from_secs(60), notice: &|_| {} },
    };
    prepare(&options)?.commit()
}

fn merge(folder: &Path, into: &str, from: &[&str], prefer: Prefer) -> Result<Vec<TableMerge>, Error> {
    merge_with(folder, into, from, prefer, &Decisions::default())
}

fn read(folder: &Path, file: &str) -> Result<Vec<Vec<String>>, Error> {
    let table = Table::read(&folder.join(file), &ReadOptions::database())?;
    Ok(table.rows().map(|row| row.cells().map(str::to_owned).collect()).collect())
}

/// All files of a database.
fn files(folder: &Path) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    fs::read_dir(folder)?
        .map(|entry| {
            let entry = entry?;
            Ok((entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?))
        })
        .collect()
}

#[test]
fn rows_are_added_filled_and_decided() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    write(at, "into/Add.csv", &format!("{HEADER}\r\n4,F,10,1,,own\r\n5,F,,,7,\r\n6,F,3,,,\r\n"))?;
    write(
        at,
        "from/Add.csv",
        "note,Input Shapes,Input Data Types,Average Duration(us),MicroBench aiv_time(us),extra\nother,4,F,8,2,e\nn,5,F,6,5,\n,6,F,3,,\n,7,F,1,1,x\n",
    )?;
    write(at, "from/New.csv", "Input Shapes,Average Duration(us)\n4,1\n")?;
    let tables = merge(at, "into", &["from"], Prefer::Fastest)?;
    let add = &tables[0];
    assert_eq!((add.added, add.filled, add.same, add.conflicts.len(), add.other_metadata), (1, 1, 1, 1, 1));
    assert_eq!(add.columns_added, ["extra"]);
    assert!(tables[1].is_new && tables[1].added == 1);
    assert_eq!(
        read(at, "into/Add.csv")?,
        [
            // The counter comes with its duration; the own note stays.
            ["4", "F", "8", "2", "", "own", "e"],
            ["5", "F", "6", "5", "7", "n", ""],
            ["6", "F", "3", "", "", "", ""],
            ["7", "F", "1", "1", "", "", "x"],
        ]
    );
    let kept = fs::read_to_string(at.join("into/Add.conflicts.csv"))?;
    let from = at.join("from").display().to_string();
    assert_eq!(kept, format!("Conflict,Database,{HEADER},extra\r\nreplaced,{from},4,F,10,1,,own,\r\n"));
    let record = Record::load(&at.join("into"))?.ok_or("a record")?;
    assert_eq!(record.runs().len(), 1);
    assert_eq!(record.runs()[0].types, ["Add", "New"]);
    assert!(!at.join("into").join(LOCK_FILE).exists());
    // A kept row is no table's.
    assert_eq!(perfdb_store::directory::tables_in(&at.join("into"))?.len(), 2);
    Ok(())
}

#[test]
fn a_duration_beside_one_of_an_old_name_is_taken() -> TestResult {
    for header in ["Average Duration(us),MicroBench Duration(us)", "MicroBench Duration(us),Average Duration(us)"] {
        let rows = if header.starts_with("Average") { "4,8,\n5,9,7\n" } else { "4,,8\n5,7,9\n" };
        let folder = tempfile::tempdir()?;
        let at = folder.path();
        write(at, "into/Add.csv", "Input Shapes,MicroBench Duration(us)\n4,\n")?;
        write(at, "from/Add.csv", &format!("Input Shapes,{header}\n{rows}"))?;
        merge(at, "into", &["from"], Prefer::Into)?;
        assert_eq!(read(at, "into/Add.csv")?, [["4", "8"], ["5", "9"]], "{header}");
    }
    Ok(())
}

#[test]
fn what_is_not_taken_is_kept_once() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    write(at, "into/Add.csv", "Input Shapes,Average Duration(us)\n4,10\n")?;
    write(at, "from/Add.csv", "Input Shapes,Average Duration(us)\n4,8\n")?;
    for _ in 0..2 {
        merge(at, "into", &["from"], Prefer::Into)?;
        assert_eq!(fs::read_to_string(at.join("into/Add.csv"))?, "Input Shapes,Average Duration(us)\n4,10\n");
        assert_eq!(read(at, "into/Add.conflicts.csv")?.len(), 1);
        assert!(!at.join("into/database.toml").exists());
    }
    Ok(())
}

#[test]
fn the_newest_needs_dates() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    write(at, "into/Add.csv", "Input Shapes,Average Duration(us)\n4,10\n")?;
    write(at, "from/Add.csv", "Input Shapes,Average Duration(us)\n4,12\n")?;
    write(
        at,
        "from/database.toml",
        "format_version = 1\n[[run]]\ndate = \"2026-02-01\"\ntool = \"t\"\ntypes = [\"Add\"]\n",
    )?;
    let before = files(&at.join("into"))?;
    let refused = merge(at, "into", &["from"], Prefer::Newest).map_err(|error| error.to_string());
    assert!(refused.is_err_and(|error| error.contains("nothing tells when Add was measured")));
    assert_eq!(files(&at.join("into"))?, before);
    write(at, "into/op_mapping.yaml", "collection_date: 2026-01-31\n")?;
    merge(at, "into", &["from"], Prefer::Newest)?;
    assert_eq!(read(at, "into/Add.csv")?, [["4", "12"]]);
    let record = Record::load(&at.join("into"))?.ok_or("a record")?;
    assert_eq!(record.date_of("Add"), Some("2026-02-01"));
    Ok(())
}

#[test]
fn what_somebody_decided_counts() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    write(at, "into/Add.csv", "Input Shapes,Average Duration(us)\n4,10\n5,10\n")?;
    write(at, "from/Add.csv", "Input Shapes,Average Duration(us)\n4,12\n5,12\n")?;
    let before = files(&at.join("into"))?;
    let tables = merge(at, "into", &["from"], Prefer::AskList)?;
    assert_eq!(files(&at.join("into"))?, before);
    let list: String = tables[0]
        .conflicts
        .iter()
        .zip(["from", ""])
        .map(|(conflict, keep)| {
            let from = conflict.from.display();
            format!(
                "{},\"{}\",{},{},{from},{},{keep}\n",
                conflict.kernel_type,
                conflict.case,
                conflict.duration.name(),
                conflict.into_us,
                conflict.from_us
            )
        })
        .collect();
    let list = format!("kernel_type,case,duration,into_us,from,from_us,keep\n{list}");
    let decisions = Decisions::parse("list.csv".as_ref(), list.as_bytes())?;
    merge_with(at, "into", &["from"], Prefer::AskList, &decisions)?;
    assert_eq!(read(at, "into/Add.csv")?, [["4", "12"], ["5", "10"]]);
    Ok(())
}

#[test]
fn the_order_of_databases_decides_nothing_under_ask_list() -> TestResult {
    let mut found = Vec::new();
    for order in [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["c", "b", "a"]] {
        let folder = tempfile::tempdir()?;
        let at = folder.path();
        write(at, "into/Add.csv", "Input Shapes,Average Duration(us)\n1,1\n")?;
        for (name, us) in [("a", 5), ("b", 3), ("c", 4)] {
            write(at, &format!("{name}/Add.csv"), &format!("Input Shapes,Average Duration(us)\n4,{us}\n"))?;
        }
        let tables = merge(at, "into", &order, Prefer::AskList)?;
        assert_eq!(tables[0].answers_changed, 0);
        let mut asked: Vec<_> = tables[0]
            .conflicts
            .iter()
            .map(|one| {
                let name = one.from.file_name().map(|name| name.to_string_lossy().into_owned());
                (name.unwrap_or_default(), one.into_us.to_string(), one.from_us.to_string(), one.taken)
            })
            .collect();
        asked.sort_by(|first, second| first.0.cmp(&second.0));
        found.push((read(at, "into/Add.csv")?, asked));
    }
    assert_eq!(found[0].0, [["1", "1"], ["4", "3"]]);
    let question = |name: &str, us: &str| (name.to_owned(), "3".to_owned(), us.to_owned(), Taken::Undecided);
    assert_eq!(found[0].1, [question("a", "5"), question("c", "4")]);
    assert!(found.windows(2).all(|two| two[0] == two[1]), "{found:?}");
    Ok(())
}

#[test]
fn other_devices_versions_and_folders_are_refused() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let names = [
        "vllm1_torch2_cann8.5",
        "vllm1_torch2_cann8.6",
        "x/TEST_DEVICE/vllm1_torch2_cann8.5",
        "y/HOST_CPU/vllm1_torch2_cann8.5",
    ];
    for name in names {
        write(at, &format!("{name}/Add.csv"), "Input Shapes,Average Duration(us)\n4,10\n")?;
    }
    write(at, "empty/x.txt", "")?;
    let refused = |into: &str, from: &[&str]| {
        merge(at, into, from, Prefer::Into).map_err(|error| error.to_string()).err().unwrap_or_default()
    };
    assert!(refused(names[0], &[names[1]]).contains("CANN 8.5 and 8.6"));
    assert!(refused(names[2], &[names[3]]).contains("device TEST_DEVICE and HOST_CPU"));
    assert!(refused(names[0], &[names[2], names[3]]).contains("device"));
    assert!(refused(names[0], &[names[0]]).contains("are the same database"));
    assert!(refused("empty", &[names[0]]).contains("no table"));
    assert!(refused(names[0], &["empty"]).contains("no table"));
    write(at, &format!("{}/.perfdb.journal", names[2]), "")?;
    assert!(refused(names[0], &[names[2]]).contains("half replaced"));
    Ok(())
}

/// What is behind a link in the database, a table of somebody else or a file that is still to come, is not written.
#[test]
fn nothing_is_written_through_a_link() -> TestResult {
    for link in ["Add.csv", "Mul.csv", "Add.conflicts.csv", "database.toml", "op_mapping.yaml"] {
        for is_there in [true, false] {
            let folder = tempfile::tempdir()?;
            let at = folder.path();
            let [own, other] = [5, 6].map(|us| format!("{HEADER}\n1,DT_BF16,{us},,,\n"));
            write(at, "into/Add.csv", &own)?;
            write(at, "from/Add.csv", &format!("{other}2,DT_BF16,7,,,\n"))?;
            write(at, "from/Mul.csv", &other)?;
            write(at, "from/op_mapping.yaml", "version: \"1\"\n")?;
            let path = at.join("into").join(link);
            if is_there {
                fs::create_dir_all(at.join("outside"))?;
                let _ = fs::rename(&path, at.join("outside/file"));
                let text = if link.ends_with(".csv") { own.as_str() } else { "" };
                write(at, "outside/file", text)?;
            } else {
                let _ = fs::remove_file(&path);
            }
            std::os::unix::fs::symlink("../outside/file", &path)?;
            let found = || ["outside/file", "into/Add.csv"].map(|name| fs::read_to_string(at.join(name)).ok());
            let before = found();
            let result = merge(at, "into", &["from"], Prefer::Fastest);
            // A mapping that is there stays as it is, through whatever name; all others would be written.
            if link == "op_mapping.yaml" && is_there {
                assert_eq!((result?.len(), &found()[0]), (2, &before[0]));
            } else {
                assert!(result.is_err_and(|error| error.to_string().contains(link)), "{link} {is_there}");
                assert_eq!(found(), before, "{link} {is_there}");
            }
        }
    }
    Ok(())
}

#[test]
fn rows_that_lookups_keep_apart_stay_apart() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let header = "Input Shapes,Input Data Types,Runtime topk,Runtime quant_mode,Average Duration(us)\n";
    write(at, "into/MatMulV2.csv", &format!("{header}\"4,8;8,8\",F;F,2048,0,10\n"))?;
    write(
        at,
        "from/MatMulV2.csv",
        &format!("{header}\"4,8;8,8;8\",F;F;F,2048,0,10\n\"4,8;8,8\",F;F,1024,0,10\n\"4,8;8,8\",F;F,2048,1,10\n"),
    )?;
    let tables = merge(at, "into", &["from"], Prefer::Into)?;
    assert_eq!((tables[0].added, tables[0].same, tables[0].conflicts.len()), (3, 0, 0));
    let again = merge(at, "into", &["from"], Prefer::Into)?;
    assert_eq!((again[0].added, again[0].same, again[0].is_changed()), (0, 3, false));
    Ok(())
}

#[test]
fn into_keeps_every_answer_by_default() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    // Lookups read the average duration before that of a profile, and that before a plain duration.
    for (own, other) in [
        ("Duration(us)", "Average Duration(us)"),
        ("Profiling Average Duration(us)", "Average Duration(us)"),
        ("Duration(us)", "Profiling Average Duration(us)"),
    ] {
        fs::remove_dir_all(at.join("into")).ok();
        write(at, "into/Add.csv", &format!("Input Shapes,{own}\n4,12\n"))?;
        write(at, "from/Add.csv", &format!("Input Shapes,{other}\n4,10\n"))?;
        let tables = merge(at, "into", &["from"], Prefer::Into)?;
        assert_eq!((tables[0].filled, tables[0].conflicts.len(), tables[0].answers_changed), (0, 1, 0), "{own}");
        assert_eq!(read(at, "into/Add.csv")?[0][1], "12");
        assert_eq!(read(at, "into/Add.conflicts.csv")?.len(), 1);
        let tables = merge(at, "into", &["from"], Prefer::Fastest)?;
        assert_eq!(tables[0].answers_changed, 1, "{own} {other}");
    }
    Ok(())
}

#[test]
fn the_newest_is_found_row_by_row_and_as_an_instant() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let dated = |name: &str, rows: &str, date: &str| -> TestResult {
        write(at, &format!("{name}/Add.csv"), &format!("Input Shapes,Average Duration(us)\n{rows}"))?;
        write(at, &format!("{name}/op_mapping.yaml"), &format!("collection_date: '{date}'\n"))?;
        Ok(())
    };
    dated("into", "4,10\n", "2026-01-01")?;
    dated("march", "8,5\n", "2026-03-01")?;
    dated("february", "4,9\n", "2026-02-01")?;
    merge(at, "into", &["march"], Prefer::Newest)?;
    merge(at, "into", &["february"], Prefer::Newest)?;
    assert_eq!(read(at, "into/Add.csv")?, [["4", "9"], ["8", "5"]]);
    dated("early", "4,7\n", "2026-05-01T09:00:00+08:00")?;
    dated("late", "4,6\n", "2026-05-01T02:00:00Z")?;
    merge(at, "into", &["late", "early"], Prefer::Newest)?;
    assert_eq!(read(at, "into/Add.csv")?, [["4", "6"], ["8", "5"]]);
    Ok(())
}

#[test]
fn an_empty_folder_gets_a_copy_with_its_collectives() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    write(at, "db/v/Add.csv", "Input Shapes,Average Duration(us)\n4,10\n4,11\n")?;
    write(at, "db/v/op_mapping.yaml", "version: \"1\"\ncommunication_data_ref: ../hccl\noperator_mappings: {}\n")?;
    write(
        at,
        "db/hccl/hcom_allReduce_.csv",
        "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n8,2,F,0,3,1\n",
    )?;
    fs::create_dir(at.join("copy"))?;
    merge(at, "copy", &["db/v"], Prefer::Into)?;
    assert_eq!(fs::read(at.join("copy/Add.csv"))?, fs::read(at.join("db/v/Add.csv"))?);
    assert_eq!(fs::read(at.join("copy/hccl/hcom_allReduce_.csv"))?, fs::read(at.join("db/hccl/hcom_allReduce_.csv"))?);
    let mapping = fs::read_to_string(at.join("copy/op_mapping.yaml"))?;
    assert!(mapping.contains("\ncommunication_data_ref: hccl\n"), "{mapping}");
    write(at, "db/v/op_mapping.yaml", "a: [1\n")?;
    let refused = merge(at, "copy", &["db/v"], Prefer::Into).map_err(|error| error.to_string()).err();
    assert!(refused.is_some_and(|error| error.contains("op_mapping.yaml")));
    Ok(())
}

/// A table that comes in stays what its database says it is; one that is there already is read as before.
#[test]
fn what_new_tables_are_comes_in_with_them() -> TestResult {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    let rows = |shapes: &str| format!("Input Shapes,Input Data Types,Average Duration(us)\n{shapes},5\n");
    write(at, "into/Add.csv", &rows("4,F"))?;
    write(at, "into/op_mapping.yaml", "# ours\nkernel_tables:\n  own: {class: norm}\nversion: \"1\"\n")?;
    write(at, "ana/gemm.csv", &rows("\"4,8;8,8\",F;F"))?;
    write(at, "ana/Add.csv", &rows("8,F"))?;
    write(
        at,
        "ana/op_mapping.yaml",
        "kernel_tables: {gemm: {class: matmul, layout: k_n}, Add: {class: copy}, none: {class: copy}}\n",
    )?;
    write(at, "wei/gemm.csv", &rows("\"9,8;8,8\",F;F"))?;
    write(at, "wei/op_mapping.yaml", "kernel_tables: {gemm: {class: matmul, layout: n_k}}\n")?;
    let prepared = |into: &str, dry_run: bool| -> Result<Vec<String>, Error> {
        let from = ["ana", "wei"].map(|name| at.join(name));
        let options = Options {
            into: &at.join(into),
            from: &from,
            names: &[],
            prefer: Prefer::Into,
            decisions: &Decisions::default(),
            dry_run,
            run: Run::new("2026-01-01T00:00:00Z", "test"),
            lock: LockOptions { tool: "test", timeout: Duration::from_secs(60), notice: &|_| {} },
        };
        let pending = prepare(&options)?;
        let notes = pending.notes().to_vec();
        pending.commit()?;
        Ok(notes)
    };
    let mapping = |into: &str| fs::read_to_string(at.join(into).join("op_mapping.yaml"));
    let before = mapping("into")?;
    prepared("into", true)?;
    assert_eq!(mapping("into")?, before);
    let notes = prepared("into", false)?;
    let added = "  \"gemm\": {class: matmul, layout: k_n}\n";
    assert_eq!(mapping("into")?, before.replace("kernel_tables:\n", &format!("kernel_tables:\n{added}")));
    let otherwise =
        |table: &str| notes.iter().any(|note| note.contains(&format!("describes the table {table} otherwise")));
    assert!(otherwise("Add") && otherwise("gemm"), "{notes:?}");
    let after = mapping("into")?;
    prepared("into", false)?;
    assert_eq!(mapping("into")?, after);
    // A new database takes over the first mapping, and what is new in the others.
    fs::create_dir(at.join("new"))?;
    write(at, "wei/other.csv", &rows("9,F"))?;
    write(at, "wei/op_mapping.yaml", "kernel_tables: {other: {class: norm}}\n")?;
    write(at, "ana/op_mapping.yaml", "kernel_tables:\n  gemm: {class: matmul}\n")?;
    prepared("new", false)?;
    assert_eq!(mapping("new")?, "kernel_tables:\n  \"other\": {class: norm}\n  gemm: {class: matmul}\n");
    // What cannot be edited is said.
    write(at, "into/op_mapping.yaml", "kernel_tables: {own: {class: norm}}\n")?;
    let notes = prepared("into", false)?;
    assert!(notes.iter().any(|note| note.contains("can't be added to it: other")), "{notes:?}");
    write(at, "wei/op_mapping.yaml", "kernel_tables: {other: {class: nothing}}\n")?;
    let error = prepared("into", false).map_err(|error| error.to_string()).err().unwrap_or_default();
    assert!(error.contains("wei/op_mapping.yaml: kernel_tables.other.class: must be one of "), "{error}");
    Ok(())
}
