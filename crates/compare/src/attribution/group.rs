//! Groups: the calls of one kernel type and shape on both sides.

use super::call::{Book, Call, TimeSource};
use super::families::Families;
use super::family::{self, Family, is_collective};
use super::operands::{AttentionKey, Operands};
use super::quotient::{Passes, rounded};
use super::work::WorkKey;
use bitcode::{Decode, Encode};
use serde::Serialize;

/// How the two sides of a group met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// They did not.
    None,
    /// By kernel type and shape.
    Shape,
    /// By query tokens, blocks and sequences.
    Attention,
    /// A collective, by its size or for want of a measured one.
    Collective,
    /// The same matrix product.
    Gemm,
    /// Attention of as many query tokens.
    AttentionQuery,
    /// The operands of one side begin with those of the other.
    Prefix,
    /// The operator's shapes instead of the kernel's.
    Simulated,
    /// All that was left of a kernel type; does not count as met.
    Type,
    /// A part that a composite operator names.
    Composite,
}

/// The calls of one side of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupSide {
    pub(crate) calls: u64,
    pub(crate) sum_ps: i128,
    /// The first call's signature.
    pub(crate) first: Option<u32>,
}

impl GroupSide {
    fn take(&mut self, other: GroupSide) {
        self.calls += other.calls;
        self.sum_ps += other.sum_ps;
        self.first = self.first.or(other.first);
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) kernel_type: Box<str>,
    pub(crate) shape: String,
    pub(crate) operands: Option<Operands>,
    pub(crate) attention: Option<AttentionKey>,
    pub(crate) predicted: GroupSide,
    pub(crate) measured: GroupSide,
    pub(crate) join: Join,
    pub(crate) family: Family,
    pub(crate) work: WorkKey,
    /// Position of the pool that takes its count part.
    pub(crate) pool: Option<usize>,
    /// Time in one pass.
    pub(crate) predicted_ps: i128,
    pub(crate) measured_ps: i128,
    /// Calls in one pass, in a unit that both sides share.
    pub(crate) n1: i128,
    pub(crate) n2: i128,
    /// The part of the difference that more or fewer calls make.
    pub(crate) count_ps: i128,
    /// The rest of it.
    pub(crate) time_ps: i128,
}

impl Group {
    pub(crate) fn is_on_both_sides(&self) -> bool {
        self.predicted.calls > 0 && self.measured.calls > 0
    }

    pub(crate) fn is_predicted(&self) -> bool {
        self.predicted.calls > 0
    }

    pub(crate) fn is_measured(&self) -> bool {
        self.measured.calls > 0
    }

    pub(crate) fn difference_ps(&self) -> i128 {
        self.predicted_ps - self.measured_ps
    }

    /// Whether the numbers of calls differ by a tenth at most.
    pub(crate) fn is_firm(&self) -> bool {
        self.is_on_both_sides() && (self.n1 - self.n2).abs() * 10 <= self.n1.max(self.n2)
    }

    /// More calls than on the other side.
    pub(crate) fn excess(&self) -> i128 {
        (self.n1 - self.n2).abs()
    }
}

/// All groups, and which one each call is in.
#[derive(Debug)]
pub(crate) struct Groups {
    pub(crate) list: Vec<Group>,
    /// Position in `list` by the number that signatures of equal type and shape share.
    by_key: Vec<u32>,
}

/// The position of what has no group.
const NO_GROUP: u32 = u32::MAX;

/// Groups before their sums are final.
pub(super) struct Unjoined {
    pub(super) groups: Vec<Group>,
    pub(super) by_key: Vec<u32>,
    /// Where groups that were merged into others went.
    pub(super) merged: Vec<Option<u32>>,
}

impl Unjoined {
    /// Groups by exact kernel type and shape, in order of first appearance.
    pub(super) fn new(book: &Book, predicted: &[Call], measured: &[Call]) -> Unjoined {
        let mut unjoined =
            Unjoined { groups: Vec::new(), by_key: vec![NO_GROUP; book.group_count], merged: Vec::new() };
        for call in predicted {
            let group = unjoined.group_of(book, call);
            add(&mut group.predicted, call);
        }
        for call in measured {
            let group = unjoined.group_of(book, call);
            add(&mut group.measured, call);
        }
        for group in &mut unjoined.groups {
            if group.is_on_both_sides() {
                group.join = match &group.attention {
                    Some(_) => Join::Attention,
                    None if is_collective(&group.kernel_type) => Join::Collective,
                    None => Join::Shape,
                };
            }
        }
        unjoined.merged = vec![None; unjoined.groups.len()];
        unjoined
    }

    fn group_of(&mut self, book: &Book, call: &Call) -> &mut Group {
        let at = &mut self.by_key[book.keys(call).group as usize];
        if *at == NO_GROUP {
            *at = self.groups.len() as u32;
            let signature = book.signature(call);
            self.groups.push(Group {
                kernel_type: signature.kernel_type.clone(),
                shape: signature.shape(),
                operands: signature.operands.clone(),
                attention: signature.attention,
                predicted: GroupSide::default(),
                measured: GroupSide::default(),
                join: Join::None,
                family: Family::Borrowed(""),
                work: WorkKey::Unknown,
                pool: None,
                predicted_ps: 0,
                measured_ps: 0,
                n1: 0,
                n2: 0,
                count_ps: 0,
                time_ps: 0,
            });
        }
        &mut self.groups[*at as usize]
    }

    /// Moves the calls of one group into another.
    pub(super) fn merge(&mut self, into: usize, from: usize, join: Join) {
        let taken = std::mem::take(&mut self.groups[from].predicted);
        let measured = std::mem::take(&mut self.groups[from].measured);
        let (operands, attention) = (self.groups[from].operands.take(), self.groups[from].attention);
        let group = &mut self.groups[into];
        group.predicted.take(taken);
        group.measured.take(measured);
        group.join = join;
        group.operands = group.operands.take().or(operands);
        group.attention = group.attention.or(attention);
        self.merged[from] = Some(into as u32);
    }

    /// Puts times, families and work keys to the groups, and them in order: the largest time of either side first.
    pub(super) fn finish(self, book: &Book, passes: Passes, families: &Families, widest_norm: i64) -> Groups {
        let Unjoined { groups, mut by_key, merged } = self;
        let mut list: Vec<(u32, Group)> = Vec::with_capacity(groups.len());
        for (at, mut group) in groups.into_iter().enumerate() {
            if merged[at].is_some() {
                continue;
            }
            let simulated = || {
                let first = group.predicted.first?;
                book.signatures[first as usize].prediction()?.simulated_operands.as_ref()
            };
            let operands = group.operands.as_ref().or_else(simulated);
            group.family = families.family(&group.kernel_type, operands, widest_norm);
            group.work = WorkKey::of(&group.family, operands, group.attention.map(|key| key.query_tokens));
            group.set_times(passes);
            list.push((at as u32, group));
        }
        list.sort_by(|(_, a), (_, b)| {
            let larger = |group: &Group| group.predicted_ps.max(group.measured_ps);
            let names = || a.kernel_type.cmp(&b.kernel_type).then_with(|| a.shape.cmp(&b.shape));
            larger(b).cmp(&larger(a)).then_with(names)
        });
        let mut positions = vec![0; merged.len()];
        for (position, (at, _)) in list.iter().enumerate() {
            positions[*at as usize] = position as u32;
        }
        by_key.iter_mut().filter(|position| **position != NO_GROUP).for_each(|position| {
            let mut at = *position as usize;
            while let Some(into) = merged[at] {
                at = into as usize;
            }
            *position = positions[at];
        });
        Groups { list: list.into_iter().map(|(_, group)| group).collect(), by_key }
    }
}

fn add(side: &mut GroupSide, call: &Call) {
    side.calls += 1;
    side.sum_ps += i128::from(call.duration_ps);
    side.first.get_or_insert(call.signature);
}

impl Group {
    fn set_times(&mut self, passes: Passes) {
        self.predicted_ps = self.predicted.sum_ps;
        self.measured_ps = passes.per_pass(self.measured.sum_ps);
        self.n1 = i128::from(self.predicted.calls) * passes.unit();
        self.n2 = passes.measured_calls(self.measured.calls);
        // (n1 − n2) (t1 + t2) / 2 with t = time / calls
        self.count_ps = if self.is_on_both_sides() {
            let cross = [self.predicted_ps * self.n2 + self.measured_ps * self.n1, self.n1 - self.n2];
            rounded(&cross, &[2, self.n1, self.n2])
        } else {
            self.difference_ps()
        };
        self.time_ps = self.difference_ps() - self.count_ps;
    }
}

impl Groups {
    /// The group of a call.
    pub(crate) fn position(&self, book: &Book, call: &Call) -> usize {
        self.by_key[book.keys(call).group as usize] as usize
    }

    /// The labels of the predicted times of each group.
    pub(crate) fn sources(&self, book: &Book, predicted: &[Call]) -> Vec<Sources> {
        let mut sources = vec![Sources::default(); self.list.len()];
        for call in predicted {
            if let Some(prediction) = book.signature(call).prediction() {
                sources[self.position(book, call)].add(prediction.source);
            }
        }
        sources
    }

    /// The durations of the measured calls of each group, sorted.
    pub(crate) fn measured_durations(&self, book: &Book, measured: &[Call]) -> Durations {
        let mut ends = vec![0usize; self.list.len() + 1];
        measured.iter().for_each(|call| ends[self.position(book, call) + 1] += 1);
        (1..ends.len()).for_each(|at| ends[at] += ends[at - 1]);
        let starts = ends.clone();
        let mut durations_ps = vec![0; measured.len()];
        for call in measured {
            let end = &mut ends[self.position(book, call)];
            durations_ps[*end] = call.duration_ps;
            *end += 1;
        }
        starts.windows(2).for_each(|bounds| durations_ps[bounds[0]..bounds[1]].sort_unstable());
        Durations { starts, durations_ps }
    }
}

/// The durations of many groups.
pub(crate) struct Durations {
    starts: Vec<usize>,
    durations_ps: Vec<i64>,
}

impl Durations {
    /// Those of one group, sorted.
    pub(crate) fn of(&self, group: usize) -> &[i64] {
        &self.durations_ps[self.starts[group]..self.starts[group + 1]]
    }
}

/// A set of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode)]
pub struct Sources(u8);

impl Sources {
    pub(crate) fn add(&mut self, source: TimeSource) {
        self.0 |= 1 << source as u8;
    }

    /// What is in either set.
    pub(crate) fn union(self, other: Sources) -> Sources {
        Sources(self.0 | other.0)
    }

    /// Whether some time was predicted from other rows of tables.
    pub(crate) fn is_predicted(self) -> bool {
        let from_rows = |source| !matches!(source, TimeSource::Measured | TimeSource::Analytic);
        self.iter().any(from_rows)
    }

    /// In the order of their names.
    pub fn iter(self) -> impl Iterator<Item = TimeSource> {
        TimeSource::ALL.into_iter().filter(move |source| self.0 & (1 << *source as u8) != 0)
    }

    /// Their names joined with `+`.
    pub fn text(self) -> String {
        self.iter().map(TimeSource::name).collect::<Vec<_>>().join("+")
    }
}

impl Serialize for Sources {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.text())
    }
}

/// The width of the widest norm among these calls.
pub(super) fn widest_norm<'c>(book: &Book, calls: impl Iterator<Item = &'c Call>) -> i64 {
    let mut widest = 0;
    let mut looked_at = rustc_hash::FxHashSet::default();
    for call in calls {
        if looked_at.insert(call.signature) {
            let signature = book.signature(call);
            if family::table_family(&signature.kernel_type) == Some("norm_add") {
                widest = widest.max(signature.operands.as_ref().and_then(Operands::width).unwrap_or(0));
            }
        }
    }
    widest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_calls_are_firm_up_to_a_tenth() {
        let is_firm = |n1, n2, is_measured: bool| {
            let side = |calls| GroupSide { calls, ..GroupSide::default() };
            let group = Group {
                kernel_type: "".into(),
                shape: String::new(),
                operands: None,
                attention: None,
                predicted: side(1),
                measured: side(is_measured.into()),
                join: Join::Type,
                family: Family::Borrowed(""),
                work: WorkKey::Any,
                pool: None,
                predicted_ps: 0,
                measured_ps: 0,
                n1,
                n2,
                count_ps: 0,
                time_ps: 0,
            };
            group.is_firm()
        };
        assert!(is_firm(10, 10, true) && is_firm(10, 9, true) && is_firm(9, 10, true));
        assert!(!is_firm(10, 8, true) && !is_firm(8, 10, true) && !is_firm(10, 10, false));
    }

    #[test]
    fn times_of_other_rows_are_predicted() {
        let of = |source| {
            let mut sources = Sources::default();
            sources.add(source);
            sources
        };
        let predicted: Vec<&str> =
            TimeSource::ALL.into_iter().filter(|source| of(*source).is_predicted()).map(TimeSource::name).collect();
        assert_eq!(predicted, ["extrapolated", "interpolated", "padded", "partial"]);
        assert!(of(TimeSource::Measured).union(of(TimeSource::Padded)).is_predicted());
        assert!(!of(TimeSource::Measured).union(of(TimeSource::Analytic)).is_predicted());
    }
}
