//! Durations between, beside and beyond measured ones, with 90 % intervals.
//!
//! ```
//! use perfdb_model::predict::{Class, MatMul, Operands, Point, Precision, Rows, Table};
//!
//! let product = |rows| {
//!     let product = MatMul { rows, columns: 4096.0, inner: 4096.0 };
//!     Point::matmul(product, Operands::of(Precision::Bf16))
//! };
//! let mut measured = Rows::new(3);
//! for (line, (rows, time_us)) in [(64.0, 30.0), (256.0, 33.0), (1024.0, 110.0), (4096.0, 401.0)].into_iter().enumerate() {
//!     measured.push(line as u32, &product(rows), time_us, None);
//! }
//! let table = Table::new(vec![measured], Some(0));
//! let answer = table.predict(0, &product(2048.0)).ok_or("no rows")?;
//! assert_eq!(answer.class, Class::Inside);
//! assert!(answer.low_us < answer.duration_us && answer.duration_us < answer.high_us);
//! # Ok::<(), &str>(())
//! ```
//!
//! A [`Point`] says what a call is: its axes, its work, its configuration. A [`Table`] holds the measured [`Rows`] of a kernel
//! type by slice, learns from them when it is first asked, and answers with an [`Estimate`]. The method: the time of a fitted
//! roofline, times the efficiency of the nearest rows (ordinary kriging of its logarithm) or of all rows of a small slice (Gaussian processes),
//! with an interval as wide as the errors of rows that were left out in the way the question lies to the rows.

mod around;
mod build;
mod calibrate;
mod calibration;
mod class;
mod collocated;
mod column_set;
mod cross_validation;
mod doubt;
mod estimate;
mod explanation;
mod extrapolate;
mod forest;
mod kriging;
mod model;
mod outliers;
mod partners;
mod pass;
pub mod plan;
mod point;
mod power;
mod process;
mod repeats;
mod rows;
mod scale;
mod search;
mod side;
mod table;
mod work_range;

pub use crate::roofline::{
    Attention, Collective, Experts, LatentAttention, MatMul, Operands, Precision, Roofline, Work,
};
pub use class::Class;
pub use collocated::CollocatedRow;
pub use column_set::{ColumnSet, Columns};
pub use cross_validation::{CrossValidation, LeftOut, LeftOutRows, Trial};
pub use doubt::{Doubt, Residual};
pub use estimate::{Estimate, measured_interval};
pub use explanation::{Explanation, Neighbour};
pub use extrapolate::Method;
pub use model::Model;
pub use outliers::Outlier;
pub use pass::{Calls, SHARED, Sum, sum};
pub use point::{BY_ROUTED_ROWS, Coupling, MOST_AXES, Point, configuration};
pub use repeats::Timed;
pub use rows::{Rows, log_deviation};
pub use search::neighbours;
pub use table::Table;
