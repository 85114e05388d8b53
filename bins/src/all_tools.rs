//! All tools: the one list that help, completions, man pages and links are made of.

use crate::registry::{Job, Tool};
use crate::tools;

/// Every tool. The tools of a job come in the order of this list.
pub const TOOLS: &[Tool] = &[
    tools::parse_kernel_details::TOOL,
    tools::fill_fia_runtime_metadata::TOOL,
    tools::generate_shape_grid::TOOL,
    tools::database_from_trace::TOOL,
    #[cfg(feature = "parquet")]
    tools::import_database::TOOL,
    tools::calibrate_database::TOOL,
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
    tools::forecast::TOOL,
    tools::check_trace::TOOL,
    tools::explain_trace::TOOL,
    tools::cut_trace::TOOL,
    tools::compare_traces::TOOL,
];

/// The tool of this name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The tools of a job.
pub fn of_job(job: Job) -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().filter(move |tool| tool.job == job)
}

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
        assert_eq!(Job::ALL.into_iter().flat_map(of_job).count(), TOOLS.len());
    }
}
