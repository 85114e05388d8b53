//! Op replay: database row to explicit case to executor to op_summary.
//!
//! ```
//! use perfdb_replay::{operator::{Fate, PlanOptions}, operators, row::Row};
//!
//! let header = ["Input Shapes", "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types"];
//! let header = header.map(String::from);
//! let cells = ["2,3;4,3", "DT_BF16;DT_BF16", "ND;ND", "2,4", "DT_BF16"];
//! let operator = operators::find("MatMulV2").ok_or("unknown operator")?;
//! let Fate::Replay(call) = (operator.plan)(&Row::new(&header, &cells), &PlanOptions::default())? else {
//!     return Err("skipped".into());
//! };
//! assert_eq!(call.api, "torch.mm");
//! assert_eq!(call.inputs[1].shape, [3, 4]); // stored as recorded, passed transposed
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod argument;
pub mod bindings;
pub mod case;
pub mod dtype;
pub mod fill;
pub mod init;
pub mod operator;
pub mod operators;
pub mod refusal;
pub mod row;
pub mod shape;
pub mod tensor;
