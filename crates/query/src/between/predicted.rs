//! All axes at once, from the nearest rows.

use super::attempt::{Status, Value};
use super::points::{AxisSet, Coordinates, Point, PointSet};
use super::slice::SlicePlace;
use crate::answer::Prediction;
use crate::table::columns::Column;
use crate::table::{KernelRow, KernelRows};
use perfdb_predict::{
    Attention, BY_ROUTED_ROWS, Class, Doubt, Experts, Explanation, MatMul, Model, Operands, Place, Precision, Rows,
    configuration,
};
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, PoisonError, RwLock};

const NO_POINTS: Status = "insufficient_filtered_candidates";
const NO_AXES: Status = "missing_target_axis";
const RULE: &str = "predicted";
const EXACT: &str = "exact_place";

/// What the rows of a group agree in and the work of a call depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    operands: Operands,
    kv_heads: f64,
    expert_parallel: f64,
}

impl Default for Setting {
    fn default() -> Self {
        Setting { operands: Operands::of(Precision::Bf16), kv_heads: 1.0, expert_parallel: 1.0 }
    }
}

impl Setting {
    pub(crate) fn of(row: KernelRow<'_>) -> Setting {
        let bytes = |types: &[Box<str>], at: usize| {
            types.get(at).and_then(|name| name.parse().ok()).unwrap_or(Precision::Bf16).bytes()
        };
        let operands = Operands {
            activation_bytes: bytes(row.input_types(), 0),
            weight_bytes: bytes(row.input_types(), 1),
            output_bytes: bytes(row.output_types(), 0),
        };
        let kv_heads = row.cut(Column::KvHeads).filter(|heads| *heads > 0).unwrap_or(1) as f64;
        let expert_parallel = row.whole(Column::EpSize).filter(|ranks| *ranks > 0).unwrap_or(1) as f64;
        Setting { operands, kv_heads, expert_parallel }
    }
}

/// What was learnt of a set of points, by the axes that points and target have; made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Models(RwLock<SmallVec<[OfAxes; 1]>>);

/// Axes as bits, and what was learnt over them.
type OfAxes = (u8, Arc<Option<Model>>);

impl Models {
    fn get_or_make(&self, pattern: u8, make: impl FnOnce() -> Option<Model>) -> Arc<Option<Model>> {
        let find = |known: &[OfAxes]| known.iter().find(|(own, _)| *own == pattern).map(|(_, model)| model.clone());
        if let Some(known) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        // Others who ask for the same wait: learning takes longer than anything else.
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        find(&all).unwrap_or_else(|| {
            let made = Arc::new(make());
            all.push((pattern, made.clone()));
            made
        })
    }
}

/// A prediction whose rows are still numbers of a table.
#[derive(Debug)]
pub(crate) struct Predicted(Explanation);

impl Predicted {
    pub(crate) fn of_table(self, table: &KernelRows) -> Prediction {
        let Predicted(explanation) = self;
        Prediction {
            low_us: explanation.estimate.low_us,
            high_us: explanation.estimate.high_us,
            class: explanation.estimate.class,
            rows: explanation.neighbours.iter().map(|near| (table.row(near.row).reference(), near.weight)).collect(),
            efficiency: Some(explanation.efficiency),
            sentence: explanation.sentence(|row| table.row(row).line().to_string()),
            doubt: explanation
                .doubt
                .map(|doubt| Doubt { slice_row: table.row(doubt.slice_row).reference().line, ..doubt }),
        }
    }

    /// The same with numbers of rows as names.
    pub(crate) fn sentence(&self) -> String {
        self.0.to_string()
    }
}

/// Which axes a target has, as bits, and as the set of those.
fn pattern(target: &Coordinates) -> Option<(u8, AxisSet)> {
    let bits = target.iter().enumerate().filter(|(_, value)| !value.is_nan()).map(|(axis, _)| 1u8 << axis);
    let bits = bits.fold(0, |all, bit| all | bit);
    let axes: AxisSet = match bits {
        0b1 => &[0],
        0b11 => &[0, 1],
        0b111 => &[0, 1, 2],
        0b1_1011 => &[0, 1, 3, 4],
        0b1_1111 => &[0, 1, 2, 3, 4],
        _ => return None,
    };
    Some((bits, axes))
}

/// The value at a target.
pub(super) fn value(points: &PointSet, target: &Coordinates) -> Result<Value, Status> {
    let (bits, axes) = pattern(target).ok_or(NO_AXES)?;
    let kind = Kind::of(points);
    let model = points.models.get_or_make(bits, || {
        let mut rows: Option<Rows> = None;
        for (place, point) in kind.places(points, bits) {
            rows.get_or_insert_with(|| Rows::new(place.axes.len())).push(
                point.row,
                &place,
                point.duration_us,
                point.deviation_us(),
            );
        }
        Model::build(vec![rows?], Some(kind.size(bits)))
    });
    let model = model.as_ref().as_ref().ok_or(NO_POINTS)?;
    let explanation = model.explain(0, &kind.place(target, points.setting)).ok_or(NO_AXES)?;
    let estimate = explanation.estimate;
    let is_row = estimate.class == Class::Measured;
    let place = |row: u32, duration_us: f64| {
        let point = points.points.iter().find(|point| point.row == row);
        let at = point.map_or(SmallVec::new(), |point| axes.iter().map(|axis| point.at[*axis as usize]).collect());
        SlicePlace { at, duration_us, rows: smallvec![row] }
    };
    let places = explanation.neighbours.iter().map(|near| (place(near.row, near.duration_us), near.weight)).collect();
    Ok(Value {
        duration_us: estimate.duration_us,
        confidence: 1.0 / (1.0 + estimate.half_width()),
        method: if is_row { EXACT } else { RULE },
        rule: if is_row { EXACT } else { RULE },
        axes,
        names: points.axes.names,
        target: axes.iter().map(|axis| target[*axis as usize]).collect(),
        places,
        candidates: model.len(),
        range: None,
        prediction: Some(Box::new(Predicted(explanation))),
    })
}

/// Points that are learnt from together.
pub(crate) struct Learnt {
    /// What the axes of places mean.
    pub(crate) axes: SmallVec<[&'static str; 5]>,
    /// That along which calls grow.
    pub(crate) size: usize,
    pub(crate) places: Vec<(Place, Point)>,
}

/// All that are learnt from a set of points, by the axes that points have.
pub(super) fn learnt(points: &PointSet) -> Vec<Learnt> {
    let kind = Kind::of(points);
    let mut patterns: Vec<(u8, AxisSet)> = points.points.iter().filter_map(|point| pattern(&point.at)).collect();
    patterns.sort_unstable();
    patterns.dedup();
    let learnt = |(bits, axes): (u8, AxisSet)| Learnt {
        axes: kind.axis_names(points, axes),
        size: kind.size(bits),
        places: kind.places(points, bits).collect(),
    };
    patterns.into_iter().map(learnt).collect()
}

/// What the axes of points mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rows, inner and columns of a product.
    Product,
    /// Tokens, length, tokens per request, heads and head size of attention.
    Attention,
    /// Rows and columns of what an elementwise kernel or a norm writes.
    Matrix,
    /// Tokens, hidden and intermediate size, experts of a rank and top-k.
    Experts,
    /// Sizes without further meaning.
    Sizes,
}

impl Kind {
    fn of(points: &PointSet) -> Kind {
        match points.axes.names {
            ["M", "K", "N"] => Kind::Product,
            ["q_tokens", "seq", _, "heads", "head_dim"] => Kind::Attention,
            ["rows", "columns"] => Kind::Matrix,
            ["tokens", "hidden", ..] => Kind::Experts,
            _ => Kind::Sizes,
        }
    }

    /// The number of the axis along which calls grow.
    fn size(self, bits: u8) -> usize {
        match self {
            Kind::Attention if bits & 0b100 != 0 => 2,
            Kind::Attention => 1,
            _ => 0,
        }
    }

    /// The points that have these axes, with their places.
    fn places(self, points: &PointSet, bits: u8) -> impl Iterator<Item = (Place, Point)> {
        let own = points.points.iter().filter(move |point| pattern(&point.at).is_some_and(|(own, _)| own == bits));
        own.map(move |point| (self.place(&point.at, points.setting), *point))
    }

    /// The axes of places.
    fn axis_names(self, points: &PointSet, axes: AxisSet) -> SmallVec<[&'static str; 5]> {
        match (self, axes.len()) {
            (Kind::Product, _) => smallvec!["M", "N", "K"],
            (Kind::Attention, 4) => smallvec!["q_tokens", "seq", "heads", "head_dim"],
            (Kind::Attention, _) => smallvec!["batch", "tokens_per_request", "seq", "heads", "head_dim"],
            (Kind::Sizes | Kind::Matrix | Kind::Experts, _) => {
                axes.iter().map(|axis| points.axes.names[usize::from(*axis)]).collect()
            }
        }
    }

    fn place(self, at: &Coordinates, setting: Setting) -> Place {
        match (self, at) {
            (Kind::Product, &[rows, inner, columns, ..]) => {
                Place::matmul(MatMul { rows, columns, inner }, setting.operands)
            }
            (Kind::Attention, &[tokens, length, per_request, heads, head_size]) => {
                let batch = if per_request.is_nan() { 1.0 } else { tokens / per_request };
                let call =
                    Attention { batch, tokens: length, heads, kv_heads: setting.kv_heads, head_size, window: 0.0 };
                let work = call.with_cache(tokens / batch, setting.operands.activation_bytes);
                let axes = match per_request.is_nan() {
                    true => smallvec![tokens, length, heads, head_size],
                    false => smallvec![batch, per_request, length, heads, head_size],
                };
                Place { axes, work, configuration: configuration(&[heads, head_size]), lean: &[] }
            }
            (Kind::Matrix, &[rows, columns, ..]) if !columns.is_nan() => {
                let Operands { activation_bytes, output_bytes, .. } = setting.operands;
                Place::elementwise(rows, columns, activation_bytes + output_bytes)
            }
            (Kind::Experts, &[tokens, hidden, intermediate, experts, top_k]) if !top_k.is_nan() => {
                let expert_parallel = setting.expert_parallel;
                let call = Experts {
                    tokens,
                    hidden,
                    intermediate,
                    top_k,
                    experts: experts * expert_parallel,
                    tensor_parallel: 1.0,
                    expert_parallel,
                };
                Place {
                    axes: SmallVec::from_slice(at),
                    work: call.work(setting.operands.weight_bytes),
                    configuration: configuration(&at[1..]),
                    lean: BY_ROUTED_ROWS,
                }
            }
            (_, at) => {
                let sizes: SmallVec<[f64; 5]> = at.iter().copied().filter(|size| !size.is_nan()).collect();
                Place::sizes(&sizes)
            }
        }
    }
}
