//! The innermost operator around the launch of each kernel, with the shapes of its arguments.

use rustc_hash::FxHashMap;

use crate::columns::Columns;
use crate::context::launches::{Launches, NO_LAUNCH};
use crate::copies::{CopyKind, GpuCopy};
use crate::frames::{Around, frames_at_launches};
use crate::id::Id;
use crate::names::{NO_NAME, NameId};
use crate::time::Picoseconds;

pub(crate) const NO_OPERATOR: u32 = u32::MAX;

/// Operators of kernels.
#[derive(Debug, Default)]
pub(crate) struct Shaped {
    /// Per kernel its call, or [`NO_OPERATOR`].
    pub(crate) of_kernels: Vec<u32>,
    /// Per call its number in `rows`.
    pub(crate) row_of: Vec<u32>,
    pub(crate) rows: Vec<ShapedRow>,
    /// Copies and sets of calls, in the order of the file.
    pub(crate) copies: Vec<ShapedCopy>,
    /// The first call that is known from a capture of the replayed graph, where there is one.
    pub(crate) captured_from: Option<u32>,
    /// Per kernel, whether several captures say different things of its replay; empty where none is like that.
    pub(crate) is_ambiguous: Vec<bool>,
}

/// A copy or a set that an operator made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShapedCopy {
    pub(crate) call: u32,
    pub(crate) kind: CopyKind,
    pub(crate) duration: Picoseconds,
    pub(crate) correlation: Id,
}

/// An operator with the shapes that it was called with.
#[derive(Debug, Clone)]
pub(crate) struct ShapedRow {
    pub(crate) name: NameId,
    /// As they stand in the file; empty where they do not.
    pub(crate) dims: String,
    pub(crate) types: String,
}

pub(crate) fn find(columns: &Columns, launches: &Launches<'_>, launch_of: &[u32]) -> Shaped {
    if columns.operators.is_empty() {
        return Shaped::default();
    }
    let copies: Vec<u32> =
        columns.copies.iter().map(|copy| launches.number(copy.correlation).unwrap_or(NO_LAUNCH)).collect();
    let used = launches.used(launch_of.iter().chain(&copies));
    let around = |at: u32| Around { id: Id::MISSING, ..columns.operators.spans().at(at as usize).into() };
    let mut call_of = vec![NO_OPERATOR; launches.count()];
    let mut rows = Rows { columns, numbers: FxHashMap::default(), found: Vec::new() };
    let mut row_of = Vec::new();
    let mut known = vec![NO_OPERATOR; columns.operators.len()];
    let found = if columns.linked.is_empty() {
        frames_at_launches(columns.operators.len(), around, |number| launches.place(number), used)
    } else {
        linked(columns, &used)
    };
    for (launch, frame) in found {
        let call = &mut known[frame as usize];
        if *call == NO_OPERATOR {
            *call = row_of.len() as u32;
            row_of.push(rows.number(frame as usize));
        }
        call_of[launch as usize] = *call;
    }
    let of_kernel = |launch: &u32| if *launch == NO_LAUNCH { NO_OPERATOR } else { call_of[*launch as usize] };
    let of_copy = |(copy, launch): (&GpuCopy, &u32)| {
        let GpuCopy { kind, duration, correlation, .. } = *copy;
        Some(ShapedCopy { call: of_kernel(launch), kind, duration, correlation })
            .filter(|copy| copy.call != NO_OPERATOR)
    };
    let copies = columns.copies.iter().zip(&copies).filter_map(of_copy).collect();
    Shaped {
        of_kernels: launch_of.iter().map(of_kernel).collect(),
        row_of,
        rows: rows.found,
        copies,
        captured_from: None,
        is_ambiguous: Vec::new(),
    }
}

/// Pairs of a launch and the operator that the file links it to.
fn linked(columns: &Columns, used: &[u32]) -> Vec<(u32, u32)> {
    let operator = |launch: u32| columns.linked.get(launch as usize).copied().flatten();
    used.iter().filter_map(|launch| Some((*launch, operator(*launch)?))).collect()
}

struct Rows<'a> {
    columns: &'a Columns,
    numbers: FxHashMap<(NameId, NameId, NameId), u32>,
    found: Vec<ShapedRow>,
}

impl Rows<'_> {
    fn number(&mut self, operator: usize) -> u32 {
        let operator = self.columns.operators.at(operator);
        let next = self.found.len() as u32;
        let number = *self.numbers.entry((operator.name, operator.dims, operator.types)).or_insert(next);
        if number == next {
            let text = |id: NameId| match id {
                NO_NAME => String::new(),
                id => self.columns.arguments.get(id).to_owned(),
            };
            self.found.push(ShapedRow { name: operator.name, dims: text(operator.dims), types: text(operator.types) });
        }
        number
    }
}
