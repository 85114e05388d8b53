//! The rules for GPU traces: each finding is one small function.

mod clock_jump;
mod cold_start;
mod collectives;
mod device_order;
mod duplicates;
mod durations;
mod events;
mod host_order;
mod launch_times;
mod lost_kernels;
mod lost_launches;
mod names_shifted;
mod operators;
mod overlaps;
mod replays;
mod stall;
mod steps;
mod synchronisation;
mod unit;

use super::Prepared;
use super::graph::Replays;
use crate::finding::Findings;
use crate::report::Marks;

/// Runs the rules about times.
pub(crate) fn check_rows(trace: &Prepared, found: &mut Findings, marks: &mut Marks) {
    events::check(trace, found);
    unit::check(trace, found);
    host_order::check(trace, found);
    device_order::check(trace, found);
    launch_times::check(trace, found);
    synchronisation::check(trace, found);
    stall::check(trace, found);
    cold_start::check(trace, found);
    clock_jump::check(trace, found);
    duplicates::check(trace, found, marks);
    durations::check(trace, found);
    overlaps::check(trace, found, marks);
}

/// Runs the rules about launches, operators, collectives, steps and replays of graphs.
pub(crate) fn check_work(trace: &Prepared, replays: &Replays, found: &mut Findings, marks: &mut Marks) {
    lost_kernels::check(trace, found, marks);
    lost_launches::check(trace, found);
    operators::check(trace, found);
    collectives::check(trace, found, marks);
    steps::check(trace, found);
    replays::check(trace, replays, found, marks);
    names_shifted::check(trace, replays, found, marks);
}
