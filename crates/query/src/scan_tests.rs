//! Indexes beside a scan of all rows: for random tables and questions both give the same answer.

use crate::operands::{Operand, Operands};
use crate::search::{Fit, Selection, by_inputs, fit};
use crate::semantics::{Choice, ReaderSemantics, Rules};
use crate::shapes::strip;
use crate::table::policy::KernelPolicy;
use crate::table::{KernelRow, KernelRows};
use perfdb_store::registry::Registry;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::path::Path;

const KERNELS: [&str; 10] = [
    "MatMulV2",
    "BatchMatMulV2",
    "RmsNorm",
    "AscendQuantV2",
    "SwiGlu",
    "ReshapeAndCacheNdKernel",
    "ApplyRotaryPosEmb",
    "Index",
    "MoeGatingTopK",
    "Softmax",
];
/// Sizes that are rounded up to one another, and that differ in one.
const SIZES: [i64; 13] = [1, 2, 7, 8, 15, 16, 17, 32, 60, 64, 65, 128, 3000];
const TYPES: [&str; 3] = ["DT_BF16", "FLOAT", "INT8"];

/// The inputs of a row or of a question.
type Inputs = Vec<(Vec<i64>, &'static str)>;

fn inputs() -> impl Strategy<Value = Inputs> {
    let shape = prop::collection::vec(prop::sample::select(&SIZES[..]), 1..5);
    prop::collection::vec((shape, prop::sample::select(&TYPES[..])), 1..5)
}

/// A question that is a row in another form: with another order of dimensions, without or with one of 1, rounded up, or cut.
fn like(row: &Inputs, changes: &[(usize, u8)]) -> Inputs {
    let mut inputs = row.clone();
    for (at, change) in changes {
        let count = inputs.len();
        let (shape, _) = &mut inputs[at % count];
        let first = at % shape.len();
        match change {
            0 => shape.reverse(),
            1 => shape.insert(0, 1),
            2 => *shape = strip(shape).to_vec(),
            3 => shape[first] = (shape[first] + 15) / 16 * 16,
            4 => shape[first] = (shape[first] + 63) / 64 * 64,
            5 if shape.len() > 2 => {
                let outer = shape.remove(0);
                shape[0] *= outer;
            }
            6 => inputs[at % count].1 = TYPES[at % TYPES.len()],
            7 if count > 1 => {
                inputs.pop();
            }
            8 => inputs.swap(0, at % count),
            _ => {}
        }
    }
    inputs
}

fn operands(inputs: &Inputs) -> Operands<'static> {
    inputs.iter().map(|(shape, dtype)| Operand::made(shape, Some(dtype))).collect()
}

/// A table of these rows; every fourth was only profiled.
fn table(folder: &Path, kernel: &str, rows: &[Inputs]) -> KernelRows {
    let mut text = "Input Shapes,Input Data Types,Average Duration(us),Profiling Average Duration(us)\n".to_owned();
    for (at, row) in rows.iter().enumerate() {
        let join = |shape: &Vec<i64>| shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let shapes: Vec<String> = row.iter().map(|(shape, _)| join(shape)).collect();
        let types: Vec<&str> = row.iter().map(|(_, dtype)| *dtype).collect();
        let us = if at % 4 == 3 { format!(",{}", 1 + at) } else { format!("{},", 1 + at) };
        let _ = writeln!(text, "\"{}\",{},{us}", shapes.join(";"), types.join(";"));
    }
    let path = folder.join(format!("{kernel}.csv"));
    std::fs::write(&path, text).expect("a temporary folder");
    KernelRows::read(path.into(), kernel.into(), Registry::default().table(kernel), KernelPolicy::default())
        .expect("a table")
}

/// Distance, table, changed inputs, priority.
type Rank = (f64, usize, u8, u8);

/// The best row of some tables, by looking at all of them.
fn scanned(rules: &Rules, tables: &[&KernelRows], asked: &Operands<'_>, count: Option<usize>) -> Option<(u32, f64)> {
    let mut best: Option<(Rank, (u32, f64))> = None;
    for (order, table) in tables.iter().enumerate() {
        let tolerance = table.tolerance(rules);
        let mut forms = vec![];
        match tolerance.arrangement.rearranged(asked) {
            None => forms.push(asked.clone()),
            Some(new) if tolerance.arrangement.keeps_given() && new.len() != asked.len() => {
                forms.extend([asked.clone(), new]);
            }
            Some(new) => forms.push(new),
        }
        for row in table.iter() {
            for form in &forms {
                let Some(Fit { distance, changed, .. }) = fit(rules, tolerance, form, row, count) else { continue };
                let rank = match rules.choice {
                    Choice::First => (0.0, order, 0, 0),
                    Choice::Nearest => (distance, order, changed, row.priority()),
                };
                if best.as_ref().is_none_or(|(known, _)| rank < *known) {
                    best = Some((rank, (row.number(), row.search_duration_us())));
                }
            }
        }
    }
    best.map(|(_, row)| row)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn an_index_finds_what_a_scan_of_all_rows_finds(
        kernels in prop::sample::subsequence(&KERNELS[..], 1..3),
        rows in prop::collection::vec(inputs(), 1..40),
        split in 0usize..40,
        questions in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::collection::vec((0usize..24, 0u8..10), 0..4), prop::option::of(1usize..4)),
            1..12,
        ),
    ) {
        let folder = tempfile::tempdir()?;
        let (first, second) = rows.split_at(split.min(rows.len()));
        let tables: Vec<KernelRows> =
            kernels.iter().zip([first, second]).map(|(kernel, rows)| table(folder.path(), kernel, rows)).collect();
        let tables: Vec<&KernelRows> = tables.iter().collect();
        for (row, changes, count) in questions {
            let asked = operands(&like(row.get(&rows), &changes));
            for semantics in ReaderSemantics::ALL {
                let rules = semantics.rules();
                let mut selection = Selection::new(rules, rules.choice);
                by_inputs(rules, &tables, &asked, count, |_| true, &mut selection);
                let found = selection.result().expect("no table asks for one row").map(|found| (found.row.number(), found.duration_us));
                prop_assert_eq!(found, scanned(rules, &tables, &asked, count), "{:?} {:?} {:?}", semantics, asked, count);
            }
        }
    }

    /// Of rows with the same inputs the first answers for all of them.
    #[test]
    fn every_row_answers_for_itself(
        kernel in prop::sample::select(&["MatMulV2", "BatchMatMulV2", "RmsNorm", "AscendQuantV2", "Index", "Softmax"][..]),
        rows in prop::collection::vec(inputs(), 1..30),
        changes in prop::collection::vec(prop::collection::vec((0usize..24, 0u8..9), 0..3), 0..30),
    ) {
        let mut rows = rows;
        // Neighbours of each other.
        let more: Vec<Inputs> = rows.iter().zip(&changes).map(|(row, changes)| like(row, changes)).collect();
        rows.extend(more);
        let folder = tempfile::tempdir()?;
        let table = table(folder.path(), kernel, &rows);
        let rules = ReaderSemantics::Corrected.rules();
        for (at, row) in rows.iter().enumerate() {
            let mut selection = Selection::new(rules, rules.choice);
            by_inputs(rules, &[&table], &operands(row), None, |_| true, &mut selection);
            let found = selection.result().expect("no table asks for one row").map(|found| found.row.number() as usize);
            let same = |at: usize| rows[at] == *row;
            // A measured row comes before one that was only profiled.
            let expected = (0..rows.len()).filter(|at| same(*at)).min_by_key(|at| (at % 4 == 3, *at));
            prop_assert_eq!(found, expected, "row {}: {:?}", at, row);
        }
    }

    #[test]
    fn results_and_lengths_find_every_row_that_fits(
        rows in prop::collection::vec(inputs(), 1..30),
        asked in prop::collection::vec(prop::sample::select(&SIZES[..]), 1..4),
    ) {
        let folder = tempfile::tempdir()?;
        let join = |shape: &Vec<i64>| shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let mut text = "Input Shapes,Input Data Types,Output Shapes,Duration(us),Runtime avg_seq_len\n".to_owned();
        for (at, row) in rows.iter().enumerate() {
            let shape = join(&row[0].0);
            let _ = writeln!(text, "\"{shape}\",DT_BF16,\"{shape}\",1,{}", at * 7 % 50);
        }
        let path = folder.path().join("Add.csv");
        std::fs::write(&path, text)?;
        let table = KernelRows::read(path.into(), "Add".into(), Registry::default().table("Add"), KernelPolicy::default()).expect("a table");
        let numbers = |rows: &mut dyn Iterator<Item = KernelRow<'_>>| rows.map(KernelRow::number).collect::<Vec<_>>();
        let fits = |row: &KernelRow<'_>| {
            let own = row.outputs().get(0).unwrap_or_default();
            [&*own, strip(&own)].iter().any(|own| *own == asked || crate::shapes::is_padded(&asked, own))
        };
        let found = numbers(&mut table.output_candidates(&asked));
        prop_assert!(table.iter().filter(fits).all(|row| found.contains(&row.number())));
        if let [tokens, heads, size] = asked[..] {
            let found = numbers(&mut table.attention_candidates(tokens, heads * size, 10, 30));
            let is_near = |row: &KernelRow<'_>| {
                let own = row.inputs().get(0).unwrap_or_default();
                let is_like = matches!(*own, [t, h, s] if (h, s) == (heads, size) && crate::shapes::is_equal_or_rounded(t, tokens));
                is_like && row.average_length().is_some_and(|length| (10..=30).contains(&length))
            };
            prop_assert!(table.iter().filter(is_near).all(|row| found.contains(&row.number())));
        }
    }
}
