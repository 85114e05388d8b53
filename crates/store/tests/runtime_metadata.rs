//! Runtime records of attention, joined into their table.

use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions};
use perfdb_store::runtime_metadata::{Options, fill};
use std::error::Error;
use std::fs;

/// A record with nothing to fill in leaves a row without values: only its tag tells that it was filled.
#[test]
fn a_record_without_values_fills_once() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let [table, records] = ["FusedInferAttentionScore.csv", "fia.jsonl"].map(|name| folder.path().join(name));
    fs::write(&table, "Input Shapes,note\r\n\"8,4,128;64,128,128;64,128,128\",a\r\n")?;
    let shapes = r#""query_shape": [8, 4, 128], "key_shape": [64, 128, 128], "value_shape": [64, 128, 128]"#;
    fs::write(&records, format!("{{{shapes}}}\n{{{shapes}, \"actual_seq_lengths\": [8, 128]}}\n"))?;
    let run = || {
        fill(&Options {
            table: &table,
            records: &records,
            output: &table,
            tag: "runtime_values_dumped",
            lock: LockOptions { tool: "test", timeout: DEFAULT_TIMEOUT, notice: &|_| {} },
        })
    };
    let first = run()?;
    assert_eq!((first.rows, first.matched, first.output_rows), (1, 1, 2));
    let filled = fs::read(&table)?;
    let second = run()?;
    assert_eq!((second.rows, second.matched, second.left_alone, second.output_rows), (2, 0, 2, 2));
    assert_eq!(fs::read(&table)?, filled);
    Ok(())
}
