//! Numbers of layers: they count from 0 in every forward pass, and where nobody annotated passes, the order of the kinds of
//! layers gives them.

use perfdb_trace::sequence::Layer;

use super::PlacedLayer;

/// Layers of one kind that touch.
struct Run {
    unit: usize,
    count: usize,
}

/// Numbers the layers of a sequence that `counts` by their kind. `lengths` gives the blocks of each kind of layer. A sequence
/// `is_cut` where no step begins and ends it.
pub(super) fn numbered(
    layers: &[Layer],
    lengths: impl Fn(usize) -> usize,
    counts: impl Fn(usize) -> bool,
    is_cut: bool,
) -> Vec<PlacedLayer> {
    let mut runs: Vec<Run> = Vec::new();
    let mut before: Option<&Layer> = None;
    for layer in layers.iter().filter(|layer| counts(layer.unit)) {
        let touches = before.is_some_and(|before| {
            before.unit == layer.unit && 4 * (layer.entries.start - before.entries.end) <= lengths(layer.unit)
        });
        match runs.last_mut() {
            Some(run) if touches => run.count += 1,
            _ => runs.push(Run { unit: layer.unit, count: 1 }),
        }
        before = Some(layer);
    }
    let (first, period) = period_of(&runs, is_cut);
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
    let mut numbers = numbers.into_iter();
    layers
        .iter()
        .map(|layer| PlacedLayer {
            blocks: layer.entries.clone(),
            unit: layer.unit,
            number: counts(layer.unit).then(|| numbers.next()).flatten().map(|number| number as u32),
        })
        .collect()
}

/// From which run on the order of kinds repeats, and after how many runs it begins again. What comes before, say the
/// encoders of a diffusion model, is a pass of its own.
fn period_of(runs: &[Run], is_cut: bool) -> (usize, Option<usize>) {
    let last = runs.len().saturating_sub(1);
    let same_kind = |at: usize, later: usize| runs[at].unit == runs[later].unit;
    let same = |at: usize, later: usize| same_kind(at, later) && runs[at].count == runs[later].count;
    // Layers may lie before the beginning of the trace or behind its end.
    let cut = |at: usize, later: usize| {
        let begins = at == 0 && runs[at].count <= runs[later].count;
        let ends = later == last && runs[later].count <= runs[at].count;
        same(at, later) || same_kind(at, later) && (begins || ends)
    };
    for first in 0..runs.len() {
        let rest = runs.len() - first;
        let repeats = |period: usize, same: &dyn Fn(usize, usize) -> bool| {
            (first..runs.len() - period).all(|at| same(at, at + period))
        };
        // Behind something else, the order must be there twice as a whole.
        let twice = rest / 2 + 1;
        let longest = if first == 0 { rest } else { twice };
        let exact = (1..longest).find(|period| repeats(*period, &same));
        let nearly = || (1..twice).find(|period| repeats(*period, &cut));
        let by_kind = || (1..longest).find(|period| repeats(*period, &same_kind));
        let period = exact.or_else(|| if is_cut { nearly().or_else(by_kind) } else { None });
        if period.is_some() {
            return (first, period);
        }
    }
    (0, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(layers: &[(usize, usize)], is_cut: bool) -> Vec<u32> {
        let layer = |(start, unit): &(usize, usize)| Layer { entries: *start..*start + 8, unit: *unit };
        let layers: Vec<Layer> = layers.iter().map(layer).collect();
        numbered(&layers, |_| 8, |_| true, is_cut).into_iter().filter_map(|layer| layer.number).collect()
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
        assert_eq!(of(&cut, true), [2, 0, 1, 2]);
        assert_eq!(of(&cut, false), [0, 1, 2, 3], "an annotated step is whole");
    }

    #[test]
    fn encoders_of_one_kind_count_on() {
        let image_and_text = [(0, 0), (8, 0), (16, 0), (30, 0), (50, 0), (58, 0), (66, 0), (80, 0)];
        for is_cut in [false, true] {
            assert_eq!(of(&image_and_text, is_cut), [0, 1, 2, 3, 0, 1, 2, 3]);
        }
    }

    #[test]
    fn other_repetitions_between_layers_have_no_number() {
        let layer = |(start, unit): &(usize, usize)| Layer { entries: *start..*start + 8, unit: *unit };
        let layers: Vec<Layer> = [(0, 1), (8, 0), (16, 0), (24, 1), (40, 0)].iter().map(layer).collect();
        let found = numbered(&layers, |_| 8, |unit| unit == 0, false);
        let numbers: Vec<Option<u32>> = found.iter().map(|layer| layer.number).collect();
        assert_eq!(numbers, [None, Some(0), Some(1), None, Some(2)]);
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
