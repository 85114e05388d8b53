//! The layer of every kernel: attention or state-space kernels open layers, in every pass and on every device again.

use super::OUTSIDE;
use super::classes::Classes;
use super::passes::KernelPass;
use crate::classify::{ATTENTION, MATRIX_PRODUCTS, STATE_SPACE};
use crate::rows::KernelRows;
use crate::time_order::TimeOrder;
use perfdb_trace::numbering::Numbering;

/// The layers of a trace.
#[derive(Debug)]
pub(crate) struct Layers {
    /// Per kernel, its layer or [`OUTSIDE`].
    pub(crate) of_kernels: Vec<u32>,
    pub(crate) count: u64,
}

/// A pass on a device, on the way through time.
#[derive(Clone, Copy)]
struct Progress {
    layer: u32,
    product_since: bool,
}

/// Finds the layer of every kernel.
pub(crate) fn find(kernels: &KernelRows, order: &TimeOrder, passes: &[KernelPass], classes: &Classes) -> Layers {
    let is = |wanted: &[&str]| -> Vec<bool> {
        classes.operations.iter().map(|operation| wanted.contains(&operation.as_str())).collect()
    };
    let opens = is(&[ATTENTION, STATE_SPACE]);
    let multiplies = is(&MATRIX_PRODUCTS);
    let mut instances: Numbering<(u32, u32)> = Numbering::default();
    let mut progress: Vec<Progress> = Vec::new();
    let mut found = Layers { of_kernels: vec![OUTSIDE; kernels.len()], count: 0 };
    for at in order.numbers(kernels.len()) {
        let pass = passes[at].pass;
        if pass == OUTSIDE {
            continue;
        }
        let instance = instances.number((pass, kernels.at(at).device)) as usize;
        if instance == progress.len() {
            progress.push(Progress { layer: OUTSIDE, product_since: false });
        }
        let Progress { layer, product_since } = &mut progress[instance];
        let operation = classes.groups[classes.of_kernels[at] as usize].operation as usize;
        if opens[operation] && (*layer == OUTSIDE || *product_since) {
            *layer = layer.wrapping_add(1);
            *product_since = false;
            found.count = found.count.max(u64::from(*layer) + 1);
        }
        *product_since |= multiplies[operation];
        found.of_kernels[at] = *layer;
    }
    found
}
