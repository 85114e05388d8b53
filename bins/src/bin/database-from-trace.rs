//! A database of the operators of GPU traces.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::database_from_trace::TOOL.run()
}
