//! Appends theory shapes to the tables of a database.

use perfdb_tools::tools::generate_shape_grid;

fn main() -> std::process::ExitCode {
    generate_shape_grid::main(std::env::args_os().collect())
}
