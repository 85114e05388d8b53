//! Who runs the cases.

use std::str::FromStr;

/// Who runs the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// In process, on the host's CPU.
    #[default]
    Native,
    /// The Python worker with plain torch on the CPU.
    TorchCpu,
    /// The Python worker with plain torch on a CUDA device.
    TorchCuda,
    /// The Python worker with torch_npu; times come from msprof.
    Npu,
}

impl Backend {
    pub const ALL: [Backend; 4] = [Backend::Native, Backend::TorchCpu, Backend::TorchCuda, Backend::Npu];

    /// The word on command lines and in messages: `torch-cpu`.
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Native => "native",
            Backend::TorchCpu => "torch-cpu",
            Backend::TorchCuda => "torch-cuda",
            Backend::Npu => "npu",
        }
    }

    /// The Task Type of its samples in op_summary: where a time comes from.
    pub const fn task_type(self) -> &'static str {
        match self {
            Backend::Native | Backend::TorchCpu => "HOST_CPU",
            Backend::TorchCuda => "CUDA",
            Backend::Npu => "NPU",
        }
    }

    /// True where the executor measures itself, so that a run makes an op_summary of its own.
    pub(crate) const fn has_own_clock(self) -> bool {
        !matches!(self, Backend::Npu)
    }

    /// True where tensors live in host memory.
    pub const fn is_host(self) -> bool {
        matches!(self, Backend::Native | Backend::TorchCpu)
    }

    /// The variable that limits a process to some devices.
    pub const fn visible_devices_variable(self) -> Option<&'static str> {
        match self {
            Backend::TorchCuda => Some("CUDA_VISIBLE_DEVICES"),
            Backend::Npu => Some("ASCEND_RT_VISIBLE_DEVICES"),
            Backend::Native | Backend::TorchCpu => None,
        }
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that names no backend.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a backend; choose native, torch-cpu, torch-cuda or npu")]
pub struct UnknownBackend(String);

impl FromStr for Backend {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Backend, UnknownBackend> {
        Backend::ALL.into_iter().find(|backend| backend.name() == text).ok_or_else(|| UnknownBackend(text.to_owned()))
    }
}
