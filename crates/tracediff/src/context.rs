//! What is known of a kernel beside its event: class, forward pass, phase, layer, host operator, Python stack.
//!
//! Each file finds one of these for all kernels of a trace, under the default rules; [`legacy`](crate::legacy) has the
//! others.

pub(crate) mod attention;
pub(crate) mod calls;
pub(crate) mod captures;
pub(crate) mod classes;
pub(crate) mod launches;
pub(crate) mod layers;
pub(crate) mod operators;
pub(crate) mod passes;
pub(crate) mod repetition;

use crate::frames::StackId;
use crate::names::NameId;
use crate::steps::Phase;

/// What is known of a kernel beside its event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelContext {
    /// Number in the table of groups.
    pub(crate) group: u32,
    /// Number of the forward pass, or [`OUTSIDE`].
    pub(crate) pass: u32,
    /// Layer, or [`OUTSIDE`].
    pub(crate) layer: u32,
    /// Host operator or summary of the stack, if any.
    pub(crate) operator: NameId,
    /// Python stack, if any.
    pub(crate) stack: StackId,
    /// Phase, if any.
    pub(crate) phase: Option<Phase>,
    /// Whether `operator` comes from a `cpu_op` event.
    pub(crate) has_host_operator: bool,
}

/// Outside of every pass, or of every layer.
pub(crate) const OUTSIDE: u32 = u32::MAX;

impl KernelContext {
    /// Brings together what was found for each kernel.
    pub(crate) fn of_kernels(
        passes: &passes::Passes,
        operators: &operators::Operators,
        classes: &classes::Classes,
        layers: &layers::Layers,
    ) -> Vec<KernelContext> {
        let columns = passes.of_kernels.iter().zip(&classes.of_kernels).zip(&layers.of_kernels);
        columns
            .enumerate()
            .map(|(at, ((pass, group), layer))| {
                let operator = operators::KernelOperator::of(&operators.of_kernels, at);
                KernelContext {
                    group: *group,
                    pass: pass.pass,
                    layer: *layer,
                    operator: operator.operator,
                    stack: operator.stack,
                    phase: pass.phase,
                    has_host_operator: operator.has_host_operator,
                }
            })
            .collect()
    }
}
