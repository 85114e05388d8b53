//! Compares two traces and prints in one sentence what makes the difference.
//!
//! ```text
//! cargo run --release -p perfdb-tracediff --example compare_files -- A.json B.json
//! ```

use perfdb_tracediff::{AnalysisOptions, Document, LoadOptions, Trace, analyse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args_os().skip(1);
    let (Some(first), Some(second)) = (paths.next(), paths.next()) else {
        return Err("two traces are needed".into());
    };
    let options = LoadOptions::default();
    let (first, second) = (Trace::open(first, &options)?, Trace::open(second, &options)?);
    let analysis = analyse(&first, &second, &AnalysisOptions::default())?;
    if let Document::Plain(document) = analysis.document
        && let Some(elapsed) = document.elapsed
    {
        println!("{}", elapsed.verdict);
    }
    Ok(())
}
