//! A question without texts and tensors of its own, so that asking costs no allocation.

use crate::answer::{Attention, MissReason, Mode, Query, Tensor};
use smallvec::SmallVec;

/// A [`Query`] that borrows what it is made of.
#[derive(Debug)]
pub(crate) struct Question<'q> {
    /// The kernel type, then its alternates.
    pub(crate) kernel_types: SmallVec<[&'q str; 4]>,
    pub(crate) inputs: &'q [Tensor],
    /// Compare only so many inputs.
    pub(crate) input_count: Option<usize>,
    pub(crate) by: By<'q>,
    pub(crate) interpolate: bool,
    /// Interpolate attention over the square root of the length.
    pub(crate) square_root: bool,
}

/// By what rows are looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum By<'q> {
    /// By inputs and, if given, the expert-parallel size.
    Inputs {
        ep_size: Option<i64>,
    },
    /// By the first output.
    Output(&'q Tensor),
    Attention(&'q Attention),
    Communication {
        bytes: i64,
        devices: i64,
        tier: Option<i64>,
    },
}

impl<'q> By<'q> {
    pub(crate) const INPUTS: Self = By::Inputs { ep_size: None };

    /// By the first output; without one by inputs.
    pub(crate) fn elementwise(outputs: &'q [Tensor]) -> Self {
        outputs.first().map_or(By::INPUTS, By::Output)
    }

    /// By inputs and a size that has to be configured.
    pub(crate) fn moe(ep_size: Option<i64>) -> Result<Self, MissReason> {
        ep_size.map(|size| By::Inputs { ep_size: Some(size) }).ok_or(MissReason::EpSizeNotConfigured)
    }
}

impl<'q> Question<'q> {
    pub(crate) fn of(query: &'q Query) -> Result<Self, MissReason> {
        Ok(Question {
            kernel_types: query.kernel_types.iter().map(String::as_str).collect(),
            inputs: &query.inputs,
            input_count: query.input_count,
            by: match &query.mode {
                Mode::Compute => By::INPUTS,
                Mode::Elementwise => By::elementwise(&query.outputs),
                Mode::Attention(attention) => By::Attention(attention),
                Mode::Moe { ep_size } => By::moe(*ep_size)?,
                &Mode::Communication { bytes, devices, tier } => By::Communication { bytes, devices, tier },
            },
            interpolate: query.interpolate,
            square_root: query.square_root,
        })
    }
}
