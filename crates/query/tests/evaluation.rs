//! Databases of known errors: what is left out, what is found, and that neither order nor threads change it.

use perfdb_query::{Database, Evaluation, Hidden, ReaderSemantics, Trial};
use std::error::Error;
use std::fmt::Write;

type TestResult = Result<(), Box<dyn Error>>;

const MAPPING: &str = "operator_mappings:\n  aten.mm.default: {kernel_type: MatMulV2}\n";

/// A table of products; `us` tells a duration by rows, columns and inner size.
fn table(us: impl Fn(i64, i64, i64) -> f64) -> String {
    let mut table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n".to_owned();
    for rows in [1, 16, 64, 256, 4096] {
        for inner in [256, 1024, 4096] {
            for columns in [256, 1024, 4096] {
                let us = us(rows, columns, inner);
                let _ = writeln!(table, "\"{rows},{inner};{inner},{columns}\",DT_BF16;DT_BF16,ND;ND,{us}");
            }
        }
    }
    table
}

fn product_us(rows: i64, columns: i64, inner: i64) -> f64 {
    3.0 + (rows * columns * inner) as f64 / 2e8
}

fn evaluate(table: &str) -> Result<Evaluation, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("MatMulV2.csv"), table)?;
    std::fs::write(folder.path().join("op_mapping.yaml"), MAPPING)?;
    Ok(Database::open(folder.path())?.evaluate("MatMulV2")?.ok_or("a table")?)
}

#[test]
fn every_row_is_tried_by_axis_and_configuration() -> TestResult {
    let found = evaluate(&table(product_us))?;
    let asked: Vec<_> = found.scores().iter().map(|score| (score.hidden, score.asked)).collect();
    let kinds = [Hidden::Row, Hidden::Axis("M"), Hidden::Axis("N"), Hidden::Axis("K"), Hidden::Configuration];
    assert_eq!(asked, kinds.map(|hidden| (hidden, 45)));
    assert_eq!((found.rows, found.passed_over, found.slices, found.alone), (45, 0, 1, 0));
    let single = found.scores()[0];
    assert!(single.median < 0.05 && single.held > 0.8, "{single:?}");
    assert!(found.repeats.is_empty() && found.drift().is_none());
    Ok(())
}

#[test]
fn the_order_of_rows_and_the_number_of_threads_change_nothing() -> TestResult {
    let us = |rows: i64, columns: i64, inner: i64| product_us(rows, columns, inner) * (1.0 + 0.01 * (rows % 7) as f64);
    // A second slice, which is learnt from together with the first, and a third of one row.
    let second = table(|rows, columns, inner| 0.6 * us(rows, columns, inner)).replace("DT_BF16", "INT8");
    let second: String = second.lines().skip(1).step_by(4).map(|line| format!("{line}\n")).collect();
    let text = table(us) + &second + "\"1,256;256,256\",FLOAT16;FLOAT16,ND;ND,7\n";
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let (all, single) = (evaluate(&text)?, one.install(|| evaluate(&text).map_err(|error| error.to_string()))?);
    assert_eq!(all.trials, single.trials);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].reverse();
    let reversed = evaluate(&(lines.join("\n") + "\n"))?;
    assert_eq!(all.scores(), reversed.scores());
    assert_eq!((all.slices, all.alone), (3, 1));
    Ok(())
}

#[test]
fn rows_of_two_versions_in_one_table_are_told() -> TestResult {
    let first = table(product_us);
    let second = table(|rows, columns, inner| product_us(rows, columns, inner) * 1.3);
    let (_, second) = second.split_once('\n').ok_or("rows")?;
    let found = evaluate(&format!("{first}{second}"))?;
    assert_eq!((found.repeats.len(), found.contradictions().count()), (45, 45));
    let drift = found.drift().ok_or("a drift")?;
    assert!((drift.change - 0.3).abs() < 1e-9, "{drift:?}");
    assert_eq!((drift.places, drift.of), (45, 45));
    assert_eq!(found.repeats[0].rows.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 47]);
    Ok(())
}

#[test]
fn rows_without_company_are_counted() -> TestResult {
    let table = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n\
                 \"16,512;512,768\",DT_BF16;DT_BF16,ND;ND,5\n\"16,512;512,768\",INT8;INT8,ND;ND,9\n\
                 \"7\",FLOAT,ND,9\n";
    let found = evaluate(table)?;
    assert_eq!((found.rows, found.slices, found.alone, found.passed_over), (3, 2, 2, 1));
    assert_eq!(found.scores(), []);
    Ok(())
}

#[test]
fn collectives_are_left_out_by_size_and_ranks() -> TestResult {
    let folder = tempfile::tempdir()?;
    let mut table = "message_bytes,num_devices,topology_tier,Average Duration(us)\n".to_owned();
    for devices in [2, 4, 8] {
        for power in 10..20 {
            writeln!(table, "{},{devices},0,{}", 1 << power, 5.0 + f64::from(1 << power) / 1e4)?;
        }
    }
    std::fs::write(folder.path().join("hcom_allReduce_.csv"), table)?;
    let found = Database::open(folder.path())?.evaluate("hcom_allReduce_")?.ok_or("a table")?;
    let kinds: Vec<_> = found.scores().iter().map(|score| (score.hidden, score.asked)).collect();
    let devices = Hidden::Axis("num_devices");
    let expected = [(Hidden::Row, 30), (Hidden::Axis("message_bytes"), 30), (devices, 30), (Hidden::Configuration, 30)];
    assert_eq!(kinds, expected);
    assert_eq!((found.rows, found.passed_over, found.slices), (30, 0, 1));
    Ok(())
}

/// The rules of queries without `--semantics`: no answer outside of the rows, and nothing from the row that is left out.
#[test]
fn the_default_rules_are_judged_by_queries_of_rows_that_are_left_out() -> TestResult {
    let power = |rows: i64, columns: i64, inner: i64| (rows as f64).sqrt() * (columns * inner) as f64 / 1e5;
    let folder = tempfile::tempdir()?;
    let evaluate = |text: &str| -> Result<Evaluation, Box<dyn Error>> {
        std::fs::write(folder.path().join("MatMulV2.csv"), text)?;
        std::fs::write(folder.path().join("op_mapping.yaml"), MAPPING)?;
        let done = std::sync::Mutex::new(0.0);
        let hears = |share: f64| *done.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += share;
        let database = Database::open(folder.path())?;
        let found = database.evaluate_under("MatMulV2", ReaderSemantics::Corrected, &hears)?.ok_or("a table")?;
        assert!((*done.lock().unwrap_or_else(std::sync::PoisonError::into_inner) - 1.0).abs() < 1e-9);
        Ok(found)
    };
    let found = evaluate(&table(power))?;
    let count = |hidden: Hidden| {
        let unanswered = found.unanswered.iter().find(|one| one.hidden == hidden).map_or(0, |one| one.rows);
        (found.trials.iter().filter(|trial| trial.hidden == hidden).count(), unanswered)
    };
    let (answered, unanswered) = count(Hidden::Row);
    assert!(answered + unanswered == 45 && answered > 0 && unanswered > 0, "{answered} {unanswered}");
    assert_eq!(found.not_asked, 0);
    assert!(found.trials.iter().all(|trial| trial.error().abs() < 1.0), "{:?}", found.scores());
    let single = found.scores()[0];
    // The interval is of the answer, not of another estimate.
    let is_within = |trial: &Trial| (trial.interval_us[0]..=trial.interval_us[1]).contains(&trial.predicted_us);
    let bent = |rows: i64, columns: i64, inner: i64| power(rows, columns, inner) * if rows < 64 { 1.0 } else { 9.0 };
    for trials in [&found.trials, &evaluate(&table(bent))?.trials] {
        assert!(!trials.is_empty() && trials.iter().all(is_within), "{trials:?}");
    }

    // The same durations once more under another type tell nothing about themselves, as odd as they are.
    let odd = |rows: i64, columns: i64, inner: i64| {
        power(rows, columns, inner) * if rows == 16 || rows == 256 { 2.0 } else { 1.0 }
    };
    let once = evaluate(&table(odd))?.scores()[0];
    let again: String =
        table(odd).replace("DT_BF16", "DT_FLOAT16").lines().skip(1).map(|line| format!("{line}\n")).collect();
    let twice = evaluate(&(table(odd) + &again))?.scores()[0];
    assert!(single.p90 < 0.01 && once.p90 > 0.5, "{single:?} {once:?}");
    assert!(twice.p90 > 0.8 * once.p90, "{twice:?} {once:?}");
    Ok(())
}
