//! What must hold for the readers of perfdb, for any bytes they are given.
//!
//! Each [`Property`] is a function of bytes that panics where something does not hold: a reader that panics itself, two ways of reading the
//! same bytes that differ, text that does not survive being written and read again, files that are left behind. Tests here try each with
//! mutations of small inputs; `crates/harness/fuzz` hands the same functions to libFuzzer.
//!
//! ```
//! let property = perfdb_harness::properties::find("literals").expect("there is one");
//! (property.check)(b"[('a', 1_0), 0x1F]");
//! ```

mod chrome_json;
mod comm_results;
mod database_csv;
mod fia_jsonl;
mod gzip;
mod kernel_csv;
mod literals;
mod manifests;
mod parquet_import;
mod seeds;
mod shape_expressions;
mod trickle;
mod worker_protocol;
mod yaml;

pub use seeds::seeds;

use std::time::Duration;

/// What must hold for one kind of input.
#[derive(Debug, Clone, Copy)]
pub struct Property {
    /// Its name, which is also that of the fuzz target.
    pub name: &'static str,
    /// Panics where it does not hold.
    pub check: fn(&[u8]),
    /// Pieces of such inputs, for mutations that come far.
    pub words: &'static [&'static str],
}

/// All of them, by name.
pub const PROPERTIES: [Property; 12] = [
    Property { name: "chrome_json", check: chrome_json::check, words: chrome_json::WORDS },
    Property { name: "comm_results", check: comm_results::check, words: comm_results::WORDS },
    Property { name: "database_csv", check: database_csv::check, words: database_csv::WORDS },
    Property { name: "fia_jsonl", check: fia_jsonl::check, words: fia_jsonl::WORDS },
    Property { name: "gzip", check: gzip::check, words: gzip::WORDS },
    Property { name: "kernel_csv", check: kernel_csv::check, words: kernel_csv::WORDS },
    Property { name: "literals", check: literals::check, words: literals::WORDS },
    Property { name: "manifests", check: manifests::check, words: manifests::WORDS },
    Property { name: "parquet_import", check: parquet_import::check, words: parquet_import::WORDS },
    Property { name: "shape_expressions", check: shape_expressions::check, words: shape_expressions::WORDS },
    Property { name: "worker_protocol", check: worker_protocol::check, words: worker_protocol::WORDS },
    Property { name: "yaml", check: yaml::check, words: yaml::WORDS },
];

/// Checks the property of a name.
///
/// # Panics
/// When it does not hold, and when there is none of this name.
pub fn check(property: &str, bytes: &[u8]) {
    let property = find(property).unwrap_or_else(|| panic!("{property} is not a property"));
    let before = cpu_time();
    (property.check)(bytes);
    if let (Some(before), Some(after)) = (before, cpu_time()) {
        let (took, limit) = (
            after.saturating_sub(before),
            LEAST_TIME + TIME_OF_A_BYTE * u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        );
        assert!(took <= limit, "{}: {} bytes took {took:?}, more than {limit:?}", property.name, bytes.len());
    }
}

/// What a check may take: several readings of the same bytes, without optimisation and under a fuzzer's instrumentation. Work that grows with
/// the square of the bytes passes it within some thousand.
const LEAST_TIME: Duration = Duration::from_secs(1);
const TIME_OF_A_BYTE: Duration = Duration::from_micros(200);

/// How long this thread has computed, where the system says so. Waiting for others does not count.
fn cpu_time() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The property of a name.
pub fn find(name: &str) -> Option<&'static Property> {
    PROPERTIES.iter().find(|property| property.name == name)
}
