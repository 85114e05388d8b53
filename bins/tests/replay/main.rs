//! Op replay and start-microbench from the outside: what the golden cases cannot show.

mod interruptions;
mod runs;
mod support;
