//! Operations and bytes of the kernels of a forward pass, peaks of devices, and rooflines fitted to measured times.
//!
//! ```
//! use perfdb_model::roofline::{Device, MatMul, Operands, Precision};
//!
//! let work = MatMul { rows: 4096.0, columns: 8192.0, inner: 8192.0 }.work(Operands::of(Precision::Bf16));
//! let h200 = Device::find("NVIDIA H200").ok_or("no such device")?;
//! let shortest_us = h200.shortest_us(work, Precision::Bf16).ok_or("no peak for this type")?;
//! assert!((555.0..557.0).contains(&shortest_us));
//! # Ok::<(), &str>(())
//! ```
//!
//! Three things, and nothing that knows a database: [`Work`] of each kernel ([the table](kernels)), [`Device`] with what its maker
//! promises, and [`Roofline`], three numbers that say how the kernels of one table run in fact.

mod device;
mod fitted;
pub mod kernels;
mod precision;

pub use device::{Bound, Device, Devices};
pub use fitted::{Roofline, Terms};
pub use kernels::{Attention, Collective, Experts, LatentAttention, MatMul, Work, elementwise};
pub use precision::{Operands, Precision, UnknownPrecision};
