//! What is known of a tool before it is started.

use clap::Command;
use std::ffi::OsString;
use std::process::ExitCode;

/// A command-line tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name, as it is typed.
    pub name: &'static str,
    /// What it is for.
    pub job: Job,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// Runs it on a command line, the program's name first.
    pub main: fn(Vec<OsString>) -> ExitCode,
    /// Its command line, for completions and man pages.
    pub command: fn() -> Command,
}

impl Tool {
    /// Runs the tool on the arguments of this process.
    pub fn run(&self) -> ExitCode {
        // A program of its own is without the large form of tables.
        crate::table_file::lacks_parquet();
        (self.main)(std::env::args_os().collect())
    }
}

/// What people do with the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Tables from profiles, and rows to be measured.
    MakeDatabase,
    /// What is wrong with a database.
    CheckDatabase,
    /// Durations of operators.
    MeasureOperators,
    /// Durations of collectives.
    MeasureCollectives,
    /// A simulated forward pass and a measured one.
    ComparePrediction,
    /// What a served model will cost.
    ForecastModel,
    /// What is wrong with a trace.
    CheckTrace,
    /// Two GPU traces.
    CompareTraces,
}

impl Job {
    /// All jobs, in the order of the work.
    pub const ALL: [Job; 8] = [
        Job::MakeDatabase,
        Job::CheckDatabase,
        Job::MeasureOperators,
        Job::MeasureCollectives,
        Job::ComparePrediction,
        Job::ForecastModel,
        Job::CheckTrace,
        Job::CompareTraces,
    ];

    /// The heading of its tools.
    pub fn title(self) -> &'static str {
        match self {
            Job::MakeDatabase => "Make a database",
            Job::CheckDatabase => "Check a database",
            Job::MeasureOperators => "Measure operators",
            Job::MeasureCollectives => "Measure collectives",
            Job::ComparePrediction => "Compare a prediction with a measurement",
            Job::ForecastModel => "Forecast a served model",
            Job::CheckTrace => "Check a trace",
            Job::CompareTraces => "Compare two GPU traces",
        }
    }
}
