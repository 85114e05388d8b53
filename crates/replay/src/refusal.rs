//! Why a row cannot become a case, and why a case did not run.

use crate::kernels::error::KernelError;
use serde::{Deserialize, Serialize};

/// Why a row cannot become a case. Variants stand in the order in which the checks count:
/// of several faults the first one names the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// A shape slot is no shape, or a required one is empty.
    BadShape,
    /// Wrong number of inputs.
    InputCount,
    /// Wrong number of recorded outputs.
    OutputCount,
    /// Shapes, types and formats do not have the number of slots that the operator fixes.
    MetadataLength,
    /// A rank that the operator does not take, or `FRACTAL_NZ` that cannot be unfolded.
    BadRank,
    /// A format that the operator does not take.
    UnsupportedFormat,
    /// A type that replay does not know or the operator does not take.
    UnsupportedDtype,
    /// Shapes that do not fit each other.
    ShapeMismatch,
    /// An optional input of which it is not clear what it stands for.
    Role,
    /// A `Runtime …` column contradicts the shapes or is no number.
    RuntimeMetadata,
    /// More tokens than cache slots, and the like.
    OutOfRange,
    /// Divisibility and other rules of the device.
    Constraint,
}

impl RefusalKind {
    /// The word in plans, results and messages: `bad-shape`.
    pub const fn name(self) -> &'static str {
        match self {
            RefusalKind::BadShape => "bad-shape",
            RefusalKind::InputCount => "input-count",
            RefusalKind::OutputCount => "output-count",
            RefusalKind::MetadataLength => "metadata-length",
            RefusalKind::BadRank => "bad-rank",
            RefusalKind::UnsupportedFormat => "unsupported-format",
            RefusalKind::UnsupportedDtype => "unsupported-dtype",
            RefusalKind::ShapeMismatch => "shape-mismatch",
            RefusalKind::Role => "role",
            RefusalKind::RuntimeMetadata => "runtime-metadata",
            RefusalKind::OutOfRange => "out-of-range",
            RefusalKind::Constraint => "constraint",
        }
    }
}

/// A row that cannot become a case: the kind and what exactly is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", kind.name())]
pub struct Refusal {
    /// Which check failed.
    pub kind: RefusalKind,
    /// What exactly, for people: `input 1 has rank 3, expected 2`.
    pub detail: String,
}

impl Refusal {
    /// A refusal of that kind.
    pub fn new(kind: RefusalKind, detail: impl Into<String>) -> Refusal {
        Refusal { kind, detail: detail.into() }
    }
}

/// `bad_shape("…")` and its siblings: a [`Refusal`] of that kind, to be returned with `Err`.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident => $kind:ident),* $(,)?) => {
        $($(#[$doc])* pub fn $name(detail: impl Into<String>) -> Refusal { Refusal::new(RefusalKind::$kind, detail) })*
    };
}

refusals! {
    /// A `bad-shape` refusal.
    bad_shape => BadShape,
    /// An `input-count` refusal.
    input_count => InputCount,
    /// An `output-count` refusal.
    output_count => OutputCount,
    /// A `metadata-length` refusal.
    metadata_length => MetadataLength,
    /// A `bad-rank` refusal.
    bad_rank => BadRank,
    /// An `unsupported-format` refusal.
    unsupported_format => UnsupportedFormat,
    /// An `unsupported-dtype` refusal.
    unsupported_dtype => UnsupportedDtype,
    /// A `shape-mismatch` refusal.
    shape_mismatch => ShapeMismatch,
    /// A `role` refusal.
    role => Role,
    /// A `runtime-metadata` refusal.
    runtime_metadata => RuntimeMetadata,
    /// An `out-of-range` refusal.
    out_of_range => OutOfRange,
    /// A `constraint` refusal.
    constraint => Constraint,
}

/// Why a case that was sent did not run. Whose fault it is decides whether the row may leave its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The framework refused this call: the row's fault.
    Rejected,
    /// Another output shape than recorded, where the operator insists on it: the row's fault.
    OutputMismatch,
    /// This backend cannot do the operator or the case.
    Unsupported,
    /// Not enough memory.
    Oom,
    /// No answer in time.
    Timeout,
    /// The executor died.
    Crash,
    /// Anything else that went wrong inside the executor.
    Internal,
    /// A missing library, operator, driver or device: ends the operator at once.
    Environment,
}

impl ErrorKind {
    /// The word in results and messages: `output-mismatch`.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Rejected => "rejected",
            ErrorKind::OutputMismatch => "output-mismatch",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Oom => "oom",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Crash => "crash",
            ErrorKind::Internal => "internal",
            ErrorKind::Environment => "environment",
        }
    }

    /// True where the row itself is at fault and may leave its table.
    pub(crate) const fn is_the_rows_fault(self) -> bool {
        matches!(self, ErrorKind::Rejected | ErrorKind::OutputMismatch)
    }
}

/// A case that did not run: kind and detail as they stand in results.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", kind.name())]
pub struct CaseError {
    /// Whose fault it is.
    pub kind: ErrorKind,
    /// What happened: `exit code 139`, `RuntimeError: shapes cannot be multiplied`.
    pub detail: String,
}

impl CaseError {
    /// An error of that kind.
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> CaseError {
        CaseError { kind, detail: detail.into() }
    }

    /// The call is refused: wrong arguments for the operator.
    pub(crate) fn rejected(detail: impl Into<String>) -> CaseError {
        CaseError::new(ErrorKind::Rejected, detail)
    }

    /// This backend cannot do it.
    pub fn unsupported(detail: impl Into<String>) -> CaseError {
        CaseError::new(ErrorKind::Unsupported, detail)
    }
}

impl From<KernelError> for CaseError {
    fn from(error: KernelError) -> CaseError {
        let kind = match &error {
            KernelError::Rejected(_) => ErrorKind::Rejected,
            KernelError::Unsupported(_) => ErrorKind::Unsupported,
            KernelError::OutOfMemory(_) => ErrorKind::Oom,
            KernelError::Cancelled => ErrorKind::Timeout,
            KernelError::Internal(_) => ErrorKind::Internal,
        };
        CaseError::new(kind, error.to_string())
    }
}
