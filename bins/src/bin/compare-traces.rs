//! Two GPU traces of the same workload, operation by operation.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::compare_traces::TOOL.run()
}
