//! The tests of this crate are one program: that is linked once.

#[path = "chrome/main.rs"]
mod chrome;
mod json_dialect;
mod kernels;
mod timeline;
