//! Both sides cut into layers, and the attribution inside one layer of each kind.

use super::call::{Book, Call};
use super::contribution::Cause;
use super::family::plain_family;
use super::group::{Groups, Unjoined};
use super::quotient::Passes;
use super::{Contexts, Families, split};
use bitcode::{Decode, Encode};
use indexmap::IndexMap;
use perfdb_pycompat::float::round;
use perfdb_trace::sequence::{Anchor, Segments, anchors, common_anchor, nearest_rank};
use rustc_hash::FxBuildHasher;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Layers from which on some of a kind can stand out.
const FEWEST_LAYERS: usize = 5;

/// Kinds less alike than one part in this many are not the same.
const LEAST_SIMILARITY: i128 = 20;

/// Both sides cut into layers.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct Layers {
    /// Kernel type and shape that each layer begins with.
    pub anchor: String,
    /// Layers of the predicted side.
    pub predicted_layers: usize,
    /// Layers of the measured side.
    pub measured_layers: usize,
    /// Time of each measured layer, in picoseconds.
    #[serde(skip)]
    pub measured_times_ps: Vec<i128>,
    /// The kinds of layers, most measured layers first.
    pub kinds: Vec<LayerKind>,
}

/// A kind of layers: those with equal multisets of kernel types. Times in picoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct LayerKind {
    /// Measured layers of the kind.
    pub measured_layers: usize,
    /// The measured side; a kind that is predicted alone has none.
    #[serde(flatten)]
    pub measured: Option<MeasuredKind>,
    /// The predicted side; a kind that is measured alone has none.
    #[serde(flatten)]
    pub predicted: Option<PredictedKind>,
    /// The difference of the two layers that have the medians.
    #[serde(skip_serializing_if = "Option::is_none", rename = "ledger")]
    pub attribution: Option<KindAttribution>,
    /// The kernels of these two layers.
    #[serde(skip)]
    pub examples: Option<ExampleLayers>,
}

/// The kernels of a predicted and of a measured layer, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExampleLayers {
    /// The predicted layer.
    pub predicted: Vec<LayerKernel>,
    /// The measured layer.
    pub measured: Vec<LayerKernel>,
}

/// A kernel of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LayerKernel {
    /// The kernel type.
    pub kernel_type: Box<str>,
    /// The shape.
    pub shape: String,
    /// The family.
    pub family: String,
    /// Its time, in picoseconds.
    pub duration_ps: i64,
}

/// The measured side of a kind of layers.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct MeasuredKind {
    /// Kernels in a layer.
    pub kernels: usize,
    /// Median time.
    pub measured_median_ps: i128,
    /// Tenth percentile.
    pub p10_ps: i128,
    /// Ninetieth percentile.
    pub p90_ps: i128,
    /// Positions of the layers that stand out, among all measured layers.
    pub outliers: Vec<usize>,
    /// Position of a layer that has the median.
    pub measured_example: usize,
}

/// The predicted side of a kind of layers.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct PredictedKind {
    /// Predicted layers of the kind.
    pub predicted_layers: usize,
    /// Median time.
    pub predicted_median_ps: i128,
    /// Position of a layer that has the median, if there is a measured side to compare it with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_example: Option<usize>,
    /// How alike the two sides are, up to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

/// The attribution inside one layer.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct KindAttribution {
    /// Time of the predicted layer.
    pub predicted_ps: i128,
    /// Time of the measured layer.
    pub measured_ps: i128,
    /// Predicted less measured.
    pub difference_ps: i128,
    /// Sum of the absolute values of its parts.
    pub gross_ps: i128,
    /// Sums of its parts by cause.
    pub by_cause_ps: BTreeMap<Cause, i128>,
}

/// One side cut into layers.
struct CutSide<'c> {
    calls: &'c [Call],
    segments: Segments,
    times_ps: Vec<i128>,
    kinds: Vec<Kind>,
}

/// The layers of one kind.
struct Kind {
    layers: Vec<usize>,
    /// How many kernel types of each family they have.
    families: BTreeMap<String, i128>,
}

impl CutSide<'_> {
    fn calls_of(&self, layer: usize) -> &[Call] {
        let range: Range<usize> = self.segments.range(layer);
        &self.calls[range]
    }

    fn times_of(&self, kind: &Kind) -> Vec<i128> {
        let mut times_ps: Vec<i128> = kind.layers.iter().map(|&layer| self.times_ps[layer]).collect();
        times_ps.sort_unstable();
        times_ps
    }

    /// The median and the first layer that has it.
    fn median(&self, kind: &Kind) -> (i128, usize) {
        let median_ps = nearest_rank(&self.times_of(kind), 50).unwrap_or(0);
        let example = kind.layers.iter().copied().find(|&layer| self.times_ps[layer] == median_ps);
        (median_ps, example.unwrap_or(0))
    }
}

/// Cuts both sides at the kernel, predicted and measured, that describes them best. `None` if nothing repeats on both.
pub(super) fn layers(book: &Book, passes: Passes, families: &Families) -> Option<Layers> {
    let mut unjoined = Unjoined::new(book, &book.predicted, &book.measured);
    unjoined.join(book, passes);
    let groups = unjoined.finish(book, passes, families, 0);
    let anchor = common_layer_anchor(book, &groups)?;
    let predicted = cut(book, &groups, &book.predicted, anchor);
    let measured = cut(book, &groups, &book.measured, anchor);
    let group = &groups.list[anchor];
    Some(Layers {
        anchor: format!("{} {}", group.kernel_type, group.shape).trim().to_owned(),
        predicted_layers: predicted.segments.len(),
        measured_layers: measured.segments.len(),
        measured_times_ps: measured.times_ps.clone(),
        kinds: kinds(book, families, &predicted, &measured),
    })
}

/// The group that both sides are cut at into layers.
pub(super) fn common_layer_anchor(book: &Book, groups: &Groups) -> Option<usize> {
    let one = side_anchors(book, groups, &book.predicted);
    let other = side_anchors(book, groups, &book.measured);
    common_anchor(&one, &other).map(|anchor| anchor as usize)
}

fn side_anchors(book: &Book, groups: &Groups, calls: &[Call]) -> Vec<Anchor> {
    let token = |call: &Call| {
        let at = groups.position(book, call);
        groups.list[at].is_on_both_sides().then_some(at as u32)
    };
    let tokens: Vec<Option<u32>> = calls.iter().map(token).collect();
    let kinds: Vec<u32> = calls.iter().map(|call| book.keys(call).canonical_type).collect();
    anchors(&tokens, &kinds)
}

fn cut<'c>(book: &Book, groups: &Groups, calls: &'c [Call], anchor: usize) -> CutSide<'c> {
    let segments =
        Segments::cut(calls, |call| groups.position(book, call) == anchor, |call| book.keys(call).canonical_type);
    let time = |layer| calls[segments.range(layer)].iter().map(|call| i128::from(call.duration_ps)).sum();
    let times_ps = (0..segments.len()).map(time).collect();
    let mut kinds: Vec<Kind> = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        if segment.kind == kinds.len() {
            let mut families: BTreeMap<String, i128> = BTreeMap::new();
            let types: BTreeSet<u32> =
                calls[segments.range(at)].iter().map(|call| book.keys(call).canonical_type).collect();
            types.into_iter().for_each(|name| *families.entry(family_of(book, name)).or_default() += 1);
            kinds.push(Kind { layers: Vec::new(), families });
        }
        kinds[segment.kind].layers.push(at);
    }
    kinds.sort_by_key(|kind| (std::cmp::Reverse(kind.layers.len()), kind.layers[0]));
    CutSide { calls, segments, times_ps, kinds }
}

/// The family by the canonical type alone.
fn family_of(book: &Book, canonical_type: u32) -> String {
    let name = book.canonical_types.get_index(canonical_type as usize).map_or("", |name| name);
    plain_family(name).map_or_else(|| format!("type:{name}"), str::to_owned)
}

/// Kinds meet by the families they share (weighted Jaccard index) times the ratio of their layers, the most frequent first.
fn kinds(book: &Book, families: &Families, predicted: &CutSide<'_>, measured: &CutSide<'_>) -> Vec<LayerKind> {
    let mut left: IndexMap<usize, &Kind, FxBuildHasher> = predicted.kinds.iter().enumerate().collect();
    let mut rows = Vec::new();
    for kind in &measured.kinds {
        let mut best: Option<(usize, (i128, i128))> = None;
        for (&at, candidate) in &left {
            let (top, bottom) = similarity(kind, candidate);
            if best.is_none_or(|(_, (best_top, best_bottom))| top * best_bottom > best_top * bottom) {
                best = Some((at, (top, bottom)));
            }
        }
        let best = best.filter(|(_, (top, bottom))| top * LEAST_SIMILARITY > *bottom);
        let (median_ps, example) = measured.median(kind);
        let mut row = LayerKind {
            measured_layers: kind.layers.len(),
            measured: Some(measured_kind(measured, kind, median_ps, example)),
            predicted: None,
            attribution: None,
            examples: None,
        };
        if let Some((at, (top, bottom))) = best
            && let Some(candidate) = left.shift_remove(&at)
        {
            let (predicted_median_ps, predicted_example) = predicted.median(candidate);
            row.predicted = Some(PredictedKind {
                predicted_layers: candidate.layers.len(),
                predicted_median_ps,
                predicted_example: Some(predicted_example),
                similarity: Some(round(top as f64 / bottom as f64, 3)),
            });
            let (one, other) = (predicted.calls_of(predicted_example), measured.calls_of(example));
            row.examples =
                Some(ExampleLayers { predicted: layer_kernels(book, one), measured: layer_kernels(book, other) });
            let attribution = split(book, one, other, Passes::default(), families, Contexts::Ignored, None);
            row.attribution = Some(KindAttribution {
                predicted_ps: attribution.predicted_ps,
                measured_ps: attribution.measured_ps,
                difference_ps: attribution.difference_ps,
                gross_ps: attribution.gross_ps,
                by_cause_ps: attribution.by_cause_ps,
            });
        }
        rows.push(row);
    }
    rows.extend(left.into_values().map(|kind| LayerKind {
        measured_layers: 0,
        measured: None,
        predicted: Some(PredictedKind {
            predicted_layers: kind.layers.len(),
            predicted_median_ps: predicted.median(kind).0,
            predicted_example: None,
            similarity: None,
        }),
        attribution: None,
        examples: None,
    }));
    rows
}

fn layer_kernels(book: &Book, calls: &[Call]) -> Vec<LayerKernel> {
    let kernel = |call: &Call| {
        let signature = book.signature(call);
        LayerKernel {
            kernel_type: signature.kernel_type.clone(),
            shape: signature.shape(),
            family: family_of(book, book.keys(call).canonical_type),
            duration_ps: call.duration_ps,
        }
    };
    calls.iter().map(kernel).collect()
}

fn measured_kind(side: &CutSide<'_>, kind: &Kind, median_ps: i128, example: usize) -> MeasuredKind {
    let sorted = side.times_of(kind);
    let mut deviations: Vec<i128> = sorted.iter().map(|time_ps| (time_ps - median_ps).abs()).collect();
    deviations.sort_unstable();
    let deviation_ps = nearest_rank(&deviations, 50).unwrap_or(0);
    let limit_ps = (5 * deviation_ps).max(median_ps / 20);
    let stands_out = |layer: &usize| (side.times_ps[*layer] - median_ps).abs() > limit_ps;
    let outliers = match kind.layers.len() {
        ..FEWEST_LAYERS => Vec::new(),
        _ => kind.layers.iter().copied().filter(stands_out).collect(),
    };
    MeasuredKind {
        kernels: side.calls_of(example).len(),
        measured_median_ps: median_ps,
        p10_ps: nearest_rank(&sorted, 10).unwrap_or(0),
        p90_ps: nearest_rank(&sorted, 90).unwrap_or(0),
        outliers,
        measured_example: example,
    }
}

fn similarity(one: &Kind, other: &Kind) -> (i128, i128) {
    let mut union: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
    one.families.iter().for_each(|(family, count)| union.entry(family).or_default().0 = *count);
    other.families.iter().for_each(|(family, count)| union.entry(family).or_default().1 = *count);
    let (common, all) = union.values().fold((0, 0), |(common, all), (a, b)| (common + a.min(b), all + a.max(b)));
    let (a, b) = (one.layers.len() as i128, other.layers.len() as i128);
    (common * a.min(b), all * a.max(b))
}
