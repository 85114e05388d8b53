//! A forward pass: embedding, decoder layers, output.

mod experts;
mod feed_forward;
mod grouped_attention;
mod latent_attention;
mod linear;

use crate::deployment::{Batch, Deployment, Layout, Phase};
use crate::model::{Attention, Experts, Model};
use crate::quantization::Quantization;
use crate::recorder::{Call, Recorder, half, indices, integer, list, tensor};
use perfdb_query::{Argument, DType, Tensor};

/// Tokens in a block of the cache.
const BLOCK: i64 = 128;

/// What is recorded, and for whom.
struct Pass<'m> {
    model: &'m Model,
    quantization: Quantization,
    layout: Layout,
    batch: Batch,
    tensor_parallel: i64,
    expert_parallel: i64,
    /// Sequences of this rank.
    sequences: i64,
    /// New tokens of this rank.
    tokens: i64,
    recorder: Recorder,
}

/// Cosines and sines of the positions, (1, tokens, size).
struct Rotation {
    cosine: Tensor,
    sine: Tensor,
}

/// The calls of one rank's pass.
pub(crate) fn calls(model: &Model, deployment: &Deployment, batch: &Batch, quantization: Quantization) -> Vec<Call> {
    let (tensor_parallel, expert_parallel) = (deployment.tensor_parallel, deployment.expert_parallel);
    // With more experts' ranks than tensor-parallel ones the sequences are spread over the groups.
    let groups = (expert_parallel / tensor_parallel).max(1);
    let sequences = (batch.sequences + groups - 1) / groups;
    let mut pass = Pass {
        model,
        quantization,
        layout: deployment.layout,
        batch: *batch,
        tensor_parallel,
        expert_parallel,
        sequences,
        tokens: sequences * batch.new_tokens(),
        recorder: Recorder::new(tensor_parallel, expert_parallel),
    };
    pass.run();
    pass.recorder.into_calls()
}

impl Pass<'_> {
    fn run(&mut self) {
        let hidden = self.embedding();
        let rotation = self.rotation();
        let (layers, experts) = (self.model.layers, self.model.experts.clone());
        let dense_layers = experts.as_ref().map_or(layers, |experts| experts.dense_layers);
        self.layers(dense_layers, &hidden, &rotation, None);
        if let Some(experts) = &experts {
            self.layers(layers - dense_layers, &hidden, &rotation, Some(experts));
        }
        self.recorder.occurs(1);
        self.output(&hidden);
        for layers in [dense_layers, layers - dense_layers] {
            // Layers of one kind are simulated once, so their caches are written back once.
            self.recorder.occurs(layers.min(1));
            let cache = self.cache();
            self.recorder.binary("aten.copy_.default", &cache, &cache);
        }
    }

    /// (1, tokens, hidden) from the vocabulary, whose rows are spread over the ranks.
    fn embedding(&mut self) -> Tensor {
        let (tokens, hidden, ranks) = (self.tokens, self.model.hidden_size, self.tensor_parallel);
        let share = self.vocabulary_share();
        let table = half([share, hidden]);
        let embedded = half([1, tokens, hidden]);
        let recorder = &mut self.recorder;
        let mut tokens = indices([1, tokens]);
        if ranks == 1 {
            return recorder.one("aten.embedding.default", [tensor(&table), tensor(&tokens)], embedded);
        }
        let is_here = Tensor::new(tokens.shape.clone(), DType::Bool);
        recorder.one("aten.ge.Scalar", [tensor(&tokens), integer(0)], is_here.clone());
        recorder.one("aten.lt.Scalar", [tensor(&tokens), integer(share)], is_here.clone());
        recorder.binary("aten.bitwise_and.Tensor", &is_here, &is_here);
        recorder.one("aten.sub.Tensor", [tensor(&tokens), integer(0)], tokens.clone());
        let arguments = [tensor(&is_here), tensor(&tokens), tensor(&tokens)];
        tokens = recorder.one("aten.where.self", arguments, tokens);
        recorder.one("aten.embedding.default", [tensor(&table), tensor(&tokens)], embedded.clone());
        let column = Tensor::new([1, self.tokens, 1], DType::Bool);
        recorder.one("aten.unsqueeze.default", [tensor(&is_here), integer(-1)], column.clone());
        recorder.one("aten.bitwise_not.default", [tensor(&column)], column.clone());
        let arguments = [tensor(&column), tensor(&half([])), tensor(&embedded)];
        recorder.one("aten.where.self", arguments, embedded.clone());
        recorder.all_reduce(&embedded)
    }

    /// Rows of the vocabulary on one rank.
    fn vocabulary_share(&self) -> i64 {
        (self.model.vocabulary + self.tensor_parallel - 1) / self.tensor_parallel
    }

    fn rotation(&mut self) -> Rotation {
        let size = self.model.attention.rotary_dim();
        let positions = self.recorder.view(&indices([1, self.tokens]), [self.tokens]);
        let table = half([self.model.longest_sequence, size]);
        let mut side = || {
            let arguments = [tensor(&table), Argument::List(vec![tensor(&positions)])];
            let rows = self.recorder.one("aten.index.Tensor", arguments, half([self.tokens, size]));
            self.recorder.view(&rows, [1, -1, size])
        };
        Rotation { cosine: side(), sine: side() }
    }

    /// Layers of one kind: with experts, or dense.
    fn layers(&mut self, count: i64, hidden: &Tensor, rotation: &Rotation, experts: Option<&Experts>) {
        self.recorder.occurs(count);
        let attended = match self.model.attention {
            Attention::Grouped { .. } => self.grouped_attention(hidden, rotation),
            Attention::Latent { .. } => self.latent_attention(hidden, rotation),
        };
        match experts {
            None => {
                let transformed = self.feed_forward(hidden, &attended);
                self.recorder.binary("aten.add.Tensor", hidden, &transformed);
            }
            Some(experts) => {
                let normed = self.add_norm(hidden, &attended);
                let transformed = self.mixture(&normed, experts);
                self.recorder.binary("aten.add.Tensor", hidden, &transformed);
            }
        }
    }

    /// The logits of every new token in a decode, of the last one of each sequence in a prefill.
    fn output(&mut self, hidden: &Tensor) {
        let size = self.model.hidden_size;
        let mut hidden = self.norm(hidden);
        if self.batch.phase == Phase::Prefill {
            let rows = indices([self.sequences]);
            let arguments = [tensor(&hidden), Argument::List(vec![Argument::None, tensor(&rows)])];
            hidden = self.recorder.one("aten.index.Tensor", arguments, half([1, self.sequences, size]));
        }
        let rows = hidden.shape[1];
        let matrix = self.recorder.view(&hidden, [rows, size]);
        let share = self.vocabulary_share();
        let logits = self.recorder.matmul(&matrix, share);
        let logits = self.recorder.view(&logits, [1, rows, share]);
        if self.tensor_parallel > 1 {
            let all = self.recorder.all_gather(&logits, -1, share * self.tensor_parallel);
            let logits = half([1, rows, self.model.vocabulary]);
            if all == logits {
                self.recorder.one("aten.alias.default", [tensor(&all)], logits)
            } else {
                let arguments = [tensor(&all), integer(2), integer(0), integer(self.model.vocabulary)];
                self.recorder.one("aten.slice.Tensor", arguments, logits)
            };
        }
    }

    /// Root mean square norm.
    fn norm(&mut self, x: &Tensor) -> Tensor {
        let weight = half([x.shape[x.shape.len() - 1]]);
        let arguments = [tensor(x), tensor(&weight), self.epsilon()];
        self.recorder.one("tensor_cast.rms_norm.default", arguments, x.clone())
    }

    /// The norm of a sum; the sum is the other result.
    fn add_norm(&mut self, residual: &Tensor, added: &Tensor) -> Tensor {
        let weight = half([self.model.hidden_size]);
        let arguments = [tensor(residual), tensor(added), tensor(&weight), self.epsilon()];
        let results = [residual.clone(), residual.clone()];
        let [normed, _] = self.recorder.many("tensor_cast.add_rms_norm2.default", arguments, results);
        normed
    }

    fn epsilon(&self) -> Argument {
        Argument::Float(self.model.norm_epsilon)
    }

    /// Blocks of the cache, for a token more than there will be in each sequence.
    fn blocks(&self) -> i64 {
        ((self.batch.length() + 1) * self.sequences + BLOCK - 1) / BLOCK
    }

    /// The cache of a layer: keys and values, or what both are projected from.
    fn cache(&self) -> Tensor {
        match self.model.attention {
            Attention::Grouped { head_dim, .. } => half([2, self.blocks(), BLOCK, self.kv_heads(), head_dim]),
            Attention::Latent { kv_lora_rank, qk_rope_head_dim, .. } => {
                half([self.blocks(), BLOCK, kv_lora_rank + qk_rope_head_dim])
            }
        }
    }

    /// Heads of keys and values on one rank: at least one.
    fn kv_heads(&self) -> i64 {
        match self.model.attention {
            Attention::Grouped { kv_heads, .. } => (kv_heads / self.tensor_parallel).max(1),
            Attention::Latent { .. } => 1,
        }
    }

    /// Heads of queries on one rank.
    fn heads(&self) -> i64 {
        self.model.attention.heads() / self.tensor_parallel
    }

    /// The blocks of each sequence, where its new tokens begin, its length, and its new tokens.
    fn sequence_arguments(&self) -> [Argument; 4] {
        let (new, length) = (self.batch.new_tokens(), self.batch.length());
        let of = |values: Vec<i64>| Argument::Tensor(Tensor::of_values(values, DType::Int64));
        let each = |value| of(vec![value; self.sequences as usize]);
        [
            tensor(&indices([self.sequences, (length + BLOCK - 1) / BLOCK])),
            of((0..=self.sequences).map(|sequence| sequence * new).collect()),
            each(length),
            each(new),
        ]
    }

    /// All expert-parallel ranks.
    fn expert_ranks(&self) -> Argument {
        list(0..self.expert_parallel)
    }
}
