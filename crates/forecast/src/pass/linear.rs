//! Linear layers: products of matrices, or quantised ones.

use super::Pass;
use crate::deployment::Layout;
use crate::quantization::Quantization;
use crate::recorder::{bytes, dtype, half, integer, list, scale, tensor};
use perfdb_query::{Argument, DType, Tensor};

impl Pass<'_> {
    /// Whether linear layers compute in signed bytes.
    pub(super) fn is_quantized(&self) -> bool {
        self.quantization != Quantization::None
    }

    /// (rows, inputs) to (rows, width) on this rank; the inputs are signed bytes if linear layers are quantised.
    pub(super) fn linear(&mut self, x: &Tensor, width: i64) -> Tensor {
        if x.dtype != DType::Int8 {
            return self.recorder.matmul(x, width);
        }
        let arguments = Self::quantized_arguments(x, width, None);
        self.recorder.one("tensor_cast.static_quant_linear.default", arguments, half([x.shape[0], width]))
    }

    /// The same, and a bias added.
    pub(super) fn linear_with_bias(&mut self, x: &Tensor, width: i64) -> Tensor {
        let (bias, result) = (half([width]), half([x.shape[0], width]));
        if x.dtype != DType::Int8 {
            let arguments = [&bias, x, &half([x.shape[1], width])].map(tensor);
            return self.recorder.one("aten.addmm.default", arguments, result);
        }
        let arguments = Self::quantized_arguments(x, width, Some(&bias));
        self.recorder.one("tensor_cast.static_quant_linear.default", arguments, result)
    }

    /// A linear layer whose inputs are spread over the ranks, and the sum over them: (tokens, width), on one rank (1, tokens, width).
    pub(super) fn linear_reduced(&mut self, x: &Tensor, width: i64) -> Tensor {
        if self.tensor_parallel == 1 {
            let result = self.linear(x, width);
            return self.recorder.view(&result, [1, self.tokens, width]);
        }
        if self.layout == Layout::Simulator2026 {
            let partial = self.linear(x, width);
            return self.recorder.all_reduce(&partial);
        }
        let group = [integer(0), list(0..self.tensor_parallel)];
        let result = half([x.shape[0], width]);
        if x.dtype == DType::Int8 {
            let arguments = Self::quantized_arguments(x, width, None).into_iter().chain(group);
            return self.recorder.one("tensor_cast.static_quant_linear_all_reduce.default", arguments, result);
        }
        let weight = half([x.shape[1], width]);
        let arguments = [tensor(x), tensor(&weight), Argument::None].into_iter().chain(group);
        self.recorder.one("tensor_cast.matmul_all_reduce.default", arguments, result)
    }

    /// Inputs, weight, its scale and offset, the inputs' scale and offset, bias, type of the result.
    fn quantized_arguments(x: &Tensor, width: i64, bias: Option<&Tensor>) -> [Argument; 8] {
        let weight = bytes([x.shape[1], width]);
        let none = Argument::None;
        let bias = bias.map_or(Argument::None, tensor);
        let scale = tensor(&scale());
        [tensor(x), tensor(&weight), scale.clone(), none.clone(), scale, none, bias, dtype(DType::Float16)]
    }

    /// In signed bytes.
    pub(super) fn quantize(&mut self, x: &Tensor) -> Tensor {
        let result = bytes(x.shape.clone());
        match self.quantization {
            Quantization::W8A8Dynamic => {
                let arguments = [tensor(x), list([])];
                let results = [result, scale()];
                let [result, _] =
                    self.recorder.many("tensor_cast.dynamic_quantize_symmetric.default", arguments, results);
                result
            }
            Quantization::None | Quantization::W8A8Static => {
                let arguments = [tensor(x), tensor(&scale()), Argument::None];
                self.recorder.one("tensor_cast.quantize.default", arguments, result)
            }
        }
    }

    /// Root mean square norm, in signed bytes.
    pub(super) fn norm_quantized(&mut self, x: &Tensor) -> Tensor {
        let (weight, result) = (half([self.model.hidden_size]), bytes(x.shape.clone()));
        match self.quantization {
            Quantization::W8A8Dynamic => {
                let operator = "tensor_cast.rms_norm_dynamic_quant_symmetric.default";
                let arguments = [tensor(x), tensor(&weight), self.epsilon(), list([])];
                let [result, _] = self.recorder.many(operator, arguments, [result, scale()]);
                result
            }
            Quantization::None | Quantization::W8A8Static => {
                let arguments = [tensor(x), tensor(&weight), tensor(&scale()), Argument::None, self.epsilon()];
                self.recorder.one("tensor_cast.rms_norm_quant.default", arguments, result)
            }
        }
    }

    /// The norm of a sum, in signed bytes; the sum is another result.
    pub(super) fn add_norm_quantized(&mut self, residual: &Tensor, added: &Tensor) -> Tensor {
        let (weight, result) = (half([self.model.hidden_size]), bytes(residual.shape.clone()));
        match self.quantization {
            Quantization::W8A8Dynamic => {
                let operator = "tensor_cast.add_rms_norm_dynamic_quant2_symmetric.default";
                let arguments = [tensor(residual), tensor(added), tensor(&weight), self.epsilon(), list([])];
                let [result, ..] = self.recorder.many(operator, arguments, [result, scale(), residual.clone()]);
                result
            }
            Quantization::None | Quantization::W8A8Static => {
                let operator = "tensor_cast.add_rms_norm_quant2.default";
                let scale = tensor(&scale());
                let arguments =
                    [tensor(residual), tensor(added), tensor(&weight), scale, Argument::None, self.epsilon()];
                let [result, _] = self.recorder.many(operator, arguments, [result, residual.clone()]);
                result
            }
        }
    }
}
