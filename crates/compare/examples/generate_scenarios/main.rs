//! Writes the scenarios in `testdata/scenarios`: traces and forward-pass CSVs of two models in both phases.
//!
//! ```sh
//! cargo run -p perfdb-compare --example generate_scenarios            # into testdata/scenarios
//! cargo run -p perfdb-compare --example generate_scenarios -- DIR
//! ```
//!
//! Nothing in them was measured. Layer structure, shapes and kernel types are those of Qwen3-32B on 16 devices and
//! DeepSeek-V3 on 16 devices (8-bit weights and activations); times are plausible ones with a little seeded noise, and the
//! prediction is off by a few percent, more for some kernels. The same program always writes the same bytes.

mod deepseek;
mod model;
mod qwen;
mod write;

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/scenarios")), PathBuf::from);
    for (name, text) in write::files() {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}
