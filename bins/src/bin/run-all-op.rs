//! run-all-op: measures the tables of all operators, or of some, again.

use perfdb_tools::tools::run_all_op;

fn main() -> std::process::ExitCode {
    run_all_op::main(std::env::args_os().collect())
}
