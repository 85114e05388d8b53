//! The standard collection of communication times: several sessions of the bench, on one node or on many.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::run_comm_bench::TOOL.run()
}
