//! All axes at once, from the nearest rows.

use super::attempt::{Status, Value};
use super::axes::Coordinates;
use super::floor;
use super::kind::{Kind, pattern};
use super::points::{PointIndex, PointSet};
use super::slice::SlicePlace;
use super::tables::Learning;
use crate::answer::{Collocated, Prediction};
use crate::context::Context;
use crate::table::KernelRows;
use perfdb_model::predict::{Class, Doubt, Explanation, Neighbour};
use smallvec::{SmallVec, smallvec};

const NO_POINTS: Status = "insufficient_filtered_candidates";
const NO_AXES: Status = "missing_target_axis";
const RULE: &str = "predicted";
const EXACT: &str = "exact_place";

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
            collocated: explanation
                .collocated
                .map(|collocated| Collocated::new(collocated, |row| table.row(row).reference())),
            efficiency: Some(explanation.efficiency),
            sentence: explanation.sentence(|row| table.row(row).line().to_string()),
            doubt: explanation
                .doubt
                .map(|doubt| Doubt { slice_row: table.row(doubt.slice_row).reference().line, ..doubt }),
        }
    }

    /// The estimate alone: the places it is based on follow with their rows.
    pub(crate) fn note(&self) -> String {
        let estimate = self.0.estimate;
        format!("{}: {estimate}", estimate.class.name())
    }
}

/// The value at a target, asked of a set of points of an index.
pub(super) fn value(
    context: &Context<'_>,
    index: &PointIndex,
    points: &PointSet,
    target: &Coordinates,
) -> Result<Value, Status> {
    let kind = Kind::of(index.axes);
    let (bits, axes) = pattern(kind, target).ok_or(NO_AXES)?;
    let learning = index.tables.get_or_make(bits, || Learning::new(index, bits));
    let slice = learning.slice_of(points).ok_or(NO_POINTS)?;
    let place = kind.place(target, points.setting);
    let mut explanation = learning.table.explain(slice, &place).ok_or(NO_POINTS)?;
    if explanation.estimate.class != Class::Measured {
        let own = explanation.neighbours.iter().filter(|near| near.slice == slice).map(|near| near.row);
        if let Some(least_us) = floor::of(context, points, target, own) {
            explanation.estimate = floor::raised(explanation.estimate, least_us);
        }
    }
    let estimate = explanation.estimate;
    let is_row = estimate.class == Class::Measured;
    let place = |near: &Neighbour| {
        let point = learning.set_of(index, near.slice).and_then(|set| set.point_of(near.row));
        let at = point.map_or(SmallVec::new(), |point| axes.iter().map(|axis| point.at[*axis as usize]).collect());
        SlicePlace { at, duration_us: near.duration_us, rows: smallvec![near.row] }
    };
    let places = explanation.neighbours.iter().map(|near| (place(near), near.weight)).collect();
    Ok(Value {
        duration_us: estimate.duration_us,
        confidence: 1.0 / (1.0 + estimate.half_width()),
        method: if is_row { EXACT } else { RULE },
        rule: if is_row { EXACT } else { RULE },
        axes,
        names: points.axes.names,
        target: axes.iter().map(|axis| target[*axis as usize]).collect(),
        places,
        candidates: explanation.known,
        range: None,
        among: None,
        prediction: Some(Box::new(Predicted(explanation))),
    })
}
