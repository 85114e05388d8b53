//! probe-dfc-constraints: which shapes DispatchFFNCombine takes on this device.

use perfdb_tools::tools::probe_dfc_constraints;

fn main() -> std::process::ExitCode {
    probe_dfc_constraints::main(std::env::args_os().collect())
}
