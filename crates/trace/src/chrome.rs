//! Chrome traces: the JSON that simulators and profilers write, event by event.
//!
//! [`Reader`] hands over one event after the other; [`read_ordered`] lets several threads look at the events of one file
//! and merges what they find in file order. Both check the whole file, keep nothing of it, and hand over values undecoded:
//! the fields every event can have, and those members of `args` that the caller names in its [`ReadOptions`].
//!
//! A trace may hold a second `traceEvents`; like every repeated key the last one wins, so the reader then announces that
//! ([`Item::Restart`], [`Part::Restart`]) and the caller drops what it has.

mod block;
mod chunk;
mod event;
mod form;
mod keys;
mod layout;
mod machine;
mod options;
mod ordered;
mod reader;
mod seen;
mod take;

pub use event::{Args, Event, Field};
pub use form::Form;
pub use options::{ReadOptions, TopLevel};
pub use ordered::{Part, ReadError, read_ordered};
pub use reader::{Item, Reader};
