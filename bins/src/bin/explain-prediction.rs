//! Where a prediction is wrong, adding up to 100 %.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::explain_prediction::TOOL.run()
}
