//! The operator calls of a simulator's trace, with the answers that the simulator got.

mod python;

use crate::query::{Argument, Query, Results, Tensor};
use crate::{DType, Error};
use perfdb_trace::chrome::{Item, ReadOptions, Reader};
use perfdb_trace::source::Source;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

pub use python::MalformedCall;

const ARGS: [&str; 9] = [
    "Inputs",
    "Output",
    "source",
    "confidence",
    "kernel_type",
    "shape_match_rule",
    "topology_tier",
    "ep_size",
    "avg_seq_len",
];
/// Where an attention call has its lengths.
const LENGTHS: usize = 6;
/// The rule that stands in events that the database did not answer.
const ANALYTIC: &str = "analytic";

/// What surrounds the calls of a trace and does not stand in it.
#[derive(Debug, Clone, Default)]
pub struct ParallelConfig {
    /// The tensor-parallel size.
    pub tp_size: Option<i64>,
    /// The expert-parallel size, where the events do not tell.
    pub ep_size: Option<i64>,
    /// Whether sequence parallelism is on.
    pub sequence_parallel: bool,
}

/// A call of a trace. Calls with the same arguments are one.
#[derive(Debug, Clone)]
pub struct TracedCall {
    /// The operator.
    pub operator: String,
    /// The call as a question.
    pub query: Query,
    /// How often it occurs.
    pub count: u64,
    /// The first event, counted from 0.
    pub event: u64,
    /// The duration of the first event, in whole microseconds.
    pub duration_us: f64,
    /// Shortest and longest duration of all of them.
    pub range_us: (f64, f64),
    /// What the simulator says about the answer; `None` where the database had none.
    pub answered: Option<Answered>,
}

/// What a trace says about an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// `MEASURED`, `INTERPOLATED`, `PARTIAL`.
    pub source: String,
    /// The confidence.
    pub confidence: Option<f64>,
    /// The kernel type; `None` for partial answers.
    pub kernel_type: Option<String>,
    /// The rule; `None` for sums without one.
    pub rule: Option<String>,
}

/// Reads the calls of a trace, those of one kind in the order of their first events.
///
/// # Errors
/// When the file cannot be read or the arguments of an event are not as the simulator writes them.
pub fn read_trace(path: &Path, parallel: &ParallelConfig) -> Result<Vec<TracedCall>, Error> {
    let mut calls: Vec<TracedCall> = Vec::new();
    let mut known: FxHashMap<[String; 5], usize> = FxHashMap::default();
    let mut tiers = Tiers::default();
    for_each_call(path, |event| {
        if let Some(&at) = known.get(&event.key) {
            let call = &mut calls[at];
            call.count += 1;
            call.range_us = (call.range_us.0.min(event.duration_us), call.range_us.1.max(event.duration_us));
            return Ok(());
        }
        let malformed = |fault: MalformedCall| Error::Call {
            path: path.to_owned(),
            event: event.index,
            operator: event.key[0].clone(),
            fault,
        };
        let call = event.call(parallel, &mut tiers).map_err(malformed)?;
        known.insert(event.key.clone(), calls.len());
        calls.push(call);
        Ok(())
    })?;
    tiers.complete(&mut calls);
    Ok(calls)
}

/// Reads the calls of chosen events, which count from 0, in their order; each is one of its own. Events that are not calls, and those whose
/// arguments are not as the simulator writes them, are left out.
///
/// # Errors
/// When the file cannot be read.
pub fn read_trace_events(
    path: &Path,
    parallel: &ParallelConfig,
    events: &BTreeSet<u64>,
) -> Result<Vec<TracedCall>, Error> {
    let mut calls: Vec<TracedCall> = Vec::new();
    let mut tiers = Tiers::default();
    for_each_call_of(
        path,
        |index| events.contains(&index),
        |event| {
            calls.extend(event.call(parallel, &mut tiers));
            Ok(())
        },
    )?;
    tiers.complete(&mut calls);
    Ok(calls)
}

/// The tiers of collectives by their ranks.
#[derive(Default)]
struct Tiers(FxHashMap<Vec<i64>, i64>);

impl Tiers {
    fn note(&mut self, query: &Query) {
        if let (Some(tier), Some(ranks)) = (query.tier, ranks(query)) {
            self.0.insert(ranks, tier);
        }
    }

    /// Composites do not tell their tier; collectives of the same ranks do.
    fn complete(&self, calls: &mut [TracedCall]) {
        for call in calls.iter_mut().filter(|call| call.query.tier.is_none()) {
            call.query.tier = ranks(&call.query).and_then(|ranks| self.0.get(&ranks).copied());
        }
    }
}

/// An event that the database answered, or was asked for in vain.
struct CallEvent {
    index: u64,
    /// What tells calls apart.
    key: [String; 5],
    duration_us: f64,
    tier: Option<String>,
    source: Option<String>,
    confidence: Option<String>,
    kernel_type: Option<String>,
    rule: Option<String>,
}

impl CallEvent {
    fn call(&self, parallel: &ParallelConfig, tiers: &mut Tiers) -> Result<TracedCall, MalformedCall> {
        let mut query = call(&self.key, parallel)?;
        query.tier = self.tier.as_ref().and_then(|tier| tier.parse().ok());
        tiers.note(&query);
        let source = self.source.clone().filter(|_| self.rule.as_deref() != Some(ANALYTIC));
        let answered = source.map(|source| Answered {
            source,
            confidence: self.confidence.as_ref().and_then(|confidence| confidence.parse().ok()),
            kernel_type: self.kernel_type.clone(),
            rule: self.rule.clone(),
        });
        Ok(TracedCall {
            operator: self.key[0].clone(),
            query,
            count: 1,
            event: self.index,
            duration_us: self.duration_us,
            range_us: (self.duration_us, self.duration_us),
            answered,
        })
    }
}

fn for_each_call(path: &Path, each: impl FnMut(CallEvent) -> Result<(), Error>) -> Result<(), Error> {
    for_each_call_of(path, |_| true, each)
}

fn for_each_call_of(
    path: &Path,
    is_wanted: impl Fn(u64) -> bool,
    mut each: impl FnMut(CallEvent) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut source = Source::open(path)?;
    let options = ReadOptions::simulator().args(ARGS);
    let mut reader = Reader::new(&mut source, &options);
    while let Some(item) = reader.next_item()? {
        let Item::Event(event) = item else { continue };
        if !is_wanted(event.index()) {
            continue;
        }
        let arg = |at: usize| event.text_arg(at).map(Cow::into_owned);
        let (Some(inputs), Some(name)) = (arg(0), event.name()) else { continue };
        let (category, rule, source) = (event.category(), arg(5), arg(2));
        // The analytic model's own estimates stand beside the answers in some traces.
        if category.as_deref() == Some(ANALYTIC) || (rule.is_none() && source.is_none()) {
            continue;
        }
        let key = [
            name.into_owned(),
            inputs,
            arg(1).unwrap_or_default(),
            arg(7).unwrap_or_default(),
            arg(8).unwrap_or_default(),
        ];
        each(CallEvent {
            index: event.index(),
            key,
            duration_us: event.duration().map_or(0.0, |number| number.to_f64()),
            tier: arg(6),
            source,
            confidence: arg(3),
            kernel_type: arg(4),
            rule,
        })?;
    }
    Ok(())
}

fn ranks(query: &Query) -> Option<Vec<i64>> {
    query.ranks()?.iter().map(Argument::as_integer).collect()
}

/// The call of an event.
fn call(key: &[String; 5], parallel: &ParallelConfig) -> Result<Query, MalformedCall> {
    let [name, inputs, output, ep_size, average] = key;
    let (arguments, keywords) = python::call(inputs)?;
    let results = match python::value(output)? {
        Argument::None => Results::Unknown,
        Argument::List(values) => Results::Many(values),
        value => Results::One(value),
    };
    let mut query = Query::operator(name.as_str()).arguments(arguments).results(results);
    for (name, value) in keywords {
        query = query.keyword(name, value);
    }
    let ep_size = ep_size.parse().ok().or(parallel.ep_size);
    query = query.ep_size(ep_size).tp_size(parallel.tp_size).sequence_parallel(parallel.sequence_parallel);
    // Lengths are often without contents; what the simulator made of them stands beside them.
    if let (Ok(average), Some(Argument::Tensor(lengths))) = (average.parse::<f64>(), query.arguments.get_mut(LENGTHS))
        && lengths.values.is_none()
    {
        let count = lengths.shape.first().copied().unwrap_or(1).max(1);
        *lengths = Tensor::of_values(vec![average as i64; usize::try_from(count).unwrap_or(1)], DType::Int64);
    }
    Ok(query)
}
