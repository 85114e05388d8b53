//! Two GPU traces of the same workload, operation by operation.

use perfdb_tools::tools::compare_traces;

fn main() -> std::process::ExitCode {
    compare_traces::main(std::env::args_os().collect())
}
