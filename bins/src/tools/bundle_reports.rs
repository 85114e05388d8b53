//! Several report pages in one file.

use crate::path_argument::path;
use crate::registry::{Job, Tool};
use crate::{Failure, Status, command_of, print_note, run};
use clap::Parser;
use perfdb_files::input::{self, Kind, LARGEST_DOCUMENT_BYTES};
use perfdb_files::replace::{Parents, refuse_inputs, replace};
use perfdb_report::page::{BundledPage, bundle};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "bundle-reports",
    job: Job::ComparePrediction,
    summary: "several report pages in one file",
    main,
    command: command_of::<Arguments>,
};

/// Put the pages that tools write with --html into one page, with a list of contents
///
/// The pages keep their order. A bundle can be bundled again.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  bundle-reports prediction.html shapes.html --output all.html
  bundle-reports *.html --output all.html --title 'Qwen3-32B, June'
  bundle-reports before.html after.html --output - > both.html

Exit status: 0 done, 1 failed, 2 wrong usage."
)]
struct Arguments {
    /// Pages that --html has written
    #[arg(required = true, value_name = "PAGE", value_parser = path())]
    pages: Vec<PathBuf>,

    /// HTML page to write, in a folder that exists
    #[arg(long, value_name = "FILE", value_parser = path())]
    output: PathBuf,

    /// Title of the page
    #[arg(long, value_name = "TEXT", default_value = "Reports")]
    title: String,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], bundle_reports)
}

fn bundle_reports(arguments: Arguments) -> Result<Status, Failure> {
    refuse_inputs([arguments.output.as_path()], arguments.pages.iter().map(PathBuf::as_path))?;
    let mut pages = Vec::with_capacity(arguments.pages.len());
    for path in &arguments.pages {
        let read = input::read(path, Kind::Stream, LARGEST_DOCUMENT_BYTES);
        let bytes = read.map_err(|error| perfdb_files::Error::io(path, error))?;
        // What is no UTF-8 is no page of ours, which its marks will tell.
        pages.push(BundledPage { path: path.clone(), html: String::from_utf8_lossy(&bytes).into_owned() });
    }
    replace(&arguments.output, bundle(&arguments.title, &pages)?.as_bytes(), Parents::MustExist)?;
    print_note(&format!("{} reports written to {}", pages.len(), arguments.output.display()));
    Ok(Status::Success)
}
