//! Numbers of layers: they count from 0 in every forward pass, and where nobody annotated passes, the order of the kinds of
//! layers tells them.

use perfdb_sequence::Layer;

use super::PlacedLayer;

/// Layers of one kind that touch.
struct Run {
    unit: usize,
    count: usize,
}

/// Numbers the layers of a sequence. `lengths` gives the blocks of each kind of layer.
pub(super) fn numbered(layers: &[Layer], lengths: impl Fn(usize) -> usize, steps_are_passes: bool) -> Vec<PlacedLayer> {
    let mut runs: Vec<Run> = Vec::new();
    let mut before: Option<&Layer> = None;
    for layer in layers {
        let touches = before.is_some_and(|before| {
            before.unit == layer.unit && 4 * (layer.entries.start - before.entries.end) <= lengths(layer.unit)
        });
        match runs.last_mut() {
            Some(run) if touches => run.count += 1,
            _ => runs.push(Run { unit: layer.unit, count: 1 }),
        }
        before = Some(layer);
    }
    let same = |one: &Run, other: &Run| one.unit == other.unit && (!steps_are_passes || one.count == other.count);
    let period = (1..runs.len()).find(|period| runs.iter().zip(&runs[*period..]).all(|(one, other)| same(one, other)));
    let mut numbers = Vec::with_capacity(layers.len());
    let mut next = 0;
    for (at, run) in runs.iter().enumerate() {
        if period.is_some_and(|period| at % period == 0) {
            next = 0;
        }
        if at == 0
            && let Some(later) = period.and_then(|period| runs.get(period))
        {
            // The trace began inside a pass.
            next = later.count.saturating_sub(run.count);
        }
        numbers.extend(next..next + run.count);
        next += run.count;
    }
    layers
        .iter()
        .zip(numbers)
        .map(|(layer, number)| PlacedLayer { blocks: layer.entries.clone(), unit: layer.unit, number: number as u32 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(layers: &[(usize, usize)], steps_are_passes: bool) -> Vec<u32> {
        let layer = |(start, unit): &(usize, usize)| Layer { entries: *start..*start + 8, unit: *unit };
        let layers: Vec<Layer> = layers.iter().map(layer).collect();
        numbered(&layers, |_| 8, steps_are_passes).into_iter().map(|layer| layer.number).collect()
    }

    #[test]
    fn passes_follow_from_the_order_of_kinds() {
        let two_kinds = [(0, 0), (8, 0), (16, 1), (40, 0), (48, 0), (56, 1)];
        assert_eq!(of(&two_kinds, false), [0, 1, 2, 0, 1, 2]);
        assert_eq!(of(&two_kinds, true), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn a_first_pass_that_is_cut_counts_from_its_end() {
        let cut = [(0, 0), (30, 0), (38, 0), (46, 0)];
        assert_eq!(of(&cut, false), [2, 0, 1, 2]);
        assert_eq!(of(&cut, true), [0, 1, 2, 3], "an annotated step is one pass");
    }

    #[test]
    fn one_run_is_one_pass() {
        assert_eq!(of(&[(3, 0), (12, 0), (20, 0)], false), [0, 1, 2]);
        assert_eq!(of(&[], false), []);
    }
}
