//! Imperfect copies of a unit: local alignment that goes around the unit as often as it likes.

use std::ops::Range;

/// The longest sequence that is looked through.
pub(super) const LONGEST: usize = 20_000;

const MATCH: i32 = 2;
const MISMATCH: i32 = -3;
const SKIP: i32 = -3;

/// The copies of a unit in a sequence, in order: stretches in which at least three quarters of the unit's entries match.
pub(super) fn find(symbols: &[u8], unit: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    search(symbols, 0, unit, &mut found);
    found.sort_by_key(|range| range.start);
    found
}

fn search(symbols: &[u8], offset: usize, unit: &[u8], found: &mut Vec<Range<usize>>) {
    if unit.is_empty() || 10 * symbols.len() < 7 * unit.len() || symbols.len() > LONGEST {
        return;
    }
    let Some(best) = best_stretch(symbols, unit) else { return };
    let copies = best.copies.iter().filter(|copy| 4 * copy.matches >= 3 * unit.len());
    found.extend(copies.map(|copy| copy.range.start + offset..copy.range.end + offset));
    search(&symbols[..best.range.start], offset, unit, found);
    search(&symbols[best.range.end..], offset + best.range.end, unit, found);
}

/// A stretch that goes around a unit.
struct Stretch {
    range: Range<usize>,
    copies: Vec<Copy>,
}

struct Copy {
    range: Range<usize>,
    matches: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Start,
    Both,
    Sequence,
    Unit,
}

/// The stretch with the best score, if that is at least the length of the unit.
fn best_stretch(symbols: &[u8], unit: &[u8]) -> Option<Stretch> {
    let period = unit.len();
    let mut steps = vec![Step::Start; symbols.len() * period];
    let mut row = vec![0_i32; period];
    let mut best = (0, 0, 0);
    for (at, symbol) in symbols.iter().enumerate() {
        let above = row.clone();
        let steps = &mut steps[at * period..(at + 1) * period];
        for (place, expected) in unit.iter().enumerate() {
            let before = above[(place + period - 1) % period];
            let both = before + if symbol == expected { MATCH } else { MISMATCH };
            let skipped = above[place] + SKIP;
            (row[place], steps[place]) = match both.max(skipped).max(0) {
                0 => (0, Step::Start),
                score if score == both => (score, Step::Both),
                score => (score, Step::Sequence),
            };
        }
        // Entries of the unit that are left out: twice around is enough.
        for place in (0..2 * period).map(|place| place % period) {
            let score = row[(place + period - 1) % period] + SKIP;
            if score > row[place] {
                (row[place], steps[place]) = (score, Step::Unit);
            }
        }
        for (place, score) in row.iter().enumerate() {
            if *score > best.0 {
                best = (*score, at, place);
            }
        }
    }
    (best.0 >= period as i32).then(|| way_back(symbols, unit, &steps, best.1, best.2))
}

fn way_back(symbols: &[u8], unit: &[u8], steps: &[Step], last: usize, place: usize) -> Stretch {
    let period = unit.len();
    let (mut at, mut place) = (last as isize, place);
    let mut copies = vec![Copy { range: last + 1..last + 1, matches: 0 }];
    while let Some(step) = usize::try_from(at).ok().and_then(|at| steps.get(at * period + place)) {
        if *step == Step::Start {
            break;
        }
        if let Some(copy) = copies.last_mut().filter(|_| *step != Step::Unit) {
            copy.range.start = at as usize;
            copy.matches += usize::from(*step == Step::Both && symbols[at as usize] == unit[place]);
        }
        let wraps = place == 0 && *step != Step::Sequence;
        if *step != Step::Unit {
            at -= 1;
        }
        if *step != Step::Sequence {
            place = (place + period - 1) % period;
        }
        if wraps {
            let behind = (at + 1) as usize;
            copies.push(Copy { range: behind..behind, matches: 0 });
        }
    }
    copies.reverse();
    Stretch { range: (at + 1) as usize..last + 1, copies }
}
