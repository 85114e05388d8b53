//! op-replay: measures the rows of one operator's tables again.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::op_replay::TOOL.run()
}
