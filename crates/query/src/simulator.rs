//! What the simulator's reader says of an answer beside its duration: the statistics that it writes into a trace.

mod deviation;
mod form;
mod interpolate;
mod lying;
mod rejected;

use crate::answer::{Answer, Part, RowRef, Source};
use crate::context::Context;
use crate::database::Reader;
use crate::decompose::{self, Decomposed};
use crate::facts::{Fact, Facts};
use crate::lookup::{attention, collective, composite, experts};
use crate::query::{Query, Shape};
use crate::semantics::ReaderKind;
use crate::table::KernelRow;
use form::Asked;
use interpolate::{decomposed, fallback_from, mode_between, of_interpolation, of_reader};
use lying::Lying;
use perfdb_pycompat::yaml::Node;
use perfdb_store::columns::PROFILED_DURATION;
use perfdb_store::op_mapping::Entry;

pub use lying::{ChosenCorner, Triangulate};

/// What a trace says of one kernel of a sum.
#[derive(Debug, Clone, PartialEq)]
pub struct PartShapes {
    /// The kernel type.
    pub kernel_type: String,
    /// What was looked up.
    pub simulation_shapes: Vec<Shape>,
    /// What the row has.
    pub kernel_shapes: Vec<Shape>,
    /// The rule by which they match.
    pub rule: &'static str,
}

/// What a trace says of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Named values.
    pub details: Facts,
    /// The shapes of the row, or the places between which was interpolated.
    pub kernel_shapes: Fact,
    /// The rule by which they match.
    pub rule: &'static str,
    /// The same for each kernel, where the simulator lists them.
    pub parts: Option<Vec<PartShapes>>,
    /// The duration between corners that were chosen: that of the answer but for the last bit where one triangulation is right. `None` where
    /// none were.
    pub duration_us: Option<f64>,
}

impl Reader {
    /// What the simulator's reader says of an answer to a query. `triangulate` may choose the corners between several axes: the reader has those
    /// of its library, in an order that only the library knows.
    pub fn statistics(&self, query: &Query, answer: &Answer, triangulate: &mut Triangulate<'_>) -> Statistics {
        let context = self.context(query);
        let rule = answer.rule.or(answer.method()).unwrap_or_default();
        let entry = context.entry;
        let mode = entry.and_then(|entry| entry.query_mode.as_deref());
        let is_fused = mode == Some("moe_fused");
        let mut details = Facts::new();
        let lying = Lying::of(&context, answer, triangulate);
        let mut duration_us = lying.as_ref().and_then(|lying| lying.duration_us);
        match entry {
            Some(entry) if answer.source == Source::Partial => partial(&context, entry, answer, is_fused, &mut details),
            Some(entry) if !answer.parts().is_empty() && is_fused => fused(&context, entry, answer, &mut details),
            Some(entry) if is_decomposed_between(&context, answer) => {
                duration_us = decomposed(&context, entry, answer, triangulate, &mut details);
            }
            Some(entry) if !answer.parts().is_empty() => sum(&context, entry, answer, &mut details),
            _ => single(&context, entry, answer, (rule, lying.as_ref()), &mut details),
        }
        let lists_parts = !answer.parts().is_empty() && !is_composite_between(answer);
        let parts = lists_parts.then(|| {
            let of = |part: &Part| part_shapes(&context, part, is_fused);
            answer.parts().iter().map(of).collect()
        });
        let kernel_shapes = match &lying {
            _ if lists_parts || is_composite_between(answer) => Fact::List(Vec::new()),
            Some(lying) => lying.kernel_shapes(),
            None => kernel_shapes(&context, answer, rule),
        };
        Statistics { details, kernel_shapes, rule, parts, duration_us }
    }
}

/// Whether it is the sum of a composite of which some part lies between rows.
fn is_composite_between(answer: &Answer) -> bool {
    matches!(answer.rule, Some("interpolated_composite" | "composite_measured"))
}

/// The same, where the simulator's reader reports how each part was looked up.
fn is_decomposed_between(context: &Context<'_>, answer: &Answer) -> bool {
    context.rules.reader == ReaderKind::Upstream && is_composite_between(answer)
}

fn text(value: impl Into<String>) -> Fact {
    Fact::Text(value.into())
}

fn integers(values: &[i64]) -> Fact {
    Fact::List(values.iter().copied().map(Fact::Integer).collect())
}

fn texts<'t>(values: impl IntoIterator<Item = &'t Box<str>>) -> Fact {
    Fact::List(values.into_iter().map(|value| text(&**value)).collect())
}

/// Numbers by name.
fn numbers(values: impl IntoIterator<Item = (&'static str, f64)>) -> Fact {
    Fact::Map(values.into_iter().map(|(name, value)| (name, Fact::Number(value))).collect())
}

fn shapes(shapes: &[Shape]) -> Fact {
    Fact::List(shapes.iter().map(|shape| integers(shape)).collect())
}

fn optional(value: Option<i64>) -> Fact {
    value.map_or(Fact::None, Fact::Integer)
}

/// Rounded to hundredths, as in the simulator's lists.
fn rounded(us: f64) -> f64 {
    perfdb_pycompat::float::round(us, 2)
}

/// One kernel, or none.
fn single(
    context: &Context<'_>,
    entry: Option<&Entry>,
    answer: &Answer,
    (rule, lying): (&str, Option<&Lying<'_>>),
    details: &mut Facts,
) {
    let kernel_type = answer.kernel_type().map(|name| name.into_owned()).unwrap_or_default();
    if let Some(lying) = lying {
        let (mode, fallback) = (mode_between(entry), fallback_from(context, entry));
        of_interpolation(lying, mode, fallback, answer.confidence, details);
        if let (Some(found), Some(entry)) = (&lying.found, entry) {
            of_reader(context, Asked::of(context, entry, lying.between), lying, found, details);
        }
    }
    details.push(("kernel_type", text(kernel_type)));
    match rule {
        "zero_cost" => details.push(("zero_cost", Fact::Flag(true))),
        "accepted_miss" => {
            details.push(("zero_cost", Fact::Flag(true)));
            let note = entry.and_then(|entry| entry.accepted_miss.as_deref()).unwrap_or_default();
            details.push(("note", text(note)));
        }
        "comm" => details.push(("topology_tier", optional(collective::tier(context)))),
        "attention" => {
            if let Ok(fields) = attention::fields_of(context) {
                details.push(("avg_seq_len", optional(fields.avg_seq_len)));
                details.push(("sparse_mode", optional(fields.sparse_mode)));
                details.push(("num_kv_heads", optional(fields.kv_heads)));
            }
        }
        "elementwise" => {
            details.push(("query_mode", text("elementwise")));
            let output = context.query.results.first().and_then(|result| result.as_tensor());
            let row = answer.rows.first().and_then(|row| row_of(context, row, &answer.kernels[0]));
            if let (Some(output), Some(row)) = (output, row)
                && let Some(scale) = crate::lookup::elementwise::scale(context.rules, row, output)
                && row.output_types().first().map(|name| &**name) != crate::dtype::profiler_name(output.dtype)
            {
                details.push(("dtype_scale", Fact::Number(scale)));
            }
        }
        _ => {
            if let ([row], [kernel_type]) = (answer.rows.as_slice(), answer.kernels.as_slice())
                && answer.source != Source::Interpolated
            {
                details.extend(core_time(context, row, kernel_type));
            }
        }
    }
}

/// Why the duration of a row is that of its cores, where it is.
fn core_time(context: &Context<'_>, row: &RowRef, kernel_type: &str) -> Facts {
    let of_row = || -> Option<Facts> {
        let row = row_of(context, row, kernel_type)?;
        let (envelope_us, raw_us) = (row.envelope_us()?, row.duration_us());
        Some(vec![
            ("latency_column", text(PROFILED_DURATION)),
            ("latency_selection", text("profiling_core_envelope_fallback")),
            ("raw_latency_us", Fact::Number(raw_us)),
            ("core_envelope_us", Fact::Number(envelope_us)),
            ("duration_to_core_ratio", Fact::Number(raw_us / envelope_us)),
            ("max_duration_to_core_ratio", Fact::Number(row.table().policy.max_duration_to_core_ratio?)),
        ])
    };
    of_row().unwrap_or_default()
}

/// Fused experts with what is embedded in their kernel.
fn fused(context: &Context<'_>, entry: &Entry, answer: &Answer, details: &mut Facts) {
    let own = answer.parts().first().map(|part| &*part.kernel_type).unwrap_or_default();
    details.push(("kernel_type", text(own)));
    details.push(("ep_size", optional(context.query.ep_size)));
    details.push(("sub_kernel_durations", durations(answer.parts())));
    let Some(map) = entry.embedded_communication.as_ref().and_then(Node::as_map) else { return };
    let Ok((name, message)) = experts::embedded_message(context, map) else { return };
    let topk = context.query.tensor(1).filter(|indices| indices.shape.len() >= 2);
    let mut sent: Facts = vec![
        ("message_bytes", Fact::Integer(message.bytes)),
        ("message_bytes_mode", text("routed_input")),
        ("topk", Fact::Integer(topk.and_then(|indices| indices.shape.last().copied()).unwrap_or(1))),
        ("num_devices", Fact::Integer(message.devices)),
        ("topology_tier", optional(message.tier)),
    ];
    if answer.source == Source::Partial {
        return details.push(("embedded_communication", Fact::Map(sent)));
    }
    sent.push(("kernel_type", text(name)));
    match answer.parts().iter().find(|part| part.rule == "comm") {
        Some(part) => {
            sent.push(("interpolation_method", text(message.method.name())));
            sent.push(("interpolated", Fact::Flag(part.source == Source::Interpolated)));
        }
        None => {
            sent.push(("reason", text("outside_measured_range")));
            details.push(("embedded_communication_active", Fact::Flag(false)));
        }
    }
    details.push(("embedded_communication", Fact::Map(sent)));
}

/// A composite of which all parts are known.
fn sum(context: &Context<'_>, entry: &Entry, answer: &Answer, details: &mut Facts) {
    let collectives: Vec<&Part> = answer.parts().iter().filter(|part| part.rule == "comm").collect();
    details.push(("kernel_type", text(answer.kernel_type().map(|name| name.into_owned()).unwrap_or_default())));
    if is_composite_between(answer) {
        details.push(("composite", Fact::Flag(true)));
        details.push(("method", text(answer.method().unwrap_or("decomposed_interpolation"))));
        let part = |part: &Part| {
            Fact::Map(vec![
                ("kernel_type", text(&*part.kernel_type)),
                ("source", text(part.source.name())),
                ("method", text(part.rule)),
                ("latency_us", Fact::Number(part.duration_us)),
            ])
        };
        return details.push(("sub_kernels", Fact::List(answer.parts().iter().map(part).collect())));
    }
    details.push(("sub_kernel_durations", durations(answer.parts())));
    details.push(("composite", Fact::Flag(true)));
    if !matches!(decompose::decomposed(context, entry), Decomposed::NotKnown) {
        return details.push(("note", text("decomposed sub-kernels")));
    }
    let note = if collectives.is_empty() { "compute sub-kernel only" } else { "compute + comm sub-kernels" };
    details.push(("note", text(note)));
    let compute = answer.parts().iter().find(|part| part.rule != "comm");
    let own = compute.and_then(|part| Some(core_time(context, part.rows.first()?, &part.kernel_type)));
    details.push(("compute_latency_details", Fact::Map(own.unwrap_or_default())));
    let (variant, sent) = composite::collective_facts(context, entry, &collectives);
    details.push(("communication_variant", variant.map_or(Fact::None, text)));
    details.push(("communication_sub_kernels", Fact::List(sent)));
}

/// A sum of which parts are missing.
fn partial(context: &Context<'_>, entry: &Entry, answer: &Answer, is_fused: bool, details: &mut Facts) {
    let names = |names: &mut dyn Iterator<Item = &str>| Fact::List(names.map(text).collect());
    let hit = names(&mut answer.parts().iter().map(|part| &*part.kernel_type));
    let missed = names(&mut answer.missed_kernels().iter().map(|name| &**name));
    if is_fused {
        fused(context, entry, answer, details);
        let communication = details.pop();
        details.extend([("hit_kernels", hit), ("missed_kernels", missed)]);
        if let Some(name) = answer.missed_kernels().first() {
            details.push(("partial_miss_reason", text(format!("moe_embedded_communication_miss:{name}"))));
        }
        details.extend(communication);
        return;
    }
    details.extend([
        ("hit_kernels", hit),
        ("missed_kernels", missed),
        ("sub_kernel_durations", durations(answer.parts())),
        ("composite", Fact::Flag(true)),
        ("partial", Fact::Flag(true)),
    ]);
}

fn durations(parts: &[Part]) -> Fact {
    let of = |part: &Part| Fact::Tuple(vec![text(&*part.kernel_type), Fact::Number(rounded(part.duration_us))]);
    Fact::List(parts.iter().map(of).collect())
}

/// The row, of the table of this kernel type.
fn row_of<'c>(context: &Context<'c>, row: &RowRef, kernel_type: &str) -> Option<KernelRow<'c>> {
    context.table(kernel_type).ok()??.at_line(row.line)
}

fn input_shapes(row: KernelRow<'_>) -> Vec<Shape> {
    row.inputs().iter().map(|shape| shape.to_vec()).collect()
}

/// The shapes of the row that is the answer.
fn kernel_shapes(context: &Context<'_>, answer: &Answer, rule: &str) -> Fact {
    let none = Fact::List(Vec::new());
    if rule == "comm" {
        return collective::message(context).map_or(none, |message| shapes(&[vec![message.bytes]]));
    }
    let ([row], [kernel_type]) = (answer.rows.as_slice(), answer.kernels.as_slice()) else { return none };
    match (rule, row_of(context, row, kernel_type)) {
        ("attention", _) | (_, None) => none,
        ("elementwise", Some(row)) => {
            shapes(&row.outputs().get(0).map(|shape| shape.to_vec()).into_iter().collect::<Vec<_>>())
        }
        (_, Some(row)) => shapes(&input_shapes(row)),
    }
}

fn part_shapes(context: &Context<'_>, part: &Part, is_fused: bool) -> PartShapes {
    let (simulation_shapes, kernel_shapes) = match part.rule {
        "comm" if is_fused => (part.input_shapes.clone(), part.input_shapes.clone()),
        "comm" | "attention" => (Vec::new(), Vec::new()),
        rule => {
            let row = part.rows.first().and_then(|row| row_of(context, row, &part.kernel_type));
            let mut own = row.map(input_shapes).unwrap_or_default();
            if rule == "cache_pool_dim0_agnostic" {
                own.truncate(7);
            }
            (part.input_shapes.clone(), own)
        }
    };
    PartShapes { kernel_type: part.kernel_type.to_string(), simulation_shapes, kernel_shapes, rule: part.rule }
}
