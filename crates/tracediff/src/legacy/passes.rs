//! Forward passes and their layers for the alignment of 0.1.33.

use super::phases::Window;
use super::view::LegacyTrace;
use crate::device::Platform;
use crate::name_marks::name_marks;
use crate::steps::PhaseFilter;

/// The kernels that are aligned, and their passes.
#[derive(Debug)]
pub(crate) struct Passes {
    /// Kernels of the wanted phase, in file order.
    pub(crate) kernels: Vec<usize>,
    /// Windows of the wanted phase.
    pub(crate) windows: Vec<Window>,
    /// Kernels of each pass by time, cut into layers.
    pub(crate) passes: Vec<Vec<Vec<usize>>>,
}

/// Passes of a trace. A trace without windows of the wanted phase is taken whole and as one pass.
pub(crate) fn passes(LegacyTrace { trace, columns }: LegacyTrace<'_>, filter: PhaseFilter) -> Passes {
    let windows: Vec<Window> =
        columns.windows.iter().filter(|window| filter.lets(Some(window.phase))).copied().collect();
    let start = |kernel: &usize| columns.times[*kernel].start;
    let mut by_time: Vec<usize> = (0..trace.kernels.len()).collect();
    by_time.sort_by(|a, b| start(a).total_cmp(&start(b)));
    let within = |window: &Window| -> Vec<usize> {
        let from = by_time.partition_point(|kernel| start(kernel) < window.start);
        let to = by_time.partition_point(|kernel| start(kernel) <= window.end);
        by_time.get(from..to).unwrap_or_default().to_vec()
    };
    let groups: Vec<Vec<usize>> = if windows.is_empty() {
        vec![by_time.clone()]
    } else {
        windows.iter().map(within).filter(|kernels| !kernels.is_empty()).collect()
    };
    let kernels = if filter.phase().is_none() || windows.is_empty() {
        (0..trace.kernels.len()).collect()
    } else {
        let mut inside = vec![false; trace.kernels.len()];
        groups.iter().flatten().for_each(|kernel| inside[*kernel] = true);
        (0..trace.kernels.len()).filter(|kernel| inside[*kernel]).collect()
    };
    let marks = name_marks(&trace.names, |name| match trace.platform {
        Platform::Amd => name.contains("attention") && (name.contains("2d") || name.contains("3d")),
        Platform::Ascend | Platform::Nvidia | Platform::Other => name.contains("fmha") || name.contains("attention"),
    });
    let marks = |kernel: &usize| marks[trace.kernels.at(*kernel).name as usize];
    let passes = groups.into_iter().map(|kernels| layers(&kernels, &marks)).collect();
    Passes { kernels, windows, passes }
}

/// From each marker to the next; kernels before the first are dropped; without markers all is one layer.
fn layers(kernels: &[usize], marks: &impl Fn(&usize) -> bool) -> Vec<Vec<usize>> {
    let Some(first) = kernels.iter().position(marks) else { return vec![kernels.to_vec()] };
    let mut layers: Vec<Vec<usize>> = Vec::new();
    for kernel in &kernels[first..] {
        if marks(kernel) {
            layers.push(Vec::new());
        }
        if let Some(layer) = layers.last_mut() {
            layer.push(*kernel);
        }
    }
    layers
}
