//! The forward passes in a whole profile.

use crate::registry::{Job, Tool};
use crate::standard_streams::stdout_is_taken;
use crate::{Failure, Status, command_of, print_escaped, print_note, run};
use clap::Parser;
use perfdb_compare::cut::{Choice, Cut, profile_in};
use perfdb_files::replace::{Parents, Staged, commit, refuse_inputs};
use perfdb_report::passes::{document, list};
use std::ffi::OsString;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The tool, as it is listed and started.
pub const TOOL: Tool = Tool {
    name: "cut-forward-pass",
    job: Job::ComparePrediction,
    summary: "find forward passes in a profile and copy one",
    main,
    command: command_of::<Arguments>,
};

/// Find the forward passes in a whole profile, and copy the rows of one
///
/// Finds passes by the column "Step Id", else by what repeats in the sequence of kernels, else by idle gaps. Rows are
/// copied byte for byte, in file order, under the original header: the CSV that the comparison tools want.
#[derive(Parser)]
#[command(
    name = TOOL.name,
    after_help = "\
Examples:
  cut-forward-pass kernel_details.csv --list
  cut-forward-pass PROF_000001_20260101 --pass median --output pass.csv
  cut-forward-pass kernel_details.csv --pass all --output passes
      # passes.1.csv, passes.2.csv, ...

Exit status: 0 done, 1 failed (also when there is no such pass), 2 wrong usage."
)]
struct Arguments {
    /// kernel_details*.csv of a profile (may be gzip), or a folder of the profiler that holds one
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,

    /// List the passes; this is the default without --pass
    #[arg(long)]
    list: bool,

    /// The pass to copy: its number, last, median (by kernel time) or all
    #[arg(long, value_name = "N|last|median|all", requires = "output")]
    pass: Option<Choice>,

    /// CSV to write; with --pass all the beginning of its names, to which the number is added
    #[arg(long, value_name = "FILE", requires = "pass")]
    output: Option<PathBuf>,

    /// Write the list as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn main(arguments: Vec<OsString>) -> ExitCode {
    run(arguments, &[], cut)
}

fn cut(arguments: Arguments) -> Result<Status, Failure> {
    if arguments.pass == Some(Choice::All) && stdout_is_taken() {
        return Err(Failure::usage("--pass all writes several files, which cannot be stdout"));
    }
    let profile = profile_in(&arguments.profile)?;
    if std::fs::metadata(&profile).is_ok_and(|metadata| !metadata.is_file()) {
        let reason = "it is read twice, which a pipe cannot be; write it to a file first";
        return Err(Failure::lines(vec![format!("{}: {reason}", profile.display())]));
    }
    let cut = Cut::find(&profile)?;
    if cut.passes().is_empty() {
        return Err(Failure::lines(vec![format!("{}: no kernels, so no forward pass", profile.display())]));
    }
    let mut files = Vec::new();
    if let Some(path) = &arguments.json {
        refuse_inputs([path.as_path()], [profile.as_path()])?;
        files.push(Staged::with(path, document(&cut)?.as_bytes(), Parents::MustExist)?);
    }
    let mut written = Vec::new();
    if let (Some(choice), Some(output)) = (arguments.pass, &arguments.output) {
        let none = || {
            let there_are = match cut.passes().len() {
                1 => "there is pass 1 alone".to_owned(),
                count => format!("there are passes 1 to {count}"),
            };
            Failure::lines(vec![format!("{}: this pass does not exist: {there_are}", profile.display())])
        };
        let mut outs = Vec::new();
        for pass in cut.choose(choice).ok_or_else(none)? {
            let path = if choice == Choice::All { numbered(output, pass + 1) } else { output.clone() };
            refuse_inputs([path.as_path()], [profile.as_path()])?;
            let staged = Staged::create(&path, Parents::MustExist)?;
            outs.push((pass, BufWriter::with_capacity(1 << 16, staged)));
            written.push((pass, path));
        }
        cut.write_each(&mut outs)?;
        for ((_, mut out), (_, path)) in outs.into_iter().zip(&written) {
            let unwritten = |error: std::io::Error| Failure::lines(vec![format!("{}: {error}", path.display())]);
            out.flush().map_err(unwritten)?;
            files.push(out.into_inner().map_err(|error| unwritten(error.into_error()))?);
        }
    }
    commit(files)?;
    for (pass, path) in &written {
        let rows = cut.passes().get(*pass).map_or(0, |pass| pass.rows);
        print_note(&format!("pass {} of {}, {rows} rows, written to {}", pass + 1, cut.passes().len(), path.display()));
    }
    if arguments.list || arguments.pass.is_none() {
        print_escaped(&list(&cut))?;
    }
    Ok(Status::Success)
}

/// `passes` or `passes.csv` as `passes.1.csv`.
fn numbered(output: &Path, number: usize) -> PathBuf {
    let mut name = output.to_owned();
    if name.extension().is_some_and(|extension| extension == "csv") {
        name.set_extension("");
    }
    let mut name = name.into_os_string();
    name.push(format!(".{number}.csv"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_before_the_ending() {
        for (output, file) in [("passes", "passes.1.csv"), ("a/passes.csv", "a/passes.1.csv"), ("x.y", "x.y.1.csv")] {
            assert_eq!(numbered(Path::new(output), 1), Path::new(file));
        }
    }
}
