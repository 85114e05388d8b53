//! The forward passes in a whole profile.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::cut_forward_pass::TOOL.run()
}
