//! Rules that consist of iterators, constraints and shapes.

mod membership;

use indexmap::IndexMap;

use crate::candidate::Candidate;
use crate::expression::{ArithmeticError, Expression, Number, Scope};
use crate::shape_template::{DimensionError, ShapeTemplate};

/// The variables that models give.
pub(crate) const PAIR_VARIABLES: [&str; 2] = ["N", "K"];

/// How many points may be looked at one by one: some seconds, and a gigabyte where all become rows.
const MOST_POINTS: u64 = 10_000_000;

/// A rule made of iterators, constraints and shapes, with every expression compiled.
#[derive(Clone, Debug)]
pub struct Template {
    pub(crate) iterators: IndexMap<String, Vec<i128>>,
    pub(crate) fallback: IndexMap<String, Vec<i128>>,
    pub(crate) takes_model_pairs: bool,
    /// The names that expressions may use; its variables are numbered as in `variables`.
    pub(crate) scope: Scope,
    pub(crate) variables: Vec<String>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) inputs: Vec<ShapeTemplate>,
    pub(crate) outputs: Vec<ShapeTemplate>,
    /// Columns with the cell that every row gets there.
    pub(crate) cells: Vec<(&'static str, String)>,
}

/// A condition that a candidate must meet.
#[derive(Clone, Debug)]
pub(crate) struct Constraint {
    pub(crate) text: String,
    pub(crate) expression: Expression,
}

/// An expression that has no value at some point.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{expression}{}", if .values.is_empty() { String::new() } else { format!(" (with {})", .values) })]
pub struct PointError {
    /// The expression as written and what went wrong.
    pub expression: DimensionError,
    /// Every name with its value.
    pub values: String,
}

/// Why a template cannot be enumerated.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EnumerationError {
    /// A constraint or dimension without a value.
    #[error(transparent)]
    Point(#[from] PointError),
    /// More points than can be looked at.
    #[error("{points} points to look at, at most {MOST_POINTS} are possible")]
    TooManyPoints {
        /// The product of the sizes of the grids.
        points: String,
    },
}

/// The points of a template for a list of models: a product, addressed by position.
///
/// A position is turned into its point by division, so that a sample needs no list of all points.
#[derive(Clone, Debug)]
pub(crate) struct Points<'a> {
    template: &'a Template,
    axes: Vec<Axis<'a>>,
    /// The (N, K) pairs of the models, which vary fastest.
    pairs: Option<PairAxis<'a>>,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct PairAxis<'a> {
    pairs: &'a [(i128, i128)],
    /// The numbers of N and K, if expressions can use them.
    slots: [Option<usize>; 2],
}

#[derive(Clone, Debug)]
struct Axis<'a> {
    /// The variable's number, if expressions can use it.
    slot: Option<usize>,
    values: &'a [i128],
}

impl Template {
    /// The points for these (N, K) pairs; `None` when no models were given.
    pub(crate) fn points<'a>(
        &'a self,
        model_pairs: Option<&'a [(i128, i128)]>,
    ) -> Result<Points<'a>, EnumerationError> {
        let slot = |name: &str| self.variables.iter().position(|variable| variable == name);
        let pairs = model_pairs.filter(|_| self.takes_model_pairs);
        let pairs = pairs.map(|pairs| PairAxis { pairs, slots: PAIR_VARIABLES.map(slot) });
        let mut grids: IndexMap<&str, &[i128]> =
            self.iterators.iter().map(|(name, values)| (name.as_str(), values.as_slice())).collect();
        if pairs.is_some() {
            grids.retain(|name, _| !PAIR_VARIABLES.contains(name));
        } else {
            // A variable that is there already keeps its place.
            grids.extend(self.fallback.iter().map(|(name, values)| (name.as_str(), values.as_slice())));
        }
        let axes: Vec<_> = grids.into_iter().map(|(name, values)| Axis { slot: slot(name), values }).collect();
        let sizes = axes.iter().map(|axis| axis.values.len()).chain(pairs.map(|axis| axis.pairs.len()));
        let count = sizes.clone().try_fold(1_u64, |product, size| product.checked_mul(size as u64));
        // Of an empty grid there is no point, however large the others are.
        let count = if sizes.clone().any(|size| size == 0) { Some(0) } else { count };
        let count = count.ok_or_else(|| EnumerationError::TooManyPoints { points: "over 2^64".to_owned() })?;
        Ok(Points { template: self, axes, pairs, count })
    }
}

impl Points<'_> {
    /// Number of points, before constraints.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The positions that meet the constraints; `None` without constraints: all do.
    pub(crate) fn constrained(&self) -> Result<Option<Vec<u32>>, EnumerationError> {
        if self.template.constraints.is_empty() {
            return Ok(None);
        }
        check_count(self.count)?;
        let (mut values, mut stack) = (Vec::new(), Vec::new());
        let mut kept = Vec::new();
        'points: for position in 0..self.count {
            self.set_values(position, &mut values);
            for constraint in &self.template.constraints {
                let value = constraint.expression.evaluate(&values, &mut stack);
                if !value.map_err(|reason| self.error(&constraint.text, reason, &values))?.is_true() {
                    continue 'points;
                }
            }
            kept.push(u32::try_from(position).unwrap_or(u32::MAX));
        }
        Ok(Some(kept))
    }

    /// Makes the candidate at a position. `scratch` keeps its memory from call to call.
    pub(crate) fn build(
        &self,
        position: u64,
        scratch: &mut Scratch,
        candidate: &mut Candidate,
    ) -> Result<(), PointError> {
        self.set_values(position, &mut scratch.values);
        candidate.inputs.clear();
        candidate.outputs.clear();
        let sides = [(&self.template.inputs, &mut candidate.inputs), (&self.template.outputs, &mut candidate.outputs)];
        for (shapes, slots) in sides {
            for shape in shapes {
                shape.push_to(slots, &scratch.values, &mut scratch.stack).map_err(|expression| PointError {
                    expression,
                    values: self.template.scope.describe(&scratch.values),
                })?;
            }
        }
        Ok(())
    }

    fn set_values(&self, position: u64, values: &mut Vec<i128>) {
        values.clear();
        values.resize(self.template.variables.len(), 0);
        let mut rest = position;
        let mut digit = |size: usize| {
            let digit = rest % size as u64;
            rest /= size as u64;
            digit as usize
        };
        if let Some(PairAxis { pairs, slots }) = self.pairs {
            let (n, k) = pairs[digit(pairs.len())];
            for (slot, value) in slots.into_iter().zip([n, k]) {
                if let Some(slot) = slot {
                    values[slot] = value;
                }
            }
        }
        for axis in self.axes.iter().rev() {
            let value = axis.values[digit(axis.values.len())];
            if let Some(slot) = axis.slot {
                values[slot] = value;
            }
        }
    }

    fn error(&self, text: &str, reason: ArithmeticError, values: &[i128]) -> PointError {
        let expression = DimensionError { text: text.to_owned(), reason };
        PointError { expression, values: self.template.scope.describe(values) }
    }
}

/// Whether this many points can be looked at one by one.
pub(crate) fn check_count(points: u64) -> Result<(), EnumerationError> {
    if points > MOST_POINTS { Err(EnumerationError::TooManyPoints { points: points.to_string() }) } else { Ok(()) }
}

/// Memory that is used for one candidate after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    values: Vec<i128>,
    stack: Vec<Number>,
}
