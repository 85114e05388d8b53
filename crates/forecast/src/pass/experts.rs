//! Layers with experts: each rank takes its share of the tokens, routes it, and the experts' ranks exchange what they need.

use super::Pass;
use crate::deployment::Layout;
use crate::model::{Experts, Router};
use crate::quantization::Quantization;
use crate::recorder::{bytes, dtype, half, indices, integer, list, scale, tensor, with_last};
use perfdb_query::{Argument, DType, Tensor};

impl Pass<'_> {
    /// (1, tokens, hidden) to the same shape.
    pub(super) fn mixture(&mut self, normed: &Tensor, experts: &Experts) -> Tensor {
        let (tokens, hidden) = (self.tokens, self.model.hidden_size);
        let matrix = self.recorder.view(normed, [-1, hidden]);
        if self.tensor_parallel == 1 {
            let weights = match experts.router {
                Router::FusedTopK => {
                    let logits = self.float_logits(&matrix, experts);
                    self.fused_top_k(&logits, experts)
                }
                Router::SoftmaxTopK => self.softmax_top_k(&matrix, experts),
            };
            // The fused router's layer works on a matrix as soon as there are other ranks.
            let is_matrix = self.expert_parallel > 1 && experts.router == Router::FusedTopK;
            let input = if is_matrix { matrix } else { normed.clone() };
            let transformed = self.transformed(&input, &weights, experts);
            return if is_matrix { self.recorder.view(&transformed, [1, tokens, hidden]) } else { transformed };
        }
        let (share, weights) = match (experts.router, self.layout) {
            (Router::FusedTopK, Layout::Simulator2026) => {
                let logits = self.float_logits(&matrix, experts);
                let logits = self.share_of_rank(&logits);
                let weights = self.fused_top_k(&logits, experts);
                (self.share_of_rank(&matrix), weights)
            }
            (Router::FusedTopK, Layout::Simulator2025) => {
                let share = self.share_of_rank(&matrix);
                let logits = self.float_logits(&share, experts);
                let weights = self.fused_top_k(&logits, experts);
                (share, weights)
            }
            (Router::SoftmaxTopK, _) => {
                let share = self.share_of_rank(&matrix);
                let weights = self.softmax_top_k(&share, experts);
                (share, weights)
            }
        };
        let transformed = self.transformed(&share, &weights, experts);
        let gathered = self.recorder.all_gather(&transformed, 0, share.shape[0] * self.tensor_parallel);
        let gathered = self.recorder.first_rows(&gathered, tokens);
        self.recorder.view(&gathered, [1, tokens, hidden])
    }

    /// What the routed and the shared experts make of `x`, (rows, hidden) or (1, rows, hidden).
    fn transformed(&mut self, x: &Tensor, weights: &Tensor, experts: &Experts) -> Tensor {
        let (rows, hidden) = (weights.shape[0], self.model.hidden_size);
        let routed = self.dispatch(x, rows, experts);
        let column = half([rows, experts.per_token, 1]);
        let column = self.recorder.one("aten.unsqueeze.default", [tensor(weights), integer(-1)], column);
        let weighted = self.recorder.binary("aten.mul.Tensor", &routed, &column);
        let arguments = [tensor(&weighted), list([-2])];
        let mut sum = self.recorder.one("aten.sum.dim_IntList", arguments, half([rows, hidden]));
        if x.shape.len() == 3 {
            sum = self.recorder.view(&sum, [1, rows, hidden]);
        }
        if experts.shared_intermediate_size > 0 {
            let shared = self.shared_expert(x, experts.shared_intermediate_size);
            sum = self.recorder.binary("aten.add.Tensor", &sum, &shared);
        }
        sum
    }

    /// This rank's rows, after as many rows of zeros as make the shares equal.
    fn share_of_rank(&mut self, x: &Tensor) -> Tensor {
        let ranks = self.tensor_parallel;
        let missing = (ranks - x.shape[0] % ranks) % ranks;
        let padded = if missing == 0 { x.clone() } else { self.recorder.pad_rows(x, missing) };
        self.recorder.first_rows(&padded, padded.shape[0] / ranks)
    }

    fn float_logits(&mut self, x: &Tensor, experts: &Experts) -> Tensor {
        let x = self.recorder.convert(x, DType::Float32);
        self.recorder.matmul(&x, experts.count)
    }

    /// The weights of each token's experts, from logits in 32-bit floats.
    fn fused_top_k(&mut self, logits: &Tensor, experts: &Experts) -> Tensor {
        let shape = [logits.shape[0], experts.per_token];
        let results = [Tensor::new(shape, DType::Float32), indices(shape)];
        let arguments = [tensor(logits), integer(experts.per_token)];
        let [weights, _] = self.recorder.many("tensor_cast.moe_gating_top_k_softmax.default", arguments, results);
        self.normalised(weights, experts)
    }

    /// The same, operator by operator, from tokens.
    fn softmax_top_k(&mut self, x: &Tensor, experts: &Experts) -> Tensor {
        let logits = self.recorder.matmul(x, experts.count);
        let logits = self.recorder.convert(&logits, DType::Float32);
        let column = Tensor::new(with_last(&logits.shape, 1), DType::Float32);
        let arguments = [tensor(&logits), list([-1]), Argument::Boolean(true)];
        let largest = self.recorder.one("aten.amax.default", arguments, column);
        let logits = self.recorder.binary("aten.sub.Tensor", &logits, &largest);
        let powers = self.recorder.one("aten.exp.default", [tensor(&logits)], logits);
        let sum = self.recorder.sum_last(&powers);
        let shares = self.recorder.binary("aten.div.Tensor", &powers, &sum);
        let shape = [x.shape[0], experts.per_token];
        let results = [Tensor::new(shape, DType::Float32), indices(shape)];
        let arguments = [tensor(&shares), integer(experts.per_token)];
        let [weights, _] = self.recorder.many("aten.topk.default", arguments, results);
        self.normalised(weights, experts)
    }

    /// Scaled to a sum of 1 where the model does so, in 16-bit floats.
    fn normalised(&mut self, mut weights: Tensor, experts: &Experts) -> Tensor {
        if experts.normalises_weights {
            let sum = self.recorder.sum_last(&weights);
            weights = self.recorder.binary("aten.div.Tensor", &weights, &sum);
        }
        self.recorder.convert(&weights, DType::Float16)
    }

    /// Sends tokens to their experts, which are spread over the ranks, and back: one call.
    fn dispatch(&mut self, x: &Tensor, rows: i64, experts: &Experts) -> Tensor {
        let hidden = self.model.hidden_size;
        // The simulator deals tokens out to experts in turn: with few of them some experts have none, and their weights are not asked for.
        let own = (experts.count / self.expert_parallel).min(rows * experts.per_token) as usize;
        let width = experts.intermediate_size;
        let chosen = indices([rows, experts.per_token]);
        let result = half([rows, experts.per_token, hidden]);
        let of_each = |argument: Argument| Argument::List(vec![argument; own]);
        let (gate_up, down) = ([hidden, 2 * width], [width, hidden]);
        let mut arguments = vec![tensor(x), tensor(&chosen)];
        let operator = match self.quantization {
            Quantization::None => {
                for weight in [gate_up, down] {
                    arguments.extend([of_each(tensor(&half(weight))), of_each(Argument::None)]);
                }
                "tensor_cast.dispatch_ffn_combine.default"
            }
            Quantization::W8A8Static | Quantization::W8A8Dynamic => {
                for weight in [gate_up, down] {
                    arguments.extend([
                        of_each(tensor(&bytes(weight))),
                        of_each(tensor(&scale())),
                        of_each(Argument::None),
                        of_each(Argument::None),
                        dtype(DType::Float16),
                    ]);
                }
                "tensor_cast.dispatch_ffn_combine_quant.default"
            }
        };
        arguments.extend([integer(0), self.expert_ranks()]);
        self.recorder.one(operator, arguments, result)
    }

    /// The experts that every token goes through; each rank has all of them.
    fn shared_expert(&mut self, x: &Tensor, width: i64) -> Tensor {
        let hidden = self.model.hidden_size;
        let is_matrix = x.shape.len() == 2;
        let rows = x.elements() / hidden;
        let flat = |pass: &mut Self, x: &Tensor, width: i64| {
            if is_matrix { x.clone() } else { pass.recorder.view(x, [-1, width]) }
        };
        let deep = |pass: &mut Self, x: &Tensor, width: i64| {
            if is_matrix { x.clone() } else { pass.recorder.view(x, [1, rows, width]) }
        };
        let input = if self.is_quantized() { self.quantize(x) } else { x.clone() };
        let input = flat(self, &input, hidden);
        let both = self.linear(&input, 2 * width);
        let [gate, up] = self.recorder.split(&both, [width, width]);
        let gate = deep(self, &gate, width);
        let up = deep(self, &up, width);
        let activated = self.recorder.binary("tensor_cast.swiglu.default", &gate, &up);
        let activated = if self.is_quantized() { self.quantize(&activated) } else { activated };
        let activated = flat(self, &activated, width);
        let result = self.linear(&activated, hidden);
        deep(self, &result, hidden)
    }
}
