//! Dense feed-forward layers.

use super::Pass;
use perfdb_query::Tensor;

impl Pass<'_> {
    /// The norm of residual and attention, and what the layer makes of it: (tokens, hidden), summed over the ranks.
    pub(super) fn feed_forward(&mut self, residual: &Tensor, attended: &Tensor) -> Tensor {
        let (tokens, hidden) = (self.tokens, self.model.hidden_size);
        let width = (self.model.intermediate_size + self.tensor_parallel - 1) / self.tensor_parallel;
        let matrix = if self.is_quantized() {
            let normed = self.add_norm_quantized(residual, attended);
            self.recorder.view(&normed, [-1, hidden])
        } else {
            let normed = self.add_norm(residual, attended);
            self.recorder.view(&normed, [tokens, hidden])
        };
        let both = self.linear(&matrix, 2 * width);
        let [gate, up] = self.recorder.split(&both, [width, width]);
        let gate = self.recorder.view(&gate, [1, tokens, width]);
        let up = self.recorder.view(&up, [1, tokens, width]);
        let activated = self.recorder.binary("tensor_cast.swiglu.default", &gate, &up);
        let activated = if self.is_quantized() {
            let activated = self.quantize(&activated);
            self.recorder.view(&activated, [-1, width])
        } else {
            self.recorder.view(&activated, [tokens, width])
        };
        self.linear_reduced(&activated, hidden)
    }
}
