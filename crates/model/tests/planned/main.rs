//! Rows that are chosen tell more than rows at random: on a made-up table, and on measured ones where they are at hand.

#[expect(dead_code, reason = "the example plan_tables draws whole curves")]
mod harness;

use harness::{DRAWS, Slice, measured_tables};
use perfdb_model::predict::ColumnSet;
use std::error::Error;
use std::path::{Path, PathBuf};

/// Rows of a table that are looked at: few, that a test is done in seconds.
const ROWS: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// How much larger than those of the full grid errors may be where [`ROWS`] rows are all that there is: of so few a part tells less than of many,
/// which the example `plan_tables` looks at.
const MOST: f64 = 1.5;

#[test]
fn a_fifth_of_a_made_up_table_is_enough_where_it_is_chosen_and_not_at_random() -> Result<(), Box<dyn Error>> {
    let path = root().join("testdata/prediction/products.csv");
    let slice = Slice::largest(&path, ColumnSet::MatMul, &[], ("time_us", 1.0), &serde_json::Value::Null, ROWS)?;
    let limit = MOST * slice.full()?;
    let count = slice.count(0.2);
    let mut chosen = Vec::new();
    slice.plan(&mut chosen, count);
    let error = slice.error(&chosen)?;
    assert!(error <= limit, "{error} above {limit}");
    for seed in 0..DRAWS {
        let error = slice.error(&slice.draw(seed, count))?;
        assert!(error > limit, "{error} of draw {seed} not above {limit}");
    }
    Ok(())
}

#[test]
fn a_quarter_of_measured_tables_is_enough_where_it_is_chosen_and_not_at_random() -> Result<(), Box<dyn Error>> {
    let data = root().join("../shared/data/measured");
    if !data.is_dir() {
        eprintln!("skipped: {} is not there", data.display());
        return Ok(());
    }
    let wanted =
        ["prefill_attention__a100_sxm__vllm-0.14.0", "layers__a100__vidur-Llama-2-70b-hf", "moe__l40s__vllm-0.14.0"];
    let mut ratios = Vec::new();
    for (name, slice) in measured_tables(&data, ROWS)?.into_iter().filter(|(name, _)| wanted.contains(&name.as_str())) {
        let mut chosen = Vec::new();
        slice.plan(&mut chosen, slice.count(0.25));
        let full = slice.full()?;
        let ratio = [slice.error(&chosen)? / full, slice.error(&slice.draw(0, chosen.len()))? / full];
        println!("{name}: {ratio:?}");
        ratios.push(ratio);
    }
    assert_eq!(ratios.len(), wanted.len());
    let [chosen, drawn] = [0, 1].map(|at| ratios.iter().map(|ratio| ratio[at]).product::<f64>().cbrt());
    assert!(chosen <= MOST && drawn > MOST, "{ratios:?}");
    Ok(())
}
