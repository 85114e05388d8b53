//! Time per output token and to the first one.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::forecast::TOOL.run()
}
