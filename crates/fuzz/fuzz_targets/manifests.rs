#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| perfdb_properties::check("manifests", bytes));
