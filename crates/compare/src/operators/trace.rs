//! Reading the predicted side from a simulator's trace.

use super::chunk::{ARGS, Chunk};
use super::totals::{Chosen, NotChosen, Predicted, Totals};
use crate::error::{Error, Warning};
use crate::event::EventFault;
use indexmap::IndexMap;
use perfdb_store::op_mapping::{Lookup, OpMapping};
use perfdb_trace::Source;
use perfdb_trace::chrome::{Part, ReadOptions, read_ordered};
use std::path::Path;

/// The predicted side of a comparison.
#[derive(Debug, Clone, Default)]
pub struct PredictedTrace {
    /// Sums by kernel type, in order of first appearance.
    pub kernel_types: IndexMap<String, Predicted>,
    /// Whether the mapping had an entry for any operator.
    pub mapping_used: bool,
    /// What was odd.
    pub warnings: Vec<Warning>,
}

/// Sums the operators of the profiling model's process per kernel type, in one pass.
///
/// # Errors
/// When the trace can't be read, no process is the profiling model's, or one of its events can't be used.
pub fn read_predicted(trace: &Path, mapping: &OpMapping, lookup: Lookup, threads: usize) -> Result<PredictedTrace, Error> {
    let mut source = Source::open(trace)?;
    let options = ReadOptions::simulator().args(ARGS);
    let mut totals = Totals::new(mapping, lookup);
    read_ordered(
        &mut source,
        &options,
        threads,
        |chunk: &mut Chunk, event| {
            chunk.add(event);
            Ok(())
        },
        |part| {
            match part {
                Part::Chunk { first_event, value } => totals.add(value, first_event),
                Part::Restart => totals = Totals::new(mapping, lookup),
                Part::Member { .. } => {}
            }
            Ok::<(), EventFault>(())
        },
    )?;
    match totals.finish() {
        Ok(Chosen { rows, sole_pid, mapping_used }) => {
            let warnings = sole_pid.map(|pid| Warning::SoleProcess { path: trace.to_owned(), pid });
            Ok(PredictedTrace { kernel_types: rows, mapping_used, warnings: warnings.into_iter().collect() })
        }
        Err(NotChosen::NoProcess(pids)) => Err(Error::NoProcess { path: trace.to_owned(), pids }),
        Err(NotChosen::Fault(placed)) => Err(source.error_at(placed.event, placed.offset, placed.fault).into()),
    }
}
