//! Rows whose measured and profiled durations disagree.

use super::finding::{Finding, Kind};
use crate::columns::{MEASURED_DURATION, PROFILED};
use crate::directory::tables_in;
use crate::duration::{EIGHT_OF_TEN, is_valid};
use crate::error::Error;
use crate::table::Scan;
use crate::update::Gap;
use perfdb_files::parallel::on_all_cores;
use rayon::prelude::*;
use std::path::Path;

/// The rows of a database whose measured duration is a hotspot beside the profiled one, as after an update, and further from it than eight of
/// ten profiled calls. Tables that cannot be read have none.
///
/// # Errors
/// When the directory cannot be read.
pub fn disagreements(database: &Path) -> Result<Vec<Finding>, Error> {
    let tables = tables_in(database)?;
    let found: Vec<Vec<Finding>> =
        on_all_cores(|| tables.par_iter().map(|path| of_table(path).unwrap_or_default()).collect());
    Ok(found.into_iter().flatten().collect())
}

fn of_table(path: &Path) -> Result<Vec<Finding>, Error> {
    let [profiled, _, spread] = PROFILED;
    let mut scan = Scan::open(path, &[MEASURED_DURATION, profiled, spread])?;
    let mut found = Vec::new();
    while let Some(row) = scan.next_row()? {
        let [measured_us, profiled_us, spread_us] = [0, 1, 2].map(|column| row.number(column));
        if !is_valid(measured_us) || !is_valid(profiled_us) {
            continue;
        }
        let spread_us = if is_valid(spread_us) { spread_us } else { 0.0 };
        let gap = Gap { shape: Box::default(), measured_us, profiled_us };
        if gap.is_hotspot() && gap.difference_us() > EIGHT_OF_TEN * spread_us {
            let varies = if spread_us > 0.0 { format!(" (standard deviation {spread_us} us)") } else { String::new() };
            let message = format!(
                "measured {measured_us} us is {:.2} times the profiled {profiled_us} us{varies}; measure it again, or see what ran beside it",
                gap.ratio()
            );
            let (kind, line) = (Kind::SampleDisagreement, Some(row.line));
            found.push(Finding { kind, file: path.to_owned(), line, message });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_calls_vary_by_is_no_disagreement() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let header = "Average Duration(us),Profiling Average Duration(us),Profiling Std Duration(us)\n";
        let rows = "10,10,\n10,13,\n10,13,2\n10,13,3\n13,10,nan\n12,10,0\n,10,\n10,,\n";
        std::fs::write(folder.path().join("Add.csv"), format!("{header}{rows}"))?;
        std::fs::write(folder.path().join("Bad.csv"), "a,a\n")?;
        let found = disagreements(folder.path())?;
        let lines: Vec<_> = found.iter().filter_map(|finding| finding.line).collect();
        assert_eq!(lines, [3, 4, 6]);
        assert!(
            found[1].message.starts_with("measured 10 us is 0.77 times the profiled 13 us (standard deviation 2 us)")
        );
        Ok(())
    }
}
