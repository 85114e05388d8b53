//! All tools: the one list that help, completions, man pages and links are made of.

use crate::tools;
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
        (self.main)(std::env::args_os().collect())
    }

    /// The tool of this name.
    pub fn find(name: &str) -> Option<&'static Tool> {
        TOOLS.iter().find(|tool| tool.name == name)
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
    /// What is wrong with a trace.
    CheckTrace,
    /// Two GPU traces.
    CompareTraces,
}

impl Job {
    /// All jobs, in the order of the work.
    pub const ALL: [Job; 7] = [
        Job::MakeDatabase,
        Job::CheckDatabase,
        Job::MeasureOperators,
        Job::MeasureCollectives,
        Job::ComparePrediction,
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
            Job::CheckTrace => "Check a trace",
            Job::CompareTraces => "Compare two GPU traces",
        }
    }

    /// Its tools.
    pub fn tools(self) -> impl Iterator<Item = &'static Tool> {
        TOOLS.iter().filter(move |tool| tool.job == self)
    }
}

/// Every tool. The tools of a job come in the order of this list.
pub const TOOLS: &[Tool] = &[
    tools::parse_kernel_details::TOOL,
    tools::fill_fia_runtime_metadata::TOOL,
    tools::generate_shape_grid::TOOL,
    #[cfg(feature = "parquet")]
    tools::import_database::TOOL,
    tools::check_database::TOOL,
    tools::query_database::TOOL,
    tools::evaluate_database::TOOL,
    tools::audit_coverage::TOOL,
    tools::check_density::TOOL,
    tools::diff_databases::TOOL,
    tools::merge_databases::TOOL,
    #[cfg(feature = "parquet")]
    tools::export_database::TOOL,
    tools::start_microbench::TOOL,
    tools::run_all_op::TOOL,
    tools::op_replay::TOOL,
    tools::probe_dfc_constraints::TOOL,
    tools::generate_comm_microbench::TOOL,
    tools::run_comm_bench::TOOL,
    tools::validate_comm_alignment::TOOL,
    tools::cut_forward_pass::TOOL,
    tools::explain_prediction::TOOL,
    tools::compute_m6::TOOL,
    tools::generate_op_comparison::TOOL,
    tools::generate_per_shape_comparison::TOOL,
    tools::trace_to_csv::TOOL,
    tools::bundle_reports::TOOL,
    tools::check_trace::TOOL,
    tools::compare_traces::TOOL,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_the_package_is_a_tool_and_the_other_way_round() {
        let programs = std::fs::read_dir(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin")).unwrap();
        let mut programs: Vec<String> = programs
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .filter(|name| name != "perfdb")
            .collect();
        let mut tools: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        programs.sort_unstable();
        tools.sort_unstable();
        assert_eq!(programs, tools);
    }

    #[test]
    fn every_tool_has_a_command_line_of_its_name_and_a_place_in_the_list() {
        for tool in TOOLS {
            let command = (tool.command)();
            assert_eq!(command.get_name(), tool.name);
            command.debug_assert();
        }
        assert_eq!(Job::ALL.iter().flat_map(|job| job.tools()).count(), TOOLS.len());
    }
}
