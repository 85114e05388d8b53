//! Tensors in host memory. Their data types are those that the operators of a database take: [`Data::DTYPES`].

use half::{bf16, f16};

use crate::kernels::number::Number;
use crate::kernels::shape::{Shape, elements, swap_last_two};
use perfdb_store::dtype::DType;

/// Elements of a tensor, row-major.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "one variant per data type, named as in DType")]
pub enum Data {
    Float32(Vec<f32>),
    Float16(Vec<f16>),
    BFloat16(Vec<bf16>),
    Float64(Vec<f64>),
    Int8(Vec<i8>),
    UInt8(Vec<u8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Bool(Vec<bool>),
}

/// Evaluates an expression with `$values` bound to the vector inside a [`Data`] of any type.
#[macro_export]
macro_rules! with_data {
    ($data:expr, $values:ident => $body:expr) => {
        match $data {
            $crate::kernels::tensor::Data::Float32($values) => $body,
            $crate::kernels::tensor::Data::Float16($values) => $body,
            $crate::kernels::tensor::Data::BFloat16($values) => $body,
            $crate::kernels::tensor::Data::Float64($values) => $body,
            $crate::kernels::tensor::Data::Int8($values) => $body,
            $crate::kernels::tensor::Data::UInt8($values) => $body,
            $crate::kernels::tensor::Data::Int16($values) => $body,
            $crate::kernels::tensor::Data::Int32($values) => $body,
            $crate::kernels::tensor::Data::Int64($values) => $body,
            $crate::kernels::tensor::Data::Bool($values) => $body,
        }
    };
}

/// A tensor in host memory. With `transposed` the elements lie in the order of the shape with its last two
/// dimensions swapped back, as a view that was not copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Shape,
    transposed: bool,
    data: Data,
}

impl Data {
    /// The data types that tensors can have.
    pub const DTYPES: [DType; 10] = [
        DType::Float32,
        DType::Float16,
        DType::BFloat16,
        DType::Float64,
        DType::Int8,
        DType::UInt8,
        DType::Int16,
        DType::Int32,
        DType::Int64,
        DType::Bool,
    ];

    /// The data type, one of [`DTYPES`](Data::DTYPES).
    pub fn dtype(&self) -> DType {
        match self {
            Data::Float32(_) => DType::Float32,
            Data::Float16(_) => DType::Float16,
            Data::BFloat16(_) => DType::BFloat16,
            Data::Float64(_) => DType::Float64,
            Data::Int8(_) => DType::Int8,
            Data::UInt8(_) => DType::UInt8,
            Data::Int16(_) => DType::Int16,
            Data::Int32(_) => DType::Int32,
            Data::Int64(_) => DType::Int64,
            Data::Bool(_) => DType::Bool,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        with_data!(self, values => values.len())
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Tensor {
    /// A plain tensor; `None` if the number of elements is not that of the shape.
    pub fn new(shape: impl Into<Shape>, data: Data) -> Option<Tensor> {
        let shape = shape.into();
        (elements(&shape) == data.len()).then_some(Tensor { shape, transposed: false, data })
    }

    /// A tensor without dimensions, of 64-bit type or `bool`.
    pub fn scalar(number: Number) -> Tensor {
        let data = match number {
            Number::Float(value) => Data::Float64(vec![value]),
            Number::Int(value) => Data::Int64(vec![value]),
            Number::Bool(value) => Data::Bool(vec![value]),
        };
        Tensor { shape: Shape::default(), transposed: false, data }
    }

    /// The tensor with other elements in the same places; `None` if there are more or fewer of them.
    pub(crate) fn with_data(&self, data: Data) -> Option<Tensor> {
        (data.len() == self.len()).then(|| Tensor { shape: self.shape.clone(), transposed: self.transposed, data })
    }

    /// The same memory seen with the last two dimensions swapped.
    pub fn transposed_view(self) -> Tensor {
        let shape = swap_last_two(&self.shape);
        Tensor { shape, transposed: !self.transposed, data: self.data }
    }

    /// The shape as the operator sees it.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The size of the last dimension; 1 for a scalar.
    pub(crate) fn last_size(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// The data type.
    pub fn dtype(&self) -> DType {
        self.data.dtype()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// True where memory is in the order of the shape with its last two dimensions swapped.
    pub fn is_transposed(&self) -> bool {
        self.transposed
    }

    /// The elements in memory order.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The elements in memory order, to be changed in place.
    pub(crate) fn data_mut(&mut self) -> &mut Data {
        &mut self.data
    }

    /// Bytes of the elements.
    pub fn size_bytes(&self) -> u64 {
        self.len() as u64 * self.dtype().size_bytes() as u64
    }

    /// All elements as numbers, in the row-major order of the shape.
    pub fn values(&self) -> Vec<Number> {
        let in_memory: Vec<Number> = match &self.data {
            Data::Float32(values) => values.iter().map(|&value| Number::Float(value.into())).collect(),
            Data::Float16(values) => values.iter().map(|&value| Number::Float(value.into())).collect(),
            Data::BFloat16(values) => values.iter().map(|&value| Number::Float(value.into())).collect(),
            Data::Float64(values) => values.iter().map(|&value| Number::Float(value)).collect(),
            Data::Int8(values) => values.iter().map(|&value| Number::Int(value.into())).collect(),
            Data::UInt8(values) => values.iter().map(|&value| Number::Int(value.into())).collect(),
            Data::Int16(values) => values.iter().map(|&value| Number::Int(value.into())).collect(),
            Data::Int32(values) => values.iter().map(|&value| Number::Int(value.into())).collect(),
            Data::Int64(values) => values.iter().map(|&value| Number::Int(value)).collect(),
            Data::Bool(values) => values.iter().map(|&value| Number::Bool(value)).collect(),
        };
        let [.., rows, columns] = self.shape[..] else { return in_memory };
        if !self.transposed {
            return in_memory;
        }
        let matrix = rows * columns;
        let at = |flat: usize| {
            let (row, column) = (flat % matrix / columns, flat % columns);
            flat - flat % matrix + column * rows + row
        };
        (0..in_memory.len()).map(|flat| in_memory[at(flat)]).collect()
    }
}
