//! Engines of `torch.distributed`.

use serde::{Deserialize, Serialize};

/// The engine that moves the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// NPUs.
    Hccl,
    /// CUDA devices.
    Nccl,
    /// CPUs.
    Gloo,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hccl, Self::Nccl, Self::Gloo];

    /// The name that `torch.distributed` uses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hccl => "hccl",
            Self::Nccl => "nccl",
            Self::Gloo => "gloo",
        }
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
