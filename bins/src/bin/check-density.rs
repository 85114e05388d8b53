//! Where a database is measured too sparsely.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::check_density::TOOL.run()
}
