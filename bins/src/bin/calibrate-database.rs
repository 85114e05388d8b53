//! A public database scaled to rows that were measured here.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::calibrate_database::TOOL.run()
}
