//! Tests of the library as its users see it.

mod bench_database;
mod enumeration;
mod expressions;
mod rule_files;
mod runs;
mod vectors;
