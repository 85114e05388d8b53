//! Measures the cases of a database and writes the durations back.

use perfdb_tools::tools::start_microbench;

fn main() -> std::process::ExitCode {
    start_microbench::main(std::env::args_os().collect())
}
