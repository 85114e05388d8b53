//! From the command line to the exit status.

use crate::abbreviation::{Ambiguous, expand};
use crate::common_names::add_common_names;
use crate::failure::{Failure, Status};
use crate::input_kind::{Given, Mistake, given, mistakes};
use crate::one_output;
use crate::output::{Log, print, print_error, print_hinted_error, set_quiet, set_verbose, warn};
use crate::positional;
use crate::progress;
use crate::promised_form;
use crate::short_help;
use crate::standard_streams::{Stream, name_streams, stream_of, writes_file};
use crate::suggestions::suggest_by_words;
use crate::unknown_option::name_meant;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, Parser};
use perfdb_files::escape::one_line;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;

/// Runs a tool on a command line, the program's name first. `original_options` are the names, without dashes, of the options
/// that the tool's original had: those, and `help`, may be abbreviated. Every tool gets `--verbose`, `--quiet` and `--version`.
pub fn run<A: Parser>(
    arguments: impl IntoIterator<Item = OsString>,
    original_options: &[&str],
    main: impl FnOnce(A) -> Result<Status, Failure>,
) -> ExitCode {
    let started = Instant::now();
    // Where there is no thread for it, signals end the tool as the system does.
    let _ = perfdb_files::interrupt::install();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut command = under_name_of_program(command_of::<A>(), arguments.first());
    if short_help::is_asked(&arguments) && !command.has_subcommands() {
        command = short_help::shortened(command);
    }
    command.build();
    let parsed = parse::<A>(&mut command, arguments, original_options);
    let (result, inputs) = match parsed {
        Ok((arguments, inputs)) => {
            let watch = progress::watch_reading();
            let result = main(arguments);
            drop(watch);
            let result = result.and_then(|status| one_output::write_texts().map(|()| status));
            (result, inputs)
        }
        Err(error) => return refuse(&mut command, error),
    };
    tracing::info!("{} took {:.3} s", command.get_name(), started.elapsed().as_secs_f64());
    match result {
        Ok(status) => {
            mistakes(command.get_name(), &inputs).iter().for_each(|mistake| warn(&mistake.line()));
            status.into()
        }
        Err(Failure::Lines(lines)) => {
            print_errors(&lines, &mistakes(command.get_name(), &inputs));
            ExitCode::FAILURE
        }
        Err(Failure::Usage(reason)) => {
            let error = command.error(ErrorKind::ValueValidation, one_line(&reason));
            refuse(&mut command, error)
        }
        Err(Failure::Reported(code)) => ExitCode::from(code),
    }
}

/// One line for each error. What is wrong with an input as a whole stands at the end of the line about it, else of the first one.
fn print_errors(lines: &[String], mistakes: &[Mistake]) {
    let line_of = |mistake: &Mistake| lines.iter().position(|line| mistake.is_about(line));
    for (at, line) in lines.iter().enumerate() {
        match mistakes.iter().find(|mistake| line_of(mistake).unwrap_or(0) == at) {
            Some(mistake) if mistake.is_about(line) => print_hinted_error(&format!("{line}; {}", mistake.text)),
            Some(mistake) => print_hinted_error(&format!("{line}; {}", mistake.line())),
            None => print_error(line),
        }
    }
}

/// Usage and examples begin with what was called: the tool, `perfdb TOOL`, or a command of a group.
fn under_name_of_program(command: Command, program: Option<&OsString>) -> Command {
    let program = program.map(|program| program.to_string_lossy().into_owned()).unwrap_or_default();
    if program.starts_with("perfdb ") { short_help::under_name(command, &program) } else { command }
}

/// The heading of the options that every tool has.
const GENERAL: &str = "General options";

/// The command line of a tool as [`run`] reads it.
pub fn command_of<A: Parser>() -> Command {
    let verbose =
        Arg::new("verbose").short('v').long("verbose").action(ArgAction::Count).help("Log on stderr (-vv: more)");
    let quiet =
        Arg::new("quiet").short('q').long("quiet").action(ArgAction::SetTrue).help("Hide warnings and progress");
    let no_progress = Arg::new("no_progress").long("no-progress").action(ArgAction::SetTrue).help("Hide progress bars");
    let mut command = add_common_names(A::command().version(env!("PERFDB_VERSION")).args_override_self(true));
    let is_table = |known: &Arg| known.get_id() == "parquet" && writes_file(known);
    if crate::table_file::is_without_parquet() && command.get_arguments().any(is_table) {
        // Still known, so that the error can name the program that has it.
        command = command.mut_arg("parquet", |argument| argument.hide(true));
    }
    // `perfdb -q merge-shards` and `perfdb merge-shards -q` are the same.
    let at_every_level = command.has_subcommands();
    for (name, argument) in [("verbose", verbose), ("quiet", quiet), ("no_progress", no_progress)] {
        if command.get_arguments().all(|known| known.get_id() != name) {
            let argument = argument.display_order(900).global(at_every_level);
            command = command.arg(argument.help_heading(GENERAL));
        }
    }
    if !at_every_level {
        let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).display_order(901);
        let version = Arg::new("version").short('V').long("version").action(ArgAction::Version).display_order(902);
        command = command.disable_help_flag(true).disable_version_flag(true);
        command = command.arg(help.help("Print this help (-h: the common options)").help_heading(GENERAL));
        command = command.arg(version.help("Print the version").help_heading(GENERAL));
    }
    positional::describe(one_output::add(command))
}

fn parse<A: Parser>(
    command: &mut Command,
    arguments: impl IntoIterator<Item = OsString>,
    original_options: &[&str],
) -> Result<(A, Vec<Given>), clap::Error> {
    let full: Vec<String> = command
        .get_arguments()
        .flat_map(|known| known.get_long().into_iter().chain(known.get_all_aliases().into_iter().flatten()))
        .map(str::to_owned)
        .collect();
    let mut original = original_options.to_vec();
    if !original.is_empty() {
        original.push("help");
    }
    let arguments = expand(arguments, &original, &full).map_err(|Ambiguous { argument, candidates }| {
        let reason = format!("ambiguous option '{argument}' could be {}", candidates.join(", "));
        command.error(ErrorKind::UnknownArgument, reason)
    })?;
    let arguments = one_output::by_suffix(arguments, command)
        .map_err(|reason| command.error(ErrorKind::ValueValidation, one_line(&reason)))?;
    let arguments = positional::name_inputs(arguments, command)
        .map_err(|reason| command.error(ErrorKind::ArgumentConflict, one_line(&reason)))?;
    let arguments =
        name_streams(arguments, command).map_err(|reason| command.error(ErrorKind::ArgumentConflict, reason))?;
    let matches = command.try_get_matches_from_mut(arguments)?;
    // What is given at any level is known at the last one.
    let last =
        std::iter::successors(Some(&matches), |matches| Some(matches.subcommand()?.1)).last().unwrap_or(&matches);
    let count = |name: &str| last.try_get_one::<u8>(name).ok().flatten().copied().unwrap_or(0);
    let flag = |name: &str| last.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or(false);
    set_quiet(flag("quiet"));
    progress::set_off(flag("no_progress"));
    set_verbose(count("verbose") > 0);
    set_up_logging(count("verbose"));
    promised_form::check(&matches, command, original_options)
        .map_err(|reason| command.error(ErrorKind::ValueValidation, one_line(&reason)))?;
    let reads = |known: &&Arg| stream_of(command.get_name(), known) == Some(Stream::Input);
    let read = command.get_arguments().filter(reads).filter_map(|known| matches.get_raw(known.get_id().as_str()));
    one_output::refuse_inputs(read.flatten().map(Path::new))
        .map_err(|reason| command.error(ErrorKind::ValueValidation, one_line(&reason)))?;
    let inputs = given(&matches, command);
    let parsed = A::from_arg_matches(&matches).map_err(|error| error.format(command))?;
    Ok((parsed, inputs))
}

fn set_up_logging(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    // Lines have no time of day, but the line at the end of a span has the time that it took: `without_time` on the
    // subscriber would leave out both.
    let format = tracing_subscriber::fmt::format().without_time().with_target(false);
    let logging = tracing_subscriber::fmt().with_writer(|| Log).event_format(format).with_ansi(colours);
    let logging = logging.with_max_level(level).with_span_events(FmtSpan::CLOSE);
    let logging = logging.log_internal_errors(false);
    // A second run in one process keeps the first one's logging.
    let _ = logging.try_init();
}

/// Help and version on stdout with exit 0, usage errors with the usage on stderr with exit 2.
fn refuse(command: &mut Command, mut error: clap::Error) -> ExitCode {
    if error.use_stderr() {
        suggest_by_words(&mut error);
        name_meant(&mut error, command);
        positional::name_missing(&mut error, command.get_name());
        // clap leaves it out where a value is wrong or missing.
        if error.get(ContextKind::Usage).is_none() {
            error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
        }
        // There is nowhere to report a failure of this.
        let _ = write!(std::io::stderr().lock(), "{}", error.render());
        return ExitCode::from(2);
    }
    match print(&error.render().to_string()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
