//! A database as Parquet.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::export_database::TOOL.run()
}
