//! The events of a simulator's trace as a CSV.

use perfdb_tools::tools::trace_to_csv;

fn main() -> std::process::ExitCode {
    trace_to_csv::main(std::env::args_os().collect())
}
