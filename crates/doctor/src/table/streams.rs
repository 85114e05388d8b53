//! The rows of one stream one after the other.

use perfdb_trace::time::{MICROSECOND, Picoseconds};

use super::columns::{Row, Table};
use crate::code::Code;
use crate::finding::{Evidence, Findings};

/// Starts at epoch microseconds that went through doubles are off by up to this.
const ROUNDING: Picoseconds = 300_000;
/// A wait may be this much longer than what was before it.
const LONG_WAIT: Picoseconds = 1_000 * MICROSECOND;

pub(super) fn check(table: &Table, found: &mut Findings) {
    unordered(table, found);
    overlaps(table, found);
    waits(table, found);
}

/// The rows by device, stream, start and file order.
fn by_stream(table: &Table) -> Vec<&Row> {
    let mut order: Vec<&Row> = table.rows.iter().collect();
    order.sort_by_key(|row| (row.device, row.stream, row.start));
    order
}

fn same_stream(one: &&Row, other: &&Row) -> bool {
    (one.device, one.stream) == (other.device, other.stream)
}

fn unordered(table: &Table, found: &mut Findings) {
    let rows = table.rows.windows(2).filter(|pair| pair[1].start < pair[0].start).count();
    if rows > 0 {
        found.note(Code::RowsUnordered, None, Evidence::new().with("rows", rows));
    }
}

fn overlaps(table: &Table, found: &mut Findings) {
    if table.places.stream.is_none() {
        return;
    }
    let order = by_stream(table);
    let (mut pairs, mut time, mut worst) = (0_u64, 0, 0);
    for stream in order.chunk_by(same_stream) {
        let mut last: Option<&Row> = None;
        for row in stream.iter().filter(|row| !row.copy) {
            if let Some(before) = last {
                let aside = table.text(row.stream) == "N/A" && row.collective && before.collective;
                if row.start < before.end() - ROUNDING && !aside {
                    let overlap = before.end().min(row.end()) - row.start;
                    pairs += 1;
                    time += overlap;
                    worst = worst.max(overlap);
                }
            }
            if last.is_none_or(|before| row.end() > before.end()) {
                last = Some(row);
            }
        }
    }
    let share = table.share(time);
    if pairs > 0 && share >= 0.001 {
        let evidence = Evidence::new().with("pairs", pairs).time("worst_us", worst);
        found.warning(Code::OverlapImpossible, share, evidence);
    }
}

fn waits(table: &Table, found: &mut Findings) {
    if table.places.wait.is_none() {
        return;
    }
    let order = by_stream(table);
    let first = table.rows.iter().map(|row| row.start).min().unwrap_or_default();
    let (mut rows, mut worst) = (0_u64, None);
    for stream in order.chunk_by(same_stream) {
        let mut before: Option<Picoseconds> = None;
        for row in stream {
            if let Some(wait) = row.wait {
                let gap = row.start - before.unwrap_or(first);
                if wait < 0 {
                    rows += 1;
                } else if wait > LONG_WAIT && wait > gap + LONG_WAIT && wait > row.start - first {
                    rows += 1;
                    worst = worst.max(Some(wait));
                }
            }
            before = before.max(Some(row.end()));
        }
    }
    if rows > 0 {
        let evidence = Evidence::new().with("rows", rows);
        let evidence = worst.into_iter().fold(evidence, |evidence, worst| evidence.time("worst_us", worst));
        found.warning(Code::BadWait, None, evidence);
    }
}

/// Sum of durations over the span of the starts, of the first stream where they cannot belong together.
pub(super) fn sum_over_span(table: &Table) -> Option<f64> {
    by_stream(table).chunk_by(same_stream).find_map(|stream| {
        let (first, last) = (stream.first()?, stream.last()?);
        let sum: Picoseconds = stream.iter().map(|row| row.duration).sum();
        let span = last.start - first.start;
        (stream.len() >= 10 && sum > 0 && sum >= 20 * span).then(|| (1000 * sum / span.max(1)) as f64 / 1000.0)
    })
}
