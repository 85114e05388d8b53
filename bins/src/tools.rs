//! The tools: for each its command line, what it asks of the libraries, and its output.

pub mod audit_coverage;
pub mod bundle_reports;
pub mod check_database;
pub mod check_density;
pub mod check_trace;
pub mod compare_traces;
pub mod compute_m6;
pub mod cut_forward_pass;
pub mod diff_databases;
pub mod evaluate_database;
pub mod explain_prediction;
pub mod fill_fia_runtime_metadata;
pub mod generate_comm_microbench;
pub mod generate_op_comparison;
pub mod generate_per_shape_comparison;
pub mod generate_shape_grid;
pub mod merge_databases;
pub mod op_replay;
pub mod parse_kernel_details;
pub mod probe_dfc_constraints;
pub mod query_database;
pub mod run_all_op;
pub mod run_comm_bench;
pub mod start_microbench;
pub mod trace_to_csv;
pub mod validate_comm_alignment;
