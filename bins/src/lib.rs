//! The plumbing of the tools: command lines, logging, warnings, progress, exit codes. The only place that knows the terminal.
//!
//! A tool is a clap struct, one library call and its output:
//!
//! ```no_run
//! use perfdb_tools::{Failure, Status, print, run};
//! use std::process::ExitCode;
//!
//! /// Counts the bytes of a file.
//! #[derive(clap::Parser)]
//! struct Arguments {
//!     /// The file to count
//!     file: std::path::PathBuf,
//! }
//!
//! fn main() -> ExitCode {
//!     run(std::env::args_os(), &[], |arguments: Arguments| {
//!         let bytes = std::fs::metadata(arguments.file)?.len();
//!         print(&format!("{bytes}\n"))?;
//!         Ok(Status::Success)
//!     })
//! }
//! ```
#![forbid(unsafe_code)]
// What the tools share: its interface promises nothing, and what its name says needs no comment.
#![allow(missing_docs)]

mod abbreviation;
pub mod all_tools;
mod common_names;
pub mod communication;
pub mod compare_traces;
pub mod comparison;
pub mod database;
mod database_folder;
mod density;
pub mod doors;
mod failure;
mod gate;
mod hints;
mod input_kind;
pub mod json_file;
mod layout;
mod measure_folder;
mod one_output;
mod output;
pub mod path_argument;
pub mod perfdb;
mod positional;
pub mod program;
pub mod progress;
mod promised_form;
mod provenance;
pub mod registry;
pub mod replay;
mod run_record;
mod scenarios;
pub mod semantics;
pub mod shards;
mod short_help;
pub mod standard_streams;
mod suggestions;
mod table_file;
mod terminal;
mod tool;
pub mod tools;
mod unknown_option;
pub mod update_mode;

#[cfg(test)]
#[path = "../build/commit.rs"]
mod commit;

pub use failure::{Failure, Status, error_line};
pub use output::{
    print, print_bytes, print_error, print_escaped, print_line, print_note, print_styled, quiet, verbose, warn,
    warn_as_original,
};
pub use tool::{command_of, run};
