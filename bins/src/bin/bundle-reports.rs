//! Several report pages in one file.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::bundle_reports::TOOL.run()
}
