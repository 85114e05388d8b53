//! Looking up fused experts, with what is embedded in their kernel.

use super::collective::{self, Message, Method};
use super::inputs;
use super::rows::of_row;
use crate::answer::{Answer, LookupError, More, Part, Source};
use crate::context::Context;
use crate::dtype::size_bytes;
use crate::interval::{interval_us, row_interval_us};
use crate::operands::{Operand, Operands};
use crate::query::{Argument, Query, Shape, Tensor, elements};
use crate::search::{Found, Selection, by_inputs};
use crate::semantics::{ReaderKind, Rules};
use crate::table::columns::Column;
use crate::table::{KernelRow, KernelRows};
use perfdb_model::predict::Class;
use perfdb_pycompat::yaml::{Map, Node};
use perfdb_store::dtype::DType;
use perfdb_store::op_mapping::Entry;
use perfdb_store::registry::KernelClass;
use smallvec::{SmallVec, smallvec};

/// Whether the rows of a table are experts by three shapes: tokens with their width, weights of a rank's experts, and chosen experts.
pub(crate) fn is_by_shapes(rules: &Rules, table: &KernelRows) -> bool {
    rules.reader == ReaderKind::Own
        && table.class(rules) == KernelClass::Experts
        && table.rows().next().is_some_and(|row| ByShapes::of(row.inputs().iter()).is_some())
}

/// Experts by three shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByShapes {
    pub(crate) tokens: i64,
    pub(crate) hidden: i64,
    /// Of the experts of one rank.
    pub(crate) experts: i64,
    pub(crate) intermediate: i64,
    pub(crate) topk: i64,
}

impl ByShapes {
    pub(crate) fn of(mut shapes: impl Iterator<Item = impl std::ops::Deref<Target = [i64]>>) -> Option<ByShapes> {
        let (x, weights, chosen) = (shapes.next()?, shapes.next()?, shapes.next()?);
        let (&[tokens, hidden], &[experts, rows, intermediate], &[_, topk]) = (&*x, &*weights, &*chosen) else {
            return None;
        };
        (rows == hidden && shapes.next().is_none()).then_some(ByShapes { tokens, hidden, experts, intermediate, topk })
    }
}

/// The experts of one device and everything embedded in them.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let Some(name) = entry.kernel_type.as_deref() else { return Err(LookupError::new("unmapped")) };
    let Some(table) = context.table(name)? else { return Err(LookupError::new("csv_not_found")) };
    let ep = context.query.ep_size;
    if ep.is_none() && (table.has(Column::EpSize) || !context.rules.is_newest) {
        return Err(LookupError::new("ep_size_not_configured"));
    }
    if is_by_shapes(context.rules, table) {
        let shapes = Projection::of(context.rules, context.query).and_then(|projection| projection.shapes());
        let operands = shapes.ok_or_else(|| LookupError::new("shape_mismatch"))?;
        let mut selection = Selection::new(context.rules, context.rules.choice);
        by_inputs(context.rules, &[table], &operands, None, |row| row.is_of_ep_size(ep), &mut selection);
        let found = selection.result()?.ok_or_else(|| LookupError::new("shape_mismatch"))?;
        return with_embedded(context, entry, of_row(&found, 1.0, found.rule), shapes_of(&operands));
    }
    let projects = context.rules.is_newest && entry.project_full_shape.as_ref().is_some_and(Node::is_truthy);
    let projection = projects.then(|| Projection::of(context.rules, context.query)).flatten();
    let is_projected = projection.is_some();
    let mut selection = Selection::new(context.rules, context.rules.choice_of_first);
    let has_size = |row: KernelRow<'_>| row.is_of_ep_size(ep);
    match &projection {
        Some(projection) => {
            for scales in Scales::forms(context.rules.scales_by_expert) {
                let operands = projection.operands(*scales);
                by_inputs(context.rules, &[table], &operands, None, has_size, &mut selection);
            }
        }
        None => {
            let (operands, count) = (inputs::operands(context, entry), inputs::input_count(entry));
            by_inputs(context.rules, &[table], &operands, count, has_size, &mut selection);
        }
    }
    let found = selection.result()?.ok_or_else(|| LookupError::new("shape_mismatch"))?;
    let operands = match &projection {
        Some(projection) => projection.operands([Scales::Vector; 2]),
        None => inputs::operands(context, entry),
    };
    let rule = if is_projected && found.rule == "identity" { "projected_full_shape" } else { found.rule };
    let answer = of_row(&found, 1.0, rule);
    if context.rules.is_newest { with_embedded(context, entry, answer, shapes_of(&operands)) } else { Ok(answer) }
}

/// The shapes that a kernel is looked up with.
pub(crate) fn shapes_of(operands: &Operands<'_>) -> Vec<Shape> {
    operands.iter().map(|operand| operand.shape.to_vec()).collect()
}

/// Adds what the mapping says is embedded in the kernel, which was looked up with these shapes.
pub(crate) fn with_embedded(
    context: &Context<'_>,
    entry: &Entry,
    mut answer: Answer,
    input_shapes: Vec<Shape>,
) -> Result<Answer, LookupError> {
    let (interval_us, class) = (interval_us(context, &answer), answer.class());
    let before = answer.more.take().map(|more| *more).unwrap_or_default();
    let mut more = More { interpolation: before.interpolation, ..More::default() };
    more.parts.push(Part {
        kernel_type: answer.kernels[0].clone(),
        duration_us: answer.duration_us,
        source: answer.source,
        rule: answer.rule.unwrap_or_default(),
        interval_us,
        class,
        input_shapes,
        rows: answer.rows.clone(),
    });
    let maps: SmallVec<[&Map; 2]> = match &entry.embedded_compute {
        Some(Node::Map(map)) => smallvec![map],
        Some(Node::List(list)) => list.iter().filter_map(Node::as_map).collect(),
        _ => SmallVec::new(),
    };
    for map in maps {
        if let Some((found, input_shapes)) = embedded_compute(context, map)? {
            answer.duration_us += found.duration_us;
            answer.rows.push(found.row.reference());
            more.parts.push(Part {
                kernel_type: found.row.table().kernel_type.clone(),
                duration_us: found.duration_us,
                source: Source::Measured,
                rule: found.rule,
                interval_us: row_interval_us(context, found.row, found.duration_us),
                class: Class::Measured,
                input_shapes,
                rows: smallvec![found.row.reference()],
            });
        }
    }
    if let Some(map) = entry.embedded_communication.as_ref().and_then(Node::as_map) {
        let is_interpolated = answer.source == Source::Interpolated;
        let (name, message) = embedded_message(context, map)?;
        match collective::send(context, name, message) {
            Ok(sent) => {
                answer.duration_us += sent.duration_us;
                if !is_interpolated {
                    (answer.confidence, answer.source) = (if sent.is_interpolated { 0.8 } else { 0.9 }, sent.source());
                }
                more.parts.push(sent.part());
                answer.rows.extend(sent.rows);
            }
            // Outside of what was measured.
            Err(miss) if miss.reason.code() == "shape_mismatch" => {}
            Err(_) => {
                (answer.confidence, answer.source) = (0.5, Source::Partial);
                more.missed.push(context.state.name(name));
            }
        }
    }
    if more.parts.len() == 1 && more.missed.is_empty() {
        // Nothing is embedded: what is known of the kernel holds for the answer.
        more.prediction = before.prediction;
    }
    answer.more = Some(Box::new(more));
    Ok(answer)
}

fn embedded_compute<'d>(context: &Context<'d>, map: &Map) -> Result<Option<(Found<'d>, Vec<Shape>)>, LookupError> {
    let text = |key: &str| map.get(key).and_then(Node::as_text);
    let (Some(name), Some(projection)) = (text("kernel_type"), text("input_projection")) else { return Ok(None) };
    let Some(table) = context.table(name)? else { return Ok(None) };
    let mut selection = Selection::new(context.rules, context.rules.choice);
    let shapes = match projection {
        "residual_norm_from_activation" => {
            let flattens = map.get("flatten_leading_dims").is_some_and(Node::is_truthy);
            let Some(operands) = residual_norm(context.rules, context.query, flattens) else { return Ok(None) };
            by_inputs(context.rules, &[table], &operands, Some(4), |_| true, &mut selection);
            shapes_of(&operands)
        }
        "routing_weight_cast" => {
            let (Some(x), Some(indices), Some(result)) =
                (context.query.tensor(0), context.query.tensor(1), text("output_dtype"))
            else {
                return Ok(None);
            };
            let operands: Operands<'_> = smallvec![Operand::made(&indices.shape, context.rules.type_name(x.dtype))];
            let accepts = |row: crate::table::KernelRow<'_>| {
                row.outputs().iter().eq([indices.shape.as_slice()])
                    && row.output_types().iter().map(|name| &**name).eq([result])
            };
            by_inputs(context.rules, &[table], &operands, Some(1), accepts, &mut selection);
            shapes_of(&operands)
        }
        _ => return Ok(None),
    };
    // Rows that contradict each other are not added.
    Ok(selection.result().ok().flatten().map(|found| (found, shapes)))
}

fn residual_norm(rules: &Rules, query: &Query, flattens: bool) -> Option<Operands<'static>> {
    fn first(argument: &Argument) -> Option<&Tensor> {
        match argument {
            Argument::Tensor(tensor) => Some(tensor),
            Argument::List(items) => items.iter().find_map(first),
            _ => None,
        }
    }
    let x = first(query.arguments.first()?)?;
    let (rows, width) = match x.shape.as_slice() {
        &[rows, width] => (rows, width),
        [rest @ .., width] if flattens && rest.len() > 1 => (elements(rest), *width),
        _ => return None,
    };
    let dtype = rules.type_name(x.dtype);
    let shapes: [&[i64]; 4] = [&[rows, width], &[rows, width], &[width], &[width]];
    Some(shapes.iter().map(|shape| Operand::made(shape, dtype)).collect())
}

/// The message that is embedded in the kernel, and the table of its collective.
pub(crate) fn embedded_message<'e>(context: &Context<'_>, map: &'e Map) -> Result<(&'e str, Message), LookupError> {
    let text = |key: &str| map.get(key).and_then(Node::as_text);
    let invalid = || LookupError::new("invalid_moe_embedded_communication");
    let mismatch = || LookupError::new("moe_embedded_communication_context_mismatch");
    let name = text("kernel_type").filter(|name| context.is_collective(name)).ok_or_else(invalid)?;
    let method = match map.get("interpolation_method") {
        None => Method::AlphaBeta,
        Some(node) => node.as_text().and_then(|name| Method::of(Some(name))).ok_or_else(invalid)?,
    };
    let query = context.query;
    let (Some(x), Some(indices), Some(ranks)) = (query.tensor(0), query.tensor(1), query.ranks()) else {
        return Err(mismatch());
    };
    let devices = ranks.len() as i64;
    let is_group = text("group_type") != Some("expert_parallel") || query.ep_size == Some(devices);
    if text("message_bytes_mode") != Some("routed_input") || !is_group {
        return Err(mismatch());
    }
    let topk = if indices.shape.len() >= 2 { *indices.shape.last().unwrap_or(&1) } else { 1 };
    let bytes = x.elements().saturating_mul(size_bytes(x.dtype)).saturating_mul(topk);
    Ok((name, Message { bytes, dtype: x.dtype, devices, tier: collective::tier(context), method }))
}

/// How the scales of the experts' weights lie: those of all experts one after another, or a row for each expert.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scales {
    Vector,
    ByExpert,
}

impl Scales {
    /// Of both weights: the forms in which rows are looked for.
    fn forms(by_expert: bool) -> &'static [[Scales; 2]] {
        use Scales::{ByExpert, Vector};
        let all: &[[Scales; 2]; 4] = &[[Vector, Vector], [ByExpert, ByExpert], [Vector, ByExpert], [ByExpert, Vector]];
        if by_expert { all } else { &all[..1] }
    }
}

/// The whole signature of the fused kernel, from the arguments of the operator.
#[derive(Debug)]
pub(crate) struct Projection {
    pub(crate) x: [i64; 2],
    pub(crate) x_type: Option<&'static str>,
    pub(crate) weights: [[i64; 3]; 2],
    weight_type: Option<&'static str>,
    pub(crate) indices: SmallVec<[i64; 4]>,
}

impl Projection {
    pub(crate) fn of(rules: &Rules, query: &Query) -> Option<Projection> {
        let second = match query.name() {
            "tensor_cast.dispatch_ffn_combine.default" => 4,
            "tensor_cast.dispatch_ffn_combine_quant.default"
            | "tensor_cast.dispatch_ffn_combine_quant_int4.default"
            | "tensor_cast.dispatch_ffn_combine_fp8.default"
            | "tensor_cast.dispatch_ffn_combine_mxfp4.default" => 7,
            _ => return None,
        };
        if query.arguments.len() < 8 {
            return None;
        }
        let (x, indices) = (query.tensor(0)?, query.tensor(1)?);
        let (rows, hidden) = match *x.shape {
            [rows, hidden] => (rows, hidden),
            [batch, rows, hidden] => (batch * rows, hidden),
            _ => return None,
        };
        if indices.shape.is_empty() {
            return None;
        }
        let (experts, (a, b), weight_type) = weight(&query.arguments[2])?;
        let first = if a != hidden && b == hidden { [experts, b, a] } else { [experts, a, b] };
        let (experts, (a, b), _) = weight(&query.arguments[second])?;
        let second = if b != hidden && a == hidden { [experts, b, a] } else { [experts, a, b] };
        Some(Projection {
            x: [rows, hidden],
            x_type: rules.type_name(x.dtype),
            weights: [first, second],
            weight_type: rules.type_name(weight_type),
            indices: SmallVec::from_slice(&indices.shape),
        })
    }

    /// The three inputs of tables that have no more; `None` where the experts' weights are of another form.
    pub(crate) fn shapes(&self) -> Option<Operands<'static>> {
        let ([tokens, hidden], [experts, width, _]) = (self.x, self.weights[1]);
        let topk = *self.indices.last()?;
        let shapes: [&[i64]; 3] = [&[tokens, hidden], &[experts, hidden, width], &[tokens, topk]];
        let types = [self.x_type, self.weight_type, Some("INT32")];
        Some(shapes.into_iter().zip(types).map(|(shape, dtype)| Operand::made(shape, dtype)).collect())
    }

    /// All seven inputs, with scales of both weights in these forms.
    pub(crate) fn operands<'q>(&self, scales: [Scales; 2]) -> Operands<'q> {
        let [first, second] = &self.weights;
        let [of_first, of_second] = [(scales[0], first[2]), (scales[1], self.x[1])].map(|(form, columns)| match form {
            Scales::Vector => Operand::made(&[first[0] * columns], Some("INT64")),
            Scales::ByExpert => Operand::made(&[first[0], columns], Some("INT64")),
        });
        smallvec![
            Operand::made(&self.x, self.x_type),
            Operand::made(first, self.weight_type),
            Operand::made(second, self.weight_type),
            Operand::made(&self.indices, Some("INT32")),
            of_first,
            of_second,
            Operand::made(&self.indices, Some("FLOAT")),
        ]
    }
}

/// The number of experts, and shape and type of the first one's weight.
fn weight(argument: &Argument) -> Option<(i64, (i64, i64), DType)> {
    let experts = argument.as_list()?;
    let first = match experts.first()? {
        Argument::Tensor(tensor) => tensor,
        Argument::List(items) => items.first()?.as_tensor()?,
        _ => return None,
    };
    match *first.shape {
        [a, b] => Some((experts.len() as i64, (a, b), first.dtype)),
        _ => None,
    }
}
