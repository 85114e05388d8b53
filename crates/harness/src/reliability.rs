//! What tries the tools from outside: mutated inputs, kills and failing system calls, many writers at once.
//!
//! The programs of this package run the built `perfdb` as a user would, with a seed and a count, and hold what is left against what was there:
//!
//! ```text
//! cargo run -p perfdb-harness --bin mutated-inputs -- --seed 1 --count 10000
//! cargo run -p perfdb-harness --bin interrupted-writers -- --seed 1 --count 1000
//! cargo run -p perfdb-harness --bin many-writers -- --seed 1 --count 1000
//! cargo run -p perfdb-harness --bin beside-originals -- --originals CHECKOUT --seed 1 --count 1000
//! ```
//!
//! Each finding comes with the command that repeats it. `docs/reliability.md` has the figures of the runs so far.
//!
//! ```
//! use perfdb_harness::reliability::draws::Draws;
//! use perfdb_harness::reliability::mutations::mutate;
//!
//! let mut bytes = b"Input Shapes,Average Duration(us)\n\"16,5120\",5.0\n".to_vec();
//! let names = mutate(&mut bytes, &mut Draws::of(1, 7));
//! let mut again = b"Input Shapes,Average Duration(us)\n\"16,5120\",5.0\n".to_vec();
//! assert_eq!(mutate(&mut again, &mut Draws::of(1, 7)), names);
//! assert_eq!(bytes, again);
//! ```

pub mod cases;
pub mod contention;
pub mod draws;
pub mod files;
pub mod findings;
pub mod interruptions;
pub mod mutated;
pub mod mutations;
pub mod numbers;
pub mod originals;
pub mod program;
pub mod world;

/// What goes wrong in the harness itself; findings about tools are values.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
