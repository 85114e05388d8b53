//! `plan_tables DATA`: the share of rows of measured tables that has to be measured, chosen by the rule and at random.

#[path = "../tests/planned/harness.rs"]
mod harness;
#[path = "../tests/measured/row.rs"]
mod row;

use harness::{Curve, SHARES, measured_tables};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let data = std::env::args_os().nth(1).ok_or("usage: plan_tables DATA")?;
    let tables = measured_tables(data.as_ref(), 1300)?;
    let percent = |error: f64| format!("{:5.1}", 100.0 * error.exp_m1());
    println!(
        "p90 of the error in %, by the share of rows that is measured: {SHARES:?}; full grid; share that is enough"
    );
    let mut sums = [(0.0, 0); 2];
    for (name, slice) in &tables {
        println!("{name} ({} rows)", slice.points.len());
        let curves: [(&str, Curve); 2] = [("planned", slice.planned()?), ("random", slice.drawn()?)];
        for ((rule, curve), (sum, missing)) in curves.iter().zip(&mut sums) {
            let errors: Vec<String> = curve.nine_of_ten.iter().map(|error| percent(*error)).collect();
            let enough = curve.enough();
            *sum += enough.unwrap_or(0.5);
            *missing += usize::from(enough.is_none());
            let enough = enough.map_or("> 50 %".to_owned(), |share| format!("{:.0} %", 100.0 * share));
            println!("  {rule:8} {}  {}  {enough}", errors.join(" "), percent(curve.full));
        }
    }
    for (rule, (sum, missing)) in ["planned", "random"].iter().zip(sums) {
        let mean = 100.0 * sum / tables.len() as f64;
        println!("{rule}: {mean:.1} % are enough on average, {missing} of {} tables need more than half", tables.len());
    }
    Ok(())
}
