//! Profiler output to database tables.

use perfdb_tools::tools::parse_kernel_details;

fn main() -> std::process::ExitCode {
    parse_kernel_details::main(std::env::args_os().collect())
}
