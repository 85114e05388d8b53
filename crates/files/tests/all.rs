//! The tests of this crate are one program: that is linked once.

#[cfg(feature = "fault-injection")]
mod faults;
mod shards;
