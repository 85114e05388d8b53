//! What an operator costs: answers from the operator performance database, as the simulator's readers give them and better.
//!
//! Nothing is read until it is asked for; a table is read and indexed once. Reading needs no lock, because writers replace files whole.
//!
//! ```
//! use perfdb_query::{DType, Database, Query, Tensor};
//!
//! # let folder = tempfile::tempdir()?;
//! let table = "Input Shapes,Input Data Types,Average Duration(us)\n\"16,512;512,2048\",DT_BF16;DT_BF16,5.0\n";
//! std::fs::write(folder.path().join("MatMulV2.csv"), table)?;
//! std::fs::write(folder.path().join("op_mapping.yaml"), "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}")?;
//!
//! let database = Database::open(folder.path())?;
//! let query = Query::operator("aten.mm.default")
//!     .input(Tensor::new([16, 512], DType::BFloat16))
//!     .input(Tensor::new([512, 2048], DType::BFloat16));
//! let answer = database.lookup(&query)?;
//! assert_eq!((answer.duration_us, answer.rule, answer.rows[0].line), (5.0, Some("identity"), 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

/// The guide's examples are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/query.md")]
struct Guide;

mod answer;
mod context;
mod database;
mod decompose;
mod dtype;
mod engine;
mod error;
mod evaluation;
mod explain;
mod explanation;
mod facts;
mod findings;
mod foreign;
mod interpolate;
mod interval;
mod json;
mod lookup;
mod nearest;
mod operands;
mod passed_over;
mod query;
mod reason;
#[cfg(test)]
mod scan_tests;
mod search;
mod semantics;
mod shapes;
mod simulator;
mod state;
mod table;
mod trace;

pub use answer::{Answer, Collocated, Interpolation, LookupError, Part, Prediction, RowRef, Source, WeightedPoint};
pub use database::{Database, Reader};
pub use error::Error;
pub use evaluation::{Drift, Evaluation, Hidden, Outlier, Repeats, Score, Slices, Trial, Unanswered, outliers};
pub use explanation::Explanation;
pub use facts::{Fact, Facts};
pub use findings::add_findings;
pub use json::{MalformedQuery, answer_to_json, not_json};
pub use nearest::Nearest;
pub use passed_over::{PassedOver, passed_over};
pub use perfdb_model::predict::{Class, Doubt};
#[doc(no_inline)]
pub use perfdb_store::dtype::{DType, UnknownDType};
pub use query::{Argument, Grid, Query, Results, Shape, Tensor};
pub use reason::Reason;
pub use semantics::{Layer, ReaderSemantics, UnknownSemantics};
pub use simulator::{ChosenCorner, PartShapes, Statistics, Triangulate};
pub use table::pool::{Dimensions, Shapes, ShapesIter};
pub use table::{KernelRow, KernelRows};
pub use trace::{Answered, MalformedCall, ParallelConfig, TracedCall, read_trace, read_trace_events};
