//! What a model consists of: layers of attention and feed-forward parts, as its `config.json` describes them.

mod listed;
mod read;

use super::precision::Storage;
use crate::Error;
pub use listed::{Listed, Split};
pub(crate) use read::architecture;
use serde::Deserialize;
use std::path::Path;

/// Larger models are mistakes, and their products would not fit into 64 bits.
const MOST_PARAMETERS: u64 = 1_000_000_000_000_000;

/// A model.
#[derive(Debug, Clone, PartialEq)]
pub struct Architecture {
    /// `model_type` of the description.
    pub family: String,
    /// Size of a token's vector.
    pub hidden_size: u64,
    /// Tokens that there are.
    pub vocabulary: u64,
    /// Whether the last product uses the table of embeddings.
    pub ties_embeddings: bool,
    /// Kinds of layers, and how often each occurs.
    pub layers: Vec<Layers>,
    /// How weights are stored.
    pub storage: Storage,
}

/// Layers of one kind.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layers {
    /// How many there are.
    pub count: u64,
    /// How tokens see each other.
    #[serde(default)]
    pub mixer: Mixer,
    /// What each token goes through alone.
    #[serde(default)]
    pub feed_forward: FeedForward,
    /// Operators beside these.
    #[serde(default)]
    pub operators: Vec<Listed>,
}

/// How tokens see each other.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Mixer {
    /// Not at all, or in operators that are listed.
    #[default]
    None,
    /// Attention whose heads share keys and values.
    Grouped {
        /// Heads of queries.
        heads: u64,
        /// Heads of keys, and of values.
        kv_heads: u64,
        /// Size of a head.
        head_dim: u64,
        /// Keys that are seen at the most.
        #[serde(default)]
        window: Option<u64>,
        /// Whether the output is gated by a projection as large as the queries.
        #[serde(default)]
        is_gated: bool,
        /// Whether the projections add a bias.
        #[serde(default)]
        has_bias: bool,
        /// Whether queries and keys are normalised.
        #[serde(default)]
        normalises: bool,
    },
    /// Attention on latent vectors (MLA); the cache holds one of them a token.
    Latent {
        heads: u64,
        /// Rank of the queries, where they go through one.
        #[serde(default)]
        query_rank: Option<u64>,
        /// Rank of keys and values.
        kv_rank: u64,
        /// Part of a head without position.
        nope_dim: u64,
        /// Part of a head with rotary position.
        rope_dim: u64,
        /// Size of a value head.
        value_dim: u64,
        /// Sparse attention: what chooses the keys.
        #[serde(default)]
        indexer: Option<Indexer>,
    },
    /// Linear attention with a gated delta rule: a state of constant size instead of a cache.
    GatedDelta {
        /// Heads of keys.
        key_heads: u64,
        /// Heads of values.
        value_heads: u64,
        /// Size of a key head.
        key_dim: u64,
        /// Size of a value head.
        value_dim: u64,
        /// Tokens that the convolution before it sees.
        convolution: u64,
    },
}

/// What chooses the keys of sparse attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Indexer {
    pub heads: u64,
    /// Size of a head.
    pub head_dim: u64,
    /// Keys that attention sees.
    pub chosen: u64,
}

/// What each token goes through alone.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum FeedForward {
    /// Nothing, or operators that are listed.
    #[default]
    None,
    /// One gated pair of products.
    Dense {
        /// Inner size.
        inner: u64,
    },
    /// Some of many gated pairs of products.
    Experts {
        /// Routed experts.
        count: u64,
        /// Experts of a token.
        per_token: u64,
        /// Inner size of an expert.
        inner: u64,
        /// Inner size of what all tokens go through beside them, 0 without.
        #[serde(default)]
        shared_inner: u64,
        /// Whether experts and router add a bias.
        #[serde(default)]
        has_bias: bool,
    },
}

impl Architecture {
    /// Reads a `config.json`, or the folder with one, and the quantisation file beside it.
    ///
    /// # Errors
    /// A file that cannot be read, a family that is not known, a size that is missing.
    pub fn read(path: &Path) -> Result<Architecture, Error> {
        read::read(path)
    }

    /// Reads a list of layers and their operators (YAML), for a model whose family is not known.
    ///
    /// # Errors
    /// A file that cannot be read, or does not describe a model.
    pub fn read_layers(path: &Path) -> Result<Architecture, Error> {
        listed::read(path)
    }

    /// Layers of all kinds.
    pub fn layer_count(&self) -> u64 {
        self.layers.iter().map(|layers| layers.count).sum()
    }

    /// Layers with routed experts.
    pub fn expert_layers(&self) -> u64 {
        let has_experts = |layers: &&Layers| matches!(layers.feed_forward, FeedForward::Experts { .. });
        self.layers.iter().filter(has_experts).map(|layers| layers.count).sum()
    }

    /// Parameters: weights of the language model, without layers that only speculate.
    pub fn parameters(&self) -> u64 {
        let [hidden, vocabulary] = [self.hidden_size, self.vocabulary].map(u128::from);
        let embeddings = vocabulary * hidden * if self.ties_embeddings { 1 } else { 2 };
        let layers: u128 = self.layers.iter().map(|layers| u128::from(layers.count) * self.parameters_of(layers)).sum();
        u64::try_from(embeddings + layers + hidden).unwrap_or(u64::MAX)
    }

    fn parameters_of(&self, layers: &Layers) -> u128 {
        let listed: u128 = layers.operators.iter().map(Listed::parameters).sum();
        self.mixer_parameters(&layers.mixer)
            + self.feed_forward_parameters(&layers.feed_forward)
            + listed
            + 2 * u128::from(self.hidden_size)
    }

    fn mixer_parameters(&self, mixer: &Mixer) -> u128 {
        let hidden = u128::from(self.hidden_size);
        match *mixer {
            Mixer::None => 0,
            Mixer::Grouped { heads, kv_heads, head_dim, is_gated, has_bias, normalises, .. } => {
                let [heads, kv_heads, head_dim] = [heads, kv_heads, head_dim].map(u128::from);
                let queries = heads * head_dim * if is_gated { 2 } else { 1 };
                let keys = 2 * kv_heads * head_dim;
                let bias = if has_bias { queries + keys } else { 0 };
                hidden * (queries + keys) + heads * head_dim * hidden + bias + if normalises { 2 * head_dim } else { 0 }
            }
            Mixer::Latent { heads, query_rank, kv_rank, nope_dim, rope_dim, value_dim, indexer } => {
                let [heads, kv_rank] = [heads, kv_rank].map(u128::from);
                let [nope_dim, rope_dim, value_dim] = [nope_dim, rope_dim, value_dim].map(u128::from);
                let query_rank = query_rank.map(u128::from);
                let head = nope_dim + rope_dim;
                let queries =
                    query_rank.map_or(hidden * heads * head, |rank| hidden * rank + rank + rank * heads * head);
                let index = indexer.map_or(0, |index| {
                    let [heads, head_dim] = [index.heads, index.head_dim].map(u128::from);
                    query_rank.unwrap_or(hidden) * heads * head_dim + hidden * (head_dim + heads) + 2 * head_dim
                });
                queries
                    + hidden * (kv_rank + rope_dim)
                    + kv_rank
                    + kv_rank * heads * (nope_dim + value_dim)
                    + heads * value_dim * hidden
                    + index
            }
            Mixer::GatedDelta { key_heads, value_heads, key_dim, value_dim, convolution } => {
                let [key_heads, value_heads] = [key_heads, value_heads].map(u128::from);
                let [key_dim, value_dim, convolution] = [key_dim, value_dim, convolution].map(u128::from);
                let (keys, values) = (key_heads * key_dim, value_heads * value_dim);
                hidden * (2 * keys + 2 * values + 2 * value_heads)
                    + convolution * (2 * keys + values)
                    + 2 * value_heads
                    + value_dim
                    + values * hidden
            }
        }
    }

    fn feed_forward_parameters(&self, feed_forward: &FeedForward) -> u128 {
        let hidden = u128::from(self.hidden_size);
        match *feed_forward {
            FeedForward::None => 0,
            FeedForward::Dense { inner } => 3 * hidden * u128::from(inner),
            FeedForward::Experts { count, inner, shared_inner, has_bias, .. } => {
                let [count, inner, shared_inner] = [count, inner, shared_inner].map(u128::from);
                let bias = if has_bias { count * (2 * inner + hidden + 1) } else { 0 };
                count * 3 * hidden * inner + hidden * count + 3 * hidden * shared_inner + bias
            }
        }
    }

    /// Bytes of the weights of one device.
    pub fn weight_bytes(&self, tensor: u64, expert_tensor: u64, expert: u64) -> f64 {
        let (hidden, storage) = (self.hidden_size as f64, self.storage);
        let of_layers: f64 = self
            .layers
            .iter()
            .map(|layers| {
                let mixer = self.mixer_parameters(&layers.mixer) as f64 * storage.attention.bytes() / tensor as f64;
                let feed_forward = match layers.feed_forward {
                    FeedForward::None => 0.0,
                    FeedForward::Dense { inner } => 3.0 * hidden * inner as f64 * storage.dense.bytes() / tensor as f64,
                    FeedForward::Experts { count, inner, shared_inner, .. } => {
                        let routed = count as f64 * 3.0 * hidden * inner as f64 * storage.experts.bytes();
                        let shared = 3.0 * hidden * shared_inner as f64 * storage.dense.bytes();
                        routed / (expert_tensor * expert) as f64 + shared / tensor as f64 + hidden * count as f64 * 2.0
                    }
                };
                let listed: f64 = layers.operators.iter().map(|operator| operator.weight_bytes(storage, tensor)).sum();
                layers.count as f64 * (mixer + feed_forward + listed)
            })
            .sum();
        let embeddings = self.vocabulary as f64 * hidden * 2.0 * if self.ties_embeddings { 1.0 } else { 2.0 };
        of_layers + embeddings / tensor as f64
    }

    /// Bytes that one device keeps of a sequence of this many tokens.
    pub fn cache_bytes(&self, tokens: u64, tensor: u64, bytes_each: f64) -> f64 {
        let of_layer = |mixer: &Mixer| match *mixer {
            Mixer::None => 0.0,
            Mixer::Grouped { kv_heads, head_dim, window, .. } => {
                let kept = window.map_or(tokens, |window| tokens.min(window)) as f64;
                kept * (2 * kv_heads.div_ceil(tensor) * head_dim) as f64 * bytes_each
            }
            Mixer::Latent { kv_rank, rope_dim, .. } => tokens as f64 * (kv_rank + rope_dim) as f64 * bytes_each,
            Mixer::GatedDelta { value_heads, key_dim, value_dim, .. } => {
                (value_heads.div_ceil(tensor) * key_dim * value_dim) as f64 * 4.0
            }
        };
        let of_layers = |layers: &Layers| {
            let listed: f64 = layers.operators.iter().map(|operator| operator.state_bytes(tensor)).sum();
            layers.count as f64 * (of_layer(&layers.mixer) + listed)
        };
        self.layers.iter().map(of_layers).sum()
    }

    /// Operations of a token, two for each weight that it goes through.
    pub fn operations_per_token(&self) -> f64 {
        let hidden = u128::from(self.hidden_size);
        let of_layer = |layers: &Layers| {
            let feed_forward = match layers.feed_forward {
                FeedForward::Experts { count, per_token, inner, shared_inner, .. } => {
                    let [count, per_token] = [count, per_token].map(u128::from);
                    let [inner, shared_inner] = [inner, shared_inner].map(u128::from);
                    hidden * (3 * (per_token * inner + shared_inner) + count)
                }
                _ => self.feed_forward_parameters(&layers.feed_forward),
            };
            let listed: f64 = layers.operators.iter().map(Listed::operations_of_token).sum();
            layers.count as f64 * (2.0 * (self.mixer_parameters(&layers.mixer) + feed_forward) as f64 + listed)
        };
        let of_layers: f64 = self.layers.iter().map(of_layer).sum();
        of_layers + 2.0 * (u128::from(self.vocabulary) * hidden) as f64
    }
}
