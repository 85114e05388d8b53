//! What the operators of one trace must do, and what they take.

use indexmap::IndexMap;
use perfdb_model::roofline::{Precision, Work};
use perfdb_model::workload::Unit;

use crate::context::calls::CallShape;
use crate::elapsed::counted::Counted;
use crate::time::{Picoseconds, microseconds};
use crate::trace::Trace;

/// An operator with its shapes: the same work in both traces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) operator: String,
    pub(super) shapes: String,
    pub(super) types: String,
    pub(super) precision: Precision,
    unit: Unit,
    operations: u64,
    bytes: u64,
}

impl Key {
    /// The key of what is called; nothing where it is not known what it must do.
    fn of(shape: &CallShape) -> Option<Key> {
        let work = shape.work?;
        Some(Key {
            operator: shape.operator.clone(),
            shapes: shape.shapes.clone(),
            types: shape.types.clone(),
            precision: work.precision,
            unit: work.unit,
            operations: work.work.operations.to_bits(),
            bytes: work.work.bytes.to_bits(),
        })
    }

    pub(super) fn work(&self) -> Work {
        Work { operations: f64::from_bits(self.operations), bytes: f64::from_bits(self.bytes) }
    }

    pub(super) fn unit(&self) -> Unit {
        self.unit
    }
}

/// Calls of an operator, and the time of their kernels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) calls: u64,
    pub(super) time: Picoseconds,
}

/// Sums of a trace.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// By first call.
    pub(super) operators: IndexMap<Key, Sum>,
    /// Time of all kernels that are not collectives.
    pub(super) computing: Picoseconds,
    /// Time of all kernels.
    pub(super) all: Picoseconds,
    /// Time of kernels that graphs launched.
    pub(super) replayed: Picoseconds,
}

impl Sums {
    pub(super) fn of(trace: &Trace, counts: &Counted) -> Sums {
        let mut sums = Sums::default();
        let communicates = trace.communicating();
        let mut shapes = vec![Sum::default(); trace.calls.shapes.len()];
        let mut counted = vec![false; trace.calls.shape_of.len()];
        for (at, time) in trace.working_times().enumerate() {
            if !counts.lets(trace.kernels.at(at), &trace.contexts[at]) {
                continue;
            }
            sums.all += time;
            if trace.replayed.get(at) == Some(&true) {
                sums.replayed += time;
            }
            if !communicates[trace.operation(at) as usize] {
                sums.computing += time;
            }
            if let Some(call) = trace.calls.of(at) {
                let sum = &mut shapes[trace.calls.shape_of[call as usize] as usize];
                sum.time += time;
                sum.calls += u64::from(!std::mem::replace(&mut counted[call as usize], true));
            }
        }
        for (shape, sum) in trace.calls.shapes.iter().zip(shapes).filter(|(_, sum)| sum.calls > 0) {
            let Some(key) = Key::of(shape) else { continue };
            let all = sums.operators.entry(key).or_default();
            all.calls += sum.calls;
            all.time += sum.time;
        }
        sums
    }
}

/// A call of an operator of which a formula says what it must do.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorCall {
    /// Name as it stands in the trace.
    pub operator: String,
    /// Shapes of its tensors.
    pub shapes: String,
    /// Types of its tensors.
    pub types: String,
    /// Operations and bytes.
    pub work: Work,
    /// Time of its kernels.
    pub kernel_us: f64,
}

/// The calls of a trace that have kernels, in order of their first kernel in the file.
pub fn operator_calls(trace: &Trace) -> Vec<OperatorCall> {
    let mut times: IndexMap<u32, Picoseconds> = IndexMap::new();
    for (at, time) in trace.working_times().enumerate() {
        if let Some(call) = trace.calls.of(at) {
            *times.entry(call).or_default() += time;
        }
    }
    let call = |(call, time): (u32, Picoseconds)| {
        let shape = &trace.calls.shapes[trace.calls.shape_of[call as usize] as usize];
        Some(OperatorCall {
            operator: shape.name.clone(),
            shapes: shape.shapes.clone(),
            types: shape.types.clone(),
            work: shape.work?.work,
            kernel_us: microseconds(time),
        })
    };
    times.into_iter().filter_map(call).collect()
}
