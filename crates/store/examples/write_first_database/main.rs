//! Writes the inputs of the guides in `testdata/first-database`: a small profile, dumped attention lengths, a folder of msprof,
//! a finished database and a table of collectives. Made up, always the same bytes.
//!
//! ```text
//! cargo run -p perfdb-store --example write_first_database            # into testdata/first-database
//! cargo run -p perfdb-store --example write_first_database -- DIR
//! ```
//!
//! Nothing in them was measured. The model has four layers, a width of 1024 and eight heads on two devices; the server does one
//! prefill of 256 tokens and four decode steps of eight sequences.

mod database;
mod model;
mod profile;

use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/first-database")),
        PathBuf::from,
    );
    let calls: Vec<(usize, model::Call)> = model::PASSES
        .iter()
        .enumerate()
        .flat_map(|(pass, &tokens)| model::pass_of(tokens).into_iter().map(move |call| (pass, call)))
        .collect();
    write(&folder.join("profile/ASCEND_PROFILER_OUTPUT/kernel_details.csv"), &profile::kernel_details(&calls))?;
    write(&folder.join("fia.jsonl"), &profile::attention_records())?;
    write(
        &folder.join("PROF_000001_20260101000000_EXAMPLE/mindstudio_profiler_output/op_summary_20260101000000.csv"),
        &profile::op_summary(&calls),
    )?;
    write(&folder.join("op_mapping.yaml"), database::MAPPING)?;
    let database = folder.join("database");
    write(&database.join("op_mapping.yaml"), database::MAPPING)?;
    write(&database.join("MatMulV2.csv"), &database::products())?;
    write(&folder.join("trace.json"), &database::trace())?;
    write(&database.join("SwiGlu.csv"), &database::gates())?;
    write(&folder.join("hccl/v8.5/hcom_allReduce_.csv"), &database::collectives())
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::write(path, text)
}
