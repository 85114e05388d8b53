//! Per kernel type and shape: where the prediction is off.

mod key;
mod met;
mod rows;
mod trace;

pub(crate) use key::ShapeKeys;
pub use key::{NoShapes, shape_key};
pub use rows::{ShapeRow, ShapeRowKey, ShapeTotal, shape_rows};
pub use trace::{ShapeComparison, compare_files, read_predicted};
