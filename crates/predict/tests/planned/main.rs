//! Rows that are chosen tell more than rows at random: on a made-up table, and on measured ones where they are at hand.

mod harness;
#[path = "../measured/row.rs"]
mod row;

use harness::{SHARES, Slice, measured_tables};
use perfdb_predict::Family;
use std::error::Error;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn chosen_rows_of_a_made_up_table_tell_more_than_rows_at_random() -> Result<(), Box<dyn Error>> {
    let path = root().join("testdata/prediction/products.csv");
    let slice = Slice::largest(&path, Family::MatMul, &[], ("time_us", 1.0), &serde_json::Value::Null)?;
    let planned = slice.planned()?;
    let drawn = slice.drawn()?;
    let quarter = SHARES.iter().position(|share| *share == 0.25).ok_or("a quarter")?;
    assert!(planned.nine_of_ten[quarter] < drawn.nine_of_ten[quarter], "{planned:?} {drawn:?}");
    Ok(())
}

#[test]
fn a_quarter_of_a_measured_table_is_enough() -> Result<(), Box<dyn Error>> {
    let data = root().join("../shared/data/measured");
    if !data.is_dir() {
        eprintln!("skipped: {} is not there", data.display());
        return Ok(());
    }
    let wanted =
        ["prefill_attention__a100_sxm__vllm-0.14.0", "layers__a100__vidur-Llama-2-70b-hf", "moe__l40s__vllm-0.14.0"];
    let mut shares = Vec::new();
    for (name, slice) in measured_tables(&data)?.into_iter().filter(|(name, _)| wanted.contains(&name.as_str())) {
        let planned = slice.planned()?;
        // Tables that half of the rows do not tell are counted as if they needed all.
        shares.push(planned.enough().unwrap_or(1.0));
        println!("{name}: {planned:?}");
    }
    assert_eq!(shares.len(), wanted.len());
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean <= 0.25, "{shares:?}");
    Ok(())
}
