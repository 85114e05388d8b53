//! Op replay: database row to explicit case to executor to op_summary.
//!
//! ```
//! use perfdb_replay::{operator::{Planned, PlanOptions}, operators, row::Row};
//!
//! let header = ["Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types"];
//! let header = header.map(String::from);
//! let cells = ["2,3;4,3", "DT_BF16;DT_BF16", "ND;ND", "2,4", "DT_BF16"];
//! let operator = operators::find("MatMulV2").ok_or("unknown operator")?;
//! let Planned::Replay(call) = (operator.plan)(&Row::new(&header, &cells), &PlanOptions::default())? else {
//!     return Err("skipped".into());
//! };
//! assert_eq!(call.api, "torch.mm");
//! assert_eq!(call.inputs[1].shape, [3, 4]); // stored as recorded, passed transposed
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod accelerators;
pub mod argument;
pub mod backend;
pub mod bindings;
pub mod case;
pub mod case_file;
pub mod error;
pub mod executor;
pub mod fill;
pub mod folder;
pub mod init;
mod inputs;
pub mod journal;
pub mod kernels;
mod memory;
pub mod microbench;
mod op_summary;
pub mod operator;
pub mod operators;
pub mod plan;
pub mod plan_writer;
pub mod probe;
pub mod refusal;
pub mod removal;
pub mod results;
pub mod row;
pub mod row_selection;
pub mod session;
pub mod settings;
mod settings_error;
pub mod table;
