//! Appends theory shapes to the tables of a database.

fn main() -> std::process::ExitCode {
    perfdb_tools::tools::generate_shape_grid::TOOL.run()
}
