//! What a model consists of: layers of attention and feed-forward parts, as its `config.json` describes them.

mod read;

use super::precision::Storage;
use crate::Error;
use std::path::Path;

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
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// How many there are.
    pub count: u64,
    /// How tokens see each other.
    pub mixer: Mixer,
    /// What each token goes through alone.
    pub feed_forward: FeedForward,
}

/// How tokens see each other.
#[derive(Debug, Clone, PartialEq)]
pub enum Mixer {
    /// Attention whose heads share keys and values.
    Grouped {
        /// Heads of queries.
        heads: u64,
        /// Heads of keys, and of values.
        kv_heads: u64,
        /// Size of a head.
        head_dim: u64,
        /// Keys that are seen at the most.
        window: Option<u64>,
        /// Whether the output is gated by a projection as large as the queries.
        is_gated: bool,
        /// Whether the projections add a bias.
        has_bias: bool,
        /// Whether queries and keys are normalised.
        normalises: bool,
    },
    /// Attention on latent vectors (MLA); the cache holds one of them a token.
    Latent {
        /// Heads.
        heads: u64,
        /// Rank of the queries, where they go through one.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexer {
    /// Its heads.
    pub heads: u64,
    /// Size of a head.
    pub head_dim: u64,
    /// Keys that attention sees.
    pub chosen: u64,
}

/// What each token goes through alone.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedForward {
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
        shared_inner: u64,
        /// Whether experts and router add a bias.
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
        let embeddings = self.vocabulary * self.hidden_size * if self.ties_embeddings { 1 } else { 2 };
        let layers: u64 = self.layers.iter().map(|layers| layers.count * self.parameters_of(layers)).sum();
        embeddings + layers + self.hidden_size
    }

    fn parameters_of(&self, layers: &Layers) -> u64 {
        self.mixer_parameters(&layers.mixer) + self.feed_forward_parameters(&layers.feed_forward) + 2 * self.hidden_size
    }

    fn mixer_parameters(&self, mixer: &Mixer) -> u64 {
        let hidden = self.hidden_size;
        match *mixer {
            Mixer::Grouped { heads, kv_heads, head_dim, is_gated, has_bias, normalises, .. } => {
                let queries = heads * head_dim * if is_gated { 2 } else { 1 };
                let keys = 2 * kv_heads * head_dim;
                let bias = if has_bias { queries + keys } else { 0 };
                hidden * (queries + keys) + heads * head_dim * hidden + bias + if normalises { 2 * head_dim } else { 0 }
            }
            Mixer::Latent { heads, query_rank, kv_rank, nope_dim, rope_dim, value_dim, indexer } => {
                let head = nope_dim + rope_dim;
                let queries =
                    query_rank.map_or(hidden * heads * head, |rank| hidden * rank + rank + rank * heads * head);
                let index = indexer.map_or(0, |index| {
                    query_rank.unwrap_or(hidden) * index.heads * index.head_dim
                        + hidden * (index.head_dim + index.heads)
                        + 2 * index.head_dim
                });
                queries
                    + hidden * (kv_rank + rope_dim)
                    + kv_rank
                    + kv_rank * heads * (nope_dim + value_dim)
                    + heads * value_dim * hidden
                    + index
            }
            Mixer::GatedDelta { key_heads, value_heads, key_dim, value_dim, convolution } => {
                let (keys, values) = (key_heads * key_dim, value_heads * value_dim);
                hidden * (2 * keys + 2 * values + 2 * value_heads)
                    + convolution * (2 * keys + values)
                    + 2 * value_heads
                    + value_dim
                    + values * hidden
            }
        }
    }

    fn feed_forward_parameters(&self, feed_forward: &FeedForward) -> u64 {
        let hidden = self.hidden_size;
        match *feed_forward {
            FeedForward::Dense { inner } => 3 * hidden * inner,
            FeedForward::Experts { count, inner, shared_inner, has_bias, .. } => {
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
                    FeedForward::Dense { inner } => 3.0 * hidden * inner as f64 * storage.dense.bytes() / tensor as f64,
                    FeedForward::Experts { count, inner, shared_inner, .. } => {
                        let routed = count as f64 * 3.0 * hidden * inner as f64 * storage.experts.bytes();
                        let shared = 3.0 * hidden * shared_inner as f64 * storage.dense.bytes();
                        routed / (expert_tensor * expert) as f64 + shared / tensor as f64 + hidden * count as f64 * 2.0
                    }
                };
                layers.count as f64 * (mixer + feed_forward)
            })
            .sum();
        let embeddings = self.vocabulary as f64 * hidden * 2.0 * if self.ties_embeddings { 1.0 } else { 2.0 };
        of_layers + embeddings / tensor as f64
    }

    /// Bytes that one device keeps of a sequence of this many tokens.
    pub fn cache_bytes(&self, tokens: u64, tensor: u64, bytes_each: f64) -> f64 {
        let of_layer = |mixer: &Mixer| match *mixer {
            Mixer::Grouped { kv_heads, head_dim, window, .. } => {
                let kept = window.map_or(tokens, |window| tokens.min(window)) as f64;
                kept * (2 * kv_heads.div_ceil(tensor) * head_dim) as f64 * bytes_each
            }
            Mixer::Latent { kv_rank, rope_dim, .. } => tokens as f64 * (kv_rank + rope_dim) as f64 * bytes_each,
            Mixer::GatedDelta { value_heads, key_dim, value_dim, .. } => {
                (value_heads.div_ceil(tensor) * key_dim * value_dim) as f64 * 4.0
            }
        };
        self.layers.iter().map(|layers| layers.count as f64 * of_layer(&layers.mixer)).sum()
    }

    /// Operations of a token, two for each weight that it goes through.
    pub fn operations_per_token(&self) -> f64 {
        let of_layer = |layers: &Layers| {
            let feed_forward = match layers.feed_forward {
                FeedForward::Dense { inner } => 3 * self.hidden_size * inner,
                FeedForward::Experts { count, per_token, inner, shared_inner, .. } => {
                    self.hidden_size * (3 * (per_token * inner + shared_inner) + count)
                }
            };
            layers.count * (self.mixer_parameters(&layers.mixer) + feed_forward)
        };
        let layers: u64 = self.layers.iter().map(of_layer).sum();
        2.0 * (layers + self.vocabulary * self.hidden_size) as f64
    }
}
