//! Runtime records of attention: joined or refused, without a row lost and without a file changed or left behind on the way.

use perfdb_files::lock::{DEFAULT_TIMEOUT, LockOptions};
use perfdb_store::runtime_metadata::{Options, fill, prepare};
use perfdb_store::table::{ReadOptions, Table};
use std::fs;

pub(crate) const WORDS: &[&str] = &[
    "{\"query_shape\": [8, 4, 128], ",
    "\"key_shape\": [64, 128, 128], ",
    "\"value_shape\": [64, 128, 128], ",
    "\"actual_seq_lengths\": [1, 2], ",
    "\"actual_seq_lengths_kv\": [257, 1e3], ",
    "\"atten_mask_shape\": null",
    "\"block_table_shape\": [8, 8]",
    "\"num_heads\": 4}",
    "\"1_0\"",
    "NaN",
    "true",
    "1e400",
    "99999999999999999999999",
    "[[",
    "\n",
    "\u{feff}",
];

const TABLE: &str = "\u{feff}Input Shapes,Average Duration(us),note\r\n\
                     \"8,4,128;64,128,128;64,128,128;;2048,2048;8;8;;;;;;;;8,8\",5.0,a\r\n\
                     \"8,4,128;64,128,128;64,128,128\",6.0,\"b,\"\"c\"\r\n";

pub(crate) fn check(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [table, records] = ["FusedInferAttentionScore.csv", "fia.jsonl"].map(|name| folder.path().join(name));
    fs::write(&table, TABLE).and_then(|()| fs::write(&records, bytes)).expect("files in a temporary folder");
    let options = || Options {
        table: &table,
        records: &records,
        output: &table,
        tag: "runtime_values_dumped",
        lock: LockOptions { tool: "properties", timeout: DEFAULT_TIMEOUT, notice: &|_| {} },
    };
    let content = || fs::read(&table).expect("the table is there");
    let prepared = prepare(&options()).map(|prepared| *prepared.summary());
    assert_eq!(content(), TABLE.as_bytes(), "nothing is written before it is committed");
    match prepared {
        Err(error) => assert!(!error.to_string().contains('\n'), "an error is one line: {error}"),
        Ok(summary) => {
            assert!(fill(&options()).is_ok_and(|filled| filled == summary));
            let read = |bytes| Table::parse(&table, bytes, &ReadOptions::database()).expect("it was written by a tool");
            let (before, after) = (read(TABLE.into()), read(content()));
            assert_eq!((before.row_count(), after.row_count()), (summary.rows, summary.output_rows));
            let notes = |table: &Table| -> Vec<String> {
                let mut notes: Vec<String> =
                    table.rows().filter_map(|row| row.get("note").map(str::to_owned)).collect();
                notes.dedup();
                notes
            };
            assert_eq!(notes(&before), notes(&after));
            let filled = content();
            assert!(fill(&options()).is_ok());
            assert_eq!(content(), filled, "filled twice");
        }
    }
    assert_eq!(fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(2), "files are left behind");
}
