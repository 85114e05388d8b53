//! The layer of every kernel: attention or state-space kernels open layers, in every pass and on every device anew.

use crate::classify::{ATTENTION, MATRIX_PRODUCTS, STATE_SPACE};
use crate::columns::Numbering;
use crate::trace::{NOWHERE, Trace};

/// A pass on a device, on the way through time.
#[derive(Clone, Copy)]
struct Progress {
    layer: u32,
    product_since: bool,
}

/// Fills in layers.
pub(crate) fn place(trace: &mut Trace) {
    let is = |classes: &[&str]| -> Vec<bool> {
        trace.operations.iter().map(|operation| classes.contains(&operation.as_str())).collect()
    };
    let opens = is(&[ATTENTION, STATE_SPACE]);
    let multiplies = is(&MATRIX_PRODUCTS);
    let mut instances: Numbering<(u32, u32)> = Numbering::default();
    let mut progress: Vec<Progress> = Vec::new();
    let mut layers = 0;
    for at in crate::trace::in_order(trace.by_start.as_deref(), trace.kernels.len()) {
        let place = &mut trace.places[at];
        if place.pass == NOWHERE {
            continue;
        }
        let instance = instances.number((place.pass, trace.kernels[at].device)) as usize;
        if instance == progress.len() {
            progress.push(Progress { layer: NOWHERE, product_since: false });
        }
        let Progress { layer, product_since } = &mut progress[instance];
        let operation = trace.groups[place.group as usize].operation as usize;
        if opens[operation] && (*layer == NOWHERE || *product_since) {
            *layer = layer.wrapping_add(1);
            *product_since = false;
            layers = layers.max(*layer + 1);
        }
        *product_since |= multiplies[operation];
        place.layer = *layer;
    }
    trace.layers = u64::from(layers);
}
