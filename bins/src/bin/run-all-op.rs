//! run-all-op: measures the tables of all operators, or of some, again.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::run_all_op::TOOL.run()
}
