//! The kernels that a question asks for.

use crate::coverage::AnswerSource;
use crate::coverage::asked::Asked;
use perfdb_query::{Argument, Query, Tensor};
use perfdb_store::op_mapping::{Entry, Lookup, OpMapping};
use perfdb_store::registry::is_collective;

/// A kernel that a question asks for.
pub(super) enum Leaf {
    /// It can be asked for by itself.
    Asked { query: Box<Query> },
    /// It cannot.
    Unasked { name: String, reason: &'static str },
}

const COLLECTIVE: &str = "collectives are measured by generate-comm-microbench";
const DECOMPOSED: &str = "its kernels follow from its shapes in the simulator's code; measure them from a profile";
const UNMAPPED: &str = "the operator mapping has no entry for it";

pub(super) fn leaves(one: &Asked, mapping: &OpMapping) -> Vec<Leaf> {
    let query = &one.question.query;
    let name = query.name().to_owned();
    let Some(entry) = mapping.find(&name, Lookup::Nested) else {
        // A kernel that is asked for by its own name needs no entry.
        let is_kernel = one.finding.kernels.iter().any(|(kernel, ..)| *kernel == name);
        return vec![if !is_kernel {
            Leaf::Unasked { name, reason: UNMAPPED }
        } else if is_collective(&name) {
            Leaf::Unasked { name, reason: COLLECTIVE }
        } else {
            Leaf::Asked { query: Box::new(query.clone()) }
        }];
    };
    if entry.category.as_deref() == Some("communication") {
        return vec![Leaf::Unasked { name: entry.kernel_type.clone().unwrap_or(name), reason: COLLECTIVE }];
    }
    if !entry.composite {
        return vec![Leaf::Asked { query: Box::new(query.clone()) }];
    }
    if entry.decomposer || entry.sub_kernels.is_empty() {
        return vec![Leaf::Unasked { name, reason: DECOMPOSED }];
    }
    let (collectives, computing): (Vec<_>, Vec<_>) = entry.sub_kernels.iter().partition(|kernel| is_collective(kernel));
    let is_between = |kernel: &str| {
        let own = one.finding.kernels.iter().find(|(name, ..)| name == kernel);
        own.is_none_or(|(.., source)| *source > AnswerSource::Exact)
    };
    let mut leaves: Vec<Leaf> = collectives
        .into_iter()
        .filter(|kernel| is_between(kernel))
        .map(|kernel| Leaf::Unasked { name: kernel.clone(), reason: COLLECTIVE })
        .collect();
    let is_measured = |kernel: &&String| {
        one.finding.kernels.iter().any(|(name, _, source)| name == *kernel && *source == AnswerSource::Exact)
    };
    if !computing.is_empty() && !computing.iter().any(is_measured) {
        leaves.push(Leaf::Asked { query: Box::new(of_kernels(&computing, query, &entry)) });
    }
    leaves
}

/// The computing part of a composite: one of these kernels, with its first inputs.
fn of_kernels(kernels: &[&String], query: &Query, entry: &Entry) -> Query {
    let mut own = Entry::default();
    own.kernel_type = kernels.first().map(|kernel| (*kernel).clone());
    own.alternate_kernel_types = kernels.iter().skip(1).map(|kernel| (*kernel).clone()).collect();
    own.tc_input_count = entry.tc_input_count;
    let part = tensors(query).into_iter().cloned().fold(Query::kernel("").entry(own), Query::input);
    match query.returns().first().and_then(Argument::as_tensor) {
        Some(result) => part.output(result.clone()),
        None => part,
    }
}

/// The tensors with at least one dimension among the arguments, and in lists among these.
pub(crate) fn tensors(query: &Query) -> Vec<&Tensor> {
    let items = query.positional().iter().flat_map(|argument| match argument {
        Argument::List(items) => items.iter(),
        other => std::slice::from_ref(other).iter(),
    });
    items.filter_map(Argument::as_tensor).filter(|tensor| !tensor.shape.is_empty()).collect()
}
