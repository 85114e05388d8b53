//! Text that equals CPython's, byte for byte: `repr` of floats, `round`, fixed and grouped formats, `json.dump`, the csv
//! dialect, literals; and YAML as PyYAML reads it. No domain knowledge.
//!
//! ```
//! use perfdb_pycompat::{float, format, json, literal, value::Value};
//!
//! assert_eq!(float::repr(1e16), "1e+16");
//! assert_eq!(float::round(2.675, 2), 2.67);
//! assert_eq!(format::fixed_grouped(1234567.891, 1), "1,234,567.9");
//! assert_eq!(literal::parse("[('MatMulV2', 7.33)]").unwrap().repr(), "[('MatMulV2', 7.33)]");
//! assert_eq!(json::to_string(&Value::List(vec![Value::Float(0.00001)])).unwrap(), "[\n  1e-05\n]");
//! ```
#![forbid(unsafe_code)]
// A part of the tools, whose interface promises nothing: what its name says needs no comment.
#![allow(missing_docs)]

pub mod csv_text;
pub mod float;
pub mod format;
pub mod integer;
pub mod json;
pub mod literal;
pub mod number;
pub mod random;
pub mod text;
pub mod value;
pub mod yaml;

mod to_value;
