//! Plans a grid of collectives, runs it, writes communication tables.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::generate_comm_microbench::TOOL.run()
}
