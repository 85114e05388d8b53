//! A row for every kernel: what it is, and what it is compared with.

use super::Groups;
use crate::classify::COLLECTIVES;
use crate::context::OUTSIDE;
use crate::error::Error;
use crate::family::Family;
use crate::steps::PhaseFilter;
use crate::time::{MICROSECOND, Picoseconds};
use crate::trace::Trace;

/// A kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventRow<'a> {
    /// 1 or 2.
    pub trace: u8,
    /// Position among all events of the file, from 0.
    pub index: u32,
    /// Name.
    pub name: &'a str,
    /// Start from the first kernel of the trace, µs.
    pub start_us: f64,
    /// Duration, µs.
    pub duration_us: f64,
    /// Class.
    pub class: &'a str,
    /// Family of the class, as groups call it.
    pub family: &'static str,
    /// Layer, if any.
    pub layer: Option<u32>,
    /// `compute` or `communication`.
    pub part: &'static str,
    /// The group that the kernel is compared in, the same text on both sides.
    pub pair: &'a str,
}

/// Hands over a row for every kernel of a phase: trace 1, then trace 2, each in the order of its file.
///
/// # Errors
/// [`Error::NoPhase`] when a trace has no kernel of the wanted phase, and the errors of `visit`.
pub fn events<E: From<Error>>(
    first: &Trace,
    second: &Trace,
    phase: PhaseFilter,
    mut visit: impl FnMut(EventRow<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let traces = [first, second];
    for trace in traces {
        trace.require_phase(phase)?;
    }
    let Some(groups) = Groups::new(traces) else { return Ok(()) };
    for (side, trace) in traces.into_iter().enumerate() {
        let origin = trace.kernels.iter().map(|kernel| kernel.start).min().unwrap_or(0);
        let us = |time: Picoseconds| time as f64 / MICROSECOND as f64;
        for ((kernel, context), group) in trace.kernels.iter().zip(&trace.contexts).zip(&groups.of_kernels[side]) {
            if !phase.lets(context.phase) {
                continue;
            }
            let class = trace.operations[trace.groups[context.group as usize].operation as usize].as_str();
            visit(EventRow {
                trace: side as u8 + 1,
                index: kernel.index,
                name: trace.name(kernel.name),
                start_us: us(kernel.start - origin),
                duration_us: us(kernel.duration),
                class,
                family: Family::of(class).code(),
                layer: (context.layer != OUTSIDE).then_some(context.layer),
                part: if COLLECTIVES.contains(&class) { "communication" } else { "compute" },
                pair: groups.names.get(*group as usize).map_or("", String::as_str),
            })?;
        }
    }
    Ok(())
}
