//! Rendering of results: console tables, JSON, CSV, Markdown, HTML.
#![forbid(unsafe_code)]

pub mod comparison_page;
pub mod event_table;
pub mod m6;
mod markdown;
pub mod microbench;
pub mod operators;
pub mod shapes;

pub mod tracediff;
