//! Predicted and measured time per kernel type, for any number of scenarios.

use perfdb_tools::tools::generate_op_comparison;

fn main() -> std::process::ExitCode {
    generate_op_comparison::main(std::env::args_os().collect())
}
