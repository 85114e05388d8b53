//! What kernels do: the names of operations.

use std::borrow::Cow;

/// What a kernel does, and the name that stands for its family.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Operation, for example `Dense GEMM`.
    pub name: Cow<'static, str>,
    /// Family label of the legacy rules (`nvjet_* (cuBLASLt)`); empty under the default rules, which show real kernels.
    pub label: Cow<'static, str>,
}

impl Operation {
    pub(crate) fn plain(name: &'static str) -> Operation {
        Operation { name: Cow::Borrowed(name), label: Cow::Borrowed("") }
    }
}

/// Class of kernels no rule knows.
pub(crate) const OTHER: &str = "Other";
/// Replays of graphs whose kernels were not recorded.
pub(crate) const CUDA_GRAPH: &str = "CUDA Graph";
/// Class of attention kernels under the default rules.
pub(crate) const ATTENTION: &str = "Attention";
/// Class of state-space kernels under the default rules.
pub(crate) const STATE_SPACE: &str = "SSM";

/// Classes after which the next attention kernel opens a layer.
pub(crate) const MATRIX_PRODUCTS: [&str; 3] = ["Dense GEMM", "MoE GEMM", "MoE GEMM+SwiGLU"];

/// Class of kernels that talk to other devices in a way that their name does not tell.
pub(crate) const COMMUNICATION: &str = "Communication";

/// Classes of kernels that talk to other devices.
pub(crate) const COLLECTIVES: [&str; 5] = ["All-Reduce", "All-Gather", "Reduce-Scatter", "All-to-All", COMMUNICATION];
