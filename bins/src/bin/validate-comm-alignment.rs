//! Checks measured communication tables against an analytic model.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::validate_comm_alignment::TOOL.run()
}
