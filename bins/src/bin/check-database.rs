//! Lint of a database directory.

use perfdb_tools::tools::check_database;

fn main() -> std::process::ExitCode {
    check_database::main(std::env::args_os().collect())
}
