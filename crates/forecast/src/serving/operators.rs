//! The operators of a step on one device, with their shapes and how often each is called.

use super::architecture::{Architecture, FeedForward, Indexer, Layers, Mixer};
use super::parallel::Parallel;
use super::precision::Scheme;
use std::borrow::Cow;

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The tokens of a prompt.
    Prefill,
    /// One token of each sequence.
    Decode,
}

/// What a line of the report counts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Products of matrices.
    Gemm,
    /// Attention, linear attention included.
    Attention,
    /// Routed experts and their router.
    Experts,
    /// Exchanges between devices.
    Communication,
    /// Norms, activations, rotations, caches.
    Other,
}

impl Part {
    /// All of them, in the order of reports.
    pub const ALL: [Part; 5] = [Part::Gemm, Part::Attention, Part::Experts, Part::Communication, Part::Other];

    pub fn name(self) -> &'static str {
        match self {
            Part::Gemm => "GEMM",
            Part::Attention => "attention",
            Part::Experts => "MoE",
            Part::Communication => "communication",
            Part::Other => "other",
        }
    }
}

/// Calls of one operator with the same shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// What it is called here: `qkv`, `gate_up`.
    pub name: Cow<'static, str>,
    /// What it counts to.
    pub part: Part,
    /// Calls of a step.
    pub calls: u64,
    /// What a call does.
    pub work: Work,
}

/// What a call does on one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// A product of `rows` × `inner` and `inner` × `columns`.
    Product {
        /// Rows: tokens.
        rows: u64,
        /// Columns of the result.
        columns: u64,
        /// What is summed over.
        inner: u64,
        /// How the weights are stored.
        scheme: Scheme,
    },
    /// Attention of heads on cached keys and values.
    Attention {
        /// What the step is for.
        phase: Phase,
        sequences: u64,
        /// Keys of each sequence.
        length: u64,
        /// Heads of queries on the device.
        heads: u64,
        /// Heads of keys on the device.
        kv_heads: u64,
        /// Size of a head.
        head_dim: u64,
        /// Keys that are seen at the most; 0 without a limit.
        window: u64,
        /// How the cache is stored.
        cache: Scheme,
    },
    /// Attention on latent vectors.
    LatentAttention {
        /// What the step is for.
        phase: Phase,
        sequences: u64,
        /// Keys of each sequence.
        length: u64,
        /// Heads on the device.
        heads: u64,
        /// Values of a cached vector.
        width: u64,
        /// How the cache is stored.
        cache: Scheme,
    },
    /// The products that bring queries into the latent space, and results out of it.
    LatentProducts {
        /// Whether before attention, or after it.
        is_before: bool,
        tokens: u64,
        /// Heads on the device.
        heads: u64,
        /// Values of a head, and of the latent vector.
        widths: [u64; 2],
    },
    /// Linear attention with a gated delta rule, the convolution before it included.
    LinearAttention {
        /// What the step is for.
        phase: Phase,
        /// Sequences, each with a state.
        sequences: u64,
        /// Tokens of all sequences.
        tokens: u64,
        /// Heads of keys, and of values, on the device.
        heads: [u64; 2],
        /// Sizes of a key head, and of a value head.
        widths: [u64; 2],
    },
    /// The routed experts of a layer.
    Experts {
        /// Tokens of all devices that exchange them.
        tokens: u64,
        /// Size of a token's vector.
        hidden: u64,
        /// Inner size of an expert.
        inner: u64,
        /// Experts of a token.
        per_token: u64,
        /// Experts.
        count: u64,
        /// Devices that share an expert's matrices.
        tensor: u64,
        /// Groups of devices that hold different experts.
        expert: u64,
        /// How the weights are stored.
        scheme: Scheme,
    },
    /// A sum over devices.
    AllReduce {
        /// Values, of 16 bits.
        elements: u64,
        /// Devices.
        ranks: u64,
    },
    /// What only moves bytes, and work that no table describes.
    Bytes {
        /// Bytes from and to memory.
        bytes: f64,
        /// Operations beside them.
        operations: f64,
    },
}

/// One step of a replica: a decode step of `sequences`, or the prefill of one of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// What it is for.
    pub phase: Phase,
    /// Sequences of a device.
    pub sequences: u64,
    /// Keys of each sequence: of a prefill its tokens.
    pub length: u64,
    /// How the cache is stored.
    pub cache: Scheme,
}

impl Step {
    fn tokens(&self) -> u64 {
        match self.phase {
            Phase::Prefill => self.sequences * self.length,
            Phase::Decode => self.sequences,
        }
    }
}

/// The operators of a step on one device.
pub fn operators(model: &Architecture, parallel: &Parallel, step: &Step) -> Vec<Operator> {
    let mut list = List { model, parallel, step, operators: Vec::new() };
    for layers in &model.layers {
        list.mixer(layers);
        list.feed_forward(layers);
        list.small(layers);
        list.listed(layers);
        if parallel.tensor > 1 {
            list.sum(layers.count * 2, step.tokens(), parallel.tensor);
        }
    }
    let tokens = step.tokens();
    if parallel.tensor > 1 {
        list.sum(1, tokens, parallel.tensor);
    }
    let columns = model.vocabulary.div_ceil(parallel.tensor);
    list.product("lm_head", 1, [step.sequences, columns, model.hidden_size], Scheme::Bf16);
    list.operators
}

struct List<'m> {
    model: &'m Architecture,
    parallel: &'m Parallel,
    step: &'m Step,
    operators: Vec<Operator>,
}

impl List<'_> {
    fn push(&mut self, name: impl Into<Cow<'static, str>>, part: Part, calls: u64, work: Work) {
        let name = name.into();
        match self.operators.iter_mut().find(|known| known.name == name && known.work == work) {
            Some(known) => known.calls += calls,
            None => self.operators.push(Operator { name, part, calls, work }),
        }
    }

    fn product(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        calls: u64,
        [rows, columns, inner]: [u64; 3],
        scheme: Scheme,
    ) {
        self.push(name, Part::Gemm, calls, Work::Product { rows, columns, inner, scheme });
    }

    fn sum(&mut self, calls: u64, tokens: u64, ranks: u64) {
        let work = Work::AllReduce { elements: tokens * self.model.hidden_size, ranks };
        self.push("all_reduce", Part::Communication, calls, work);
    }

    fn mixer(&mut self, layers: &Layers) {
        let (count, hidden, tensor) = (layers.count, self.model.hidden_size, self.parallel.tensor);
        let (tokens, scheme) = (self.step.tokens(), self.model.storage.attention);
        let Step { phase, sequences, length, cache } = *self.step;
        match layers.mixer {
            Mixer::None => {}
            Mixer::Grouped { heads, kv_heads, head_dim, window, is_gated, .. } => {
                let (heads, kv_heads) = (heads / tensor, kv_heads.div_ceil(tensor));
                let queries = heads * if is_gated { 2 } else { 1 };
                self.product("qkv", count, [tokens, (queries + 2 * kv_heads) * head_dim, hidden], scheme);
                let window = window.unwrap_or(0);
                let work = Work::Attention { phase, sequences, length, heads, kv_heads, head_dim, window, cache };
                self.push("attention", Part::Attention, count, work);
                self.product("o", count, [tokens, hidden, heads * head_dim], scheme);
            }
            Mixer::Latent { heads, query_rank, kv_rank, nope_dim, rope_dim, value_dim, indexer } => {
                let heads = heads / tensor;
                let head = nope_dim + rope_dim;
                self.product("q_a_kv_a", count, [tokens, query_rank.unwrap_or(0) + kv_rank + rope_dim, hidden], scheme);
                self.product("q_b", count, [tokens, heads * head, query_rank.unwrap_or(hidden)], scheme);
                let length = match indexer {
                    Some(index) => {
                        self.indexer(count, index, query_rank.unwrap_or(hidden));
                        length.min(index.chosen)
                    }
                    None => length,
                };
                let products = |is_before, widths| Work::LatentProducts { is_before, tokens, heads, widths };
                match phase {
                    Phase::Decode => {
                        self.push("absorb", Part::Attention, count, products(true, [nope_dim, kv_rank]));
                        self.push("expand", Part::Attention, count, products(false, [kv_rank, value_dim]));
                    }
                    Phase::Prefill => {
                        self.product("kv_b", count, [tokens, heads * (nope_dim + value_dim), kv_rank], scheme);
                    }
                }
                let width = kv_rank + rope_dim;
                let work = Work::LatentAttention { phase, sequences, length, heads, width, cache };
                self.push("attention", Part::Attention, count, work);
                self.product("o", count, [tokens, hidden, heads * value_dim], scheme);
            }
            Mixer::GatedDelta { key_heads, value_heads, key_dim, value_dim, .. } => {
                let (keys, values) = (key_heads * key_dim / tensor, value_heads * value_dim / tensor);
                self.product("in_proj", count, [tokens, 2 * keys + 2 * values, hidden], scheme);
                let heads = [key_heads / tensor, value_heads / tensor];
                let work = Work::LinearAttention { phase, sequences, tokens, heads, widths: [key_dim, value_dim] };
                self.push("linear_attention", Part::Attention, count, work);
                self.product("out_proj", count, [tokens, hidden, values], scheme);
            }
        }
    }

    /// What chooses keys: its projections, and a product with all keys that are cached.
    fn indexer(&mut self, count: u64, index: Indexer, inner: u64) {
        let (tokens, width) = (self.step.tokens(), index.heads * index.head_dim);
        self.product("index_q", count, [tokens, width, inner], Scheme::Bf16);
        self.product("index_k", count, [tokens, index.head_dim + index.heads, self.model.hidden_size], Scheme::Bf16);
        let keys = (self.step.sequences * self.step.length) as f64;
        let operations = 2.0 * tokens as f64 / self.step.sequences as f64 * keys * width as f64;
        let work = Work::Bytes { bytes: keys * index.head_dim as f64, operations };
        self.push("index", Part::Attention, count, work);
    }

    fn feed_forward(&mut self, layers: &Layers) {
        let (count, hidden, tensor) = (layers.count, self.model.hidden_size, self.parallel.tensor);
        let tokens = self.step.tokens();
        match layers.feed_forward {
            FeedForward::None => {}
            FeedForward::Dense { inner } => self.gated(count, ["gate_up", "down"], inner / tensor),
            FeedForward::Experts { count: experts, per_token, inner, shared_inner, .. } => {
                let router = Work::Product { rows: tokens, columns: experts, inner: hidden, scheme: Scheme::Bf16 };
                self.push("router", Part::Experts, count, router);
                let data = self.parallel.data;
                let work = Work::Experts {
                    tokens: tokens * data,
                    hidden,
                    inner,
                    per_token,
                    count: experts,
                    tensor: self.parallel.expert_tensor,
                    expert: self.parallel.expert,
                    scheme: self.model.storage.experts,
                };
                self.push("experts", Part::Experts, count, work);
                if shared_inner > 0 {
                    self.gated(count, ["shared_gate_up", "shared_down"], (shared_inner / tensor).max(1));
                }
                if data > 1 {
                    self.sum(count, tokens * data, (tensor * data).min(8));
                }
            }
        }
    }

    fn gated(&mut self, count: u64, [up, down]: [&'static str; 2], inner: u64) {
        let (tokens, hidden, scheme) = (self.step.tokens(), self.model.hidden_size, self.model.storage.dense);
        self.product(up, count, [tokens, 2 * inner, hidden], scheme);
        self.product(down, count, [tokens, hidden, inner], scheme);
    }

    /// Operators that a list of layers names.
    fn listed(&mut self, layers: &Layers) {
        let (tokens, tensor, sequences) = (self.step.tokens(), self.parallel.tensor, self.step.sequences);
        for operator in &layers.operators {
            let name = || Cow::Owned(operator.name.clone());
            if operator.has_product() {
                let [columns, inner] = operator.share(tensor);
                self.product(name(), layers.count, [tokens, columns, inner], self.model.storage.dense);
            }
            let [bytes, operations] = operator.moved(tokens, sequences, tensor);
            if bytes > 0.0 || operations > 0.0 {
                self.push(name(), Part::Other, layers.count, Work::Bytes { bytes, operations });
            }
        }
    }

    /// Norms, rotation, activation, writing the cache, and what quantises activations: all of it bound by bytes.
    fn small(&mut self, layers: &Layers) {
        let (tokens, hidden, tensor) = (self.step.tokens() as f64, self.model.hidden_size as f64, self.parallel.tensor);
        let heads = match layers.mixer {
            Mixer::None => 0,
            Mixer::Grouped { heads, kv_heads, head_dim, .. } => {
                (heads / tensor + 2 * kv_heads.div_ceil(tensor)) * head_dim
            }
            Mixer::Latent { heads, nope_dim, rope_dim, .. } => heads / tensor * (nope_dim + rope_dim),
            Mixer::GatedDelta { key_heads, value_heads, key_dim, value_dim, .. } => {
                (2 * key_heads * key_dim + value_heads * value_dim) / tensor
            }
        } as f64;
        let inner = match layers.feed_forward {
            FeedForward::None => 0.0,
            FeedForward::Dense { inner } => (inner / tensor) as f64,
            FeedForward::Experts { shared_inner, .. } => (shared_inner / tensor) as f64,
        };
        let mut bytes = 2.0 * tokens * (8.0 * hidden + 2.0 * heads + 3.0 * inner);
        if self.model.storage.attention != Scheme::Bf16 {
            bytes += 3.0 * tokens * (2.0 * hidden + heads + inner);
        }
        self.push("norms, activations, rotation", Part::Other, layers.count, Work::Bytes { bytes, operations: 0.0 });
    }
}
