//! Runtime records into the attention table.

use crate::database::LockArguments;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print, print_note, run, warn};
use clap::Parser;
use perfdb_files::paths::normalised;
use perfdb_store::runtime_metadata::{Options, prepare};
use std::ffi::OsString;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "fill-fia-runtime-metadata",
    job: Job::MakeDatabase,
    summary: "dumped runtime values into the attention table",
    main,
    command: command_of::<Arguments>,
};

/// Join dumped runtime values (sequence lengths, heads, layout) into the table of FusedInferAttentionScore.
///
/// Rows and records meet by the shapes of query, key, value, mask and block table and the number of key-value lengths.
/// A row with several records becomes several rows. Running again with the same records changes nothing.
#[derive(Parser)]
#[command(name = TOOL.name, after_help = EXAMPLES)]
struct Arguments {
    /// The table, FusedInferAttentionScore.csv
    #[arg(long, value_name = "FILE")]
    csv_path: OsString,

    /// The records, one JSON object per line
    #[arg(long, value_name = "FILE")]
    jsonl_path: OsString,

    /// Where to write the table [default: over --csv-path]
    #[arg(long, value_name = "FILE")]
    output_path: Option<OsString>,

    /// What `Runtime metadata_completeness` says in rows that were filled
    #[arg(long, value_name = "TEXT", default_value = "runtime_values_dumped")]
    metadata_tag: String,

    #[command(flatten)]
    lock: LockArguments,
}

const EXAMPLES: &str = "\
Examples:
  fill-fia-runtime-metadata db/FusedInferAttentionScore.csv fia.jsonl
  fill-fia-runtime-metadata db/FusedInferAttentionScore.csv fia.jsonl \\
      --output-path filled.csv
  fill-fia-runtime-metadata db/FusedInferAttentionScore.csv fia.jsonl \\
      --metadata-tag decode

Exit status: 0 done, 1 failed, 2 wrong usage.";

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &["csv-path", "jsonl-path", "output-path", "metadata-tag"], execute)
}

fn execute(arguments: Arguments) -> Result<Status, Failure> {
    let table = normalised(arguments.csv_path.as_ref());
    let records = normalised(arguments.jsonl_path.as_ref());
    let output_path = arguments.output_path.filter(|path| !path.is_empty());
    let output = output_path.map_or_else(|| table.clone(), |path| normalised(path.as_ref()));
    let lock = arguments.lock.options(TOOL.name);
    let tag = arguments.metadata_tag.as_str();
    let prepared = prepare(&Options { table: &table, records: &records, output: &output, tag, lock })?;
    let summary = prepared.summary();
    let expanded = match summary.output_rows - summary.rows {
        0 => "0".to_owned(),
        more => format!("+{more}"),
    };
    print(&format!(
        "Backfilled {}/{} CSV rows matched, {} output rows ({expanded} from 1:N expansion) from {} into {}\n",
        summary.matched,
        summary.rows,
        summary.output_rows,
        records.display(),
        output.display()
    ))?;
    if summary.left_alone > 0 {
        print_note(&format!("{} rows hold what the records say and stay as they are", summary.left_alone));
    } else if summary.matched == 0 && summary.rows > 0 {
        let records = records.display();
        warn(&format!("{records}: no record has the shapes of a row; is it a dump of the same run as the table?"));
    }
    prepared.commit()?;
    Ok(Status::Success)
}
