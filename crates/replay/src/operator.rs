//! What an operator is: its row rules and its reference implementation, side by side.

use perfdb_store::Semantics;

use crate::bindings::{Bindings, Output};
use crate::case::{Call, Check};
use crate::refusal::{CaseError, Refusal};
use crate::row::{Row, column};

/// One replayable operator. Each has its own file in `operators/`, which defines a constant of this type.
#[derive(Clone, Copy, Debug)]
pub struct Operator {
    /// Name as in the database: `MatMulV2`.
    pub name: &'static str,
    /// Columns that must be in the header, in the order in which a missing one is reported.
    pub reads: &'static [&'static str],
    /// What an output unlike the recorded one does.
    pub check: Check,
    /// Timed runs where no count is given, if the general default does not hold.
    pub own_repeat_count: Option<u32>,
    /// True where inputs are built once per case even if fresh ones are asked for.
    pub always_reuses_inputs: bool,
    /// True where words like `UNDEFINED` and `N/A` are empty slots.
    pub has_empty_words: bool,
    /// False where the recorded outputs are not looked at: cells that cannot be read then count as empty.
    pub reads_outputs: bool,
    /// Row rules: what a row becomes.
    pub plan: PlanRow,
    /// Reference implementation: computes the outputs of a call on the host.
    pub run: RunCall,
}

/// Row rules: what a row becomes, or why it cannot become a case.
pub(crate) type PlanRow = fn(&Row<'_>, &PlanOptions) -> Result<Planned, Refusal>;

/// Reference implementation. Everything it does is timed.
pub(crate) type RunCall = fn(&mut Bindings<'_>) -> Result<Vec<Output>, CaseError>;

/// Why a row is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// It has a valid duration, and only others are wanted.
    HasDuration,
    /// It belongs to another expert-parallel size.
    EpSize,
    /// It cannot be replayed faithfully.
    NotReplayable,
    /// It needs several ranks, which this backend has not.
    NeedsDistributed,
}

impl SkipReason {
    /// The word in plans, results and messages: `has-duration`.
    pub const fn name(self) -> &'static str {
        match self {
            SkipReason::HasDuration => "has-duration",
            SkipReason::EpSize => "ep-size",
            SkipReason::NotReplayable => "not-replayable",
            SkipReason::NeedsDistributed => "needs-distributed",
        }
    }
}

/// What becomes of a valid row.
#[derive(Clone, Debug, PartialEq)]
pub enum Planned {
    /// It is replayed by this call.
    Replay(Box<Call>),
    /// It is passed over, for that reason.
    Skip(SkipReason),
}

impl From<Call> for Planned {
    fn from(call: Call) -> Planned {
        Planned::Replay(Box::new(call))
    }
}

/// What row rules need besides the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Number of ranks that share the experts (DispatchFFNCombine).
    pub ep_size: u32,
    /// Spread tokens evenly over the experts (DispatchFFNCombine).
    pub balanced: bool,
    /// Largest number of rows that a rank's experts may receive (DispatchFFNCombine).
    pub max_output_size: u64,
    /// Whether rows as profilers write them are refused where the original refuses them: those of ArgMaxV2 with the axis as
    /// second input, those of MaskedFill with the value as third.
    pub semantics: Semantics,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions { ep_size: 16, balanced: true, max_output_size: 65536, semantics: Semantics::Upstream }
    }
}

/// Shapes, types and formats of the inputs.
pub(crate) const INPUTS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS];

impl Operator {
    /// An operator with the general defaults: outputs unlike the recorded ones are a warning.
    pub const fn new(name: &'static str, reads: &'static [&'static str], plan: PlanRow, run: RunCall) -> Operator {
        Operator {
            name,
            reads,
            check: Check::Warn,
            own_repeat_count: None,
            always_reuses_inputs: false,
            has_empty_words: false,
            reads_outputs: true,
            plan,
            run,
        }
    }

    /// The same, but an output of another shape than recorded fails the row.
    pub const fn checked(self) -> Operator {
        Operator { check: Check::Error, ..self }
    }
}
