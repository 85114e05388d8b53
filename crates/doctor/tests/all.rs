//! The tests of this crate are one program: that is linked once.

mod indented;
#[path = "injection/main.rs"]
mod injection;
mod real_files;
mod vectors;
