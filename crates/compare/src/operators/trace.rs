//! Reading the predicted side from a simulator's trace.

use super::chunk::{ARGS, Chunk};
use super::totals::{Chosen, Predicted, Totals};
use crate::error::{Error, Warning};
use crate::fold::{Folded, fold_trace};
use crate::process::{LocatedFault, NotChosen};
use indexmap::IndexMap;
use perfdb_store::op_mapping::{Lookup, OpMapping};
use perfdb_trace::chrome::{Event, Item, ReadOptions, Reader};
use perfdb_trace::source::Source;
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
pub fn read_predicted(
    trace: &Path,
    mapping: &OpMapping,
    lookup: Lookup,
    threads: usize,
) -> Result<PredictedTrace, Error> {
    let add_event = |chunk: &mut Chunk, event: &Event<'_>| {
        chunk.add(event);
        Ok(())
    };
    let Folded { value: totals, restarts } =
        fold_trace(trace, &ARGS, threads, || Totals::new(mapping, lookup), add_event, Totals::add)?;
    match totals.finish() {
        Ok(Chosen { rows, sole_pid, mapping_used }) => {
            let warnings = sole_pid.map(|pid| Warning::SoleProcess { path: trace.to_owned(), pid });
            Ok(PredictedTrace { kernel_types: rows, mapping_used, warnings: warnings.into_iter().collect() })
        }
        Err(NotChosen::NoProcess(pids)) => Err(Error::NoProcess { path: trace.to_owned(), pids }),
        Err(NotChosen::Fault(LocatedFault { event, offset, fault })) => {
            let location = location_of(trace, restarts, event, offset);
            Err(Error::Event { path: trace.to_owned(), fault, location })
        }
    }
}

/// Where an event stands, for a message. Which fault counts is known only at the end of the trace, so the line and the column are
/// looked for in a second reading, which a pipe does not allow.
pub(crate) fn location_of(trace: &Path, restarts: usize, event: u64, offset: u64) -> String {
    let fallback = format!("(event {event}) at byte {offset}");
    if !std::fs::metadata(trace).is_ok_and(|metadata| metadata.is_file()) {
        return fallback;
    }
    let Ok(mut source) = Source::open(trace) else { return fallback };
    let options = ReadOptions::simulator();
    let mut reader = Reader::new(&mut source, &options);
    let mut restarts_left = restarts;
    while let Ok(Some(item)) = reader.next_item() {
        match item {
            Item::Restart => restarts_left = restarts_left.saturating_sub(1),
            Item::Event(found) if restarts_left == 0 && found.index() == event => {
                return reader.location(offset, Some(event)).to_string();
            }
            _ => {}
        }
    }
    fallback
}
