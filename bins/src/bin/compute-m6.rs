//! M6 of one simulated and one measured forward pass.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::compute_m6::TOOL.run()
}
