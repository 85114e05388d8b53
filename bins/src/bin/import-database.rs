//! A database from Parquet.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::import_database::TOOL.run()
}
