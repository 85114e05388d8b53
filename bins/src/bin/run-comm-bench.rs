//! The standard collection of communication times: several sessions of the bench, on one node or on many.

use perfdb_tools::tools::run_comm_bench;

fn main() -> std::process::ExitCode {
    run_comm_bench::main(std::env::args_os().collect())
}
