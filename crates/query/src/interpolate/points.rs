//! Rows as points: coordinates on named axes, in groups that agree in everything else.

use super::axes::{Axes, Coordinates, Key, MOST_AXES, RowPoint};
use super::kind::Setting;
use super::slice::{Slice, sides};
use super::slices::{Numbers, SliceRef, Slices, having, others};
use super::tables::Tables;
use crate::dtype::{is_same_name, one_spelling};
use crate::semantics::Rules;
use crate::shapes::is_equal_or_rounded;
use crate::table::columns::Column;
use crate::table::{KernelRow, KernelRows};
use perfdb_model::predict::{Operands, Precision};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A row as its kind sees it.
pub(crate) struct Placed {
    pub(crate) key: Key,
    pub(crate) at: Coordinates,
    /// What only the group has: formats, optional fields.
    pub(crate) extra: Extra,
}

/// What a group has beyond the key by which it is found.
#[derive(Debug, Default, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Extra {
    /// Whether all formats are `ND`.
    pub(crate) is_plain: bool,
    /// Formats or optional fields.
    pub(crate) texts: SmallVec<[Box<str>; 3]>,
    /// Data types, where rows of types that a question takes for each other are learnt from apart.
    pub(crate) types: SmallVec<[Box<str>; 3]>,
    /// Of attention by shapes; 0 elsewhere.
    pub(crate) head_size: i64,
    /// Of attention by shapes where key heads must agree; 0 elsewhere.
    pub(crate) kv_heads: i64,
    /// Of experts by shapes, where the table has it.
    pub(crate) expert_parallel: Option<i64>,
}

impl Extra {
    /// Whether a group is of other types than a call, where groups differ by them.
    pub(crate) fn is_of_other_types<'s>(&self, types: impl Iterator<Item = Option<&'s str>>) -> bool {
        let is_same = |own: &str, wanted: &str| is_same_name(own, wanted) || one_spelling(own) == one_spelling(wanted);
        self.types.iter().zip(types).any(|(own, wanted)| !wanted.is_some_and(|wanted| is_same(own, wanted)))
    }
}

/// Points that agree in everything but their coordinates.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) extra: Extra,
    /// Of the preferred column, and of others.
    pub(crate) preferred: PointSet,
    pub(crate) alternate: PointSet,
}

impl Group {
    pub(crate) fn len(&self) -> usize {
        self.preferred.points.len() + self.alternate.points.len()
    }
}

/// The groups of one kind of one table.
#[derive(Debug)]
pub(crate) struct PointIndex {
    pub(crate) axes: &'static Axes,
    pub(crate) groups: Vec<Group>,
    pub(crate) tables: Tables,
    /// As the table knows it.
    pub(crate) name: IndexName,
    by_key: FxHashMap<Key, SmallVec<[u32; 2]>>,
}

impl PointIndex {
    /// The groups of all rows that the kind takes, in the order of their first rows. Points of all columns of durations are one set where they
    /// are mixed.
    pub(crate) fn new(
        table: &KernelRows,
        axes: &'static Axes,
        is_mixed: bool,
        name: IndexName,
        place: impl Fn(KernelRow<'_>) -> Option<Placed>,
    ) -> PointIndex {
        let mut index =
            PointIndex { axes, groups: Vec::new(), tables: Tables::default(), name, by_key: FxHashMap::default() };
        for row in table.rows() {
            let Some(Placed { key, at, extra }) = place(row) else { continue };
            let groups = index.by_key.entry(key).or_default();
            let known = groups.iter().copied().find(|group| index.groups[*group as usize].extra == extra);
            let group = known.unwrap_or_else(|| {
                let at = index.groups.len() as u32;
                let setting = Setting::of(row).of_heads(extra.head_size, extra.kv_heads, table.window());
                let new = |number| PointSet { setting, number, ..PointSet::new(axes) };
                index.groups.push(Group { extra, preferred: new(2 * at), alternate: new(2 * at + 1) });
                groups.push(at);
                at
            });
            let (mut duration_us, is_preferred) = row.point_duration();
            if name.is_corrected && row.is_measured() {
                duration_us = row.search_duration_us();
            }
            let group = &mut index.groups[group as usize];
            let points = if is_preferred || is_mixed { &mut group.preferred } else { &mut group.alternate };
            let spread = row.spread().map_or(f32::NAN, |spread| spread as f32);
            points.points.push(RowPoint { at, duration_us, row: row.number(), spread });
        }
        index
    }

    /// The points of a table, made when they are first asked for.
    pub(crate) fn of_table<'t>(
        table: &'t KernelRows,
        name: IndexName,
        axes: &'static Axes,
        place: impl Fn(KernelRow<'_>) -> Option<Placed>,
    ) -> &'t PointIndex {
        table.points.get_or_make(name, || PointIndex::new(table, axes, false, name, &place))
    }

    /// A set of points by its number.
    pub(crate) fn set(&self, number: u32) -> Option<&PointSet> {
        let group = self.groups.get(number as usize / 2)?;
        Some(if number.is_multiple_of(2) { &group.preferred } else { &group.alternate })
    }

    /// All sets of points, by what their groups agree in: in an order that is not that of the rows.
    pub(crate) fn sets_in_order(&self) -> Vec<&PointSet> {
        let of_key = |key| self.of(key).map(move |group| (key, group));
        let mut groups: Vec<(&Key, &Group)> = self.by_key.keys().flat_map(of_key).collect();
        groups.sort_unstable_by_key(|(key, group)| (*key, &group.extra));
        groups.into_iter().flat_map(|(_, group)| [&group.preferred, &group.alternate]).collect()
    }

    /// The groups of a key.
    pub(crate) fn of(&self, key: &Key) -> impl Iterator<Item = &Group> {
        let groups = self.by_key.get(key).map_or(&[][..], |groups| groups);
        groups.iter().map(|group| &self.groups[*group as usize])
    }
}

/// Slices by set of axes and the coordinates of the target.
type RoundedSlices = FxHashMap<(usize, [u64; MOST_AXES]), Arc<Slice>>;

impl Setting {
    pub(crate) fn of(row: KernelRow<'_>) -> Setting {
        let precision = |types: &[Box<str>], at: usize| -> Precision {
            types.get(at).and_then(|name| name.parse().ok()).unwrap_or(Precision::Bf16)
        };
        let bytes = |types: &[Box<str>], at: usize| precision(types, at).bytes();
        let types = [0, 1].map(|at| precision(row.input_types(), at));
        let operands = Operands {
            activation_bytes: bytes(row.input_types(), 0),
            weight_bytes: bytes(row.input_types(), 1),
            output_bytes: bytes(row.output_types(), 0),
        };
        let kv_heads = row.cut(Column::KvHeads).filter(|heads| *heads > 0).unwrap_or(1) as f64;
        let expert_parallel = row.whole(Column::EpSize).filter(|ranks| *ranks > 0).unwrap_or(1) as f64;
        Setting { operands, types, kv_heads, expert_parallel, ..Setting::default() }
    }
}

/// Most slices that are kept for rounded coordinates; then all are made again.
const MOST_ROUNDED_SLICES: usize = 4096;

/// Points among which is interpolated.
#[derive(Debug)]
pub(crate) struct PointSet {
    pub(crate) axes: &'static Axes,
    /// Its number in the index.
    pub(crate) number: u32,
    /// By row.
    pub(crate) points: Vec<RowPoint>,
    pub(crate) setting: Setting,
    /// Where shapes have no grid most sets have one point, of which nothing is looked up.
    finders: OnceLock<Box<Finders>>,
}

/// What finds points, each made when it is first needed.
#[derive(Debug)]
struct Finders {
    /// For each set of axes: the places of the points that agree in all others.
    slices: Box<[OnceLock<Slices>]>,
    /// The same where on one axis equal or padded is near enough: by set and by the coordinates of the target.
    rounded_slices: RwLock<RoundedSlices>,
    /// For each set of axes: points that agree in all others but the padded one.
    rounded_points: Box<[OnceLock<Numbers>]>,
    coordinates: [OnceLock<OnAxis>; MOST_AXES],
    without: OnceLock<PointSet>,
}

/// The coordinates of points on one axis.
#[derive(Debug)]
pub(crate) struct OnAxis {
    /// Whether some have none.
    pub(crate) has_absent: bool,
    /// Those that they have, rising.
    pub(crate) values: Box<[f64]>,
    /// The last one of each [`STRIDE`]: a search among many goes through less memory than without.
    marks: Box<[f64]>,
}

/// Coordinates in a line of memory.
const STRIDE: usize = 8;

impl OnAxis {
    /// The nearest coordinates on both sides, which may be the same; `None` if one is missing.
    fn bracket(&self, wanted: f64) -> Option<[f64; 2]> {
        let from = STRIDE * self.marks.partition_point(|own| *own < wanted);
        let stride = self.values.get(from..)?.iter().take(STRIDE);
        let above = from + stride.map(|own| usize::from(*own < wanted)).sum::<usize>();
        sides(&self.values, above, wanted)
    }
}

impl PointSet {
    fn new(axes: &'static Axes) -> Self {
        PointSet { axes, number: 0, points: Vec::new(), setting: Setting::default(), finders: OnceLock::new() }
    }

    fn finders(&self) -> &Finders {
        self.finders.get_or_init(|| {
            Box::new(Finders {
                slices: self.axes.sets.iter().map(|_| OnceLock::new()).collect(),
                rounded_slices: RwLock::default(),
                rounded_points: self.axes.sets.iter().map(|_| OnceLock::new()).collect(),
                coordinates: Default::default(),
                without: OnceLock::new(),
            })
        })
    }

    #[cfg(test)]
    pub(crate) fn of(axes: &'static Axes, points: Vec<RowPoint>) -> Self {
        PointSet { points, ..PointSet::new(axes) }
    }

    /// The points that have no coordinate on an axis, which is the same one at each call.
    pub(crate) fn without(&self, axis: usize) -> &PointSet {
        self.finders().without.get_or_init(|| {
            let points = self.points.iter().filter(|point| point.at[axis].is_nan()).copied().collect();
            PointSet { points, number: self.number, setting: self.setting, ..PointSet::new(self.axes) }
        })
    }

    /// The point of a row.
    pub(crate) fn point_of(&self, row: u32) -> Option<&RowPoint> {
        let at = self.points.binary_search_by_key(&row, |point| point.row).ok()?;
        self.points.get(at)
    }

    /// The coordinates on an axis.
    pub(crate) fn on_axis(&self, axis: usize) -> &OnAxis {
        self.finders().coordinates[axis].get_or_init(|| {
            let mut values: Vec<f64> = self.points.iter().map(|point| point.at[axis]).collect();
            let count = values.len();
            values.retain(|value| !value.is_nan());
            let has_absent = values.len() < count;
            values.sort_by(f64::total_cmp);
            values.dedup();
            let marks = values.iter().skip(STRIDE - 1).step_by(STRIDE).copied().collect();
            OnAxis { has_absent, values: values.into(), marks }
        })
    }

    /// The nearest coordinates of all points on both sides of a target on an axis; `None` if one is missing. Where rows are padded, and without a
    /// coordinate, the target itself.
    pub(crate) fn bracket(&self, axis: usize, target: &Coordinates) -> Option<[f64; 2]> {
        let wanted = target[axis];
        if wanted.is_nan() || self.axes.padded.is_some_and(|padded| usize::from(padded) == axis) {
            return Some([wanted; 2]);
        }
        self.on_axis(axis).bracket(wanted)
    }

    /// The places that agree with a target in all axes but those of a set; `None` if there are none but a single one that is not where the target
    /// is. Only for kinds without a padded axis.
    pub(crate) fn slice(&self, set: usize, target: &Coordinates) -> Option<SliceRef<'_>> {
        let axes = self.axes.sets[set];
        let slices = self.finders().slices[set].get_or_init(|| Slices::of(axes, &self.points));
        slices.around(axes, &self.points, target)
    }

    /// The same where on the axis `padded` equal or padded is near enough.
    pub(crate) fn rounded_slice(&self, set: usize, target: &Coordinates, padded: u8) -> Arc<Slice> {
        let axes = self.axes.sets[set];
        let key = (set, others(target, axes));
        if let Some(known) = self.finders().rounded_slices.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return known.clone();
        }
        let but_padded = |at: &Coordinates| {
            let mut key = others(at, axes);
            key[usize::from(padded)] = 0;
            key
        };
        let points = self.finders().rounded_points[set].get_or_init(|| {
            let mut points = Numbers::default();
            for (number, point) in having(axes, &self.points) {
                points.entry(but_padded(&point.at)).or_default().push(number);
            }
            points
        });
        let near = points.get(&but_padded(target)).map(|numbers| numbers.as_slice()).unwrap_or_default();
        let wanted = target[usize::from(padded)] as i64;
        let points = near.iter().filter_map(|number| self.points.get(*number as usize));
        let fitting = points.filter(|point| is_equal_or_rounded(point.at[usize::from(padded)] as i64, wanted));
        let made = Arc::new(Slice::of(axes, fitting));
        let mut known = self.finders().rounded_slices.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_ROUNDED_SLICES {
            known.clear();
        }
        known.entry(key).or_insert(made).clone()
    }

    /// The places that agree with a target in all axes but those of a set, on the padded axis nearly; `None` if there are none.
    pub(crate) fn near(&self, set: usize, target: &Coordinates) -> Option<SliceRef<'_>> {
        match self.axes.padded {
            None => self.slice(set, target),
            Some(padded) => Some(SliceRef::Shared(self.rounded_slice(set, target, padded))),
        }
    }
}

/// Which points of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IndexName {
    pub(crate) kind: &'static str,
    pub(crate) count: Option<usize>,
    pub(crate) is_corrected: bool,
}

impl IndexName {
    /// Those of a kind under some rules, by the first inputs or by all.
    pub(crate) fn of(rules: &Rules, kind: &'static str, count: Option<usize>) -> IndexName {
        IndexName { kind, count, is_corrected: rules.envelope_everywhere }
    }
}
