//! Databases of any rows.

use super::{files, merge, read, write};
use perfdb_audit::versions::merge::Prefer;
use perfdb_store::table::{ReadOptions, Table};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

/// Rows of a small table: shape, length, measured, profiled.
fn rows() -> impl Strategy<Value = Vec<(u8, u8, u8, u8)>> {
    prop::collection::vec((1..7_u8, 0..2_u8, 0..4_u8, 0..3_u8), 1..9)
}

fn text(rows: &[(u8, u8, u8, u8)]) -> String {
    let cell = |number: u8| if number == 0 { String::new() } else { number.to_string() };
    let row = |(shape, length, measured, profiled): &(u8, u8, u8, u8)| {
        format!("{shape},{},{},{}\n", cell(*length), cell(*measured), cell(*profiled))
    };
    let rows: String = rows.iter().map(row).collect();
    format!("Input Shapes,Runtime avg_seq_len,Average Duration(us),Profiling Average Duration(us)\n{rows}")
}

fn dated(folder: &Path, name: &str, day: u8) -> std::io::Result<()> {
    write(folder, &format!("{name}/op_mapping.yaml"), &format!("collection_date: 2026-01-0{day}\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn merging_again_changes_nothing_and_no_duration_is_lost(
        into in rows(), first in rows(), prefer in prop::sample::select(vec![Prefer::Newest, Prefer::Fastest, Prefer::Into]), day in 1..4_u8,
    ) {
        let folder = tempfile::tempdir()?;
        let at = folder.path();
        write(at, "into/X.csv", &text(&into))?;
        write(at, "first/X.csv", &text(&first))?;
        dated(at, "into", 2)?;
        dated(at, "first", day)?;
        merge(at, "into", &["first"], prefer).unwrap();
        let once = files(&at.join("into"))?;
        merge(at, "into", &["first"], prefer).unwrap();
        prop_assert_eq!(&files(&at.join("into"))?, &once);
        // Every duration of either database stands in the table or beside it.
        let mut found = BTreeSet::new();
        for file in ["into/X.csv", "into/X.conflicts.csv"] {
            if at.join(file).exists() {
                let table = Table::read(&at.join(file), &ReadOptions::database()).unwrap();
                for row in table.rows() {
                    let cell = |name: &str| row.get(name).unwrap_or_default().to_owned();
                    for name in ["Average Duration(us)", "Profiling Average Duration(us)"] {
                        found.insert((cell("Input Shapes"), cell("Runtime avg_seq_len"), name, cell(name)));
                    }
                }
            }
        }
        let cell = |number: u8| if number == 0 { String::new() } else { number.to_string() };
        for (shape, length, measured, profiled) in into.iter().chain(&first) {
            for (name, us) in [("Average Duration(us)", measured), ("Profiling Average Duration(us)", profiled)] {
                let wanted = (shape.to_string(), cell(*length), name, cell(*us));
                prop_assert!(*us == 0 || found.contains(&wanted), "{:?} is lost", wanted);
            }
        }
    }

    #[test]
    fn the_order_of_disjoint_databases_does_not_matter(into in rows(), first in rows(), second in rows()) {
        // Shapes tell the databases apart; that two fill one row is no disjoint case.
        let apart = |rows: Vec<(u8, u8, u8, u8)>, by: u8| -> Vec<(u8, u8, u8, u8)> {
            rows.into_iter().map(|(shape, length, measured, profiled)| (shape + by, length, measured, profiled)).collect()
        };
        let (first, second) = (apart(first, 10), apart(second, 20));
        let mut ends = Vec::new();
        for order in [["first", "second"], ["second", "first"]] {
            let folder = tempfile::tempdir()?;
            let at = folder.path();
            write(at, "into/X.csv", &text(&into))?;
            write(at, "first/X.csv", &text(&first))?;
            write(at, "second/X.csv", &text(&second))?;
            merge(at, "into", &order[..1], Prefer::Fastest).unwrap();
            merge(at, "into", &order[1..], Prefer::Fastest).unwrap();
            let mut rows = read(at, "into/X.csv").unwrap();
            rows.sort();
            ends.push(rows);
        }
        prop_assert_eq!(&ends[0], &ends[1]);
    }
}
