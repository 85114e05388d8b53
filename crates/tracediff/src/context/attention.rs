//! The work of attention over packed sequences: heads stand in the arguments of the operator, lengths in the annotation of the step,
//! and the names of kernels or other operators tell whether a window hides keys and what the cache holds.

use rustc_hash::FxHashMap;

use perfdb_store::dtype::DType;

use perfdb_model::workload::{AttentionKernel, BatchLengths, PackedAttention};

use super::calls::{CallShape, Calls, Given, NO_CALL};
use super::passes::Passes;
use crate::names::{NameId, Names};
use crate::rows::KernelRows;

/// What is known of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Evidence {
    pass: u32,
    kernel: AttentionKernel,
}

/// What a step says of its sequences, by the number of its pass.
pub(crate) type LengthsOfPasses = [Option<BatchLengths>];

/// Gives calls of attention over packed sequences their work, where known. `unwindowed`: somebody who knows the model says
/// that none of its layers has a window.
pub(crate) fn resolve(
    calls: &mut Calls,
    kernels: &KernelRows,
    passes: &Passes,
    lengths: &LengthsOfPasses,
    names: &Names,
    unwindowed: bool,
) {
    let is_packed = |call: u32| calls.shapes[calls.shape_of[call as usize] as usize].packed.is_some();
    if !calls.shapes.iter().any(|shape| shape.packed.is_some()) {
        return;
    }
    let mut of_names: FxHashMap<NameId, AttentionKernel> = FxHashMap::default();
    let mut found: FxHashMap<u32, Evidence> = FxHashMap::default();
    let mut order: Vec<u32> = Vec::new();
    for (at, call) in calls.of_kernels.iter().enumerate() {
        if *call == NO_CALL || !is_packed(*call) {
            continue;
        }
        let name = kernels.at(at).name;
        let kernel = *of_names.entry(name).or_insert_with(|| AttentionKernel::of_name(names.get(name)));
        let evidence = found.entry(*call).or_insert_with(|| {
            order.push(*call);
            Evidence { pass: passes.of_kernels[at].pass, kernel: AttentionKernel::default() }
        });
        evidence.kernel = evidence.kernel.and(kernel);
    }
    let without_windows = |evidence: Evidence| {
        let kernel = evidence.kernel;
        let is_windowed = kernel.is_windowed.or(Some(false));
        Evidence { kernel: AttentionKernel { is_windowed, ..kernel }, ..evidence }
    };
    let cache = written_cache(&calls.shapes);
    let mut known: FxHashMap<(u32, Evidence), (u32, bool)> = FxHashMap::default();
    for call in order {
        let shape = calls.shape_of[call as usize];
        let evidence = if unwindowed { without_windows(found[&call]) } else { found[&call] };
        let shapes = &mut calls.shapes;
        let (number, lacks_window) = *known.entry((shape, evidence)).or_insert_with(|| {
            let resolved = |evidence| resolved(&shapes[shape as usize], evidence, lengths, cache);
            match resolved(evidence) {
                Some(resolved) => {
                    shapes.push(resolved);
                    (shapes.len() as u32 - 1, false)
                }
                None => (shape, resolved(without_windows(evidence)).is_some()),
            }
        });
        calls.shape_of[call as usize] = number;
        calls.unknown_windows += u64::from(lacks_window);
    }
}

fn resolved(
    shape: &CallShape,
    evidence: Evidence,
    lengths: &LengthsOfPasses,
    cache: Option<DType>,
) -> Option<CallShape> {
    let packed: &PackedAttention = shape.packed.as_ref()?;
    let lengths = lengths.get(evidence.pass as usize)?.as_ref()?;
    let work = packed.work(lengths, evidence.kernel, cache)?;
    let types = packed.types(lengths, evidence.kernel, cache);
    let given = Given::Batches(packed.batches(lengths, evidence.kernel, cache));
    Some(CallShape { shapes: packed.shapes(lengths), types, work: Some(work), packed: None, given, ..shape.clone() })
}

/// What the cache holds by the operators that write to it, where all say the same.
fn written_cache(shapes: &[CallShape]) -> Option<DType> {
    let mut caches = shapes.iter().filter_map(|shape| shape.cache);
    let first = caches.next()?;
    caches.all(|cache| cache == first).then_some(first)
}
