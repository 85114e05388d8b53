//! M6 of one simulated and one measured forward pass.

use perfdb_tools::tools::compute_m6;

fn main() -> std::process::ExitCode {
    compute_m6::main(std::env::args_os().collect())
}
