//! The tests of this crate are one program: that is linked once.

mod all_tools;
mod audit_coverage;
mod bounds;
mod calibrate_database;
mod check_density;
mod check_trace;
mod compare_traces;
#[path = "comparison_tools/main.rs"]
mod comparison_tools;
mod crash;
mod database_from_trace;
mod database_tools;
mod evaluate_database;
mod explain_trace;
mod generate_shape_grid;
mod grid_and_replay;
mod help;
mod messages;
mod names;
#[path = "outputs/main.rs"]
mod outputs;
#[path = "pages/main.rs"]
mod pages;
mod perfdb;
mod query_database;
mod reference;
mod reliability;
#[path = "replay/main.rs"]
mod replay;
mod schemas;
#[path = "shards/main.rs"]
mod shards;
mod standard_streams;
mod terminal;
mod versions;
