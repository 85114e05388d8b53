//! YAML as PyYAML's safe loader reads it: YAML 1.1 words, equal keys, merge keys.
//!
//! The grammar is the parser crate's (see the decision record on YAML); what a scalar means and how maps are put together is
//! decided here:
//!
//! - unquoted `yes`, `no`, `on`, `off`, `true`, `false` (and their capitalised forms) are booleans, quoted ones are texts;
//! - unquoted `010`, `1_000`, `0x1F` and `1:30` are the integers 8, 1000, 31 and 90; `1e3` and `0o17` are texts;
//! - `!!str 5` is a text, `!!int '5'` an integer; tags outside the core schema have no plain value and are refused;
//! - of equal keys in one map the last one wins and keeps the place of the first;
//! - `<<` merges the maps it names, own keys win;
//! - anchors and aliases work; a byte-order mark at the start is skipped; several documents in one file are refused.
//!
//! Dates stay texts. Documents are bounded, so that a small file cannot take the memory of the machine: [`MAX_DEPTH`],
//! [`MAX_NODES`], [`MAX_TEXT_BYTES`].
//!
//! ```
//! use perfdb_pycompat::yaml;
//!
//! let map = yaml::parse("base: &b {zero_cost: yes}\nop: {<<: *b, note: x}").unwrap().into_map().unwrap();
//! assert!(map.get("op").and_then(yaml::Node::as_map).unwrap().get("zero_cost").unwrap().is_truthy());
//!
//! #[derive(serde::Deserialize)]
//! struct Rule { pattern: String, limit: Option<u32> }
//! let rules: Vec<Rule> = yaml::from_str("- {pattern: 'a*', limit: 1_000}\n- {pattern: b}").unwrap();
//! assert_eq!((rules[0].limit, rules[1].pattern.as_str()), (Some(1000), "b"));
//! ```

mod compose;
mod deserialize;
mod error;
mod flat_list;
mod locate;
mod node;
mod scalar;

pub use compose::{MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES, parse};
pub use deserialize::from_str;
pub use error::{Error, Fault, Position};
pub use locate::{NodePath, Step};
pub use node::{Key, Map, Node};
