//! Steps, parts of time and layers as slices of time, for a viewer.

use std::collections::BTreeMap;

use super::{Selection, View};
use crate::context::OUTSIDE;
use crate::elapsed::timeline::Part;
use crate::error::Error;
use crate::time::Picoseconds;
use crate::trace::Trace;

/// What a device did in the selected steps. Slices of one track are in the order of time and do not overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceTracks {
    /// Id of the device.
    pub device: String,
    /// The steps.
    pub steps: Vec<Slice>,
    /// The parts of their time.
    pub parts: Vec<Slice>,
    /// The layers of the model.
    pub layers: Vec<Slice>,
}

/// A piece of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// What it is.
    pub name: String,
    /// On the clock of the trace.
    pub start: Picoseconds,
    /// Likewise.
    pub end: Picoseconds,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Compute => "compute",
            Part::ExposedCommunication => "exposed communication",
            Part::ExposedCopies => "exposed copies",
            Part::HostLate => "host late",
            Part::DeviceIdle => "device idle",
        }
    }
}

/// The tracks of each device of a trace, which was loaded to be looked at [alone](crate::LoadOptions::alone) and with
/// [pieces](crate::LoadOptions::pieces).
///
/// # Errors
/// When no step has the phase that is asked for, or the trace was loaded for something else.
pub fn tracks(trace: &Trace, selection: &Selection) -> Result<Vec<DeviceTracks>, Error> {
    let (Some(timeline), Some(facts)) = (&trace.timeline, &trace.facts) else {
        return Err(Error::NoKernels { path: trace.path.clone() });
    };
    trace.require_phase(selection.phase)?;
    let view = View::new(timeline, facts, selection);
    let device = |device: &String| DeviceTracks { device: device.clone(), ..DeviceTracks::default() };
    let mut tracks: Vec<DeviceTracks> = timeline.devices.iter().map(device).collect();
    for number in &view.chosen {
        let window = &timeline.windows[*number];
        let step = window.pass.and_then(|pass| facts.steps.get(pass as usize));
        let name = step.map_or_else(|| "whole trace".to_owned(), |step| step.name.clone());
        tracks[window.device as usize].steps.push(Slice { name, start: window.start, end: window.end });
    }
    for piece in &timeline.pieces {
        let track = &mut tracks[piece.device as usize];
        // Steps are few and in the order of time.
        let first = track.steps.partition_point(|step| step.end <= piece.start);
        for step in track.steps[first..].iter().take_while(|step| step.start < piece.end) {
            let (start, end) = (piece.start.max(step.start), piece.end.min(step.end));
            track.parts.push(Slice { name: piece.part.name().to_owned(), start, end });
        }
    }
    for (device, layers) in layers(trace, &view) {
        tracks[device as usize].layers = layers;
    }
    tracks.retain(|track| !track.steps.is_empty());
    Ok(tracks)
}

/// A run of a layer: its number, first start and last end.
type Run = (u32, Picoseconds, Picoseconds);

/// From the first start to the last end of the kernels of each run of a layer in each step, or to the next one.
fn layers(trace: &Trace, view: &View<'_>) -> BTreeMap<u32, Vec<Slice>> {
    let mut runs: BTreeMap<(u32, usize), Vec<Run>> = BTreeMap::new();
    for at in trace.in_time_order() {
        let (kernel, layer) = (trace.kernels.at(at), trace.contexts[at].layer);
        let Some(window) = view.of_kernel(at).filter(|_| layer != OUTSIDE) else { continue };
        let runs = runs.entry((kernel.device, window)).or_default();
        // A kernel of another stream may start when the next layer has begun.
        let count = runs.len();
        let is_of = |at: &usize| runs[*at].0 == layer && (at + 1 == count || kernel.start <= runs[*at].2);
        match (count.saturating_sub(2)..count).rev().find(is_of) {
            Some(at) => runs[at].2 = runs[at].2.max(kernel.end()),
            None => runs.push((layer, kernel.start, kernel.end())),
        }
    }
    let mut found: BTreeMap<u32, Vec<Slice>> = BTreeMap::new();
    for ((device, _), runs) in runs {
        let slice = |(layer, start, end)| Slice { name: format!("layer {layer}"), start, end };
        found.entry(device).or_default().extend(runs.into_iter().map(slice));
    }
    for slices in found.values_mut() {
        slices.sort_by_key(|slice| slice.start);
        for at in 1..slices.len() {
            slices[at - 1].end = slices[at - 1].end.min(slices[at].start);
        }
        slices.retain(|slice| slice.start < slice.end);
    }
    found
}
