//! Rules that no template can express: they follow the structure of the models.

mod dispatch_ffn_combine;
mod fused_attention;
mod grouped_matmul;
mod split_qkv_rmsnorm_rope;

pub(crate) use fused_attention::RUNTIME_COLUMNS;

use crate::Semantics;
use crate::candidate::Candidate;
use crate::models::Models;

/// The special generators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// Grouped matrix products of the experts.
    GroupedMatmul,
    /// Dispatch, expert feed-forward and combine in one kernel.
    DispatchFfnCombine,
    /// Splitting of the joint projection with norm and rotary embedding.
    SplitQkvRmsnormRope,
    /// Fused attention, dense and latent, prefill and decode.
    FusedAttention,
}

const ALL: [Generator; 4] = [
    Generator::GroupedMatmul,
    Generator::DispatchFfnCombine,
    Generator::SplitQkvRmsnormRope,
    Generator::FusedAttention,
];

impl Generator {
    /// The generator that a rule file names.
    #[must_use]
    pub(crate) fn from_function_name(name: &str) -> Option<Self> {
        ALL.into_iter().find(|generator| generator.function_name() == name)
    }

    /// The name in rule files.
    #[must_use]
    pub(crate) fn function_name(self) -> &'static str {
        match self {
            Self::GroupedMatmul => "_theory_grouped_matmul",
            Self::DispatchFfnCombine => "_theory_dfc",
            Self::SplitQkvRmsnormRope => "_theory_split_qkv_rmsnorm_rope",
            Self::FusedAttention => "_theory_fused_attention",
        }
    }

    /// The columns that its candidates set.
    #[must_use]
    pub fn columns(self) -> &'static [&'static str] {
        match self {
            Self::GroupedMatmul => &[],
            Self::DispatchFfnCombine => &dispatch_ffn_combine::COLUMNS,
            Self::SplitQkvRmsnormRope => &split_qkv_rmsnorm_rope::COLUMNS,
            Self::FusedAttention => &fused_attention::COLUMNS,
        }
    }

    /// All candidates for these models, in order.
    #[must_use]
    pub fn candidates(self, models: &Models, semantics: Semantics) -> Vec<Candidate> {
        match self {
            Self::GroupedMatmul => grouped_matmul::candidates(models),
            Self::DispatchFfnCombine => dispatch_ffn_combine::candidates(models),
            Self::SplitQkvRmsnormRope => split_qkv_rmsnorm_rope::candidates(models),
            Self::FusedAttention => fused_attention::candidates(models, semantics),
        }
    }
}
