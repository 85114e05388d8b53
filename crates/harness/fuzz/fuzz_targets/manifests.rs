#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| perfdb_harness::properties::check("manifests", bytes));
