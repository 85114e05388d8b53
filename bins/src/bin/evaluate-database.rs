//! What the predictions of a database are worth.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::evaluate_database::TOOL.run()
}
