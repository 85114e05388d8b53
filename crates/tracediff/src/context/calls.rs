//! The operator call that each kernel works for, and what that must do.

use std::collections::BTreeMap;

use perfdb_model::roofline::Precision;
use perfdb_model::workload::{
    Arguments, AttentionBatch, Call, CallWork, Message, PackedAttention, Unit, product_precision,
};
use perfdb_store::dtype::DType;
use rustc_hash::FxHashMap;

use super::launches::{GraphLaunches, Launches, NO_LAUNCH};
use crate::columns::{CallArguments, Columns, HostOperator, Kernel, OperatorCall};
use crate::frames::{Around, frames_at_launches};
use crate::id::Id;
use crate::names::{NO_NAME, NameId, Names};
use crate::rows::KernelRows;
use perfdb_trace::id_index::IdIndex;

pub(crate) const NO_CALL: u32 = u32::MAX;

/// Calls of operators of which a formula says what they must do.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Per kernel its call or [`NO_CALL`]; empty without any call.
    pub(crate) of_kernels: Vec<u32>,
    /// Per call its number in `shapes`.
    pub(crate) shape_of: Vec<u32>,
    /// What is called, each once.
    pub(crate) shapes: Vec<CallShape>,
    /// Calls of attention of which everything is known but whether a window hides keys.
    pub(crate) unknown_windows: u64,
    /// How often known operators were called with shapes of which no formula says what they must do: old profilers leave out strides.
    pub(crate) without_work: BTreeMap<(String, String), u64>,
}

/// An operator with the shapes and types of its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallShape {
    /// The name as it stands in the trace.
    pub(crate) name: String,
    /// The name that the same work has in other traces.
    pub(crate) operator: String,
    pub(crate) shapes: String,
    pub(crate) types: String,
    /// Nothing where the arguments alone do not tell, and nothing else did.
    pub(crate) work: Option<CallWork>,
    /// Attention of which the lengths are still to be known.
    pub(crate) packed: Option<PackedAttention>,
    /// What the cache holds that the call writes to.
    pub(crate) cache: Option<DType>,
    /// What it was called with.
    pub(crate) given: Given,
}

/// What an operator was called with, for tables of databases.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Given {
    /// Two lists, as they stand in the file.
    Lists { dims: String, types: String },
    /// Elements of one rank before and afterwards.
    Message { elements: [u64; 2], ranks: u32 },
    /// Sequences of a step as batches: prompts, then those that grow.
    Batches(Vec<AttentionBatch>),
}

impl Calls {
    /// The call of a kernel, by number.
    pub(crate) fn of(&self, kernel: usize) -> Option<u32> {
        self.of_kernels.get(kernel).copied().filter(|call| *call != NO_CALL)
    }
}

/// Finds the call of every kernel: the innermost one around its launch of which a formula says what it must do, else the one that has
/// the External id of the kernel or its launch.
pub(crate) fn find(
    kernels: &KernelRows,
    columns: &Columns,
    launches: &Launches<'_>,
    launch_of: &[u32],
    names: &Names,
) -> Calls {
    let mut shapes = Shapes::default();
    let calls = columns.calls.iter().zip(0..);
    let known: Vec<(u32, u32)> =
        calls.filter_map(|(call, at)| Some((at, shapes.number(call, columns, names)?))).collect();
    let is_all = known.len() == columns.calls.len();
    let without_work = if is_all { BTreeMap::new() } else { shapes.without_work(columns, names) };
    if known.is_empty() {
        return Calls { without_work, ..Calls::default() };
    }
    let by_nesting = nested(&known, columns, launches, launch_of, names);
    let unlinked = columns.unlinked.iter().zip(launches.count() as u32..);
    let unlinked = IdIndex::first(unlinked.map(|(launch, at)| (launch.external, at)));
    let by_id =
        IdIndex::last(known.iter().zip(0..).map(|((call, _), at)| (columns.calls[*call as usize].external, at)));
    let mut graphs = GraphLaunches::default();
    let call_of = |(kernel, launch): (Kernel, &u32)| {
        let launch = (*launch != NO_LAUNCH).then_some(*launch as usize);
        let name = launch.map_or(NO_NAME, |launch| launches.get(launch as u32).name);
        // What stands around the replay of a graph is the work of none of its kernels.
        if graphs.has(name, names) {
            return NO_CALL;
        }
        let calling = launch.or_else(|| unlinked.get(kernel.external).map(|at| at as usize));
        let around = calling.and_then(|launch| by_nesting.get(launch).copied()).filter(|call| *call != NO_CALL);
        let external = || {
            let of_launch = || by_id.get(launches.get(launch? as u32).external);
            by_id.get(kernel.external).or_else(of_launch)
        };
        around.or_else(external).unwrap_or(NO_CALL)
    };
    let of_kernels: Vec<u32> = kernels.iter().zip(launch_of).map(call_of).collect();
    let mut calls = Calls {
        of_kernels,
        shape_of: known.iter().map(|(_, shape)| *shape).collect(),
        shapes: shapes.found,
        unknown_windows: 0,
        without_work,
    };
    calls.tell_multiplied_types(kernels, names);
    calls
}

/// Operators of attention inside of others.
const WRAPPED: [&str; 3] = ["_flash_attention_forward", "_efficient_attention_forward", "_cudnn_attention_forward"];

/// The call around each launch, by number of the launch; those without a correlation id follow the others.
fn nested(
    known: &[(u32, u32)],
    columns: &Columns,
    launches: &Launches<'_>,
    launch_of: &[u32],
    names: &Names,
) -> Vec<u32> {
    let call = |at: u32| &columns.calls[known[at as usize].0 as usize];
    let mut order: Vec<u32> = (0..known.len() as u32).filter(|at| call(*at).start != HostOperator::NEVER).collect();
    order.sort_by_key(|at| {
        let OperatorCall { thread, start, duration, .. } = *call(*at);
        (thread, start, std::cmp::Reverse(duration))
    });
    // The operators of attention that others wrap get padded heads: the one around them has those of the model.
    let is_wrapped = |name: NameId| names.get(name).rsplit_once("::").is_some_and(|(_, base)| WRAPPED.contains(&base));
    let mut attends: Vec<Option<bool>> = vec![None; names.len()];
    let mut attends =
        |name: NameId| *attends[name as usize].get_or_insert_with(|| names.get(name).contains("scaled_dot_product"));
    let mut around: Option<&OperatorCall> = None;
    order.retain(|at| {
        let call = call(*at);
        let inside = around.is_some_and(|around| around.thread == call.thread && call.end() <= around.end());
        if inside && is_wrapped(call.name) {
            return false;
        }
        if !inside && attends(call.name) {
            around = Some(call);
        }
        true
    });
    let around = |at: u32| {
        let OperatorCall { thread, start, duration, .. } = *call(order[at as usize]);
        Around { thread, start, duration: duration.into(), id: Id::MISSING }
    };
    let (mut used, count) = (launches.used(launch_of), launches.count());
    used.extend((0..columns.unlinked.len()).map(|at| (count + at) as u32));
    let mut found = vec![NO_CALL; count + columns.unlinked.len()];
    let launch = |number: u32| match (number as usize).checked_sub(count) {
        Some(at) => (columns.unlinked.at(at).thread, columns.unlinked.at(at).start),
        None => launches.place(number),
    };
    for (launch, frame) in frames_at_launches(order.len(), around, launch, used) {
        found[launch as usize] = order[frame as usize];
    }
    found
}

impl Calls {
    /// Products whose kernels multiply another type than the operands have: 32-bit numbers that are cut to fewer bits first, or bytes
    /// that are numbers of 8 or 4 bits. Their names say so.
    fn tell_multiplied_types(&mut self, kernels: &KernelRows, names: &Names) {
        let is_matrix = |work: &CallWork| work.unit == Unit::Matrix;
        if !self.shapes.iter().any(|shape| shape.work.as_ref().is_some_and(is_matrix)) {
            return;
        }
        let mut told: FxHashMap<(u32, Precision), u32> = FxHashMap::default();
        let mut of_names: FxHashMap<NameId, Option<Precision>> = FxHashMap::default();
        for (kernel, call) in kernels.iter().zip(&self.of_kernels).filter(|(_, call)| **call != NO_CALL) {
            let shape = self.shape_of[*call as usize];
            let found = &self.shapes[shape as usize];
            let Some(work) = found.work.filter(is_matrix) else { continue };
            let of_name =
                *of_names.entry(kernel.name).or_insert_with(|| multiplied(names.get(kernel.name), work.precision));
            let Some(precision) = of_name.filter(|precision| *precision != work.precision) else { continue };
            let copy = CallShape { work: Some(CallWork { precision, ..work }), ..found.clone() };
            let next = self.shapes.len() as u32;
            let number = *told.entry((shape, precision)).or_insert(next);
            if number == next {
                self.shapes.push(copy);
            }
            self.shape_of[*call as usize] = number;
        }
    }
}

/// The type that a kernel multiplies, where its name tells it.
fn multiplied(name: &str, precision: Precision) -> Option<Precision> {
    product_precision(name).or_else(|| (precision == Precision::Fp32 && cuts_operands(name)).then_some(Precision::Tf32))
}

/// Names of kernels, convolutions among them, that cut 32-bit numbers to TF32 or XF32.
fn cuts_operands(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["tf32", "xf32", "s1688"].iter().any(|mark| lower.contains(mark))
}

/// What is called, each operator with its arguments once.
#[derive(Default)]
struct Shapes {
    numbers: FxHashMap<(NameId, CallArguments), Option<u32>>,
    found: Vec<CallShape>,
}

impl Shapes {
    fn number(&mut self, call: &OperatorCall, columns: &Columns, names: &Names) -> Option<u32> {
        let found = &mut self.found;
        *self.numbers.entry((call.name, call.arguments)).or_insert_with(|| {
            found.push(shape(names.get(call.name), call.arguments, &columns.arguments)?);
            Some(found.len() as u32 - 1)
        })
    }

    /// Calls of operators that [`Shapes::number`] does not number, by name and shapes.
    fn without_work(&self, columns: &Columns, names: &Names) -> BTreeMap<(String, String), u64> {
        let mut counts: FxHashMap<(NameId, CallArguments), u64> = FxHashMap::default();
        for call in &columns.calls {
            let key = (call.name, call.arguments);
            if self.numbers.get(&key).is_none_or(Option::is_none) {
                *counts.entry(key).or_default() += 1;
            }
        }
        let mut found = BTreeMap::new();
        #[expect(clippy::iter_over_hash_type, reason = "sums of whole numbers")]
        for ((name, arguments), count) in counts {
            let CallArguments::Lists { dims, types, values } = arguments else { continue };
            let texts = &columns.arguments;
            let arguments = Arguments { dims: texts.get(dims), types: texts.get(types), values: texts.get(values) };
            let Some(call) = Call::new(names.get(name), arguments) else { continue };
            *found.entry((call.label().to_owned(), call.shapes())).or_default() += count;
        }
        found
    }
}

fn shape(name: &str, arguments: CallArguments, texts: &Names) -> Option<CallShape> {
    match arguments {
        CallArguments::Lists { dims, types, values } => {
            let arguments = Arguments { dims: texts.get(dims), types: texts.get(types), values: texts.get(values) };
            let call = Call::new(name, arguments)?;
            let (work, packed) = (call.work(), call.packed_attention());
            (work.is_some() || packed.is_some()).then(|| CallShape {
                name: name.to_owned(),
                operator: call.label().to_owned(),
                shapes: call.shapes(),
                types: call.types(),
                work,
                packed,
                cache: call.written_cache(),
                given: Given::Lists { dims: texts.get(dims).to_owned(), types: texts.get(types).to_owned() },
            })
        }
        CallArguments::Message { collective, element_type, elements_in, elements_out, ranks } => {
            let (collective, element_type) = (texts.get(collective), texts.get(element_type));
            let message = Message { collective, elements_in, elements_out, element_type, ranks };
            Some(CallShape {
                name: collective.to_owned(),
                operator: collective.to_owned(),
                shapes: format!("{elements_in} → {elements_out}, {ranks} ranks"),
                types: element_type.to_lowercase(),
                work: Some(message.work()?),
                packed: None,
                cache: None,
                given: Given::Message { elements: [elements_in, elements_out], ranks },
            })
        }
    }
}
