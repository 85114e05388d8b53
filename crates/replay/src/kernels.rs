//! Reference kernels on the host: tensors, their element types, and the functions that operators are put together from.
//!
//! Floating-point work is done in float32 (float64 for float64 tensors), inputs widened exactly, results rounded once,
//! half to even. Blocks and orders of summation depend on shapes alone, so any number of threads gives the same bits.
//!
//! ```
//! use perfdb_replay::kernels::batched::{Order, matrix_product};
//! use perfdb_replay::kernels::tensor::{Data, Tensor};
//!
//! let a = Tensor::new([1, 2], Data::Float32(vec![1.0, 2.0])).ok_or("two elements")?;
//! let b = Tensor::new([2, 1], Data::Float32(vec![10.0, 1.0])).ok_or("two elements")?;
//! let product = matrix_product(&a, &b, Order::BatchFirst)?;
//! assert_eq!(product.data(), &Data::Float32(vec![12.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod attention;
pub mod batched;
pub mod broadcast;
pub mod cached;
pub mod cast;
pub mod context;
pub mod element;
pub mod error;
pub mod experts;
pub mod exponential;
pub mod grouped;
pub mod heads;
pub mod jobs;
pub mod matmul;
pub mod memory;
pub mod normalise;
pub mod number;
pub mod paging;
pub mod permute;
pub mod product;
pub mod quantise;
pub mod rope;
pub mod rows;
pub mod shape;
pub mod sort;
mod stored;
pub mod target;
pub mod tensor;
pub mod topk;
pub mod typed;
pub mod window;

/// The sixteen-bit floating-point types of tensors.
pub use half;
#[doc(no_inline)]
pub use perfdb_store::dtype::DType;
pub(crate) use target::with_target;
pub(crate) use typed::with_float;
pub(crate) use typed::with_type;
