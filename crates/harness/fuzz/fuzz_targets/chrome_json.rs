#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| perfdb_harness::properties::check("chrome_json", bytes));
