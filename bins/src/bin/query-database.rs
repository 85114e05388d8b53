//! What operators cost, from a database.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::query_database::TOOL.run()
}
