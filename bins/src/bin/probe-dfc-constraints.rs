//! probe-dfc-constraints: which shapes DispatchFFNCombine takes on this device.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::probe_dfc_constraints::TOOL.run()
}
