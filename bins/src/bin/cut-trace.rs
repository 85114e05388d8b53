//! A piece of a trace as a trace of its own.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::cut_trace::TOOL.run()
}
