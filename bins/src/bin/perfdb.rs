//! All tools in one program.

fn main() -> std::process::ExitCode {
    perfdb_tools::perfdb::main(std::env::args_os().collect())
}
