//! The architecture of the model, judged by the names of its kernels.

use serde::Serialize;

/// Architecture of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// Attention and state-space kernels.
    Hybrid,
    /// Attention kernels.
    Transformer,
    /// State-space kernels.
    Ssm,
    /// Neither.
    Unknown,
}

impl Architecture {
    /// As results show it.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Hybrid => "hybrid",
            Architecture::Transformer => "transformer",
            Architecture::Ssm => "ssm",
            Architecture::Unknown => "unknown",
        }
    }
}

/// Architecture by the names of kernels.
pub(crate) fn by_names<'a>(names: impl Iterator<Item = &'a str>) -> Architecture {
    let mut attention = false;
    let mut state_space = false;
    for name in names {
        let name = name.to_lowercase();
        let contains = |words: &[&str]| words.iter().any(|word| name.contains(word));
        attention |= contains(&["fmha", "attention", "flash", "sdpa"]);
        state_space |= contains(&["selective_scan", "mamba", "ssd", "causal_conv"]);
    }
    match (attention, state_space) {
        (true, true) => Architecture::Hybrid,
        (true, false) => Architecture::Transformer,
        (false, true) => Architecture::Ssm,
        (false, false) => Architecture::Unknown,
    }
}
