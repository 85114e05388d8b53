//! Operators that are several kernels: a list in the mapping, or parts that follow from the call.

use super::collective::{self, Message, Method};
use super::rows::of_row;
use super::{experts, inputs, parts};
use crate::answer::{Answer, LookupError, More, Part, Source};
use crate::context::{Context, Names};
use crate::decompose::{self, Decomposed};
use crate::dtype::{is_one_byte_number, size_bytes};
use crate::facts::Fact;
use crate::interval::interval_us;
use crate::query::{Query, Shape};
use perfdb_pycompat::yaml::{Map, Node};
use perfdb_store::dtype::DType;
use perfdb_store::op_mapping::Entry;

/// A composite operator.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    match decompose::decomposed(context, entry) {
        Decomposed::NotKnown => fixed(context, entry),
        Decomposed::Nothing => {
            let options = decompose::Options::of(entry);
            let requires =
                options.map("visible_kernel_regime").is_some_and(|regime| regime.flag("requires_sequence_parallel"));
            if requires && !context.query.sequence_parallel {
                Err(crate::reason::Reason::about(
                    "structural_mismatch",
                    "mlapo_quant:opaque_mla_preprocess:visible_kernel_regime_requires_sequence_parallel",
                )
                .into())
            } else {
                Err(LookupError::new("decompose_failed"))
            }
        }
        Decomposed::Parts(list) => parts::sum(context, entry, &list),
    }
}

/// Confidence of a compute kernel without collectives.
const COMPUTE_CONFIDENCE: f64 = 0.8;

/// The first compute kernel that matches, plus every collective.
fn fixed(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    if entry.sub_kernels.is_empty() {
        return Err(LookupError::new("no_sub_kernels"));
    }
    let (collectives, computes): (Names<'_>, Names<'_>) =
        entry.sub_kernels.iter().map(String::as_str).partition(|name| context.is_collective(name));
    let operands = inputs::operands(context, entry);
    let count = inputs::input_count(entry);
    let diagnose = || {
        let name = computes.first().copied().unwrap_or_default();
        LookupError::new(if context.rules.is_newest {
            inputs::diagnosis(context, name, &operands, count)
        } else {
            "shape_mismatch"
        })
    };
    let found = inputs::find(context, &computes, &operands, count)?.ok_or_else(diagnose)?;
    let compute = of_row(&found, COMPUTE_CONFIDENCE, found.rule);
    let shapes = experts::shapes_of(&operands);
    add_collectives(context, entry, collectives, compute, shapes)
}

/// Adds the collectives to the compute kernel of a fixed list, which was looked up with these shapes.
pub(crate) fn add_collectives(
    context: &Context<'_>,
    entry: &Entry,
    collectives: Names<'_>,
    mut answer: Answer,
    input_shapes: Vec<Shape>,
) -> Result<Answer, LookupError> {
    let mut more = More::default();
    more.parts.push(Part {
        kernel_type: answer.kernels[0].clone(),
        duration_us: answer.duration_us,
        source: answer.source,
        rule: answer.rule.unwrap_or_default(),
        interval_us: interval_us(context, &answer),
        class: answer.class(),
        input_shapes,
        rows: answer.rows.clone(),
    });
    let variant = variant(context, entry)?;
    if let Some(variant) = &variant
        && !collectives.contains(&variant.source.as_str())
    {
        return Err(LookupError::new("runtime_comm_variant_source_missing"));
    }
    let missing = || LookupError::new("comm_sub_kernel_miss");
    for &name in &collectives {
        let mut message = message(context).ok_or_else(missing)?;
        let mut name = name;
        if let Some(variant) = variant.as_ref().filter(|variant| variant.source == name) {
            name = &variant.kernel_type;
            message.method = variant.method;
            if variant.is_tensor_parallel && Some(message.devices) != context.query.tp_size {
                return Err(missing());
            }
            if variant.is_per_rank {
                if message.devices <= 1 || message.bytes % message.devices != 0 {
                    return Err(missing());
                }
                message.bytes /= message.devices;
            }
        }
        let sent = collective::send(context, name, message)
            .map_err(|miss| if miss.is_unreadable() { miss } else { missing() })?;
        answer.duration_us += sent.duration_us;
        if sent.is_interpolated && context.rules.is_newest {
            answer.source = Source::Interpolated;
        }
        more.parts.push(sent.part());
        answer.rows.extend(sent.rows);
    }
    let share = if answer.is_padded() { answer.confidence / COMPUTE_CONFIDENCE } else { 1.0 };
    answer.confidence = share * if collectives.is_empty() { COMPUTE_CONFIDENCE } else { 0.9 };
    answer.rule = None;
    answer.more = Some(Box::new(more));
    Ok(answer)
}

/// The variant that was used, and what was sent by each collective of a fixed list, as the simulator's reader says it.
pub(crate) fn collective_facts(
    context: &Context<'_>,
    entry: &Entry,
    parts: &[&Part],
) -> (Option<&'static str>, Vec<Fact>) {
    let variant = variant(context, entry).ok().flatten();
    let Some(message) = message(context) else { return (None, Vec::new()) };
    let is_of_variant = |part: &Part| variant.as_ref().filter(|variant| variant.kernel_type == *part.kernel_type);
    let fact = |part: &&Part| {
        let variant = is_of_variant(part);
        let is_per_rank = variant.is_some_and(|variant| variant.is_per_rank);
        let is_tensor_parallel = variant.is_some_and(|variant| variant.is_tensor_parallel);
        let method = variant.map_or(message.method, |variant| variant.method);
        let text = |text: &str| Fact::Text(text.to_owned());
        Fact::Map(vec![
            ("kernel_type", text(&part.kernel_type)),
            ("message_bytes", part.input_shapes.first().map_or(Fact::None, |shape| Fact::Integer(shape[0]))),
            ("message_bytes_mode", text(if is_per_rank { "per_rank_output" } else { "full_output" })),
            ("group_type", if is_tensor_parallel { text("tensor_parallel") } else { Fact::None }),
            ("num_devices", Fact::Integer(message.devices)),
            ("topology_tier", message.tier.map_or(Fact::None, Fact::Integer)),
            ("interpolation_method", text(method.name())),
            ("interpolated", Fact::Flag(part.source == Source::Interpolated)),
        ])
    };
    (variant.as_ref().map(|_| "sequence_parallel"), parts.iter().map(fact).collect())
}

/// The result of a matrix product, which is sent; elements of one byte become two.
fn message(context: &Context<'_>) -> Option<Message> {
    let query: &Query = context.query;
    let ranks = query.ranks()?;
    let (a, b) = (query.tensor(0)?, query.tensor(1)?);
    let rows = match (context.rules.message_of_all_rows, a.shape.as_slice()) {
        (true, [rest @ .., _]) if !rest.is_empty() => crate::query::elements(rest),
        (_, shape) => *shape.first()?,
    };
    let dtype = if is_one_byte_number(a.dtype) { DType::BFloat16 } else { a.dtype };
    let element = size_bytes(dtype);
    let bytes = rows.saturating_mul(*b.shape.last()?).saturating_mul(element);
    Some(Message {
        bytes,
        dtype,
        devices: ranks.len() as i64,
        tier: collective::tier(context),
        method: Method::AlphaBeta,
    })
}

/// A collective that takes the place of another one under sequence parallelism.
struct Variant {
    source: String,
    kernel_type: String,
    is_per_rank: bool,
    is_tensor_parallel: bool,
    method: Method,
}

fn variant(context: &Context<'_>, entry: &Entry) -> Result<Option<Variant>, LookupError> {
    if !context.query.sequence_parallel || !context.rules.is_newest {
        return Ok(None);
    }
    let all = entry.runtime_comm_variants.as_ref().and_then(Node::as_map);
    let Some(map) = all.and_then(|all| all.get("sequence_parallel")).and_then(Node::as_map) else { return Ok(None) };
    read_variant(context, map).map(Some).ok_or_else(|| LookupError::new("invalid_runtime_comm_variant"))
}

fn read_variant(context: &Context<'_>, map: &Map) -> Option<Variant> {
    let text = |key: &str| map.get(key).and_then(Node::as_text);
    let option = |key: &str| match map.get(key) {
        None => Some(None),
        Some(node) => node.as_text().map(Some),
    };
    Some(Variant {
        source: text("source_kernel_type")?.to_owned(),
        kernel_type: text("kernel_type").filter(|name| context.is_collective(name))?.to_owned(),
        is_per_rank: match option("message_bytes_mode")? {
            None | Some("full_output") => false,
            Some("per_rank_output") => true,
            Some(_) => return None,
        },
        is_tensor_parallel: match map.get("group_type") {
            None | Some(Node::Null) => false,
            Some(node) => node.as_text() == Some("tensor_parallel") || return None,
        },
        method: Method::of(option("interpolation_method")?)?,
    })
}
