//! One typical layer of each trace, for people.

use serde::Serialize;

use super::assign::{Assignment, letters};
use super::difference::strip_reason;
use super::typical::Match;
use crate::structure::Structure;
use crate::time::microseconds;
use crate::trace::Trace;

impl Assignment {
    /// One typical layer of each side, for people.
    pub(super) fn strips(&self, traces: [&Trace; 2], structures: [&Structure; 2]) -> Vec<Strip> {
        let strip = |(kind, found): (usize, &Match)| {
            let sides = [0, 1].map(|side| &self.typical[side][found.sides[side]]);
            let row = |(group, blocks): &(u32, [Vec<usize>; 2])| {
                let group = &self.groups[*group as usize];
                let kernels = [0, 1].map(|side| {
                    let (number, range) = &sides[side].example;
                    let sequence = &structures[side].sequences[*number];
                    let of = |at: &usize| sequence.kernels[sequence.blocks[range.start + at].kernels.clone()].to_vec();
                    blocks[side].iter().flat_map(of).collect::<Vec<u32>>()
                });
                let names = [0, 1].map(|side| {
                    let mut names: Vec<String> = Vec::new();
                    for kernel in &kernels[side] {
                        let name = traces[side].name(traces[side].kernels.at(*kernel as usize).name);
                        if names.iter().all(|known| known != name) {
                            names.push(name.to_owned());
                        }
                    }
                    names
                });
                let time = |side: usize| -> u64 { blocks[side].iter().map(|at| sides[side].items[*at].time).sum() };
                let [trace1_us, trace2_us] = [0, 1].map(|side| microseconds(i128::from(time(side))));
                let reason = strip_reason(group, traces, &kernels, [time(0), time(1)]);
                let [trace1_names, trace2_names] = names;
                StripRow {
                    group: group.name.clone(),
                    family: group.family.label(),
                    trace1_names,
                    trace2_names,
                    trace1_kernels: kernels[0].len(),
                    trace2_kernels: kernels[1].len(),
                    trace1_us,
                    trace2_us,
                    reason,
                }
            };
            Strip {
                kind: letters(kind),
                trace1_layers: sides[0].layers,
                trace2_layers: sides[1].layers,
                trace1_per_pass: sides[0].per_pass,
                trace2_per_pass: sides[1].per_pass,
                rows: self.rows[kind].iter().map(row).collect(),
            }
        };
        self.matches.iter().enumerate().map(strip).collect()
    }
}

/// One typical layer of each side, block by block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Strip {
    /// Which kind of layer: `A`, `B` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// Layers of this kind in trace 1, over all passes.
    pub trace1_layers: usize,
    /// Layers of this kind in trace 2, over all passes.
    pub trace2_layers: usize,
    /// Layers of this kind in a pass of trace 1 on a device, the mean.
    pub trace1_per_pass: f64,
    /// Layers of this kind in a pass of trace 2 on a device, the mean.
    pub trace2_per_pass: f64,
    /// Rows in the order of the layer.
    pub rows: Vec<StripRow>,
}

/// What stands for what in a typical layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StripRow {
    /// The group, as in `groups`.
    pub group: String,
    /// Family of the work.
    pub family: &'static str,
    /// Kernels of trace 1 in order, each name once.
    pub trace1_names: Vec<String>,
    /// Kernels of trace 2 in order, each name once.
    pub trace2_names: Vec<String>,
    /// Number of kernels in trace 1.
    pub trace1_kernels: usize,
    /// Number of kernels in trace 2.
    pub trace2_kernels: usize,
    /// Time of these kernels in trace 1, µs.
    pub trace1_us: f64,
    /// Time of these kernels in trace 2, µs.
    pub trace2_us: f64,
    /// Why the times differ.
    pub reason: String,
}
