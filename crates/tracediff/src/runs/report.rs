//! The verdict on two groups of runs.

use std::collections::BTreeMap;

use perfdb_model::statistics::{
    CommonVariance, RunSample, RunsEstimate, Verdict, estimate_of_runs, holm, outlier_runs,
};
use serde::Serialize;

use super::chosen::{Chosen, KindOfSteps, LeftOutStep};
use super::run::{ELAPSED, RowKind, Run, Times};
use super::stored::{FORMAT, FORMAT_VERSION};
use super::workload;
use crate::run_variation::RunVariation;
use crate::steps::Basis;

/// Part of the reports on the same thing that may have a false verdict on the elapsed time, and on any of the rows.
const FALSE_ALARMS: [f64; 2] = [0.004, 0.004];
/// Difference in percent that is to be found where nobody says which.
const WANTED_PERCENT: f64 = 2.0;
/// Smallest difference in percent that counts.
const SMALLEST_PERCENT: f64 = 0.5;
/// Part of the elapsed time from which on a row is tested.
const TESTED: f64 = 0.01;

/// How runs are compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunsOptions {
    /// What runs vary by where too few show it.
    pub run_variation: RunVariation,
    /// The limit of a gate in percent: what must not be exceeded is what is to be found.
    pub fail_slower: Option<f64>,
}

/// The verdict on two groups of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunsReport {
    /// `perfdb-runs`.
    pub format: &'static str,
    /// Its version.
    pub format_version: u32,
    /// `slower`, `faster`, `same`, `inconclusive`, `different workloads`, or `recorded` where there is one side only.
    pub verdict: &'static str,
    /// The same in one sentence.
    pub sentence: String,
    /// What a step is.
    pub per: Basis,
    /// The elapsed time of a step; nothing where there is one side only.
    pub elapsed: Option<RunsRow>,
    /// Parts of it, classes of kernels and operators by shape that take 1 % of it or more; slower and faster ones first.
    pub rows: Vec<RunsRow>,
    /// Rows that take less and are not tested.
    pub untested_rows: u64,
    /// Difference in percent that is to be found: the limit of the gate, or 2.
    pub wanted_percent: f64,
    /// What runs vary by in percent, where fewer than three of a side show it.
    pub run_variation_percent: f64,
    /// What a run of a class or an operator varies by in common; nothing below three runs of a side.
    pub common_variation: Option<CommonVariation>,
    /// What differs in the work of both sides.
    pub work_differs: Vec<String>,
    /// Why the times of both sides say nothing about each other.
    pub different_workloads: Option<String>,
    /// Kinds of steps that are compared with their like.
    pub kinds: Vec<KindOfSteps>,
    /// Steps that are not compared.
    pub left_out: Vec<LeftOutStep>,
    /// Runs that are unlike the others of their side; they count.
    pub outlier_runs: Vec<OutlierRun>,
    /// Runs in which times between events cannot be trusted.
    pub not_trusted: Vec<String>,
    /// The runs before the change.
    pub before: Vec<Run>,
    /// The runs after it.
    pub after: Vec<Run>,
}

/// What rows learn from each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CommonVariation {
    /// Standard deviation of the mean of a run, in percent of the time of a row.
    pub percent: f64,
    /// Degrees of freedom with which it counts beside a row's own.
    pub degrees_of_freedom: f64,
}

/// A run that is unlike the others of its side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutlierRun {
    /// Its trace.
    pub path: String,
    /// Elapsed time per step.
    pub elapsed_ms: f64,
    /// By how many percent that is more than the mean of the others.
    pub percent: f64,
}

/// A row of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunsRow {
    /// `elapsed`, `part`, `class` or `operator`.
    pub kind: RowKind,
    /// Its name.
    pub name: String,
    /// Time of a step before and after.
    pub before_ms: f64,
    /// After.
    pub after_ms: f64,
    /// After less before.
    pub difference_ms: f64,
    /// Where the true difference lies; nothing where single steps do not show it.
    pub interval_ms: Option<[f64; 2]>,
    /// The difference in percent of before; nothing where that is 0.
    pub percent: Option<f64>,
    /// Where it lies; nothing where that is not known, or before may be 0.
    pub interval_percent: Option<[f64; 2]>,
    /// Probability of the interval.
    pub confidence: f64,
    /// `slower`, `faster`, `same` or `inconclusive`.
    pub verdict: &'static str,
    /// What steps of a run vary by, in percent of the mean: standard deviation.
    pub steps_vary_percent: Option<f64>,
    /// What runs vary by beyond what their steps explain; nothing of single runs.
    pub runs_vary_percent: Option<f64>,
    /// Whether what runs vary by was measured, else it was assumed.
    pub is_measured: bool,
    /// Runs per side that would find the wanted difference 95 times of 100; nothing where a thousand would not.
    pub runs_needed: Option<usize>,
    /// Kernels of a step, of both sides.
    pub kernels: [f64; 2],
}

/// Compares runs; one side may have none.
pub fn compare_runs(before: Vec<Run>, after: Vec<Run>, options: &RunsOptions) -> RunsReport {
    let wanted_percent = options.fail_slower.filter(|limit| *limit > 0.0).unwrap_or(WANTED_PERCENT);
    let sides = [before.as_slice(), after.as_slice()];
    let chosen = Chosen::new(sides);
    let work = workload::work(sides, &chosen);
    let is_one_sided = sides.iter().any(|side| side.is_empty());
    let compared = !is_one_sided && work.different.is_none();
    let table = Table::new(sides, &chosen, wanted_percent / 100.0, options.run_variation.percent() / 100.0);
    let elapsed = (!is_one_sided).then(|| table.elapsed()).flatten();
    let Rows { rows, untested, common } =
        elapsed.as_ref().filter(|_| compared).map_or_else(Default::default, |elapsed| table.rows(elapsed));
    let mut report = RunsReport {
        format: FORMAT,
        format_version: FORMAT_VERSION,
        verdict: match (&elapsed, &work.different) {
            (_, _) if is_one_sided => "recorded",
            (Some(row), None) => row.verdict,
            _ => "different workloads",
        },
        sentence: String::new(),
        per: sides.into_iter().flatten().next().map_or(Basis::Whole, |run| run.per),
        elapsed,
        rows,
        untested_rows: untested,
        wanted_percent,
        run_variation_percent: options.run_variation.percent(),
        common_variation: common.map(|common| CommonVariation {
            percent: 100.0 * common.value.sqrt(),
            degrees_of_freedom: common.degrees_of_freedom,
        }),
        work_differs: if is_one_sided { Vec::new() } else { work.differences },
        different_workloads: work.different.filter(|_| !is_one_sided),
        kinds: chosen.kinds.clone(),
        left_out: chosen.left_out.clone(),
        outlier_runs: table.outlier_runs(),
        not_trusted: not_trusted(sides),
        before: Vec::new(),
        after: Vec::new(),
    };
    report.sentence = report.sentence([before.len(), after.len()], [chosen.count(0), chosen.count(1)]);
    RunsReport { before, after, ..report }
}

fn not_trusted(sides: [&[Run]; 2]) -> Vec<String> {
    let runs = sides.into_iter().flatten().filter(|run| !run.not_trusted.is_empty());
    runs.map(|run| format!("{}: {}", run.path, run.not_trusted.join(", "))).collect()
}

/// What rows are made of.
struct Table<'a> {
    sides: [&'a [Run]; 2],
    chosen: &'a Chosen,
    /// Part of the time that is to be found.
    wanted: f64,
    /// What runs vary by, as a part of the time.
    runs: f64,
    /// By kind and name the times of each run of both sides; nothing where a run lacks the row.
    by_name: BTreeMap<(RowKind, &'a str), [Vec<Option<&'a Times>>; 2]>,
}

/// The rows of a report.
#[derive(Default)]
struct Rows {
    rows: Vec<RunsRow>,
    untested: u64,
    common: Option<CommonVariance>,
}

fn mean_of(side: &[RunSample]) -> f64 {
    side.iter().map(|run| run.mean).sum::<f64>() / side.len() as f64
}

impl<'a> Table<'a> {
    fn new(sides: [&'a [Run]; 2], chosen: &'a Chosen, wanted: f64, runs: f64) -> Table<'a> {
        let mut by_name: BTreeMap<(RowKind, &'a str), [Vec<Option<&'a Times>>; 2]> = BTreeMap::new();
        for side in 0..2 {
            for (at, run) in sides[side].iter().enumerate() {
                for row in &run.rows {
                    let known = by_name.entry((row.kind, &row.name));
                    let known = known.or_insert_with(|| sides.map(|runs| vec![None; runs.len()]));
                    known[side][at] = Some(row);
                }
            }
        }
        Table { sides, chosen, wanted, runs, by_name }
    }

    fn samples(&self, times: &[Vec<Option<&Times>>; 2]) -> Option<[Vec<RunSample>; 2]> {
        let of_side = |side: usize| -> Option<Vec<RunSample>> {
            times[side].iter().enumerate().map(|(at, row)| self.chosen.sample(side, at, *row)).collect()
        };
        Some([of_side(0)?, of_side(1)?])
    }

    fn of_elapsed(&self) -> Option<[Vec<RunSample>; 2]> {
        self.samples(self.by_name.get(&(RowKind::Elapsed, ELAPSED))?)
    }

    fn elapsed(&self) -> Option<RunsRow> {
        let [before, after] = self.of_elapsed()?;
        let found = estimate_of_runs([&before, &after], self.runs * (mean_of(&before) + mean_of(&after)) / 2.0)?;
        Some(self.row(RowKind::Elapsed, ELAPSED, &found, FALSE_ALARMS[0]))
    }

    /// The rows that take enough time, and how many do not.
    fn rows(&self, elapsed: &RunsRow) -> Rows {
        let whole = [elapsed.before_ms, elapsed.after_ms];
        let mut untested = 0;
        let mut tested = Vec::new();
        for ((kind, name), times) in self.by_name.iter().filter(|((kind, _), _)| *kind != RowKind::Elapsed) {
            let Some(samples) = self.samples(times) else { continue };
            let means = samples.each_ref().map(|side| mean_of(side));
            if (0..2).any(|side| means[side] >= TESTED * whole[side]) {
                tested.push((*kind, *name, means, samples))
            } else {
                untested += 1
            }
        }
        // Idle time is what is left between others: it varies with them, as a part of the whole, and not as they do.
        let are_times_of_kernels = |kind: RowKind| kind != RowKind::Part;
        let of_kernels = tested.iter().filter(|(kind, ..)| are_times_of_kernels(*kind));
        let common = CommonVariance::of_rows(&of_kernels.map(|(.., samples)| samples.clone()).collect::<Vec<_>>());
        let estimates = tested.iter().filter_map(|(kind, name, means, [before, after])| {
            let scale = if are_times_of_kernels(*kind) { means } else { &whole };
            let found = estimate_of_runs([before, after], self.runs * (scale[0] + scale[1]) / 2.0)?;
            let common = common.filter(|_| are_times_of_kernels(*kind));
            Some((*kind, *name, common.map_or(found, |common| common.joined(found))))
        });
        let estimates: Vec<(RowKind, &str, RunsEstimate)> = estimates.collect();
        let by_chance: Vec<f64> = estimates.iter().map(|(_, _, found)| found.by_chance()).collect();
        let levels = holm(&by_chance, FALSE_ALARMS[1]);
        let of_level =
            |((kind, name, found), level): (&(RowKind, &str, RunsEstimate), f64)| self.row(*kind, name, found, level);
        let mut rows: Vec<RunsRow> = estimates.iter().zip(levels).map(of_level).collect();
        let is_found = |row: &RunsRow| row.verdict == "slower" || row.verdict == "faster";
        rows.sort_by(|a, b| {
            let size = |row: &RunsRow| (is_found(row), row.difference_ms.abs());
            let ((a_found, a_size), (b_found, b_size)) = (size(a), size(b));
            b_found
                .cmp(&a_found)
                .then(b_size.total_cmp(&a_size))
                .then_with(|| (a.kind, &a.name).cmp(&(b.kind, &b.name)))
        });
        Rows { rows, untested, common }
    }

    fn row(&self, kind: RowKind, name: &str, found: &RunsEstimate, level: f64) -> RunsRow {
        let middle = (found.means[0] + found.means[1]) / 2.0;
        let interval_ms = found.interval(level);
        // The same from either side: relative to the mean of both, then as a ratio.
        let percent = |ms: f64| {
            let part = if middle > 0.0 { ms / middle / 2.0 } else { 0.0 };
            (part.abs() < 1.0).then(|| 100.0 * ((1.0 + part) / (1.0 - part) - 1.0))
        };
        let interval_percent = interval_ms.and_then(|[low, high]| Some([percent(low)?, percent(high)?]));
        let size = |percent: f64| (1.0 + percent / 100.0).ln();
        let difference = percent(found.difference).map_or(f64::INFINITY, |percent| size(percent).abs());
        let is_within = |interval: [f64; 2]| {
            let wanted = self.wanted.ln_1p();
            size(interval[0]) > -wanted && size(interval[1]) < wanted
        };
        let verdict = if interval_ms.is_some_and(|[low, _]| low > 0.0) && difference > size(SMALLEST_PERCENT) {
            Verdict::Slower
        } else if interval_ms.is_some_and(|[_, high]| high < 0.0) && difference > size(SMALLEST_PERCENT) {
            Verdict::Faster
        } else if interval_percent.is_some_and(is_within) {
            Verdict::Same
        } else {
            Verdict::CannotTell
        };
        let of_mean = |deviation: f64| if middle > 0.0 { 100.0 * deviation / middle } else { 0.0 };
        let kernels = [0, 1].map(|side| {
            let times = self.by_name.get(&(kind, name)).into_iter().flat_map(|sides| &sides[side]);
            let per_step = times
                .zip(self.sides[side])
                .map(|(row, run)| row.map_or(0.0, |row| row.kernels) / run.steps.len() as f64);
            per_step.sum::<f64>() / self.sides[side].len() as f64
        });
        RunsRow {
            kind,
            name: name.to_owned(),
            before_ms: found.means[0],
            after_ms: found.means[1],
            difference_ms: found.difference,
            interval_ms,
            percent: (found.means[0] > 0.0).then(|| 100.0 * (found.means[1] / found.means[0] - 1.0)),
            interval_percent,
            confidence: 1.0 - level,
            verdict: if verdict == Verdict::CannotTell { "inconclusive" } else { verdict.name() },
            steps_vary_percent: found.steps_vary.map(of_mean),
            runs_vary_percent: found.runs_vary.map(of_mean),
            is_measured: found.is_measured,
            runs_needed: found.runs_needed(self.wanted * middle, level),
            kernels,
        }
    }

    fn outlier_runs(&self) -> Vec<OutlierRun> {
        let Some(samples) = self.of_elapsed() else { return Vec::new() };
        let means = samples.each_ref().map(|side| side.iter().map(|run| run.mean).collect::<Vec<f64>>());
        let all: Vec<f64> = means.iter().flatten().copied().collect();
        let least = self.runs * all.iter().sum::<f64>() / all.len().max(1) as f64;
        let outlier = |(side, at): (usize, usize)| {
            let others = means[side].iter().enumerate().filter(|(run, _)| *run != at).map(|(_, mean)| *mean);
            let mean = others.sum::<f64>() / (means[side].len() - 1) as f64;
            OutlierRun {
                path: self.sides[side][at].path.clone(),
                elapsed_ms: means[side][at],
                percent: 100.0 * (means[side][at] / mean - 1.0),
            }
        };
        outlier_runs([&means[0], &means[1]], least).into_iter().map(outlier).collect()
    }
}

impl RunsReport {
    /// By how many percent the elapsed time is longer at least; nothing where that is not known.
    pub fn slower_at_least(&self) -> Option<f64> {
        let row = self.elapsed.as_ref().filter(|_| self.different_workloads.is_none())?;
        row.interval_percent.map(|[low, _]| low)
    }

    /// By how many percent it is longer at most.
    pub fn slower_at_most(&self) -> Option<f64> {
        let row = self.elapsed.as_ref().filter(|_| self.different_workloads.is_none())?;
        row.interval_percent.map(|[_, high]| high)
    }

    /// What a step is called, and several of them.
    fn steps(&self) -> (&'static str, &'static str) {
        match self.per {
            Basis::Pass => ("forward pass", "forward passes"),
            Basis::Step => ("step", "steps"),
            Basis::Whole => ("whole trace", "whole traces"),
        }
    }

    fn sentence(&self, runs: [usize; 2], steps: [u64; 2]) -> String {
        let many = |count: usize| if count == 1 { "run" } else { "runs" };
        let Some(row) = &self.elapsed else {
            let (count, steps) = (runs[0] + runs[1], steps[0] + steps[1]);
            let (one, several) = self.steps();
            let steps = if steps == 1 { format!("1 {one}") } else { format!("{steps} {several}") };
            return format!("{count} {} with {steps} recorded; nothing to compare them with", many(count));
        };
        let one = match self.per {
            Basis::Pass => "per forward pass",
            Basis::Step => "per step",
            Basis::Whole => "in all",
        };
        let figures = format!("{:.3} -> {:.3} ms {one}", row.before_ms, row.after_ms);
        if let Some(why) = &self.different_workloads {
            return format!("different workloads, not comparable: {why}; {figures}");
        }
        let doubt = if self.not_trusted.is_empty() { "" } else { "times not trusted: " };
        let differs = if self.work_differs.is_empty() { "" } else { "the work differs: " };
        let interval = match (row.interval_percent, row.interval_ms) {
            (Some([low, high]), _) => format!("({low:+.1} to {high:+.1} %)"),
            (None, Some([low, high])) => format!("({low:+.3} to {high:+.3} ms)"),
            (None, None) => "(one step a side says nothing about what steps vary by)".to_owned(),
        };
        let percent = row.percent.unwrap_or(f64::INFINITY);
        let said = match row.verdict {
            "slower" => format!("slower by {percent:.1} % {interval}"),
            "faster" => format!("faster by {:.1} % {interval}", percent.abs()),
            "same" => {
                let within = row.interval_percent.map_or(0.0, |[low, high]| low.abs().max(high.abs()));
                format!("same within {within:.1} %")
            }
            _ => format!("inconclusive: {percent:+.1} % {interval}"),
        };
        let runs = format!("{} {} before, {} after", runs[0], many(runs[0]), runs[1]);
        format!("{doubt}{differs}{said}, {figures}; {runs}{}", self.needed(row))
    }

    /// `; 9 runs per side find 2 %`
    fn needed(&self, row: &RunsRow) -> String {
        if row.verdict != "inconclusive" {
            return String::new();
        }
        let wanted = self.wanted_percent;
        match row.runs_needed {
            Some(runs) => format!("; {runs} runs per side would find {wanted} %"),
            None => format!("; not even 1000 runs per side would find {wanted} %"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::made_up::run;
    use super::*;

    /// Runs whose steps take these times and 1 % more or less in turns.
    fn runs(means: &[f64], shapes: &str) -> Vec<Run> {
        let steps = |mean: f64| [0.99, 1.01].repeat(4).into_iter().map(|part| part * mean).collect::<Vec<_>>();
        means.iter().zip(0..).map(|(mean, at)| run(&format!("{shapes}{mean}-{at}"), &steps(*mean), shapes)).collect()
    }

    fn compared(before: Vec<Run>, after: Vec<Run>) -> RunsReport {
        compare_runs(before, after, &RunsOptions::default())
    }

    #[test]
    fn a_slower_side_has_its_interval_and_percent() {
        let report = compared(runs(&[9.99, 10.0, 10.01], "[1]"), runs(&[10.49, 10.5, 10.51], "[1]"));
        let row = report.elapsed.as_ref().expect("both sides");
        // By hand: 0.5 of 10 ms; a standard error of 0.01 * (2 / 3)^0.5, Student's t of 4 degrees at 0.4 % is 6.0.
        assert_eq!((report.verdict, row.percent.map(f64::round)), ("slower", Some(5.0)));
        let [low, high] = row.interval_ms.expect("three runs");
        let half = (high - low) / 2.0;
        assert!((row.difference_ms - 0.5).abs() < 1e-9 && (half - 0.0490).abs() < 0.0005, "{half}");
        assert!(report.sentence.starts_with("slower by 5.0 % (+4.5 to +5.5 %), 10.000 -> 10.500 ms per forward pass;"));
        assert_eq!(report.slower_at_least().map(f64::floor), Some(4.0));
        assert!(report.rows.iter().all(|row| row.verdict == "slower"), "all rows are parts of the same time");
        let back = compared(runs(&[10.49, 10.5, 10.51], "[1]"), runs(&[9.99, 10.0, 10.01], "[1]"));
        assert_eq!(back.verdict, "faster");
    }

    #[test]
    fn runs_that_vary_by_more_are_inconclusive_and_say_how_many_would_find_it() {
        let report = compared(runs(&[9.8, 10.0, 10.2], "[1]"), runs(&[9.9, 10.1, 10.3], "[1]"));
        let needed = report.elapsed.as_ref().and_then(|row| row.runs_needed).expect("a number");
        // A normal approximation by hand: 2 * (2.88 + 1.645)^2 * 0.2^2 / 0.2^2 = 41.
        assert!(report.verdict == "inconclusive" && (40..48).contains(&needed), "{needed}");
        assert!(report.sentence.ends_with(&format!("; {needed} runs per side would find 2 %")), "{}", report.sentence);
    }

    #[test]
    fn other_shapes_are_another_workload() {
        let report = compared(runs(&[10.0, 10.1, 9.9], "[1]"), runs(&[20.0, 20.1, 19.9], "[2]"));
        assert_eq!((report.verdict, report.rows.len(), report.slower_at_least()), ("different workloads", 0, None));
        assert!(report.sentence.starts_with("different workloads, not comparable: "), "{}", report.sentence);
    }

    #[test]
    fn one_side_is_recorded() {
        let report = compared(Vec::new(), runs(&[10.0], "[1]"));
        assert_eq!((report.verdict, report.elapsed), ("recorded", None));
        assert_eq!(report.sentence, "1 run with 8 forward passes recorded; nothing to compare them with");
    }

    #[test]
    fn a_run_apart_is_named_and_counts() {
        let report = compared(runs(&[10.0, 10.01, 9.99, 10.02], "[1]"), runs(&[10.0, 10.01, 13.0, 9.99], "[1]"));
        assert_eq!(report.outlier_runs.len(), 1);
        assert!(report.outlier_runs[0].path.contains("13") && (report.outlier_runs[0].percent - 30.0).abs() < 0.1);
        assert_eq!(report.verdict, "inconclusive", "{}", report.sentence);
    }
}
