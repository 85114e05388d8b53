//! Predicted and measured time per kernel type and shape.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::generate_per_shape_comparison::TOOL.run()
}
