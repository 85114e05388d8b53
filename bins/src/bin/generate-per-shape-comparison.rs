//! Predicted and measured time per kernel type and shape.

use perfdb_tools::tools::generate_per_shape_comparison;

fn main() -> std::process::ExitCode {
    generate_per_shape_comparison::main(std::env::args_os().collect())
}
