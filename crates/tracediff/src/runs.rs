//! Did a change make it slower? Runs before it against runs after it.
//!
//! [`Run::of`] keeps the times of the steps of a trace, and [`compare_runs`] says what the two groups differ by, beyond what runs and
//! steps vary by.

mod chosen;
mod find;
mod report;
mod run;
mod stored;
mod workload;

pub use chosen::{KindOfSteps, LeftOutStep};
pub use find::find_runs;
pub use report::{CommonVariation, OutlierRun, RunsOptions, RunsReport, RunsRow, compare_runs};
pub use run::{RowKind, Run, Step, Times};
pub use stored::{is_stored, stored_runs};
