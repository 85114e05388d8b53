//! Reading JSON that is not quite JSON.

mod fault;
mod mend;
mod tally;
mod value;

pub(crate) use mend::{Mender, Plan};
pub(crate) use tally::{Seen, Tally};
