//! The steps that are compared: those of kinds that all runs have, without warm-up and without what held single steps up.

use std::collections::BTreeMap;

use perfdb_model::statistics::{RunSample, median};
use serde::Serialize;

use super::run::{Run, Times};
use crate::steps::Phase;

/// Standard deviations of a normal distribution per median distance from the median.
const DEVIATIONS: f64 = 1.4826;
/// A step is warm-up where it is longer than the median of those that follow by this many deviations and by that part of the median.
const WARM_UP: (f64, f64) = (5.0, 0.1);
/// A later step was held up where it is longer by these.
const HELD_UP: (f64, f64) = (8.0, 0.25);
/// Warm-up is at most this part of a run.
const MOST_WARM_UP: usize = 3;
/// Steps held up are at most this part of a run: where they are more, that is how it runs.
const MOST_HELD_UP: usize = 10;
/// With fewer steps nobody can say that one was held up.
const FEWEST: usize = 5;
/// Steps of a phase are of several kinds where the next larger one has more than this many times the kernels.
const NEXT_KIND: f64 = 1.5;

/// A step that is not compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOutStep {
    /// Trace of the run.
    pub path: String,
    /// Number of the step in the run, from 0.
    pub step: usize,
    /// `warm-up`, `held up`, or `not in every run` for a kind of step that a run lacks.
    pub why: &'static str,
    /// How long it took.
    pub elapsed_ms: f64,
    /// By the median of the steps of its kind in its run.
    pub of_median: f64,
}

/// A kind of steps that all runs have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindOfSteps {
    /// Phase, where it is known.
    pub phase: Option<Phase>,
    /// Part of the steps of all runs, by which it counts.
    pub weight: f64,
    /// Steps of it that are compared, of the runs before and after.
    pub steps: [u64; 2],
}

/// The steps that are compared.
pub(crate) struct Chosen {
    pub(crate) kinds: Vec<KindOfSteps>,
    pub(crate) left_out: Vec<LeftOutStep>,
    /// Per side, run and kind the numbers of the steps.
    steps: [Vec<Vec<Vec<usize>>>; 2],
}

impl Chosen {
    pub(crate) fn new(sides: [&[Run]; 2]) -> Chosen {
        let kinds_of = kinds(sides);
        let mut left_out = Vec::new();
        let warm_up = sides.iter().zip(&kinds_of).flat_map(|(runs, kinds)| runs.iter().zip(kinds));
        let warm_up = warm_up.map(|(run, kinds)| warm_up_of(run.elapsed(), kinds)).max().unwrap_or(0);
        let count = kinds_of.iter().flatten().flatten().max().map_or(0, |most| most + 1);
        let mut steps: [Vec<Vec<Vec<usize>>>; 2] = [Vec::new(), Vec::new()];
        for side in 0..2 {
            for (run, kinds) in sides[side].iter().zip(&kinds_of[side]) {
                let elapsed = run.elapsed();
                let first = warm_up.min(elapsed.len() / MOST_WARM_UP);
                let mut of_kinds = vec![Vec::new(); count];
                (0..elapsed.len()).for_each(|step| of_kinds[kinds[step]].push(step));
                let medians: Vec<f64> = of_kinds.iter().map(|steps| median(&mut times(elapsed, steps))).collect();
                let mut leave_out = |step: usize, why| {
                    let of_median = elapsed[step] / medians[kinds[step]];
                    left_out.push(LeftOutStep {
                        path: run.path.clone(),
                        step,
                        why,
                        elapsed_ms: elapsed[step],
                        of_median,
                    });
                };
                (0..first).for_each(|step| leave_out(step, "warm-up"));
                for steps in &mut of_kinds {
                    steps.retain(|step| *step >= first);
                    let held_up = held_up(elapsed, steps);
                    held_up.iter().for_each(|step| leave_out(*step, "held up"));
                    steps.retain(|step| !held_up.contains(step));
                }
                steps[side].push(of_kinds);
            }
        }
        let in_all: Vec<usize> =
            (0..count).filter(|kind| steps.iter().flatten().all(|of_kinds| !of_kinds[*kind].is_empty())).collect();
        for (runs, of_runs) in sides.iter().zip(&mut steps) {
            for (run, of_kinds) in runs.iter().zip(of_runs) {
                for kind in (0..count).filter(|kind| !in_all.contains(kind)) {
                    for step in &of_kinds[kind] {
                        let elapsed_ms = run.elapsed()[*step];
                        let of_median = elapsed_ms / median(&mut times(run.elapsed(), &of_kinds[kind]));
                        let (path, why) = (run.path.clone(), "not in every run");
                        left_out.push(LeftOutStep { path, step: *step, why, elapsed_ms, of_median });
                    }
                }
                *of_kinds = in_all.iter().map(|kind| std::mem::take(&mut of_kinds[*kind])).collect();
            }
        }
        let of_side =
            |side: usize, kind: usize| steps[side].iter().map(|of_kinds| of_kinds[kind].len() as u64).sum::<u64>();
        let all: u64 = (0..in_all.len()).flat_map(|kind| [of_side(0, kind), of_side(1, kind)]).sum();
        let phase_of = |kind: usize| {
            let run = steps.iter().zip(sides).find_map(|(of_runs, runs)| Some((of_runs.first()?, runs.first()?)));
            run.and_then(|(of_kinds, run)| run.steps.get(*of_kinds[kind].first()?)?.phase)
        };
        let kind = |kind: usize| {
            let counts = [of_side(0, kind), of_side(1, kind)];
            KindOfSteps { phase: phase_of(kind), weight: counts.iter().sum::<u64>() as f64 / all as f64, steps: counts }
        };
        let kinds = (0..in_all.len()).map(kind).collect();
        Chosen { kinds, left_out, steps }
    }

    /// A row of a run as a sample; nothing stands for a row that the run lacks, which takes no time.
    pub(crate) fn sample(&self, side: usize, run: usize, row: Option<&Times>) -> Option<RunSample> {
        let of_kinds = self.kinds.iter().zip(&self.steps[side][run]);
        let values: Vec<(f64, Vec<f64>)> = of_kinds
            .map(|(kind, steps)| (kind.weight, row.map_or_else(|| vec![0.0; steps.len()], |row| times(&row.ms, steps))))
            .collect();
        RunSample::new(values.iter().map(|(weight, times)| (*weight, times.as_slice())))
    }

    /// Steps of a side that are compared.
    pub(crate) fn count(&self, side: usize) -> u64 {
        self.kinds.iter().map(|kind| kind.steps[side]).sum()
    }
}

fn times(all: &[f64], steps: &[usize]) -> Vec<f64> {
    steps.iter().filter_map(|step| all.get(*step).copied()).collect()
}

/// What is longer than most, by this many deviations and this part of the median.
fn limit(times: &mut [f64], (deviations, part): (f64, f64)) -> f64 {
    let middle = median(times);
    let mut distances: Vec<f64> = times.iter().map(|time| (time - middle).abs()).collect();
    middle + (deviations * DEVIATIONS * median(&mut distances)).max(part * middle)
}

/// How many steps at the beginning of a run are longer than those of their kind that follow.
fn warm_up_of(elapsed: &[f64], kinds: &[usize]) -> usize {
    let is_long = |step: &usize| {
        let mut later: Vec<f64> = (*step + 1..elapsed.len())
            .filter(|other| kinds[*other] == kinds[*step])
            .map(|other| elapsed[other])
            .collect();
        later.len() >= 2 && elapsed[*step] > limit(&mut later, WARM_UP)
    };
    (0..elapsed.len() / MOST_WARM_UP).take_while(is_long).count()
}

/// The steps that something held up; none where they are many.
fn held_up(elapsed: &[f64], steps: &[usize]) -> Vec<usize> {
    if steps.len() < FEWEST {
        return Vec::new();
    }
    let limit = limit(&mut times(elapsed, steps), HELD_UP);
    let found: Vec<usize> = steps.iter().copied().filter(|step| elapsed[*step] > limit).collect();
    if found.len() <= (steps.len() / MOST_HELD_UP).max(1) { found } else { Vec::new() }
}

/// The kind of each step of each run: its phase, and where all runs have the same ones, whether it has few kernels or many.
fn kinds(sides: [&[Run]; 2]) -> [Vec<Vec<usize>>; 2] {
    let mut by_phase: BTreeMap<Option<Phase>, Vec<(f64, usize)>> = BTreeMap::new();
    for (number, run) in sides.into_iter().flatten().enumerate() {
        for step in &run.steps {
            by_phase.entry(step.phase).or_default().push((step.kernels, number));
        }
    }
    let runs = sides.iter().map(|side| side.len()).sum::<usize>();
    // Per phase the number of its first kind, and the kernels from which on steps are of the next ones.
    let mut known: BTreeMap<Option<Phase>, (usize, Vec<f64>)> = BTreeMap::new();
    let mut next = 0;
    for (phase, mut steps) in by_phase {
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let chunks: Vec<&[(f64, usize)]> = steps.chunk_by(|few, more| more.0 <= NEXT_KIND * few.0).collect();
        let is_in_all = |chunk: &&[(f64, usize)]| {
            let mut there = vec![false; runs];
            chunk.iter().for_each(|(_, run)| there[*run] = true);
            there.into_iter().all(|there| there)
        };
        let starts = if chunks.iter().all(is_in_all) {
            chunks[1..].iter().map(|chunk| chunk[0].0).collect()
        } else {
            Vec::new()
        };
        let count = starts.len() + 1;
        known.insert(phase, (next, starts));
        next += count;
    }
    sides.map(|side| {
        let of_run = |run: &Run| {
            let kind = |step: &super::run::Step| {
                known
                    .get(&step.phase)
                    .map_or(0, |(first, starts)| first + starts.partition_point(|start| *start <= step.kernels))
            };
            run.steps.iter().map(kind).collect()
        };
        side.iter().map(of_run).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::super::run::made_up::run;
    use super::*;

    const STEADY: [f64; 9] = [10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0, 10.1, 9.9];

    fn left_out(before: &[Run], after: &[Run]) -> Vec<(String, usize, &'static str)> {
        let chosen = Chosen::new([before, after]);
        chosen.left_out.into_iter().map(|step| (step.path, step.step, step.why)).collect()
    }

    #[test]
    fn warm_up_of_one_run_is_left_out_of_all() {
        let cold = [30.0, 14.0, 10.0, 10.1, 9.9, 10.0, 10.1, 9.9, 10.0];
        let found = left_out(&[run("a", &cold, "[]")], &[run("b", &STEADY, "[]")]);
        let of = |path: &str, step| (path.to_owned(), step, "warm-up");
        assert_eq!(found, [of("a", 0), of("a", 1), of("b", 0), of("b", 1)]);
        assert!(left_out(&[run("a", &STEADY, "[]")], &[run("b", &STEADY, "[]")]).is_empty());
    }

    #[test]
    fn a_step_that_was_held_up_is_named_and_many_are_how_it_runs() {
        let mut once = STEADY;
        once[5] = 40.0;
        assert_eq!(left_out(&[run("a", &once, "[]")], &[run("b", &STEADY, "[]")]), [("a".to_owned(), 5, "held up")]);
        let mut often = STEADY;
        for step in [3, 5, 7] {
            often[step] = 40.0;
        }
        assert!(left_out(&[run("a", &often, "[]")], &[run("b", &STEADY, "[]")]).is_empty());
    }

    #[test]
    fn steps_are_compared_with_their_like() {
        // Two of four steps of the one, one of four of the other are long ones of ten times the kernels.
        let mut few = run("a", &[10.0, 90.0, 10.0, 90.0], "[]");
        let mut fewer = run("b", &[10.0, 90.0, 10.0, 10.0], "[]");
        few.steps[1].kernels = 20.0;
        few.steps[3].kernels = 20.0;
        fewer.steps[1].kernels = 20.0;
        let sides = [[few], [fewer]];
        let chosen = Chosen::new([&sides[0], &sides[1]]);
        assert_eq!(chosen.kinds.iter().map(|kind| kind.steps).collect::<Vec<_>>(), [[2, 3], [2, 1]]);
        let mean = |side: usize| chosen.sample(side, 0, Some(&sides[side][0].rows[0])).map(|run| run.mean);
        // By hand: 5 of 8 steps are short ones, 3 of 8 long ones, in both.
        assert_eq!((mean(0), mean(1)), (Some(40.0), Some(40.0)));
    }
}
