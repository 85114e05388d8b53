//! What is wrong with a trace or kernel table.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::check_trace::TOOL.run()
}
