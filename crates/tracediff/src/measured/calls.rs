//! The calls of a trace: each with its kernels, and what it is in a database.

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::case::Case;
use super::{MeasuredOptions, Reason, sources, types};
use crate::context::calls::{CallShape, Given};
use crate::copies::CopyKind;
use crate::id::Id;
use crate::names::NameId;
use crate::one_trace::shapes::NO_OPERATOR;
use crate::time::Picoseconds;
use crate::trace::Trace;

/// A call, or kernels that no call owns.
pub(super) struct Call {
    /// Empty where nobody called.
    pub(super) operator: String,
    pub(super) is: Called,
    pub(super) kernels: Vec<Worked>,
}

/// What a device did for a call, and how long it took.
pub(super) type Worked = (Work, Picoseconds);

/// What a device can do for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A kernel of this name.
    Kernel(NameId),
    /// A copy or a set.
    Copy(CopyKind),
}

impl Work {
    /// As rows name it.
    pub(super) fn name(self, trace: &Trace) -> &str {
        match self {
            Work::Kernel(name) => trace.name(name),
            Work::Copy(kind) => sources::of_copy(kind),
        }
    }
}

/// What a call is in a database.
pub(super) enum Called {
    Case(Box<Case>),
    LeftOut(Reason),
}

/// Who owns a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    /// The innermost operator around its launch, by number of the call.
    Operator(u32),
    /// The innermost call around its launch of which a formula says what it must do.
    Formula(u32),
    /// Nobody: the name of an operator around it, if any, and why it counts for nothing.
    Nobody(Option<NameId>, Reason),
}

pub(super) fn calls(trace: &Trace, options: MeasuredOptions) -> impl Iterator<Item = Call> {
    let mut owned: IndexMap<Owner, Vec<Worked>> = IndexMap::new();
    let communicates = trace.communicating();
    for (at, kernel) in trace.kernels.iter().enumerate() {
        let owner = owner(trace, at, communicates[trace.operation(at) as usize]);
        owned.entry(owner).or_default().push((Work::Kernel(kernel.name), kernel.duration));
    }
    // What stands around the replay of a graph is the work of none of its copies.
    let is_replayed = |at: &usize| trace.replayed.get(*at) == Some(&true);
    let replayed: FxHashSet<Id> =
        (0..trace.kernels.len()).filter(is_replayed).map(|at| trace.kernels.at(at).correlation).collect();
    for copy in trace.facts.iter().flat_map(|facts| &facts.shaped.copies) {
        if !replayed.contains(&copy.correlation) {
            owned.entry(Owner::Operator(copy.call)).or_default().push((Work::Copy(copy.kind), copy.duration));
        }
    }
    let mut known = Known { trace, options, libraries: FxHashMap::default(), cases: FxHashMap::default() };
    owned.into_iter().map(move |(owner, kernels)| known.call(owner, kernels))
}

fn owner(trace: &Trace, at: usize, communicates: bool) -> Owner {
    let formula = trace.calls.of(at);
    let shape = |call: u32| &trace.calls.shapes[trace.calls.shape_of[call as usize] as usize];
    let of_facts = trace.facts.as_ref().and_then(|facts| facts.shaped.of_kernels.get(at)).copied();
    let operator = of_facts.filter(|operator| *operator != NO_OPERATOR);
    if communicates {
        let message = formula.filter(|call| matches!(shape(*call).given, Given::Message { .. }));
        let name = || operator.map(|operator| operator_name(trace, operator)).or(Some(trace.kernels.at(at).name));
        return message.map_or_else(|| Owner::Nobody(name(), Reason::NoBytes), Owner::Formula);
    }
    if trace.replayed.get(at) == Some(&true) {
        // Operators around the replay itself own none of its kernels.
        let captured_from = trace.facts.as_ref().and_then(|facts| facts.shaped.captured_from);
        let captured = operator.filter(|operator| captured_from.is_some_and(|first| *operator >= first));
        let is_ambiguous = trace.facts.as_ref().is_some_and(|facts| facts.shaped.is_ambiguous.get(at) == Some(&true));
        let reason = match trace.joined {
            None => Reason::Replayed,
            Some(_) if is_ambiguous => Reason::SeveralCaptures,
            Some(joined) if joined.joined == joined.replays => Reason::NoShapes,
            Some(_) => Reason::NotCaptured,
        };
        return match (formula, captured) {
            (Some(call), _) => Owner::Formula(call),
            (None, Some(operator)) => Owner::Operator(operator),
            (None, None) => Owner::Nobody(None, reason),
        };
    }
    // Attention is called by an operator with the heads of the model around the one that pads them.
    let attention = formula.filter(|call| shape(*call).operator == ATTENTION);
    match (attention, operator, formula) {
        (Some(call), ..) => Owner::Formula(call),
        (None, Some(operator), _) => Owner::Operator(operator),
        (None, None, Some(call)) => Owner::Formula(call),
        (None, None, None) => Owner::Nobody(None, Reason::NoOperator),
    }
}

/// What all operators of attention are called.
const ATTENTION: &str = "attention";

fn operator_name(trace: &Trace, operator: u32) -> NameId {
    let shaped = trace.facts.as_ref().map(|facts| &facts.shaped);
    shaped.map_or(crate::names::NO_NAME, |shaped| shaped.rows[shaped.row_of[operator as usize] as usize].name)
}

/// What was found once.
struct Known<'a> {
    trace: &'a Trace,
    options: MeasuredOptions,
    libraries: FxHashMap<NameId, Option<&'static str>>,
    /// By the owner's number of shapes and the library of its kernels.
    cases: FxHashMap<(Owner, Option<&'static str>), Result<Case, Reason>>,
}

impl Known<'_> {
    fn call(&mut self, owner: Owner, kernels: Vec<Worked>) -> Call {
        let trace = self.trace;
        let library = self.library(&kernels);
        let (operator, key) = match owner {
            Owner::Nobody(name, reason) => {
                let operator = name.map(|name| trace.name(name).to_owned()).unwrap_or_default();
                return Call { operator, is: Called::LeftOut(reason), kernels };
            }
            Owner::Operator(call) => {
                let row = trace.facts.as_ref().map_or(0, |facts| facts.shaped.row_of[call as usize]);
                (trace.name(operator_name(trace, call)).to_owned(), Owner::Operator(row))
            }
            Owner::Formula(call) => {
                let shape = trace.calls.shape_of[call as usize];
                (trace.calls.shapes[shape as usize].name.clone(), Owner::Formula(shape))
            }
        };
        let options = self.options;
        let case = self.cases.entry((key, library)).or_insert_with(|| case(trace, key, library, options));
        let is = match case {
            Ok(case) => Called::Case(Box::new(case.clone())),
            Err(reason) => Called::LeftOut(*reason),
        };
        Call { operator, is, kernels }
    }

    /// The library of the kernel that takes most time; of copies alone what they are.
    fn library(&mut self, kernels: &[Worked]) -> Option<&'static str> {
        let trace = self.trace;
        let rank =
            |(work, time): &&Worked| (matches!(work, Work::Kernel(_)), *time, std::cmp::Reverse(work.name(trace)));
        match kernels.iter().max_by_key(rank)?.0 {
            Work::Kernel(name) => *self.libraries.entry(name).or_insert_with(|| sources::library(trace.name(name))),
            Work::Copy(kind) => Some(sources::of_copy(kind)),
        }
    }
}

fn case(trace: &Trace, of: Owner, library: Option<&'static str>, options: MeasuredOptions) -> Result<Case, Reason> {
    match of {
        Owner::Operator(row) => {
            let row = trace.facts.as_ref().and_then(|facts| facts.shaped.rows.get(row as usize));
            let row = row.ok_or(Reason::NoShapes)?;
            let arguments = types::arguments(&row.dims, &row.types, options.dtype)?;
            Ok(Case::of_call(trace.name(row.name), &arguments, library))
        }
        Owner::Formula(shape) => of_shape(&trace.calls.shapes[shape as usize], library, options),
        Owner::Nobody(_, reason) => Err(reason),
    }
}

fn of_shape(shape: &CallShape, library: Option<&'static str>, options: MeasuredOptions) -> Result<Case, Reason> {
    match &shape.given {
        Given::Message { elements, ranks } => {
            Case::of_message(&shape.name, *elements, types::of_name(&shape.types), *ranks, library)
        }
        Given::Batches(batches) => match batches.as_slice() {
            [] => Err(Reason::NoLengths),
            [batch] => Ok(Case::of_attention(&shape.name, batch, library)),
            several => Ok(Case::of_mixed_attention(&shape.name, several, library)),
        },
        Given::Lists { .. } if shape.packed.is_some() => Err(Reason::NoLengths),
        Given::Lists { dims, types } => {
            Ok(Case::of_call(&shape.name, &types::arguments(dims, types, options.dtype)?, library))
        }
    }
}
