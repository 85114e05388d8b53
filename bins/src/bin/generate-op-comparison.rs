//! Predicted and measured time per kernel type, for any number of scenarios.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::generate_op_comparison::TOOL.run()
}
