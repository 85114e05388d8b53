//! Differences of launch counts: counts, which are facts, and guesses about fusion, which are not.
//!
//! The report of wafer-core 0.1.35, made deterministic: wherever it walks a set of types, byte order is used.

mod groups;
mod mappings;
mod opportunities;
mod sequences;
mod types;

use indexmap::IndexMap;
use serde::Serialize;

pub use mappings::{CorrelationId, FusionMapping};
pub use opportunities::LaunchCountOpportunity;

use crate::steps::PhaseFilter;
use crate::trace::Trace;
use types::{TYPES, Type};

/// Differences of launch counts of two traces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaunchCounts {
    /// What was counted.
    pub metadata: LaunchCountMetadata,
    /// Kernels per type.
    pub global_counts: IndexMap<&'static str, GlobalCount>,
    /// Types that one trace launches far more often.
    pub fusion_opportunities: Vec<LaunchCountOpportunity>,
    /// Guesses about what was fused into what.
    pub fusion_mappings: Vec<FusionMapping>,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaunchCountMetadata {
    /// GPU of trace 1.
    pub trace1_gpu: String,
    /// GPU of trace 2.
    pub trace2_gpu: String,
    /// Kernels of trace 1.
    pub trace1_total_kernels: usize,
    /// Kernels of trace 2.
    pub trace2_total_kernels: usize,
    /// Large correlation groups of trace 1.
    pub trace1_correlation_groups: usize,
    /// Large correlation groups of trace 2.
    pub trace2_correlation_groups: usize,
    /// Groups that have a counterpart.
    pub matched_groups: usize,
}

/// Kernels of one type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GlobalCount {
    /// In trace 1.
    pub trace1_count: u64,
    /// In trace 2.
    pub trace2_count: u64,
    /// Of the counts; `None` is infinite.
    pub ratio: Option<f64>,
}

/// Kernels per type, and their time.
pub(crate) type Counts = [types::Tally; types::TYPES.len()];

/// Kernels of a trace as this report sees them.
pub(crate) struct Side<'a> {
    pub(crate) trace: &'a Trace,
    /// Type of every kernel, by number.
    pub(crate) types: Vec<Type>,
    /// Kernels by time.
    pub(crate) by_time: Vec<u32>,
    pub(crate) counts: Counts,
}

/// Compares the launch counts of two traces; groups are correlation ids with at least `min_group_size` kernels.
pub(crate) fn launch_counts(first: &Trace, second: &Trace, phase: PhaseFilter, min_group_size: usize) -> LaunchCounts {
    let sides = [first, second].map(|trace| Side::new(trace, phase));
    let groups = [0, 1].map(|side| groups::large_groups(&sides[side], min_group_size));
    let matches = groups::matches(&groups);
    let global_counts = (0..TYPES.len())
        .map(|at| (TYPES[at], [0, 1].map(|side: usize| sides[side].counts[at].count)))
        .filter(|(_, counts)| counts.iter().any(|count| *count > 0))
        .map(|(name, [trace1_count, trace2_count])| {
            let ratio = (trace2_count > 0).then(|| trace1_count as f64 / trace2_count as f64);
            (name, GlobalCount { trace1_count, trace2_count, ratio })
        })
        .collect();
    LaunchCounts {
        metadata: LaunchCountMetadata {
            trace1_gpu: first.launch_count_gpu.clone(),
            trace2_gpu: second.launch_count_gpu.clone(),
            trace1_total_kernels: sides[0].by_time.len(),
            trace2_total_kernels: sides[1].by_time.len(),
            trace1_correlation_groups: groups[0].len(),
            trace2_correlation_groups: groups[1].len(),
            matched_groups: matches.len(),
        },
        global_counts,
        fusion_opportunities: opportunities::opportunities(&sides, &matches),
        fusion_mappings: mappings::mappings(&sides, &matches),
    }
}

impl<'a> Side<'a> {
    fn new(trace: &'a Trace, phase: PhaseFilter) -> Side<'a> {
        let mut by_name: Vec<Option<Type>> = vec![None; trace.names.len()];
        let types: Vec<Type> = trace
            .kernels
            .iter()
            .map(|kernel| *by_name[kernel.name as usize].get_or_insert_with(|| types::type_of(trace.name(kernel.name))))
            .collect();
        let by_time: Vec<u32> = trace
            .in_time_order()
            .filter(|kernel| phase.lets(trace.contexts[*kernel].phase))
            .map(|kernel| kernel as u32)
            .collect();
        let mut side = Side { trace, types, by_time, counts: Counts::default() };
        side.counts = side.counts_of(&side.by_time);
        side
    }

    /// Kernels per type of some kernels.
    pub(crate) fn counts_of(&self, kernels: &[u32]) -> Counts {
        let mut counts = Counts::default();
        for kernel in kernels {
            let tally = &mut counts[self.types[*kernel as usize] as usize];
            tally.count += 1;
            tally.time += self.trace.kernels.at(*kernel as usize).duration;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LoadOptions;
    use std::io::Cursor;
    use std::path::Path;

    /// The runs of a trace, each of kernels of one name, with the rules it is loaded under.
    fn runs(runs: &[(&str, u32)], rules: crate::rules::Rules) -> Trace {
        let names = runs.iter().flat_map(|(name, length)| std::iter::repeat_n(*name, *length as usize));
        let events = names.enumerate().map(|(at, name)| {
            format!(r#"{{"cat": "kernel", "name": "{name}", "ts": {at}, "dur": 1, "args": {{"correlation": {at}}}}}"#)
        });
        let text = format!("[{}]", events.collect::<Vec<_>>().join(","));
        let options = LoadOptions { rules, ..LoadOptions::default() };
        Trace::from_reader(Path::new("t.json"), Cursor::new(text), &options).unwrap()
    }

    /// `gelu` in many short runs or in a few long ones, between kernels of another type.
    fn gelu(length: u32, count: usize, rules: crate::rules::Rules) -> Trace {
        runs(&[("gelu", length), ("silu", 1)].repeat(count), rules)
    }

    const RULE_SETS: [crate::rules::Rules; 3] =
        [crate::rules::Rules::Perfdb, crate::rules::Rules::Wafer0133, crate::rules::Rules::Wafer0135];

    #[test]
    fn a_type_that_the_other_trace_lacks_is_no_chain() {
        for rules in RULE_SETS {
            let (with, without) = (gelu(30, 10, rules), runs(&[("silu", 10)], rules));
            for (first, second) in [(&with, &without), (&without, &with)] {
                let found = launch_counts(first, second, PhaseFilter::All, 50);
                assert!(found.fusion_mappings.iter().all(|mapping| mapping.evidence != "chain"));
            }
        }
    }

    #[test]
    fn the_side_with_longer_runs_may_have_fewer_kernels() {
        // Five runs of 15 and two hundred runs of 2.
        for (rules, expected) in RULE_SETS.into_iter().zip([325, -325, -325]) {
            let (long, short) = (gelu(15, 5, rules), gelu(2, 200, rules));
            let found = launch_counts(&long, &short, PhaseFilter::All, 50);
            let chain = found.fusion_mappings.iter().find(|mapping| mapping.evidence == "chain").expect("a chain");
            assert_eq!((chain.fused_platform, chain.fused_count, chain.pattern_count), ("Trace 2", 400, expected));
        }
    }

    #[test]
    fn averages_over_no_matched_groups_are_0() {
        let rules = crate::rules::Rules::Perfdb;
        let (first, second) = (gelu(40, 5, rules), gelu(2, 5, rules));
        let found = launch_counts(&first, &second, PhaseFilter::All, 50).fusion_opportunities;
        assert_eq!((found[0].kernel_type, found[0].ratio), ("GELU", Some(20.0)));
        assert_eq!((found[0].trace1_avg_per_group, found[0].trace2_avg_per_group), (0.0, 0.0));
    }

    fn trace(kernels: &[(&str, u32)]) -> Trace {
        let event = |(name, start): &(&str, u32)| {
            format!(r#"{{"cat": "kernel", "name": "{name}", "ts": {start}, "dur": 1, "args": {{"correlation": 1}}}}"#)
        };
        let text = format!("[{}]", kernels.iter().map(event).collect::<Vec<_>>().join(","));
        Trace::from_reader(Path::new("t.json"), Cursor::new(text), &LoadOptions::default()).unwrap()
    }

    #[test]
    fn of_equally_frequent_types_the_first_in_the_file_marks_a_group() {
        let matched = |first: &[(&str, u32)], second: &[(&str, u32)]| {
            launch_counts(&trace(first), &trace(second), PhaseFilter::All, 1).metadata.matched_groups
        };
        assert_eq!(matched(&[("silu", 9), ("gelu", 0)], &[("silu", 0), ("gelu", 9)]), 1);
        assert_eq!(matched(&[("silu", 0), ("gelu", 9)], &[("gelu", 9), ("silu", 0)]), 0);
    }
}
