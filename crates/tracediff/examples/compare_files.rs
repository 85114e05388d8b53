//! Compares two traces and prints in one sentence what makes the difference; with `verdicts` also how many are sure.
//!
//! ```text
//! cargo run --release -p perfdb-tracediff --example compare_files -- A.json B.json [verdicts]
//! ```

use perfdb_tracediff::{AnalysisOptions, Document, LoadOptions, Trace, analyse};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(first), Some(second)) = (arguments.next(), arguments.next()) else {
        return Err("two traces are needed".into());
    };
    let confidence = arguments.next().is_some_and(|word| word == "verdicts");
    let options = LoadOptions::default();
    let (first, second) = (Trace::open(first, &options)?, Trace::open(second, &options)?);
    let analysis = analyse(&first, &second, &AnalysisOptions { confidence, ..AnalysisOptions::default() })?;
    if let Document::Plain(document) = analysis.document {
        if let Some(elapsed) = document.details.elapsed {
            println!("{}", elapsed.verdict);
        }
        if let Some(confidence) = document.details.confidence {
            let sure = confidence.operations.iter().filter(|row| row.verdict.verdict != "cannot tell").count();
            println!("sure of {sure} of {} operations", confidence.operations.len());
        }
    }
    Ok(())
}
