//! Whether a database is good enough for a workload.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::audit_coverage::TOOL.run()
}
