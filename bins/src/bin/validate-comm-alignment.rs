//! Checks measured communication tables against an analytic model.

use perfdb_tools::tools::validate_comm_alignment;

fn main() -> std::process::ExitCode {
    validate_comm_alignment::main(std::env::args_os().collect())
}
