//! Adds up the durations of a trace by `args.source`: `time_by_source TRACE [THREADS]`.

use perfdb_trace::chrome::{Part, ReadOptions, read_ordered};
use perfdb_trace::source::Source;
use std::collections::BTreeMap;
use std::convert::Infallible;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("time_by_source TRACE [THREADS]")?;
    let threads = arguments.next().map_or(Ok(1), |threads| threads.parse())?;
    let mut source = Source::open(&path)?;
    let mut total_us: BTreeMap<String, f64> = BTreeMap::new();
    read_ordered(
        &mut source,
        &ReadOptions::profiler().args(["source", "kernel_type"]),
        threads,
        |found: &mut Vec<(String, f64)>, event| {
            if !event.has_phase("X") {
                return Ok(());
            }
            let source = event.text_arg(0).unwrap_or_default();
            let duration = event.duration().ok_or("dur is not a number")?;
            match found.iter_mut().find(|(name, _)| *name == source) {
                Some((_, sum)) => *sum += duration.to_f64(),
                None => found.push((source.into_owned(), duration.to_f64())),
            }
            Ok::<(), &str>(())
        },
        |part| {
            match part {
                Part::Chunk(found) => {
                    found.into_iter().for_each(|(name, sum)| *total_us.entry(name).or_default() += sum);
                }
                Part::Restart => total_us.clear(),
                Part::Member { .. } => {}
            }
            Ok::<(), Infallible>(())
        },
    )?;
    for (name, total_us) in total_us {
        println!("{:<14} {total_us:>16.1} us", name);
    }
    Ok(())
}
