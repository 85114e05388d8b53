//! Why a kernel computed nothing.

/// Why a kernel computed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The arguments do not fit each other or the operator.
    #[error("{0}")]
    Rejected(String),
    /// These kernels cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// A result would not fit into memory.
    #[error("{0}")]
    OutOfMemory(String),
    /// The work was cancelled.
    #[error("given up")]
    Cancelled,
    /// A fault of the kernel itself.
    #[error("{0}")]
    Internal(String),
}

impl KernelError {
    /// The arguments do not fit each other or the operator.
    pub fn rejected(detail: impl Into<String>) -> KernelError {
        KernelError::Rejected(detail.into())
    }

    /// These kernels cannot do it.
    pub fn unsupported(detail: impl Into<String>) -> KernelError {
        KernelError::Unsupported(detail.into())
    }
}
