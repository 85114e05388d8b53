//! Whether a database is good enough for a workload.
//!
//! A [`Workload`] is the calls of a forward pass: those of a simulator's trace, or of a manifest. [`audit`] asks a database for each
//! of them and says which share of the calls, and of the time, is based on rows as they are, on rows around them, or on nothing; and
//! how far the tables that are asked can be trusted.
//!
//! ```
//! use perfdb_audit::coverage::{Question, AnswerSource, Workload, audit, Options};
//! use perfdb_query::{DType, Database, Query, Tensor};
//!
//! # let folder = tempfile::tempdir()?;
//! let header = "Input Shapes,Input Data Types,Input Formats,Average Duration(us)\n";
//! let row = |tokens: u32, us: f64| format!("\"{tokens},512;512,2048\",DT_BF16;DT_BF16,ND;ND,{us}\n");
//! let rows = [row(16, 5.0), row(64, 8.0)].concat();
//! std::fs::write(folder.path().join("MatMulV2.csv"), format!("{header}{rows}"))?;
//! std::fs::write(folder.path().join("op_mapping.yaml"), "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}")?;
//!
//! let call = |tokens| {
//!     let query = Query::operator("aten.mm.default")
//!         .input(Tensor::new([tokens, 512], DType::BFloat16))
//!         .input(Tensor::new([512, 2048], DType::BFloat16));
//!     Question::new("mm", query).calls(32)
//! };
//! let workload = Workload { name: "decode".to_owned(), questions: vec![call(16), call(40)] };
//! let database = Database::open(folder.path())?;
//! let audit = audit(&database, vec![workload], &Options::default())?;
//! let shares = &audit.workloads[0].shares;
//! assert_eq!((shares.of(AnswerSource::Exact).calls, shares.of(AnswerSource::Interpolated).calls), (32, 32));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer_source;
mod asked;
mod audit;
pub mod density;
mod error;
mod kernels;
mod shares;
mod suggestion;
mod workload;

pub use answer_source::{AnswerSource, Finding};
pub use asked::Asked;
pub use audit::{Audit, Options, WorkloadAudit, audit};
pub use error::Error;
pub use kernels::{KernelAudit, Trust};
pub use shares::{Share, Shares};
pub use suggestion::{Settled, Suggestion, Suggestions, Unsuggested, append, settle, suggest};
pub use workload::{Question, Workload};
