//! Times a comparison of two databases against reading all of their tables: `compare_and_open A B [ROUNDS]`.
//!
//! Both take turns in one process; each figure is the best of the rounds, in CPU seconds of all threads.

use perfdb_audit::versions::{Error, Place, diff};
use perfdb_store::table::{ReadOptions, Table};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [a, b, rest @ ..] = arguments.as_slice() else { return Err("two databases are needed".into()) };
    let rounds: usize = rest.first().map_or(Ok(5), |text| text.parse())?;
    let (a, b) = (Place::open(Path::new(a))?, Place::open(Path::new(b))?);
    let (mut open_seconds, mut compare_seconds) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        let started = cpu_seconds()?;
        let mut rows = 0;
        for (_, path) in a.tables().chain(b.tables()) {
            rows += Table::read(path, &ReadOptions::database())?.row_count();
        }
        let opened = cpu_seconds()?;
        let found = diff::compare(&a, &b, &diff::Options::default(), |_| Ok::<(), Error>(()))?;
        let compared = cpu_seconds()?;
        assert_eq!(rows, found.total.rows.iter().sum::<usize>());
        open_seconds = open_seconds.min(opened - started);
        compare_seconds = compare_seconds.min(compared - opened);
    }
    println!("open {open_seconds:.2} s, compare {compare_seconds:.2} s, ratio {:.2}", compare_seconds / open_seconds);
    Ok(())
}

/// User and system time of this process, all threads.
fn cpu_seconds() -> Result<f64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = text.rsplit_once(')').ok_or("no fields")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    // 100 ticks a second, as Linux reports them everywhere.
    Ok((ticks(11) + ticks(12)) / 100.0)
}
