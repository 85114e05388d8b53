//! Models: the sizes and the structure that decide which operators a forward pass calls.

mod read;

use crate::{Error, Quantization};
use std::path::Path;

/// How a model attends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attention {
    /// Heads of queries share heads of keys and values.
    Grouped {
        /// Heads of queries.
        heads: i64,
        /// Heads of keys, and of values.
        kv_heads: i64,
        /// Size of a head.
        head_dim: i64,
        /// Whether heads of queries and keys are normalised one by one.
        normalises_heads: bool,
        /// Whether the projections of queries, keys and values add a bias.
        has_bias: bool,
    },
    /// Queries, keys and values go through latent projections (MLA).
    Latent {
        heads: i64,
        /// Rank of the query's latent projection.
        q_lora_rank: i64,
        /// Rank of the latent projection of keys and values.
        kv_lora_rank: i64,
        /// Part of a query head without position.
        qk_nope_head_dim: i64,
        /// Part of a query head with rotary position.
        qk_rope_head_dim: i64,
        /// Size of a value head.
        v_head_dim: i64,
    },
}

impl Attention {
    pub(crate) fn heads(&self) -> i64 {
        match self {
            Attention::Grouped { heads, .. } | Attention::Latent { heads, .. } => *heads,
        }
    }

    /// The part of a head that is rotated.
    pub(crate) fn rotary_dim(&self) -> i64 {
        match self {
            Attention::Grouped { head_dim, .. } => *head_dim,
            Attention::Latent { qk_rope_head_dim, .. } => *qk_rope_head_dim,
        }
    }
}

/// How tokens find their experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Router {
    /// One fused call takes the logits, in 32-bit floats.
    FusedTopK,
    /// A softmax and the largest of its values, operator by operator.
    SoftmaxTopK,
}

/// The mixture-of-experts layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Experts {
    /// Routed experts.
    pub count: i64,
    /// Experts that a token goes through.
    pub per_token: i64,
    /// Intermediate size of an expert.
    pub intermediate_size: i64,
    /// Intermediate size of all shared experts together, 0 without.
    pub shared_intermediate_size: i64,
    /// Layers that have no experts but a dense feed-forward layer.
    pub dense_layers: i64,
    /// Whether the weights of a token's experts are scaled to a sum of 1.
    pub normalises_weights: bool,
    /// How tokens find their experts.
    pub router: Router,
}

/// How the description says that weights are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// In a way whose operators are known.
    Known(Quantization),
    /// In another way: a deployment has to say how linear layers compute.
    Other {
        /// The field that says so.
        field: &'static str,
        /// What it says.
        value: String,
    },
}

/// A model, as its `config.json` describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub hidden_size: i64,
    /// Decoder layers.
    pub layers: i64,
    /// Tokens that there are.
    pub vocabulary: i64,
    /// Longest sequence: rows of the table of rotary positions.
    pub longest_sequence: i64,
    /// The constant in norms.
    pub norm_epsilon: f64,
    /// Intermediate size of dense feed-forward layers.
    pub intermediate_size: i64,
    /// How it attends.
    pub attention: Attention,
    /// Its experts, if it has any.
    pub experts: Option<Experts>,
    /// How its weights are stored.
    pub stored: Stored,
}

impl Model {
    /// Reads a description: a `config.json`, or the folder with one.
    ///
    /// # Errors
    /// A file that cannot be read, a family that is not known, a field that is missing or has no meaning here: each with the
    /// path of its key.
    pub fn read(path: &Path) -> Result<Model, Error> {
        read::read(path)
    }
}
