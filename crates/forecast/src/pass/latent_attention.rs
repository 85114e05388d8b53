//! Attention whose queries, keys and values go through latent projections.

use super::{Pass, Rotation};
use crate::model::Attention;
use crate::recorder::{half, indices, integer, scale, tensor};
use perfdb_query::{Argument, DType, Results, Tensor};

impl Pass<'_> {
    /// (1, tokens, hidden) to (tokens, hidden), summed over the ranks.
    pub(super) fn latent_attention(&mut self, hidden: &Tensor, rotation: &Rotation) -> Tensor {
        let Attention::Latent { q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim, .. } =
            self.model.attention
        else {
            return hidden.clone();
        };
        let (tokens, hidden_size, heads) = (self.tokens, self.model.hidden_size, self.heads());
        let normed = self.norm(hidden);
        let qk_head_dim = qk_nope_head_dim + qk_rope_head_dim;
        let is_quantized = self.is_quantized();

        let matrix = self.recorder.view(&normed, [tokens, -1]);
        let weight = |rows: i64, columns: i64| {
            let dtype = if is_quantized { DType::Int8 } else { DType::Float16 };
            Argument::Tensor(Tensor::new([rows, columns], dtype))
        };
        let mut arguments = vec![
            tensor(&matrix),
            tensor(&rotation.cosine),
            tensor(&rotation.sine),
            weight(q_lora_rank, hidden_size),
            tensor(&half([q_lora_rank])),
            weight(heads * qk_head_dim, q_lora_rank),
            weight(kv_lora_rank + qk_rope_head_dim, hidden_size),
            tensor(&half([kv_lora_rank])),
        ];
        let sizes = [heads, qk_head_dim, qk_nope_head_dim, qk_rope_head_dim, kv_lora_rank, q_lora_rank];
        arguments.extend(sizes.map(integer));
        let mut operator = "tensor_cast.mlapo.default";
        if is_quantized {
            operator = "tensor_cast.mlapo_quant.default";
            arguments.extend((0..3).flat_map(|_| [tensor(&scale()), Argument::None]));
        }
        let results = [
            half([tokens, heads, qk_head_dim]),
            half([tokens, kv_lora_rank]),
            half([tokens, qk_rope_head_dim]),
            half([tokens, q_lora_rank]),
        ];
        let [query, latent, rotated, _] = self.recorder.many(operator, arguments, results);

        let cache = self.cache();
        let arguments = [&latent, &rotated, &cache, &indices([tokens])].map(tensor);
        self.recorder.record("tensor_cast.concat_and_cache_mla.default", arguments, Results::Unknown);
        let weights = [
            half([heads, qk_nope_head_dim, kv_lora_rank]),
            half([heads, kv_lora_rank, v_head_dim]),
            half([kv_lora_rank, heads * (qk_nope_head_dim + v_head_dim)]),
        ];
        let arguments = [&query, &cache].map(tensor).into_iter().chain(self.sequence_arguments());
        let arguments = arguments.chain(weights.iter().map(tensor)).chain([integer(v_head_dim)]);
        let result = half([tokens, heads, v_head_dim]);
        let attended = self.recorder.one("tensor_cast.multihead_latent_attention.default", arguments, result);
        let width = heads * v_head_dim;
        let attended = if self.is_quantized() {
            let attended = self.quantize(&attended);
            let attended = self.recorder.view(&attended, [1, tokens, -1]);
            self.recorder.view(&attended, [-1, width])
        } else {
            let attended = self.recorder.view(&attended, [1, tokens, -1]);
            self.recorder.view(&attended, [tokens, width])
        };
        self.linear_reduced(&attended, hidden_size)
    }
}
