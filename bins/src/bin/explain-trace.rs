//! Where the time of one trace goes.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::explain_trace::TOOL.run()
}
