//! Plans a grid of collectives, runs it, writes communication tables.

use perfdb_tools::tools::generate_comm_microbench;

fn main() -> std::process::ExitCode {
    generate_comm_microbench::main(std::env::args_os().collect())
}
