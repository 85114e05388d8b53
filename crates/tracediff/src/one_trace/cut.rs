//! The piece of a trace that its steps are, for a cut.

use perfdb_trace::cut::{Piece, Spans};

use super::{Selection, View};
use crate::context::passes::Boundaries;
use crate::error::Error;
use crate::time::Picoseconds;
use crate::trace::Trace;

/// The piece that the selected steps of a trace are, which was loaded to be looked at [alone](crate::LoadOptions::alone);
/// nothing where it has no steps.
///
/// # Errors
/// When no step has the phase that is asked for, or the trace was loaded for something else.
pub fn piece(trace: &Trace, selection: &Selection) -> Result<Option<Piece>, Error> {
    let (Some(timeline), Some(facts)) = (&trace.timeline, &trace.facts) else {
        return Err(Error::NoKernels { path: trace.path.clone() });
    };
    trace.require_phase(selection.phase)?;
    if matches!(trace.boundaries, Boundaries::Whole | Boundaries::Repetition) {
        return Ok(None);
    }
    let view = View::new(timeline, facts, selection);
    let mut devices = vec![Vec::new(); timeline.devices.len()];
    let mut host = Vec::new();
    for number in &view.chosen {
        let window = &timeline.windows[*number];
        let next = timeline.windows.get(number + 1).filter(|next| next.device == window.device);
        // Nothing runs behind the last window of a device.
        let end = if next.is_some() { window.end } else { Picoseconds::MAX };
        devices[window.device as usize].push((window.start, end));
        let Some(pass) = window.pass.map(|pass| pass as usize) else { continue };
        let Some(step) = facts.steps.get(pass) else { continue };
        host.push((step.start, facts.steps.get(pass + 1).map_or(Picoseconds::MAX, |next| next.start)));
    }
    let host = Spans::new(host);
    let by_annotation = trace.boundaries == Boundaries::DeviceAnnotation;
    Ok(Some(Piece {
        devices: timeline.devices.iter().cloned().zip(devices.into_iter().map(Spans::new)).collect(),
        device_annotations: by_annotation.then(|| host.clone()),
        host,
        whole_annotations: true,
        ..Piece::default()
    }))
}
