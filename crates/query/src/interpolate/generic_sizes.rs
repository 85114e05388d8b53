//! The sizes of kernels that nobody described: all dimensions of the inputs that vary from row to row are axes.

use super::axes::{ABSENT, Axes, Coordinates, Key, MOST_AXES};
use crate::dtype::is_same_name;
use crate::semantics::Rules;
use crate::table::KernelRows;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::Deref;

/// Points have as many of them as vary.
pub(super) static SIZES: Axes = Axes {
    names: &["size_0", "size_1", "size_2", "size_3", "size_4"],
    sets: &[
        &[0],
        &[1],
        &[2],
        &[3],
        &[4],
        &[0, 1],
        &[0, 2],
        &[0, 3],
        &[0, 4],
        &[1, 2],
        &[1, 3],
        &[1, 4],
        &[2, 3],
        &[2, 4],
        &[3, 4],
        &[0, 1, 2],
    ],
    padded: None,
};

/// The dimensions of all inputs, one after another.
type Dimensions = SmallVec<[i64; 16]>;

/// What rows have in common whose dimensions mean the same.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Form {
    ranks: SmallVec<[usize; 8]>,
    /// How many inputs count.
    inputs: usize,
    types: SmallVec<[Box<str>; 4]>,
}

impl Form {
    fn key(&self) -> Key {
        let mut key = Key::default();
        self.ranks.iter().for_each(|rank| {
            key.integer(*rank as i64);
        });
        key.integer(self.inputs as i64).texts(self.types.iter().map(|name| &**name));
        key
    }
}

/// What the dimensions of rows of one form are.
#[derive(Debug, Clone, PartialEq)]
struct Plan {
    form: Form,
    /// What must agree by the form.
    key: Key,
    /// The axes, the first the one along which calls grow.
    axes: SmallVec<[usize; MOST_AXES]>,
    /// Of each dimension an earlier one that is the same in every row.
    same_as: Vec<Option<usize>>,
}

/// The plans of a table, which has few.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    plans: Vec<Plan>,
    /// Whether more varies than the rows and columns of the first input.
    pub(super) is_generic: bool,
}

/// Ranks and dimensions of inputs.
fn ranks_and_dimensions(
    shapes: impl Iterator<Item = impl Deref<Target = [i64]>>,
) -> (SmallVec<[usize; 8]>, Dimensions) {
    let (mut ranks, mut dimensions) = (SmallVec::new(), Dimensions::new());
    for shape in shapes {
        ranks.push(shape.len());
        shape.iter().for_each(|dimension| dimensions.push(*dimension));
    }
    (ranks, dimensions)
}

impl Plans {
    /// Of the first inputs of a table, or of all.
    pub(super) fn new(rules: &Rules, table: &KernelRows, count: Option<usize>) -> Plans {
        let limit = count.unwrap_or(usize::MAX);
        let mut forms: BTreeMap<Form, Vec<Dimensions>> = BTreeMap::new();
        for row in table.rows() {
            let (ranks, dimensions) = ranks_and_dimensions(row.matrices().iter().take(limit));
            let types = row.input_types().iter().map(|name| table.tolerance(rules).type_class(name).into());
            let (inputs, types) = (count.unwrap_or(ranks.len()), types.take(ranks.len()).collect());
            forms.entry(Form { ranks, inputs, types }).or_default().push(dimensions);
        }
        let mut plans = Plans::default();
        for (form, rows) in forms {
            let (plan, is_generic) = Plan::of(form, &rows);
            plans.is_generic |= is_generic;
            plans.plans.push(plan);
        }
        plans
    }

    /// The coordinates of a row or a call, and what must agree, in place of what the key was; `None` where no row has its form.
    pub(super) fn place(
        &self,
        count: Option<usize>,
        types: &[&str],
        shapes: impl Iterator<Item = impl Deref<Target = [i64]>>,
        key: &mut Key,
    ) -> Option<Coordinates> {
        let (ranks, dimensions) = ranks_and_dimensions(shapes);
        let inputs = count.unwrap_or(ranks.len());
        let types = types.get(..ranks.len()).unwrap_or(types);
        let is_of = |form: &Form| {
            (form.inputs, &form.ranks) == (inputs, &ranks)
                && form.types.len() == types.len()
                && form.types.iter().zip(types).all(|(own, name)| is_same_name(own, name))
        };
        let plan = self.plans.iter().find(|plan| is_of(&plan.form))?;
        key.set(&plan.key);
        for (at, &size) in dimensions.iter().enumerate().filter(|(at, _)| !plan.axes.contains(at)) {
            match plan.same_as[at] {
                Some(earlier) if dimensions[earlier] == size => key.text("same"),
                _ => key.integer(size),
            };
        }
        let mut coordinates = [ABSENT; MOST_AXES];
        for (coordinate, at) in coordinates.iter_mut().zip(&plan.axes) {
            *coordinate = dimensions[*at] as f64;
        }
        // A table of one shape still has an axis.
        if plan.axes.is_empty() {
            coordinates[0] = 1.0;
        }
        Some(coordinates)
    }
}

impl Plan {
    /// Of rows of one form, and whether more varies than the first and the last dimension.
    fn of(form: Form, rows: &[Dimensions]) -> (Plan, bool) {
        let count = rows.first().map_or(0, |row| row.len());
        let is_same = |a: usize, b: usize| rows.iter().all(|row| row[a] == row[b]);
        let same_as: Vec<Option<usize>> = (0..count).map(|at| (0..at).find(|earlier| is_same(*earlier, at))).collect();
        let distinct = |at: usize| {
            let mut values: Vec<i64> = rows.iter().map(|row| row[at]).collect();
            values.sort_unstable();
            values.dedup();
            values.len()
        };
        let varying = (0..count).filter(|at| same_as[*at].is_none()).map(|at| (distinct(at), at));
        let mut varying: Vec<(usize, usize)> = varying.filter(|(distinct, _)| *distinct > 1).collect();
        // The first dimension is mostly that of tokens; of the others those with the most values count.
        varying.sort_by_key(|(distinct, at)| (*at != 0, std::cmp::Reverse(*distinct), *at));
        let axes = varying.iter().take(MOST_AXES).map(|(_, at)| *at).collect();
        (Plan { key: form.key(), form, axes, same_as }, varying.len() > 2)
    }
}
