//! The events of a simulator's trace as a CSV.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::trace_to_csv::TOOL.run()
}
