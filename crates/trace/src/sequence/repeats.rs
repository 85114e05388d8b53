//! Layers: stretches of a sequence that stand there again and again, told by repetition alone.
//!
//! A run of exact copies gives a *unit*; copies with a few entries more, fewer or other are found afterwards by local
//! alignment with the unit, which wraps around.

mod copies;
mod tandem;

use std::ops::Range;

/// A layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Entries of the sequence.
    pub entries: Range<usize>,
    /// Number of its unit in the [`Units`].
    pub unit: usize,
}

/// What an entry is, and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What counts as equal.
    pub symbol: u8,
    /// Whether it is a large piece of work; three of these make a layer.
    pub heavy: bool,
    /// How long it takes, in any unit.
    pub time: u64,
}

/// The units that were found, shared by the sequences of a trace so that equal layers have equal numbers.
///
/// ```
/// use perfdb_trace::sequence::{Entry, Units};
/// let entries: Vec<Entry> =
///     [9, 1, 2, 3, 1, 2, 3, 1, 2, 3, 8].map(|symbol| Entry { symbol, heavy: symbol < 4, time: 1 }).to_vec();
/// let mut units = Units::default();
/// let layers = units.layers(&entries);
/// assert_eq!(layers.iter().map(|layer| layer.entries.clone()).collect::<Vec<_>>(), [1..4, 4..7, 7..10]);
/// assert_eq!(units.symbols(0), [1, 2, 3]);
/// ```
#[derive(Debug, Default)]
pub struct Units {
    units: Vec<Unit>,
}

#[derive(Debug)]
struct Unit {
    symbols: Vec<u8>,
    /// The smallest rotation, by which units are known.
    canonical: Vec<u8>,
}

/// How often the longest repetition is looked for.
const ROUNDS: usize = 12;
/// Repetitions below this share of the time of the sequence are none.
const LEAST_SHARE: u64 = 50;

impl Units {
    /// The symbols of a unit.
    pub fn symbols(&self, unit: usize) -> &[u8] {
        self.units.get(unit).map_or(&[], |unit| &unit.symbols)
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The layers of a sequence, in order. Units that are new are added.
    pub fn layers(&mut self, entries: &[Entry]) -> Vec<Layer> {
        let symbols: Vec<u8> = entries.iter().map(|entry| entry.symbol).collect();
        let whole: u64 = entries.iter().map(|entry| entry.time).sum();
        let mut layers: Vec<Layer> = Vec::new();
        for _ in 0..ROUNDS {
            let free = uncovered(&layers, entries.len());
            let Some(run) = tandem::heaviest(entries, &symbols, &free) else { break };
            if run.weight * LEAST_SHARE < whole {
                break;
            }
            let before = layers.len();
            self.take(run, entries, &symbols, &mut layers);
            if layers.len() == before {
                break;
            }
            layers.sort_by_key(|layer| layer.entries.start);
        }
        for unit in 0..self.units.len() {
            for stretch in uncovered(&layers, entries.len()) {
                self.copies(unit, stretch, &symbols, &mut layers);
            }
            layers.sort_by_key(|layer| layer.entries.start);
        }
        layers
    }

    /// Layers of a run of exact copies.
    fn take(&mut self, run: tandem::Run, entries: &[Entry], symbols: &[u8], layers: &mut Vec<Layer>) {
        let unit = &symbols[run.start..run.start + run.period];
        let doubled = [unit, unit].concat();
        let shorter = (0..self.units.len()).find(|known| {
            let known = &self.units[*known].symbols;
            let covered: usize = copies::find(&doubled, known).iter().map(ExactSizeIterator::len).sum();
            3 * known.len() < 2 * run.period && 20 * covered >= 17 * doubled.len()
        });
        if let Some(shorter) = shorter {
            self.copies(shorter, run.start..run.end, symbols, layers);
            return;
        }
        if let Some(half) = tandem::seam(&entries[run.start..run.start + run.period]) {
            let symbols_of_half = unit[..half].to_vec();
            self.units.push(Unit { canonical: smallest_rotation(&symbols_of_half), symbols: symbols_of_half });
            self.copies(self.units.len() - 1, run.start..run.end, symbols, layers);
            return;
        }
        let canonical = smallest_rotation(unit);
        let (number, start) = match self.units.iter().position(|known| known.canonical == canonical) {
            Some(known) => {
                let first = &self.units[known].symbols;
                let shift = (0..run.period).find(|shift| symbols[run.start + shift..].starts_with(first));
                (known, run.start + shift.unwrap_or(0))
            }
            None => {
                self.units.push(Unit { symbols: unit.to_vec(), canonical });
                (self.units.len() - 1, run.start)
            }
        };
        if run.odd_first && start == run.start {
            layers.push(Layer { entries: start - run.period..start, unit: number });
        }
        let mut at = start;
        while at + run.period <= run.end {
            layers.push(Layer { entries: at..at + run.period, unit: number });
            at += run.period;
        }
    }

    /// Layers of imperfect copies within a stretch.
    fn copies(&self, unit: usize, stretch: Range<usize>, symbols: &[u8], layers: &mut Vec<Layer>) {
        let known = &self.units[unit].symbols;
        if 10 * stretch.len() < 7 * known.len() || stretch.len() > copies::LONGEST {
            return;
        }
        let found = copies::find(&symbols[stretch.clone()], known);
        layers.extend(
            found
                .into_iter()
                .map(|range| Layer { entries: range.start + stretch.start..range.end + stretch.start, unit }),
        );
    }
}

/// What no layer covers; layers are in order.
fn uncovered(layers: &[Layer], length: usize) -> Vec<Range<usize>> {
    let mut free = Vec::new();
    let mut at = 0;
    for layer in layers {
        if layer.entries.start > at {
            free.push(at..layer.entries.start);
        }
        at = layer.entries.end.max(at);
    }
    if at < length {
        free.push(at..length);
    }
    free
}

fn smallest_rotation(unit: &[u8]) -> Vec<u8> {
    let doubled = [unit, unit].concat();
    let rotations = (0..unit.len()).map(|shift| &doubled[shift..shift + unit.len()]);
    rotations.min().unwrap_or_default().to_vec()
}

#[cfg(test)]
mod tests;
