//! Attention with heads of queries that share heads of keys and values.

use super::{Pass, Rotation};
use crate::model::Attention;
use crate::recorder::{half, indices, integer, tensor};
use perfdb_query::{Argument, Results, Tensor};

impl Pass<'_> {
    /// (1, tokens, hidden) to (tokens, hidden), summed over the ranks.
    pub(super) fn grouped_attention(&mut self, hidden: &Tensor, rotation: &Rotation) -> Tensor {
        let Attention::Grouped { head_dim, normalises_heads, has_bias, .. } = self.model.attention else {
            return hidden.clone();
        };
        let normed = if self.is_quantized() { self.norm_quantized(hidden) } else { self.norm(hidden) };
        let (tokens, hidden_size) = (self.tokens, self.model.hidden_size);
        let (heads, kv_heads) = (self.heads(), self.kv_heads());
        let (q_width, kv_width) = (heads * head_dim, kv_heads * head_dim);

        let rows = if self.is_quantized() { -1 } else { tokens };
        let matrix = self.recorder.view(&normed, [rows, hidden_size]);
        let width = q_width + 2 * kv_width;
        let projected = if has_bias { self.linear_with_bias(&matrix, width) } else { self.linear(&matrix, width) };
        let [query, key, value] = self.recorder.split(&projected, [q_width, kv_width, kv_width]);
        let by_head = |pass: &mut Self, x: &Tensor, heads: i64, normalises: bool| {
            let x = pass.recorder.view(x, [1, tokens, heads * head_dim]);
            let mut x = pass.recorder.view(&x, [1, tokens, heads, head_dim]);
            if normalises {
                x = pass.norm(&x);
            }
            pass.recorder.swap_middle(&x)
        };
        let query = by_head(self, &query, heads, normalises_heads);
        let key = by_head(self, &key, kv_heads, normalises_heads);
        let value = by_head(self, &value, kv_heads, false);

        let arguments = [tensor(&key), tensor(&query), tensor(&rotation.cosine), tensor(&rotation.sine)];
        let rotated = [half([1, tokens, kv_heads, head_dim]), half([1, tokens, heads, head_dim])];
        let [key, query] = self.recorder.many("tensor_cast.apply_rope.default", arguments, rotated);
        let value = self.recorder.swap_middle(&value);
        let query = self.recorder.view(&query, [tokens, -1]);
        let key = self.recorder.view(&key, [tokens, -1]);
        let value = self.recorder.view(&value, [tokens, kv_width]);

        let cache = self.cache();
        let arguments = [&key, &value, &cache, &indices([tokens])].map(tensor);
        self.recorder.record("tensor_cast.reshape_and_cache.default", arguments, Results::Unknown);
        let side = half(cache.shape[1..].to_vec());
        let mut select = |at| {
            self.recorder.one("aten.select.int", [tensor(&cache), integer(0), integer(at)], side.clone());
        };
        select(0);
        select(1);
        let arguments = [tensor(&query), tensor(&side), tensor(&side), Argument::None];
        let arguments = arguments.into_iter().chain(self.sequence_arguments());
        let mut attended = self.recorder.one("tensor_cast.attention.default", arguments, query.clone());
        if self.is_quantized() {
            attended = self.quantize(&attended);
        }
        let attended = self.recorder.view(&attended, [1, tokens, -1]);
        let attended = self.recorder.view(&attended, [rows, q_width]);
        self.linear_reduced(&attended, hidden_size)
    }
}
