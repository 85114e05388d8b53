//! The JSON scanner: walks over JSON text, checks all of it, and decodes only what is asked for.
//!
//! The dialect is Python's: standard JSON plus the words `NaN`, `Infinity` and `-Infinity`, integers of any size, numbers
//! beyond the range of a double, and escaped halves of surrogate pairs. Texts are found, checked and handed over undecoded
//! ([`Text`]), numbers with their digits ([`Number`]), lists and objects as the text they stand in ([`Raw`]).
//!
//! ```
//! use perfdb_trace::scan::{Scanner, TextRule, Value};
//!
//! let mut scanner = Scanner::new(br#"{"skipped": [1, {"a": "\u00e9"}], "dur": 12}"#, TextRule::Strict);
//! scanner.enter_object().unwrap();
//! let mut first = true;
//! while let Some(key) = scanner.next_key(&mut first).unwrap() {
//!     if key.is("dur") {
//!         let Value::Number(number) = scanner.value().unwrap() else { panic!("a number") };
//!         assert_eq!((number.text(), number.to_f64()), ("12", 12.0));
//!     } else {
//!         scanner.skip_value().unwrap();
//!     }
//! }
//! scanner.finish().unwrap();
//! ```

mod fast;
mod fault;
mod number;
mod scanner;
mod skip;
mod text;
mod text_end;
mod value;

pub use fault::{Fault, FaultKind};
pub use number::Number;
pub use scanner::Scanner;
pub use text::{HalfPair, Text, TextRule};
pub use value::{Raw, Value};

pub(crate) use fast::{Behind, Fast, Key, longer_number, short_list_of_integers, short_number};
pub(crate) use skip::Skip;
pub(crate) use text_end::{BLOCK, common_prefix, equal_bytes, has_any_of};
pub(crate) use value::{Kind, Span};
