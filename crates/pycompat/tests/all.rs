//! The tests of this crate are one program: that is linked once.

mod cpython_random;
mod yaml;
mod yaml_vectors;
