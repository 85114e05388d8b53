//! Operators of GPU traces as tables of a database: what was called, with which shapes and types, and how long its kernels took.
//!
//! A call is one operator on the host with all kernels, copies and sets that it launches itself, the innermost one around each launch. Kernels of replayed
//! graphs belong to the operator of their capture, where one was given. What cannot become a row is counted, by operator and reason.

mod calls;
mod case;
mod database;
mod sources;
mod tables;
mod types;

use perfdb_store::dtype::DType;
use std::collections::BTreeMap;

use crate::error::Error;
use crate::time::{Picoseconds, milliseconds};
use crate::trace::Trace;
use calls::{Called, calls};
use case::Case;
use tables::Samples;

pub use tables::MeasuredTable;

/// How rows are made.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeasuredOptions {
    /// The type of tensors where the trace has none.
    pub dtype: Option<DType>,
}

/// What became of the kernels of traces.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Tables by kernel type.
    pub tables: BTreeMap<String, MeasuredTable>,
    /// The device, where the traces name it.
    pub device: Option<String>,
    /// Whose operators they are: `vllm`, `sglang` or `pytorch`.
    pub framework: &'static str,
    /// Time of all kernels, and of copies that operators made.
    pub kernel_ms: f64,
    /// The part of it that stands in rows.
    pub measured_ms: f64,
    /// What is in no table, by time.
    pub left_out: Vec<LeftOut>,
    /// Whether a collective is among the rows.
    pub has_collectives: bool,
}

/// Kernels that are in no table.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The operator; empty where there is none.
    pub operator: String,
    /// Why.
    pub reason: Reason,
    /// How many kernels.
    pub kernels: u64,
    /// Sum of their durations.
    pub total_ms: f64,
}

/// Why kernels are in no table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No operator on the host launched them.
    NoOperator,
    /// A graph replayed them, and no capture says what they are.
    Replayed,
    /// A graph replayed them, and no capture is like it.
    NotCaptured,
    /// A graph replayed them, and several captures are like it.
    SeveralCaptures,
    /// They ran before the first step.
    BeforeFirstStep,
    /// The trace has no shapes of the operator.
    NoShapes,
    /// The trace has no types of the operator's tensors.
    NoTypes,
    /// An argument is a list of tensors, whose types the profiler leaves out.
    Lists,
    /// A collective of which the trace does not say how many bytes it sends.
    NoBytes,
    /// Attention of which the lengths are not annotated.
    NoLengths,
}

impl Reason {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::NoOperator => "no operator around the launch",
            Reason::Replayed => "replayed by a graph; --capture names operators",
            Reason::NotCaptured => "replayed by a graph that --capture does not have",
            Reason::SeveralCaptures => "replayed by a graph; several in --capture fit, or one of another batch",
            Reason::BeforeFirstStep => "before the first step",
            Reason::NoShapes => "no shapes; record them with record_shapes=True",
            Reason::NoTypes => "shapes without data types; --dtype names one",
            Reason::Lists => "list of tensors without data types",
            Reason::NoBytes => "collective without message size",
            Reason::NoLengths => "attention whose lengths, window or cache type the trace does not tell",
        }
    }
}

/// Collects the operators of traces of one device, each loaded to be looked at [alone](crate::LoadOptions::alone). Every trace is a run.
///
/// # Errors
/// When the traces are of different devices.
pub fn measured(traces: &[Trace], options: MeasuredOptions) -> Result<Measured, Error> {
    let mut found = Measured { device: device_of(traces)?, framework: "pytorch", ..Measured::default() };
    let mut samples: BTreeMap<Case, Samples> = BTreeMap::new();
    let mut left_out: BTreeMap<(String, Reason), (u64, Picoseconds)> = BTreeMap::new();
    let (mut all, mut taken) = (0, 0);
    let mut add = |operator: &str, reason: Reason, kernels: u64, time: Picoseconds| {
        let entry = left_out.entry((operator.to_owned(), reason)).or_default();
        entry.0 += kernels;
        entry.1 += time;
    };
    for (run, trace) in traces.iter().enumerate() {
        for call in calls(trace, options) {
            let time: Picoseconds = call.kernels.iter().map(|(_, time)| *time).sum();
            all += time;
            if let Some(framework) = sources::framework(&call.operator) {
                found.framework = framework;
            }
            match call.is {
                Called::Case(case) => {
                    taken += time;
                    samples.entry(*case).or_default().add(run, trace, &call.kernels);
                }
                Called::LeftOut(reason) => add(&call.operator, reason, call.kernels.len() as u64, time),
            }
        }
        let lead = trace.lead.time;
        all += lead;
        if trace.lead.kernels > 0 {
            add("", Reason::BeforeFirstStep, trace.lead.kernels, lead);
        }
    }
    found.kernel_ms = milliseconds(all);
    found.measured_ms = milliseconds(taken);
    found.left_out = left_out
        .into_iter()
        .map(|((operator, reason), (kernels, time))| LeftOut {
            operator,
            reason,
            kernels,
            total_ms: milliseconds(time),
        })
        .collect();
    found.left_out.sort_by(|one, other| other.total_ms.total_cmp(&one.total_ms));
    found.has_collectives = samples.keys().any(Case::is_collective);
    found.tables = tables::of(samples);
    Ok(found)
}

/// The device of all traces that name one.
fn device_of(traces: &[Trace]) -> Result<Option<String>, Error> {
    let mut known: Option<(&Trace, String)> = None;
    for trace in traces {
        let name = trace.gpu_inferred();
        if name.is_empty() || !trace.has_device_properties {
            continue;
        }
        match &known {
            Some((first, device)) if *device != name => {
                let reason = format!("is of the device {name}, but {} is of {device}", first.path.display());
                return Err(Error::Yaml { path: trace.path.clone(), reason });
            }
            _ => known = Some((trace, name)),
        }
    }
    Ok(known.map(|(_, device)| device))
}
