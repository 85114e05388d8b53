//! What an operator is: its row rules and its reference implementation, side by side.

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
    /// Timed runs without `--repeat-count`, where the general default does not hold.
    pub own_repeat_count: Option<u32>,
    /// True where inputs are built once per case whatever `--fresh-inputs` says.
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
pub type PlanRow = fn(&Row<'_>, &PlanOptions) -> Result<Fate, Refusal>;

/// Reference implementation. Everything it does is timed.
pub type RunCall = fn(&mut Bindings<'_>) -> Result<Vec<Output>, CaseError>;

/// What becomes of a valid row.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// It is replayed by this call.
    Replay(Box<Call>),
    /// It is passed over, for that reason.
    Skip(&'static str),
}

impl From<Call> for Fate {
    fn from(call: Call) -> Fate {
        Fate::Replay(Box::new(call))
    }
}

/// What row rules need besides the row. All of it concerns DispatchFFNCombine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Number of ranks that share the experts.
    pub ep_size: u32,
    /// Spread tokens evenly over the experts.
    pub balanced: bool,
    /// Largest number of rows that a rank's experts may receive.
    pub max_output_size: u64,
}

impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions { ep_size: 16, balanced: true, max_output_size: 65536 }
    }
}

/// Shapes, types and formats of the inputs.
pub const INPUTS: &[&str] = &[column::INPUT_SHAPES, column::INPUT_DATA_TYPES, column::INPUT_FORMATS];

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
