//! Real collectives: the tools of the communication bench on gloo over loopback.
//!
//! Needs an interpreter with torch (`$PERFDB_PYTHON`, else `/usr/bin/python3`; Debian: `apt-get install python3-torch`).
//! Without one every test is skipped, and a line on stderr says so.

mod case;
mod faults;
mod launchers;
mod measured;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// A test of this suite.
type Test = fn() -> case::TestResult;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Ranks that share the cores with those of another test run into each other's time limits.
    arguments.test_threads = Some(1);
    let missing = case::torch_is_missing();
    if let Some(reason) = &missing {
        eprintln!("SKIPPED: tests of real collectives: {reason}; install torch (Debian: python3-torch)");
    }
    let tests: [(&str, Test); 14] = [
        ("a_laptop_measures_all_operators", measured::a_laptop_measures_all_operators),
        ("every_dtype_is_verified", measured::every_dtype_is_verified),
        ("the_standard_collection", measured::the_standard_collection),
        ("profiler_sessions_become_rows", measured::profiler_sessions_become_rows),
        ("a_wrong_result_leaves_no_row", faults::a_wrong_result_leaves_no_row),
        ("a_rank_that_dies", faults::a_rank_that_dies),
        ("a_rank_that_dies_under_torchrun", faults::a_rank_that_dies_under_torchrun),
        ("a_rank_that_hangs", faults::a_rank_that_hangs),
        ("a_rank_that_writes_rubbish", faults::a_rank_that_writes_rubbish),
        ("a_rank_that_chatters_does_no_harm", faults::a_rank_that_chatters_does_no_harm),
        ("a_signal_ends_the_run_in_order", faults::a_signal_ends_the_run_in_order),
        ("ranks_go_with_a_killed_tool", faults::ranks_go_with_a_killed_tool),
        ("two_nodes", launchers::two_nodes),
        ("inside_a_running_launcher", launchers::inside_a_running_launcher),
    ];
    let trials = tests.into_iter().map(|(name, test)| {
        Trial::test(name, move || test().map_err(|error| error.to_string().into())).with_ignored_flag(missing.is_some())
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
