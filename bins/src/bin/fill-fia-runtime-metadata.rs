//! Runtime records into the attention table.

use perfdb_tools::tools::fill_fia_runtime_metadata;

fn main() -> std::process::ExitCode {
    fill_fia_runtime_metadata::main(std::env::args_os().collect())
}
