//! Where a prediction is wrong, adding up to 100 %.
//!
//! *Predicted − measured* time of a forward pass is split, in integer picoseconds and exactly, into *contributions* with a cause
//! each: more calls, more time per call, another kernel for the same work, shapes that do not meet, and so on. Totals hide
//! errors that cancel; the sum of the contributions' absolute values, the *gross* error, does not.
//!
//! ```
//! use perfdb_compare::attribution::{Options, explain_files};
//! # let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/scenarios/qwen3_32b_decode");
//!
//! let explanation = explain_files(
//!     &data.join("trace.json"),
//!     &data.join("forward_pass.csv"),
//!     &Options::default(),
//! ).unwrap().result;
//! let attribution = &explanation.attribution;
//! let sum_ps: i128 = attribution.contributions.iter().map(|contribution| contribution.difference_ps).sum();
//! assert_eq!(sum_ps, attribution.predicted_ps - attribution.measured_ps);
//! ```
//!
//! The way from the two files: calls with signatures, [groups](Group) of equal kernel type and shape, *joins* that let groups
//! of one type meet, *pools* of groups that stand for each other, and contributions for what is left. Every step only moves time
//! from one contribution to another, so the sum stays exact.

mod call;
mod constant;
mod context;
mod contribution;
mod explain;
mod families;
mod family;
mod group;
mod interval;
mod join;
mod layers;
mod measured;
mod operands;
mod pool;
mod predicted;
mod quotient;
mod residual;
mod result;
mod side_by_side;
mod timeline;
mod work;

pub use call::{Row, TimeSource};
pub use constant::LayersNote;
pub use contribution::{
    Calls, Cause, Contribution, Detail, MeasuredDetail, Part, PoolDetail, Position, PredictedDetail, Spread,
    TimeDetail, WaitDetail,
};
use explain::MeasuredSequence;
pub(crate) use explain::attribution_of_files;
pub use explain::{Explanation, Options, Reconciliation, explain_files, explain_files_and_show, explain_scenarios};
pub use families::Families;
pub use family::Family;
pub use group::{Join, Sources};
pub use interval::Interval;
pub use layers::{ExampleLayers, KindAttribution, LayerKernel, LayerKind, Layers};
pub use operands::AttentionKey;
pub use quotient::Passes;
pub use result::{Attribution, FamilySum, Group, Workload};
pub use side_by_side::{BothSides, SideBySide};
pub use timeline::{Timeline, Timelines};

/// A kernel type without its last `AiCore`, `Aicore` or `_` and digits.
pub(crate) fn type_without_ending(kernel_type: &str) -> &str {
    family::canonical_type(kernel_type)
}

/// Whether a measured kernel is one of attention.
pub(crate) fn is_measured_attention(kernel_type: &str) -> bool {
    family::table_family(kernel_type) == Some("attention")
}

/// What a measured attention kernel works on, by its cell of input shapes; `None` for other kernels.
pub(crate) fn measured_attention(kernel_type: &str, input_shapes: &str) -> Option<AttentionKey> {
    is_measured_attention(kernel_type)
        .then(|| operands::Operands::parse_cell(input_shapes))
        .flatten()
        .as_ref()
        .and_then(AttentionKey::measured)
}

use call::{Book, Call};
use family::is_collective;
use group::{Groups, Unjoined, widest_norm};
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Splits a difference; the fields are what all steps work on.
struct Splitter<'b> {
    book: &'b Book,
    passes: Passes,
    groups: Groups,
    contributions: Vec<Contribution>,
    /// What a database knows of the predicted calls of each group.
    intervals: Vec<Option<Interval>>,
    /// Labels of the pools.
    pools: Vec<String>,
    /// All signatures of the groups that are composite operators.
    predicted_signatures: FxHashMap<usize, FxHashSet<u32>>,
}

/// Whether groups may meet by their kernel context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contexts {
    Used,
    /// A part of a pass is too short for that.
    Ignored,
}

/// Splits the difference between some predicted and some measured calls.
fn split(
    book: &Book,
    predicted: &[Call],
    measured: &[Call],
    passes: Passes,
    families: &Families,
    contexts: Contexts,
    predicted_layers: Option<usize>,
) -> Attribution {
    let widest = widest_norm(book, predicted.iter().chain(measured));
    let groups = joined_groups(book, predicted, measured, passes, families, widest);
    let sources = groups.sources(book, predicted);
    let mut splitter = Splitter {
        book,
        passes,
        predicted_signatures: composite_signatures(book, &groups, predicted),
        intervals: interval::of_groups(book, &groups, predicted, &sources),
        groups,
        contributions: Vec::new(),
        pools: Vec::new(),
    };
    splitter.composites();
    splitter.other_kernels();
    splitter.operators_without_kernel();
    splitter.shapes_apart();
    if contexts == Contexts::Used {
        splitter.same_context(predicted, measured);
    }
    splitter.rest(predicted, measured, &sources);
    splitter.finish(predicted, measured, predicted_layers)
}

fn joined_groups(
    book: &Book,
    predicted: &[Call],
    measured: &[Call],
    passes: Passes,
    families: &Families,
    widest: i64,
) -> Groups {
    let mut unjoined = Unjoined::new(book, predicted, measured);
    unjoined.join(book, passes);
    unjoined.finish(book, passes, families, widest)
}

fn composite_signatures(book: &Book, groups: &Groups, predicted: &[Call]) -> FxHashMap<usize, FxHashSet<u32>> {
    let mut signatures: FxHashMap<usize, FxHashSet<u32>> = FxHashMap::default();
    for call in predicted {
        if book.signature(call).prediction().is_some_and(|prediction| prediction.composite.is_some()) {
            signatures.entry(groups.position(book, call)).or_default().insert(call.signature);
        }
    }
    signatures
}

impl Splitter<'_> {
    /// Calls of one pass as a number.
    fn calls(&self, calls: i128) -> f64 {
        calls as f64 / self.passes.unit() as f64
    }

    fn finish(mut self, predicted: &[Call], measured: &[Call], predicted_layers: Option<usize>) -> Attribution {
        let end = |call: Option<&Call>| {
            let group = &self.groups.list[self.groups.position(self.book, call?)];
            Some((&*group.kernel_type, &*group.shape))
        };
        let ends = end(measured.first()).zip(end(measured.last())).map(|(first, last)| [first, last]);
        let layers_note = constant::find_layers(&mut self.contributions, predicted_layers, ends);
        let mut contributions = std::mem::take(&mut self.contributions);
        contributions.sort_by(|a, b| {
            let by_size = b.difference_ps.abs().cmp(&a.difference_ps.abs());
            let names = |contribution: &'_ Contribution| {
                (contribution.cause.name(), contribution.kernel_type.clone(), contribution.shape.clone())
            };
            by_size.then_with(|| names(a).cmp(&names(b)))
        });
        let groups = &self.groups.list;
        let (predicted_ps, measured_ps) = (
            groups.iter().map(|group| group.predicted_ps).sum::<i128>(),
            groups.iter().map(|group| group.measured_ps).sum::<i128>(),
        );
        let mut by_cause_ps = BTreeMap::new();
        contributions
            .iter()
            .for_each(|contribution| *by_cause_ps.entry(contribution.cause).or_insert(0) += contribution.difference_ps);
        let (joined_ps, joined_with_names_ps) = self.joined();
        Attribution {
            predicted_ps,
            measured_ps,
            difference_ps: predicted_ps - measured_ps,
            gross_ps: contributions.iter().map(|contribution| contribution.difference_ps.abs()).sum(),
            gross_by_type_ps: self.gross_by_type(),
            coverage_ps: coverage(self.book, predicted),
            joined_ps,
            joined_with_names_ps,
            within_10_percent_ps: self.within_a_tenth(),
            passes: self.passes.value(),
            by_cause_ps,
            layers_note,
            workload: workload(self.book, predicted, measured),
            families: self.families(),
            contributions,
            groups: self.group_rows(predicted),
        }
    }

    fn gross_by_type(&self) -> i128 {
        let mut types: FxHashMap<&str, i128> = FxHashMap::default();
        for group in &self.groups.list {
            *types.entry(&group.kernel_type).or_default() += group.difference_ps();
        }
        types.into_values().map(i128::abs).sum()
    }

    /// Measured time with matching shapes, and the same with collectives by their names.
    fn joined(&self) -> (i128, i128) {
        let predicted_collectives: FxHashSet<&str> = self
            .groups
            .list
            .iter()
            .filter(|group| group.is_predicted() && is_collective(&group.kernel_type))
            .map(|group| group.kernel_type.as_ref())
            .collect();
        let (mut joined_ps, mut by_name_ps) = (0, 0);
        for group in &self.groups.list {
            let meets = group.join != Join::Type && (group.is_on_both_sides() || group.join == Join::Composite);
            let named = !group.is_on_both_sides() && predicted_collectives.contains(group.kernel_type.as_ref());
            joined_ps += if meets { group.measured_ps } else { 0 };
            by_name_ps += if meets || named { group.measured_ps } else { 0 };
        }
        (joined_ps, by_name_ps)
    }

    /// Measured time of groups, and of pools of one-sided groups, that are off by a tenth at most.
    fn within_a_tenth(&self) -> i128 {
        let mut pools = vec![(0, 0); self.pools.len()];
        let mut within_ps = 0;
        let close = |predicted_ps: i128, measured_ps: i128| {
            measured_ps > 0 && (predicted_ps - measured_ps).abs() * 10 <= measured_ps
        };
        for group in &self.groups.list {
            match group.pool.filter(|_| !group.is_on_both_sides()) {
                Some(pool) => {
                    pools[pool].0 += group.predicted_ps;
                    pools[pool].1 += group.measured_ps;
                }
                None if close(group.predicted_ps, group.measured_ps) => within_ps += group.measured_ps,
                None => {}
            }
        }
        within_ps + pools.iter().filter(|pool| close(pool.0, pool.1)).map(|pool| pool.1).sum::<i128>()
    }

    fn families(&self) -> Vec<FamilySum> {
        let mut sums: IndexMap<&str, (i128, i128), FxBuildHasher> = IndexMap::default();
        for group in &self.groups.list {
            let sum = sums.entry(group.family.as_ref()).or_default();
            sum.0 += group.predicted_ps;
            sum.1 += group.measured_ps;
        }
        let sum = |(family, (predicted_ps, measured_ps)): (&str, (i128, i128))| FamilySum {
            family: family.to_owned(),
            predicted_ps,
            measured_ps,
            difference_ps: predicted_ps - measured_ps,
        };
        let mut families: Vec<FamilySum> = sums.into_iter().map(sum).collect();
        families.sort_by(|a, b| {
            let larger = |sum: &FamilySum| sum.predicted_ps.max(sum.measured_ps);
            larger(b).cmp(&larger(a)).then_with(|| a.family.cmp(&b.family))
        });
        families
    }

    fn group_rows(&self, predicted: &[Call]) -> Vec<Group> {
        let sources = self.groups.sources(self.book, predicted);
        let row = |(group, sources): (&group::Group, Sources)| Group {
            kernel_type: group.kernel_type.to_string(),
            shape: group.shape.clone(),
            family: group.family.to_string(),
            predicted_ps: group.predicted_ps,
            measured_ps: group.measured_ps,
            predicted_calls: self.calls(group.n1),
            measured_calls: self.calls(group.n2),
            join: group.join,
            pool: group.pool.map(|pool| self.pools[pool].clone()),
            row: group.measured.first.and_then(|first| self.book.signatures[first as usize].row()).cloned(),
            sources,
        };
        self.groups.list.iter().zip(sources).map(row).collect()
    }
}

fn coverage(book: &Book, predicted: &[Call]) -> BTreeMap<TimeSource, i128> {
    let mut coverage_ps = BTreeMap::new();
    for call in predicted {
        if let Some(prediction) = book.signature(call).prediction() {
            *coverage_ps.entry(prediction.source).or_insert(0) += i128::from(call.duration_ps);
        }
    }
    coverage_ps
}

fn workload(book: &Book, predicted: &[Call], measured: &[Call]) -> Option<Workload> {
    let main = |calls: &[Call]| {
        let mut times: FxHashMap<AttentionKey, i128> = FxHashMap::default();
        for call in calls {
            if let Some(key) = book.signature(call).attention {
                // One more, so that calls without time count.
                *times.entry(key).or_default() += i128::from(call.duration_ps) + 1;
            }
        }
        times.into_iter().max_by_key(|&(key, time_ps)| (time_ps, key)).map(|(key, _)| key)
    };
    let (predicted, measured) = (main(predicted)?, main(measured)?);
    let (one, other) = (predicted.sequences, measured.sequences);
    let same = predicted.query_tokens == measured.query_tokens && (one == other || one == 0 || other == 0);
    Some(Workload { predicted, measured, same })
}
