//! Lint of a database directory.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::check_database::TOOL.run()
}
