//! Measures the cases of a database and writes the durations back.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::start_microbench::TOOL.run()
}
