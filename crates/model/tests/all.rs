//! The tests of this crate are one program: that is linked once.

mod by_hand;
mod calibration;
mod collocated;
mod few_configurations;
mod left_out;
mod outliers;
#[path = "planned/main.rs"]
mod planned;
mod properties;
#[path = "measured/row.rs"]
mod row;
mod statistics_properties;
