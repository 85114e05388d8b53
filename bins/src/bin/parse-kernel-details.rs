//! Profiler output to database tables.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::parse_kernel_details::TOOL.run()
}
