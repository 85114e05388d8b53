//! Profiles whose rows are more than what a worker remembers.

use super::rows::{MOST_VARIANTS, required_columns};
use super::{Options, prepare, read_tables};
use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions};
use std::fmt::Write;
use std::fs;

#[test]
fn shapes_that_were_forgotten_are_the_same_when_they_come_again() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (profile, database) = (folder.path().join("kernel_details.csv"), folder.path().join("db"));
    // So many that each worker forgets before the second half begins.
    let shapes = 3 * MOST_VARIANTS / 2;
    let mut text = required_columns().join(",");
    for at in 0..2 * shapes {
        let (shape, duration_us) = (at % shapes, if at < shapes { 1 } else { 4 });
        // Type, state, core; shapes, types and formats; the duration.
        write!(text, "\nAdd,dynamic,AI_CORE,{shape},DT,ND,{shape},DT,ND,{duration_us}{}", ",".repeat(25))?;
    }
    fs::write(&profile, text)?;
    let lock = LockOptions { tool: "test", timeout: DEFAULT_TIMEOUT, notice: &|_| {} };
    let mut options = Options::new(&profile, &database, lock);
    options.threads = 1;
    let prepared = prepare(&options)?;
    let [file] = prepared.summary().files.as_slice() else { return Err("not one table".into()) };
    assert_eq!((file.rows, file.samples), (shapes, 2 * shapes));
    prepared.commit(Vec::new())?;
    let written = fs::read_to_string(database.join("Add.csv"))?;
    assert_eq!(written.lines().count(), 1 + shapes);
    for (shape, line) in written.lines().skip(1).enumerate() {
        // Mean and median of 1 and 4, and their deviation.
        let expected = format!("dynamic,AI_CORE,{shape},DT,ND,{shape},DT,ND,2.500000,2.500000,1.500000,0.000000,");
        assert!(line.starts_with(&expected), "{line}");
    }
    let (_, tables) = read_tables(&options, &|_| true)?;
    assert_eq!(tables.iter().map(|table| table.content.as_slice()).collect::<Vec<_>>(), [written.as_bytes()]);
    Ok(())
}
