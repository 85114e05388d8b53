//! Operators on tensors without contents: each records the call that it is and returns the tensor that it makes.

use perfdb_query::{Argument, DType, Query, Results, Tensor};

/// Calls of one operator with the same arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The call as a question to a database.
    pub query: Query,
    /// How often it occurs in the pass.
    pub count: u64,
}

/// The calls of a pass.
pub(crate) struct Recorder {
    calls: Vec<Call>,
    /// How often what is recorded now occurs.
    times: u64,
    tensor_parallel: i64,
    expert_parallel: i64,
}

/// A tensor of 16-bit floats.
pub(crate) fn half(shape: impl Into<Vec<i64>>) -> Tensor {
    Tensor::new(shape, DType::Float16)
}

/// A tensor of 64-bit integers.
pub(crate) fn indices(shape: impl Into<Vec<i64>>) -> Tensor {
    Tensor::new(shape, DType::Int64)
}

/// A tensor of signed bytes.
pub(crate) fn bytes(shape: impl Into<Vec<i64>>) -> Tensor {
    Tensor::new(shape, DType::Int8)
}

/// A scale of quantization: a 32-bit float without dimensions.
pub(crate) fn scale() -> Tensor {
    Tensor::new([], DType::Float32)
}

/// A tensor as an argument.
pub(crate) fn tensor(tensor: &Tensor) -> Argument {
    Argument::Tensor(tensor.clone())
}

/// A list of integers as an argument.
pub(crate) fn list(items: impl IntoIterator<Item = i64>) -> Argument {
    Argument::List(items.into_iter().map(Argument::Integer).collect())
}

/// An integer as an argument.
pub(crate) fn integer(value: i64) -> Argument {
    Argument::Integer(value)
}

/// A data type as an argument.
pub(crate) fn dtype(dtype: DType) -> Argument {
    Argument::Text(format!("torch.{dtype}"))
}

/// A tensor of another shape and the same type.
fn reshaped(tensor: &Tensor, shape: impl Into<Vec<i64>>) -> Tensor {
    Tensor::new(shape, tensor.dtype)
}

/// The shape with another last dimension.
pub(crate) fn with_last(shape: &[i64], last: i64) -> Vec<i64> {
    let mut shape = shape.to_vec();
    if let Some(dimension) = shape.last_mut() {
        *dimension = last;
    }
    shape
}

/// The shape with another first dimension.
fn with_first(shape: &[i64], first: i64) -> Vec<i64> {
    let mut shape = shape.to_vec();
    if let Some(dimension) = shape.first_mut() {
        *dimension = first;
    }
    shape
}

impl Recorder {
    pub(crate) fn new(tensor_parallel: i64, expert_parallel: i64) -> Self {
        Recorder { calls: Vec::new(), times: 1, tensor_parallel, expert_parallel }
    }

    /// What is recorded from now on occurs so often.
    pub(crate) fn occurs(&mut self, times: i64) {
        self.times = times.max(0) as u64;
    }

    pub(crate) fn into_calls(self) -> Vec<Call> {
        self.calls
    }

    pub(crate) fn record(&mut self, operator: &str, arguments: impl IntoIterator<Item = Argument>, results: Results) {
        if self.times == 0 {
            return;
        }
        let query = Query::operator(operator)
            .arguments(arguments)
            .results(results)
            .tp_size(self.tensor_parallel)
            .ep_size(self.expert_parallel);
        match self.calls.iter_mut().find(|call| call.query == query) {
            Some(call) => call.count += self.times,
            None => self.calls.push(Call { query, count: self.times }),
        }
    }

    /// Records a call with one result.
    pub(crate) fn one(
        &mut self,
        operator: &str,
        arguments: impl IntoIterator<Item = Argument>,
        result: Tensor,
    ) -> Tensor {
        self.record(operator, arguments, Results::One(Argument::Tensor(result.clone())));
        result
    }

    /// Records a call with several results.
    pub(crate) fn many<const N: usize>(
        &mut self,
        operator: &str,
        arguments: impl IntoIterator<Item = Argument>,
        results: [Tensor; N],
    ) -> [Tensor; N] {
        self.record(operator, arguments, Results::Many(results.iter().map(tensor).collect()));
        results
    }

    /// Another shape of the same elements; -1 stands for the dimension that follows from the others.
    pub(crate) fn view<const N: usize>(&mut self, x: &Tensor, to: [i64; N]) -> Tensor {
        let known: i64 = to.iter().filter(|dimension| **dimension != -1).product();
        let shape = to.map(|dimension| if dimension == -1 { x.elements() / known.max(1) } else { dimension });
        self.one("aten.view.default", [tensor(x), list(to)], reshaped(x, shape))
    }

    /// (1, a, b, c) as (1, b, a, c).
    pub(crate) fn swap_middle(&mut self, x: &Tensor) -> Tensor {
        let mut shape = x.shape.clone();
        shape.swap(1, 2);
        self.one("aten.permute.default", [tensor(x), list([0, 2, 1, 3])], reshaped(x, shape))
    }

    /// (m, k) times (k, n).
    pub(crate) fn matmul(&mut self, x: &Tensor, width: i64) -> Tensor {
        let weight = Tensor::new([x.shape[x.shape.len() - 1], width], x.dtype);
        self.one("aten.mm.default", [tensor(x), tensor(&weight)], reshaped(x, with_last(&x.shape, width)))
    }

    /// Parts of a matrix, column by column.
    pub(crate) fn split<const N: usize>(&mut self, x: &Tensor, widths: [i64; N]) -> [Tensor; N] {
        let parts = widths.map(|width| reshaped(x, with_last(&x.shape, width)));
        self.many("aten.split_with_sizes.default", [tensor(x), list(widths), integer(1)], parts)
    }

    /// The rows before `end`.
    pub(crate) fn first_rows(&mut self, x: &Tensor, end: i64) -> Tensor {
        let arguments = [tensor(x), integer(0), integer(0), integer(end)];
        self.one("aten.slice.Tensor", arguments, reshaped(x, with_first(&x.shape, end)))
    }

    /// `count` more rows, all zero.
    pub(crate) fn pad_rows(&mut self, x: &Tensor, count: i64) -> Tensor {
        let arguments = [tensor(x), list([0, 0, 0, count]), Argument::Float(0.0)];
        self.one("aten.constant_pad_nd.default", arguments, reshaped(x, with_first(&x.shape, x.shape[0] + count)))
    }

    /// In another data type.
    pub(crate) fn convert(&mut self, x: &Tensor, to: DType) -> Tensor {
        let result = Tensor::new(x.shape.clone(), to);
        self.one("prims.convert_element_type.default", [tensor(x), dtype(to)], result)
    }

    /// An operator on two tensors with a result like the first.
    pub(crate) fn binary(&mut self, operator: &str, x: &Tensor, y: &Tensor) -> Tensor {
        self.one(operator, [tensor(x), tensor(y)], x.clone())
    }

    /// The sum along the last dimension, which is kept with size 1.
    pub(crate) fn sum_last(&mut self, x: &Tensor) -> Tensor {
        let arguments = [tensor(x), list([-1]), Argument::Boolean(true)];
        self.one("aten.sum.dim_IntList", arguments, reshaped(x, with_last(&x.shape, 1)))
    }

    /// Sums over the tensor-parallel ranks; nothing happens on one rank.
    pub(crate) fn all_reduce(&mut self, x: &Tensor) -> Tensor {
        if self.tensor_parallel == 1 {
            return x.clone();
        }
        let arguments = [tensor(x), integer(0), list(0..self.tensor_parallel)];
        self.one("tensor_cast.all_reduce.default", arguments, x.clone())
    }

    /// The parts of all tensor-parallel ranks along a dimension (-1: the last); nothing happens on one rank.
    pub(crate) fn all_gather(&mut self, x: &Tensor, dimension: i64, gathered: i64) -> Tensor {
        if self.tensor_parallel == 1 {
            return x.clone();
        }
        let shape = if dimension == 0 { with_first(&x.shape, gathered) } else { with_last(&x.shape, gathered) };
        let arguments = [tensor(x), integer(dimension), integer(0), list(0..self.tensor_parallel)];
        self.one("tensor_cast.all_gather.default", arguments, reshaped(x, shape))
    }
}
