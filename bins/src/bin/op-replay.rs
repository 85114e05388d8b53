//! op-replay: measures the rows of one operator's tables again.

use perfdb_tools::tools::op_replay;

fn main() -> std::process::ExitCode {
    op_replay::main(std::env::args_os().collect())
}
