//! Runtime records into the attention table.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::fill_fia_runtime_metadata::TOOL.run()
}
