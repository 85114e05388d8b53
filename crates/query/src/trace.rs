//! The operator calls of a simulator's trace, with the answers that the simulator got.

mod python;

use crate::query::{Argument, Query, Results, Tensor};
use crate::{DType, Error};
use perfdb_trace::chrome::{Item, ReadOptions, Reader};
use perfdb_trace::source::Source;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
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
pub struct Surroundings {
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
pub fn read_trace(path: &Path, surroundings: &Surroundings) -> Result<Vec<TracedCall>, Error> {
    let mut source = Source::open(path)?;
    let options = ReadOptions::simulator().args(ARGS);
    let mut reader = Reader::new(&mut source, &options);
    let mut calls: Vec<TracedCall> = Vec::new();
    let mut known: FxHashMap<[String; 5], usize> = FxHashMap::default();
    let mut tiers: FxHashMap<Vec<i64>, i64> = FxHashMap::default();
    while let Some(item) = reader.next_item()? {
        let Item::Event(event) = item else { continue };
        let arg = |at: usize| event.text_arg(at).map(Cow::into_owned);
        let (Some(inputs), Some(name)) = (arg(0), event.name()) else { continue };
        let (category, rule, answer_source) = (event.category(), arg(5), arg(2));
        // The analytic model's own estimates stand beside the answers in some traces.
        if category.as_deref() == Some(ANALYTIC) || (rule.is_none() && answer_source.is_none()) {
            continue;
        }
        let duration_us = event.duration().map_or(0.0, |number| number.to_f64());
        let key = [
            name.into_owned(),
            inputs,
            arg(1).unwrap_or_default(),
            arg(7).unwrap_or_default(),
            arg(8).unwrap_or_default(),
        ];
        if let Some(&at) = known.get(&key) {
            let call = &mut calls[at];
            call.count += 1;
            call.range_us = (call.range_us.0.min(duration_us), call.range_us.1.max(duration_us));
            continue;
        }
        let malformed = |fault: MalformedCall| Error::Call {
            path: path.to_owned(),
            event: event.index(),
            operator: key[0].clone(),
            fault,
        };
        let mut query = call(&key, surroundings).map_err(malformed)?;
        query.tier = arg(6).and_then(|tier| tier.parse().ok());
        if let (Some(tier), Some(ranks)) = (query.tier, ranks(&query)) {
            tiers.insert(ranks, tier);
        }
        let answered = answer_source.filter(|_| rule.as_deref() != Some(ANALYTIC)).map(|source| Answered {
            source,
            confidence: arg(3).and_then(|confidence| confidence.parse().ok()),
            kernel_type: arg(4),
            rule,
        });
        known.insert(key.clone(), calls.len());
        calls.push(TracedCall {
            operator: key[0].clone(),
            query,
            count: 1,
            event: event.index(),
            duration_us,
            range_us: (duration_us, duration_us),
            answered,
        });
    }
    // Composites do not tell their tier; collectives of the same ranks do.
    for call in calls.iter_mut().filter(|call| call.query.tier.is_none()) {
        call.query.tier = ranks(&call.query).and_then(|ranks| tiers.get(&ranks).copied());
    }
    Ok(calls)
}

fn ranks(query: &Query) -> Option<Vec<i64>> {
    query.ranks()?.iter().map(Argument::as_integer).collect()
}

/// The call of an event.
fn call(key: &[String; 5], surroundings: &Surroundings) -> Result<Query, MalformedCall> {
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
    let ep_size = ep_size.parse().ok().or(surroundings.ep_size);
    query = query.ep_size(ep_size).tp_size(surroundings.tp_size).sequence_parallel(surroundings.sequence_parallel);
    // Lengths are often without contents; what the simulator made of them stands beside them.
    if let (Ok(average), Some(Argument::Tensor(lengths))) = (average.parse::<f64>(), query.arguments.get_mut(LENGTHS))
        && lengths.values.is_none()
    {
        let count = lengths.shape.first().copied().unwrap_or(1).max(1);
        *lengths = Tensor::of_values(vec![average as i64; usize::try_from(count).unwrap_or(1)], DType::Int64);
    }
    Ok(query)
}
