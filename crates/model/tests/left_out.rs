//! Errors and coverage on rows that were left out: of a made-up table, and of measured ones where they are at hand.

use super::row;

use perfdb_model::predict::{
    Class, ColumnSet, Columns, MatMul, Operands, Point, Precision, Rows, Table, Work, configuration,
};
use row::Row;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

/// What is left out, and how far predictions are off.
#[derive(Debug)]
struct Score {
    asked: usize,
    median: f64,
    nine_of_ten: f64,
    /// The share of rows that lie in their intervals.
    covered: f64,
}

/// Leaves a share of the rows of a table out and predicts them from the others.
fn score(
    path: &Path,
    family: ColumnSet,
    group: &[&str],
    time: (&str, f64),
    constants: &serde_json::Value,
    is_left_out: impl Fn(&Point) -> bool,
) -> Result<Score, Box<dyn Error>> {
    let mut reader = csv::Reader::from_path(path)?;
    let names = reader.headers()?.clone();
    let mut slices: BTreeMap<Vec<String>, Vec<(Point, f64)>> = BTreeMap::new();
    for cells in reader.records() {
        let row = Row { names: &names, cells: cells?, constants };
        let point = family.point(&row).ok_or("a row lacks a column")?;
        let time_us = row.number(time.0).ok_or("a row without a time")? * time.1;
        let key = group.iter().map(|column| row.text(column).unwrap_or_default().to_owned()).collect();
        slices.entry(key).or_default().push((point, time_us));
    }
    let mut known = Vec::new();
    let mut asked = Vec::new();
    for (slice, rows) in slices.into_values().enumerate() {
        let axis_count = rows.first().map_or(0, |(point, _)| point.axes.len());
        let mut left = Rows::new(axis_count);
        for (line, (point, time_us)) in rows.into_iter().enumerate() {
            if is_left_out(&point) {
                asked.push((slice, point, time_us));
            } else {
                left.push(line as u32, &point, time_us, None);
            }
        }
        known.push(left);
    }
    let table = Table::new(known, Some(family.size()));
    let mut errors = Vec::new();
    let mut covered = 0;
    for (slice, point, time_us) in &asked {
        let answer = table.predict(*slice, point).ok_or("no answer")?;
        assert_ne!(answer.class, Class::Measured, "a row that was left out is not measured: {point:?}");
        errors.push((answer.duration_us / time_us).ln().abs().exp_m1());
        covered += usize::from((answer.low_us..=answer.high_us).contains(time_us));
    }
    errors.sort_by(f64::total_cmp);
    Ok(Score {
        asked: errors.len(),
        median: errors[errors.len() / 2],
        nine_of_ten: errors[errors.len() * 9 / 10],
        covered: covered as f64 / errors.len() as f64,
    })
}

/// One point in so many, whatever the order of rows.
fn one_in(count: u64) -> impl Fn(&Point) -> bool {
    move |point| configuration(&point.axes).is_multiple_of(count)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn a_made_up_table_is_predicted_within_its_noise_and_steps() -> Result<(), Box<dyn Error>> {
    let path = root().join("testdata/prediction/products.csv");
    let none = serde_json::Value::Null;
    let single = score(&path, ColumnSet::MatMul, &[], ("time_us", 1.0), &none, one_in(10))?;
    assert!(single.asked > 80 && single.median < 0.03 && single.nine_of_ten < 0.15, "{single:?}");
    assert!((0.82..=0.98).contains(&single.covered), "{single:?}");
    let weights = |point: &Point| configuration(&point.axes[1..]).is_multiple_of(8);
    let whole = score(&path, ColumnSet::MatMul, &[], ("time_us", 1.0), &none, weights)?;
    assert!(whole.asked > 40 && whole.nine_of_ten < 0.35, "{whole:?}");
    assert!((0.75..=1.0).contains(&whole.covered), "{whole:?}");
    Ok(())
}

/// Products whose times are a roofline times what `noise` says of each.
fn few_products(count: u32, noise: impl Fn(u32) -> f64) -> Vec<(Point, f64)> {
    (0..count)
        .map(|number| {
            let (rows, columns) = (f64::from(1 << (2 * (number % 4))), f64::from(1024 << (number / 4)));
            let point = Point::matmul(MatMul { rows, columns, inner: 2048.0 }, Operands::of(Precision::Bf16));
            let time_us = 3.0 + point.work.operations / 3e8 + point.work.bytes / 1e6;
            (point, time_us * noise(number))
        })
        .collect()
}

#[test]
fn few_rows_know_that_they_are_few() -> Result<(), Box<dyn Error>> {
    let (mut asked, mut held) = (0, 0);
    for table in 0..25u64 {
        let noise = |number: u32| {
            let draw = configuration(&[table as f64, f64::from(number)]) >> 11;
            // Between a third less and half more.
            ((draw as f64 / (1u64 << 53) as f64 - 0.5) * 0.8).exp()
        };
        let all = few_products(8, noise);
        for hidden in 0..all.len() {
            let mut rows = Rows::new(3);
            for (number, (point, time_us)) in all.iter().enumerate().filter(|(number, _)| *number != hidden) {
                rows.push(number as u32, point, *time_us, None);
            }
            let (point, time_us) = &all[hidden];
            let answer = Table::new(vec![rows], Some(0)).predict(0, point).ok_or("no answer")?;
            asked += 1;
            held += usize::from((answer.low_us..=answer.high_us).contains(time_us));
            // Beyond the work of the rows, intervals open.
            let others =
                || all.iter().enumerate().filter(|(number, _)| *number != hidden).map(|(_, (point, _))| point.work);
            let is_within = |of: fn(Work) -> f64| {
                others().any(|other| of(other) <= of(point.work)) && others().any(|other| of(other) >= of(point.work))
            };
            if answer.class != Class::Beyond && is_within(|work| work.operations) && is_within(|work| work.bytes) {
                assert!(answer.half_width() < 2.0 + 1e-9, "{answer:?}");
            }
        }
    }
    assert!(held * 100 >= asked * 84, "{held} of {asked}");
    Ok(())
}

#[test]
fn few_small_rows_do_not_know_what_large_ones_take() -> Result<(), Box<dyn Error>> {
    let product = |rows, columns, inner| Point::matmul(MatMul { rows, columns, inner }, Operands::of(Precision::Bf16));
    // Every call has the same cost, and hardly more: the rows know nothing of operations and bytes.
    let time_us = |point: &Point| 8.0 + point.work.operations / 1e8 + point.work.bytes / 1e6;
    for count in [2u32, 4, 8, 12, 32] {
        let mut rows = Rows::new(3);
        for number in 0..count {
            let point = product(f64::from(1 + number % 4), f64::from(256 + 32 * (number / 4)), 256.0);
            rows.push(number, &point, time_us(&point), None);
        }
        let table = Table::new(vec![rows], Some(0));
        for factor in [4.0, 16.0, 64.0] {
            let far = product(4.0, 256.0 * factor, 256.0 * factor);
            let (answer, truth_us) = (table.predict(0, &far).ok_or("no answer")?, time_us(&far));
            assert!(
                (answer.low_us..=answer.high_us).contains(&truth_us),
                "{count}, {factor}: {truth_us} in {answer:?}"
            );
        }
        // Beside the rows nothing is wider than it was.
        let near = table.predict(0, &product(1.5, 256.0, 256.0)).ok_or("no answer")?;
        assert!(near.half_width() <= 2.0 + 1e-9, "{count}: {near:?}");
    }
    Ok(())
}

#[test]
fn measured_tables_are_predicted_as_well_as_is_claimed() -> Result<(), Box<dyn Error>> {
    let data = root().join("../shared/data/measured");
    if !data.is_dir() {
        eprintln!("skipped: {} is not there", data.display());
        return Ok(());
    }
    let all: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(data.join("tables.json"))?)?;
    // The table, the median and the 90th percentile of errors.
    for (name, median, nine_of_ten) in [
        ("elementwise__h200_sxm__vllm-0.24.0", 0.03, 0.12),
        ("decode_attention__l40s__sglang-0.5.10", 0.03, 0.13),
        ("mla__h200_sxm__trtllm-1.3.0rc20", 0.03, 0.16),
    ] {
        let table = all.as_array().into_iter().flatten().find(|table| table["table"] == name);
        let table = table.ok_or("a table that is not listed")?;
        let family = table["family"].as_str().and_then(ColumnSet::named).ok_or("unknown family")?;
        let group: Vec<&str> =
            table["group"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
        let path = data.join(table["file"].as_str().ok_or("no file")?);
        let found = score(&path, family, &group, ("time_ms", 1000.0), &table["constants"], one_in(12))?;
        assert!(found.asked >= 100, "{name}: {found:?}");
        assert!(found.median < median && found.nine_of_ten < nine_of_ten, "{name}: {found:?}");
        assert!((0.83..=0.97).contains(&found.covered), "{name}: {found:?}");
    }
    Ok(())
}
