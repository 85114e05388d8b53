//! Sums of one trace in doubles, in file order.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::view::LegacyTrace;
use crate::context::OUTSIDE;
use crate::frames::NO_STACK;
use crate::names::{NO_NAME, NameId};
use crate::rules::Rules;
use crate::steps::PhaseFilter;

/// Number of kernels and summed microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) us: f64,
}

impl Sum {
    fn add(&mut self, us: f64) {
        self.count += 1;
        self.us += us;
    }

    pub(crate) fn average(self) -> f64 {
        self.us / self.count as f64
    }

    pub(crate) fn ms(self) -> f64 {
        self.us / 1000.0
    }
}

/// One operation of one trace.
#[derive(Debug, Clone, Default)]
pub(crate) struct OperationTotals {
    pub(crate) sum: Sum,
    pub(crate) kernels: FxHashMap<NameId, Sum>,
    pub(crate) operators: FxHashMap<NameId, u64>,
    pub(crate) stacks: Vec<Vec<String>>,
    /// By `Phase as usize`.
    pub(crate) phases: [bool; 3],
}

/// Sums of a trace.
#[derive(Debug, Default)]
pub(crate) struct Totals<'a> {
    pub(crate) sum: Sum,
    pub(crate) operations: BTreeMap<&'a str, OperationTotals>,
    pub(crate) layers: BTreeMap<u32, Sum>,
}

/// Sums over the kernels of a phase.
pub(crate) fn totals(legacy: LegacyTrace<'_>, filter: PhaseFilter, max_stacks: usize) -> Totals<'_> {
    let LegacyTrace { trace, columns } = legacy;
    // 0 is no limit for 0.1.35, and no stacks for 0.1.33.
    let stack_rows = match (max_stacks, trace.rules) {
        (0, Rules::Wafer0135) => u64::MAX,
        (rows, _) => rows as u64,
    };
    let mut all = Sum::default();
    let mut operations = vec![OperationTotals::default(); trace.operations.len()];
    let mut layers: BTreeMap<u32, Sum> = BTreeMap::new();
    for (at, context) in trace.contexts.iter().enumerate().filter(|(_, context)| filter.lets(context.phase)) {
        let us = columns.times[at].duration;
        all.add(us);
        let operation = &mut operations[trace.operation(at) as usize];
        operation.sum.add(us);
        operation.kernels.entry(trace.kernels.at(at).name).or_default().add(us);
        if context.operator != NO_NAME {
            *operation.operators.entry(context.operator).or_default() += 1;
        }
        if context.stack != NO_STACK && operation.sum.count <= stack_rows {
            operation.stacks.push(trace.stacks.texts(context.stack, &trace.names));
        }
        if let Some(phase) = context.phase {
            operation.phases[phase as usize] = true;
        }
        if context.layer != OUTSIDE {
            layers.entry(context.layer).or_default().add(us);
        }
    }
    let operations = trace.operations.iter().map(String::as_str).zip(operations);
    Totals { sum: all, operations: operations.filter(|(_, totals)| totals.sum.count > 0).collect(), layers }
}
