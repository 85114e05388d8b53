//! What changed between two databases.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::diff_databases::TOOL.run()
}
