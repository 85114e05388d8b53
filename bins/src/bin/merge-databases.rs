//! Several databases brought into one.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::merge_databases::TOOL.run()
}
