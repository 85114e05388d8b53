//! Reading the predicted side: the calls that a simulator's trace stands for.

mod chunk;
mod template;

use super::call::{Call, Calls};
use crate::error::{Error, Warning};
use crate::fold::{Folded, fold_trace};
use crate::operators::location_of;
use crate::process::{Choice, LocatedFault, NotChosen, Processes, globally};
use chunk::{ARGS, Chunk, Record};
use perfdb_store::op_mapping::OpMapping;
use perfdb_trace::chrome::Event;
use rustc_hash::FxHashMap;
use std::path::Path;
use template::Template;

/// Starts further from the first one than this count as this far: 26 days, in picoseconds.
const FARTHEST_PS: i128 = i64::MAX as i128 / 4;

/// The predicted side of a comparison.
#[derive(Debug, Default)]
pub(super) struct PredictedSide {
    pub(super) calls: Calls,
    /// Time of the events of all processes that M6 counts, as written.
    pub(super) m6_hit_ps: i128,
    /// Σ parts − duration over the events with parts.
    pub(super) composite_rounding_ps: i128,
    /// Events that stand for no call.
    pub(super) free_events: u64,
    pub(super) warnings: Vec<Warning>,
}

/// Reads a trace.
///
/// # Errors
/// When the trace can't be read, no process is the profiling model's, or one of its events can't be used.
pub(super) fn read_predicted(trace: &Path, mapping: &OpMapping, threads: usize) -> Result<PredictedSide, Error> {
    let add_event = |chunk: &mut Chunk, event: &Event<'_>| {
        chunk.add(event);
        Ok(())
    };
    let Folded { value: events, restarts } =
        fold_trace(trace, &ARGS, threads, || Events::new(mapping), add_event, Events::add)?;
    match events.finish() {
        Ok((mut side, sole_pid)) => {
            side.warnings.extend(sole_pid.map(|pid| Warning::SoleProcess { path: trace.to_owned(), pid }));
            Ok(side)
        }
        Err(NotChosen::NoProcess(pids)) => Err(Error::NoProcess { path: trace.to_owned(), pids }),
        Err(NotChosen::Fault(LocatedFault { event, offset, fault })) => {
            Err(Error::Event { path: trace.to_owned(), fault, location: location_of(trace, restarts, event, offset) })
        }
    }
}

/// What a process contributes.
#[derive(Debug, Default)]
struct Process {
    calls: Vec<Call>,
    composite_rounding_ps: i128,
    free_events: u64,
    fault: Option<LocatedFault>,
}

/// Everything read so far.
struct Events<'m> {
    mapping: &'m OpMapping,
    templates: FxHashMap<Box<[u8]>, u32>,
    known: Vec<Template>,
    calls: Calls,
    processes: Processes,
    parts: Vec<Process>,
    m6_hit_ps: i128,
    /// Start of the first event; those of all others count from it.
    origin_ps: Option<i128>,
    events: u64,
}

impl<'m> Events<'m> {
    fn new(mapping: &'m OpMapping) -> Events<'m> {
        Events {
            mapping,
            templates: FxHashMap::default(),
            known: Vec::new(),
            calls: Calls::default(),
            processes: Processes::default(),
            parts: Vec::new(),
            m6_hit_ps: 0,
            origin_ps: None,
            events: 0,
        }
    }

    /// Adds what a chunk contributes. Chunks come in file order.
    fn add(&mut self, chunk: Chunk) {
        let first_event = self.events;
        self.events += chunk.events;
        let templates: Vec<u32> = chunk.templates.into_keys().map(|key| self.template(key)).collect();
        let positions = self.processes.add(chunk.pids);
        let known = positions.iter().max().map_or(0, |last| last + 1).max(self.parts.len());
        self.parts.resize_with(known, Process::default);
        let located = |fault: LocatedFault| LocatedFault { event: fault.event + first_event, ..fault };
        let shift_ps = chunk.origin_ps.map_or(0, |origin_ps| origin_ps - *self.origin_ps.get_or_insert(origin_ps));
        let mut durations_ps = chunk.part_durations_ps.iter();
        for record in chunk.records {
            match record {
                Record::Event { template, pid, event, start_ps, duration_ps } => {
                    let template = &self.known[templates[template as usize] as usize];
                    if template.is_m6_hit {
                        self.m6_hit_ps += i128::from(duration_ps);
                    }
                    let parts = durations_ps.by_ref().take(template.listed_parts);
                    let process = positions[pid as usize];
                    if !self.processes.may_count(process) {
                        parts.for_each(drop);
                        continue;
                    }
                    // So far apart only their order matters.
                    let start_ps = (i128::from(start_ps) + shift_ps).clamp(-FARTHEST_PS, FARTHEST_PS) as i64;
                    let event = (first_event + u64::from(event)) as u32;
                    let process = &mut self.parts[process];
                    template.contribute(process, event, start_ps, duration_ps, parts.copied());
                }
                Record::Fault { pid, fault } => {
                    let fault = located(*fault);
                    match pid {
                        Some(pid) => drop(self.parts[positions[pid as usize]].fault.get_or_insert(fault)),
                        None => self.processes.without_pid(fault),
                    }
                }
                Record::ProcessName(named) => self.processes.name(globally(*named, &positions, first_event)),
            }
        }
    }

    fn template(&mut self, key: Box<[u8]>) -> u32 {
        if let Some(&at) = self.templates.get(&key) {
            return at;
        }
        let at = self.known.len() as u32;
        self.known.push(Template::new(&key, self.mapping, &mut self.calls.signatures));
        self.templates.insert(key, at);
        at
    }

    fn finish(self) -> Result<(PredictedSide, Option<String>), NotChosen> {
        if self.events == 0 {
            return Ok((PredictedSide::default(), None));
        }
        let Choice { process, sole_pid } = self.processes.choose()?;
        let mut parts = self.parts;
        let chosen = process.map(|process| parts.swap_remove(process)).unwrap_or_default();
        if let Some(fault) = chosen.fault {
            return Err(NotChosen::Fault(fault));
        }
        let mut calls = chosen.calls;
        if !calls.is_sorted_by_key(|call| call.start_ps) {
            calls.sort_by_key(|call| call.start_ps);
        }
        let side = PredictedSide {
            calls: Calls { calls, ..self.calls },
            m6_hit_ps: self.m6_hit_ps,
            composite_rounding_ps: chosen.composite_rounding_ps,
            free_events: chosen.free_events,
            warnings: Vec::new(),
        };
        Ok((side, sole_pid))
    }
}
