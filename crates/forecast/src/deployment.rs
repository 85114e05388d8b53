//! How a model runs: over how many ranks, in which number formats, with which operators fused.

use crate::Error;
use crate::model::{Attention, Model};
use crate::quantization::Quantization;

/// Which simulator's layout of operators is forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Layout {
    /// Of August 2026: every token is routed, then each rank takes its share; products and the sums over ranks are two calls.
    #[default]
    Simulator2026,
    /// Of 2025: each rank takes its share of the tokens, then routes them; a product and the sum over ranks behind it are one call.
    Simulator2025,
}

impl Layout {
    /// All of them, the default first.
    pub const ALL: [Layout; 2] = [Layout::Simulator2026, Layout::Simulator2025];

    /// Its name: `2026`, `2025`.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Simulator2026 => "2026",
            Layout::Simulator2025 => "2025",
        }
    }
}

/// How a model is spread over ranks and computes.
///
/// A model with experts runs on as many ranks as share the experts, each of which is whole on one rank; with more of them than
/// share a matrix, each group of tensor-parallel ranks has its own sequences.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Deployment {
    /// Ranks that share each matrix of attention and of dense layers.
    pub tensor_parallel: i64,
    /// Ranks that share the experts: a multiple of [`tensor_parallel`](Deployment::tensor_parallel), or 1 for models without.
    pub expert_parallel: i64,
    /// How linear layers compute; what the description says where absent.
    pub quantization: Option<Quantization>,
    /// Whose layout of operators.
    pub layout: Layout,
}

impl Default for Deployment {
    fn default() -> Self {
        Deployment { tensor_parallel: 1, expert_parallel: 1, quantization: None, layout: Layout::default() }
    }
}

/// What the pass is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// All tokens of new prompts.
    Prefill,
    /// One new token for each sequence.
    Decode,
}

impl Phase {
    /// Both of them.
    pub const ALL: [Phase; 2] = [Phase::Prefill, Phase::Decode];

    /// Its name: `prefill`, `decode`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "prefill",
            Phase::Decode => "decode",
        }
    }
}

/// The sequences of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Batch {
    /// How many sequences there are over all ranks.
    pub sequences: i64,
    /// Tokens of each sequence: in a prefill those of the prompt, in a decode those that are cached already.
    pub context: i64,
    /// What is computed.
    pub phase: Phase,
}

impl Batch {
    /// New tokens of each sequence.
    pub(crate) fn new_tokens(&self) -> i64 {
        match self.phase {
            Phase::Prefill => self.context,
            Phase::Decode => 1,
        }
    }

    /// Tokens of each sequence when the pass is over.
    pub fn length(&self) -> i64 {
        match self.phase {
            Phase::Prefill => self.context,
            Phase::Decode => self.context + 1,
        }
    }
}

/// No pass has more tokens, ranks or sequences; so no product of sizes leaves 63 bits.
const LARGEST: i64 = 1 << 24;
/// A call's list of lengths has one entry for each sequence.
const MOST_SEQUENCES: i64 = 1 << 16;
/// A collective has a list of its ranks.
const MOST_RANKS: i64 = 1 << 12;

fn bounded(field: &'static str, number: i64, least: i64, most: i64) -> Result<(), Error> {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    Err(Error::Deployment { field, reason: format!("must be from {least} to {most}, not {number}") })
}

fn divides(field: &'static str, part: i64, whole: i64, of: &str) -> Result<(), Error> {
    if whole % part == 0 {
        return Ok(());
    }
    Err(Error::Deployment { field, reason: format!("{part} does not divide the {whole} {of}") })
}

/// Checks that the model can run so.
pub(crate) fn check(model: &Model, deployment: &Deployment, batch: &Batch) -> Result<(), Error> {
    const TENSOR: &str = "tensor parallel size";
    const EXPERT: &str = "expert parallel size";
    let (tensor, expert) = (deployment.tensor_parallel, deployment.expert_parallel);
    bounded(TENSOR, tensor, 1, MOST_RANKS)?;
    bounded(EXPERT, expert, 1, MOST_RANKS)?;
    bounded("batch", batch.sequences, 1, MOST_SEQUENCES)?;
    bounded("context", batch.context, 1, LARGEST)?;
    bounded("tokens of the batch", batch.sequences * batch.length(), 1, LARGEST * 64)?;
    divides(TENSOR, tensor, model.attention.heads(), "attention heads")?;
    if let Attention::Grouped { kv_heads, .. } = model.attention
        && kv_heads % tensor != 0
        && tensor % kv_heads != 0
    {
        let reason = format!("{tensor} neither divides the {kv_heads} key and value heads nor is a multiple of them");
        return Err(Error::Deployment { field: TENSOR, reason });
    }
    match &model.experts {
        None if expert > 1 => {
            return Err(Error::Deployment { field: EXPERT, reason: "the model has no experts".to_owned() });
        }
        None => {}
        Some(_) if expert % tensor != 0 => {
            let reason =
                format!("experts that are split cannot be forecast: {expert} is not a multiple of {TENSOR} {tensor}");
            return Err(Error::Deployment { field: EXPERT, reason });
        }
        Some(experts) => divides(EXPERT, expert, experts.count, "experts")?,
    }
    Ok(())
}
