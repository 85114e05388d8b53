//! Several passes in one table, and long pauses.

use perfdb_trace::time::{MICROSECOND, Picoseconds};
use rustc_hash::FxHashSet;

use super::columns::Table;
use crate::code::Code;
use crate::finding::{Evidence, Findings};

/// A pause between passes.
const PAUSE: Picoseconds = 1_000 * MICROSECOND;
/// A pause that is worth a word of its own.
const LONG_PAUSE: Picoseconds = 10_000 * MICROSECOND;
/// Rows that a pass has, at least.
const ROWS: usize = 20;

/// A pause in which no row runs.
struct Pause {
    /// Place in order of start of the row behind it, and that row.
    place: usize,
    row: usize,
    length: Picoseconds,
}

pub(super) fn check(table: &Table, found: &mut Findings) {
    let mut order: Vec<usize> = (0..table.rows.len()).collect();
    order.sort_by_key(|at| table.rows[*at].start);
    let mut pauses = Vec::new();
    let mut until = Picoseconds::MAX;
    for (place, row) in order.iter().enumerate() {
        let this = &table.rows[*row];
        if this.start > until {
            pauses.push(Pause { place, row: *row, length: this.start - until });
        }
        until = if place == 0 { this.end() } else { until.max(this.end()) };
    }
    let span = until - order.first().map_or(0, |first| table.rows[*first].start);
    several_passes(table, &pauses, found);
    let longest = pauses.iter().max_by_key(|pause| (pause.length, std::cmp::Reverse(pause.place)));
    if let Some(pause) = longest
        && pause.length > LONG_PAUSE
        && 5 * pause.length > span
    {
        let evidence = Evidence::new().time("gap_us", pause.length).with("at_row", pause.row);
        found.warning(Code::StepGap, None, evidence);
    }
}

fn several_passes(table: &Table, pauses: &[Pause], found: &mut Findings) {
    let steps = table.rows.iter().map(|row| row.step).collect::<FxHashSet<_>>().len();
    let passes = if table.places.step.is_some() && steps > 1 {
        steps
    } else {
        let cuts = pauses.iter().filter(|pause| pause.length > PAUSE).map(|pause| pause.place);
        let cuts: Vec<usize> = std::iter::once(0).chain(cuts).chain([table.rows.len()]).collect();
        let sizes: Vec<usize> = cuts.windows(2).map(|cut| cut[1] - cut[0]).collect();
        let first = sizes.first().copied().unwrap_or_default();
        let alike = sizes.iter().all(|size| *size >= ROWS && 10 * size.abs_diff(first) <= first);
        if sizes.len() < 2 || !alike {
            return;
        }
        sizes.len()
    };
    found.warning(Code::SeveralPasses, None, Evidence::new().with("passes", passes));
}
