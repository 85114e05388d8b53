//! What is found between two databases.

use perfdb_audit::versions::diff::{self, Doubt, Options, Outcome, TableDiff};
use perfdb_audit::versions::{Error, Place};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

type TestResult = Result<(), Box<dyn std::error::Error>>;

const HEADER: &str = "OP State,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Average Duration(us),Profiling Average Duration(us),Profiling Std Duration(us)";

fn write(folder: &Path, file: &str, text: &str) -> std::io::Result<()> {
    let path = folder.join(file);
    fs::create_dir_all(perfdb_files::paths::parent_of(&path))?;
    fs::write(path, text)
}

fn row(shape: &str, measured: &str, profiled: &str, spread: &str) -> String {
    format!("static,{shape},FLOAT,ND,{shape},FLOAT,{measured},{profiled},{spread}\n")
}

fn compare(folder: &Path) -> Result<(diff::Diff, Vec<TableDiff>), Error> {
    let [a, b] = ["a", "b"].map(|name| Place::open(&folder.join(name)));
    let mut tables = Vec::new();
    let found = diff::compare(&a?, &b?, &Options::default(), |table| {
        tables.push(table.clone());
        Ok::<_, Error>(())
    })?;
    Ok((found, tables))
}

#[test]
fn rows_are_told_apart() -> TestResult {
    let folder = tempfile::tempdir()?;
    let old = [
        row("4", "10", "", ""),
        row("5", "10", "", ""),
        row("6", "", "10", "1"),
        row("7", "8", "", ""),
        row("8", "", "", ""),
    ];
    let new = [
        row("9", "1", "", ""),
        row("5", "12", "", ""),
        row("4", "10.1", "", ""),
        row("6", "", "10.5", "1"),
        row("7", "4", "", ""),
        row("8", "3", "", ""),
    ];
    write(folder.path(), "a/Add.csv", &format!("{HEADER}\n{}", old.concat()))?;
    write(folder.path(), "b/Add.csv", &format!("{HEADER}\n{}", new.concat().replace("static,8", "dynamic,8")))?;
    write(folder.path(), "a/Gone.csv", &format!("{HEADER}\n{}", row("4", "1", "", "")))?;
    write(folder.path(), "b/Bad.csv", "a,a\n1,2\n")?;
    let (found, tables) = compare(folder.path())?;
    let outcomes: Vec<_> =
        tables[0].rows.iter().map(|row| (row.case.parts().next().unwrap_or_default(), row.outcome)).collect();
    assert_eq!(
        outcomes,
        [
            ("4", Outcome::Same),
            ("5", Outcome::Slower),
            ("6", Outcome::CannotTell(Doubt::Spread)),
            ("7", Outcome::Faster),
            ("8", Outcome::CannotTell(Doubt::NoDuration)),
            ("9", Outcome::OnlyB),
        ]
    );
    let last = &tables[0].rows[4];
    assert_eq!(last.metadata, [(0, "static".into(), "dynamic".into())]);
    assert_eq!(tables[0].metadata_columns, ["OP State"]);
    assert_eq!((found.total.rows, found.total.compared(), found.total.cases()), ([6, 6], 3, 7));
    assert_eq!((found.total.only_a, found.total.only_b, found.total.other_metadata), (1, 1, 1));
    let mean = (1.01_f64 * 1.2 * 0.5).powf(1.0 / 3.0);
    assert!((found.total.mean_ratio().ok_or("a mean")? - mean).abs() < 1e-12);
    let slowest = found.total.slowest.ok_or("a slowest row")?;
    assert_eq!((slowest.kernel_type.as_str(), slowest.case.parts().next()), ("Add", Some("5")));
    assert_eq!(found.unreadable.len(), 1);
    assert!(found.unreadable[0].message.ends_with("Bad.csv:1: duplicate column a"), "{:?}", found.unreadable);
    Ok(())
}

#[test]
fn attention_rows_of_one_signature_are_paired_by_their_lengths() -> TestResult {
    let folder = tempfile::tempdir()?;
    let header = "Input Shapes,Output Shapes,Average Duration(us),Runtime avg_seq_len\n";
    write(folder.path(), "a/FusedInferAttentionScore.csv", &format!("{header}4,4,10,128\n4,4,20,4096\n4,4,5,\n"))?;
    write(folder.path(), "b/FusedInferAttentionScore.csv", &format!("{header}4,4,20,4096\n4,4,30,64\n4,4,11,128\n"))?;
    let (_, tables) = compare(folder.path())?;
    let found: Vec<_> = tables[0]
        .rows
        .iter()
        .map(|row| (row.a.map(|side| side.line), row.b.map(|side| side.line), row.outcome.name()))
        .collect();
    // The row without lengths takes the one that is left.
    assert_eq!(found, [(Some(2), Some(4), "slower"), (Some(3), Some(2), "same"), (Some(4), Some(3), "slower")]);
    Ok(())
}

#[test]
fn old_names_and_collectives_are_read() -> TestResult {
    let folder = tempfile::tempdir()?;
    write(folder.path(), "a/Add.csv", "Input Shapes,MicroBench Duration(us)\n4,1\n")?;
    write(folder.path(), "b/Add.csv", "Input Shapes,Average Duration(us),note\n4,2,x\n")?;
    let header = "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps";
    write(folder.path(), "a/op_mapping.yaml", "communication_data_ref: ../comm\n")?;
    write(folder.path(), "comm/hcom_allReduce_.csv", &format!("{header}\n8,2,DT_BF16,1,4.0,1.0\n"))?;
    write(folder.path(), "b/hcom_allReduce_.csv", &format!("{header}\n8,2,DT_BF16,1,2.0,2.0\n"))?;
    let a = Place::open(&folder.path().join("a"))?.with_collectives()?;
    let b = Place::open(&folder.path().join("b"))?.with_collectives()?;
    let found = diff::compare(&a, &b, &Options::default(), |_| Ok::<_, Error>(()))?;
    let counts: Vec<_> = found.tables.iter().map(|table| (table.tally.slower, table.tally.faster)).collect();
    assert_eq!(counts, [(1, 0), (0, 1)]);
    assert_eq!(found.tables[0].own_columns[1], ["Average Duration(us)", "note"]);
    Ok(())
}

#[test]
fn what_is_no_pair_of_databases_is_refused() -> TestResult {
    let folder = tempfile::tempdir()?;
    write(folder.path(), "a/Add.csv", HEADER)?;
    write(folder.path(), "empty/notes.txt", "")?;
    let a = Place::open(&folder.path().join("a"))?;
    let twice =
        diff::compare(
            &a,
            &Place::open(&folder.path().join("empty/../a"))?,
            &Options::default(),
            |_| Ok::<_, Error>(()),
        );
    assert!(matches!(twice, Err(Error::SameDatabase { .. })));
    assert!(matches!(Place::open(&folder.path().join("empty")), Err(Error::NoTables { .. })));
    assert!(Place::open(&folder.path().join("nowhere")).is_err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_row_is_in_one_place_and_the_other_way_round_is_the_mirror(
        a in prop::collection::vec((1..6_u8, 0..4_u8, 0..3_u8), 0..12),
        b in prop::collection::vec((1..6_u8, 0..4_u8, 0..3_u8), 0..12),
    ) {
        let folder = tempfile::tempdir()?;
        for (name, rows) in [("a", &a), ("b", &b)] {
            let rows: String = rows.iter().map(|(shape, us, length)| format!("{shape},{us},{}\n", if *length == 0 { String::new() } else { length.to_string() })).collect();
            write(folder.path(), &format!("{name}/X.csv"), &format!("Input Shapes,Average Duration(us),Runtime avg_seq_len\n{rows}"))?;
        }
        let (forth, tables) = compare(folder.path()).unwrap();
        let lines = |side: fn(&diff::RowDiff) -> Option<diff::Side>| {
            let mut lines: Vec<u64> = tables[0].rows.iter().filter_map(side).map(|side| side.line).collect();
            lines.sort_unstable();
            lines
        };
        prop_assert_eq!(lines(|row| row.a), (2..a.len() as u64 + 2).collect::<Vec<_>>());
        prop_assert_eq!(lines(|row| row.b), (2..b.len() as u64 + 2).collect::<Vec<_>>());
        fs::rename(folder.path().join("a"), folder.path().join("c"))?;
        fs::rename(folder.path().join("b"), folder.path().join("a"))?;
        fs::rename(folder.path().join("c"), folder.path().join("b"))?;
        let (back, _) = compare(folder.path()).unwrap();
        let (forth, back) = (forth.total, back.total);
        prop_assert_eq!((forth.only_a, forth.only_b), (back.only_b, back.only_a));
        prop_assert_eq!(forth.cases(), back.cases());
    }
}
