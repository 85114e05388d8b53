//! Numbers of layers: they count from 0 in every forward pass, and where nobody annotated passes, the order of the kinds of
//! layers gives them.

use perfdb_trace::sequence::Layer;

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
    let (first, period) = period_of(&runs, steps_are_passes);
    let mut numbers = Vec::with_capacity(layers.len());
    let mut next = 0;
    for (at, run) in runs.iter().enumerate() {
        if at >= first && period.is_some_and(|period| (at - first) % period == 0) {
            next = 0;
        }
        if at == 0
            && first == 0
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

/// From which run on the order of kinds repeats, and after how many runs it begins again. What comes before, say the
/// encoders of a diffusion model, is a pass of its own.
fn period_of(runs: &[Run], steps_are_passes: bool) -> (usize, Option<usize>) {
    let same = |one: &Run, other: &Run| one.unit == other.unit && (!steps_are_passes || one.count == other.count);
    for first in 0..runs.len() {
        let rest = &runs[first..];
        // Behind something else, the order must be there twice as a whole.
        let longest = if first == 0 { rest.len() } else { rest.len() / 2 + 1 };
        let period = (1..longest).find(|period| rest.iter().zip(&rest[*period..]).all(|(one, other)| same(one, other)));
        if period.is_some() {
            return (first, period);
        }
    }
    (0, None)
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
    fn what_comes_before_the_first_pass_counts_for_itself() {
        let encoder_first = [(0, 2), (8, 2), (30, 0), (38, 1), (60, 0), (68, 1), (90, 0), (98, 1)];
        assert_eq!(of(&encoder_first, true), [0, 1, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn one_run_is_one_pass() {
        assert_eq!(of(&[(3, 0), (12, 0), (20, 0)], false), [0, 1, 2]);
        assert!(of(&[], false).is_empty());
    }
}
