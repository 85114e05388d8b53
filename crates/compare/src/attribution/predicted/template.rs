//! What an event stands for, apart from its times: events of one template give calls of the same signatures.

use super::Process;
use crate::attribution::call::{Call, Prediction, Side, Signature, TimeSource};
use crate::attribution::family::{composite, is_collective, plain_family, table_family};
use crate::attribution::operands::{AttentionKey, Operands};
use perfdb_pycompat::text::trim;
use perfdb_pycompat::value::Value;
use perfdb_pycompat::{literal, text};
use perfdb_store::op_mapping::{Entry, Lookup, OpMapping};

/// Bytes of an element where a trace does not say: bfloat16.
const ELEMENT_BYTES: i128 = 2;

/// The calls of an event.
#[derive(Debug)]
pub(super) struct Template {
    /// Whether M6 counts the event.
    pub(super) is_m6_hit: bool,
    /// Whether it stands for no call when it takes no time.
    is_free_without_time: bool,
    /// How many parts with durations of their own it lists.
    pub(super) listed_parts: usize,
    /// The signatures of its calls, one after the other.
    first_signature: u32,
    calls: usize,
}

impl Template {
    /// Reads a template's key and adds the signatures of its calls.
    pub(super) fn new(key: &[u8], mapping: &OpMapping, signatures: &mut Vec<Signature>) -> Template {
        let texts = Texts::read(key);
        let kernel_type = texts.kernel_type.filter(|kernel_type| !kernel_type.is_empty());
        let operator = texts.name.replace("torch.ops.", "");
        let entry = mapping.find(texts.name, Lookup::Nested);
        let entry = entry.as_deref();
        let source = texts.source.filter(|source| !source.is_empty());
        let is_free_without_time = texts.zero_cost
            || kernel_type == Some("accepted_miss")
            || source.is_some_and(|source| source != "PARTIAL") && kernel_type.is_none()
            || kernel_type.is_none() && entry.is_some_and(|entry| entry.zero_cost);
        let first_signature = signatures.len() as u32;
        let event = EventShapes::new(&texts, &operator, kernel_type, entry);
        match texts.parts.as_slice() {
            [] => event.whole(signatures),
            parts => event.parts(parts, signatures),
        }
        Template {
            is_m6_hit: matches!(source, Some("MEASURED" | "INTERPOLATED")) && kernel_type.is_some(),
            is_free_without_time,
            listed_parts: texts.parts.len(),
            first_signature,
            calls: signatures.len() - first_signature as usize,
        }
    }

    /// Adds the calls of an event to its process.
    pub(super) fn contribute(
        &self,
        process: &mut Process,
        event: u32,
        start_ps: i64,
        duration_ps: i64,
        parts_ps: impl Iterator<Item = i64>,
    ) {
        if duration_ps == 0 && self.is_free_without_time {
            process.free_events += 1;
            parts_ps.for_each(drop);
            return;
        }
        let mut push = |part: usize, start_ps: i64, duration_ps: i64| {
            process.calls.push(Call { signature: self.first_signature + part as u32, event, start_ps, duration_ps });
        };
        if self.listed_parts > 0 {
            let mut total_ps = 0;
            for (part, part_ps) in parts_ps.enumerate() {
                push(part, start_ps.saturating_add(total_ps), part_ps);
                total_ps = total_ps.saturating_add(part_ps);
            }
            process.composite_rounding_ps += i128::from(total_ps) - i128::from(duration_ps);
            return;
        }
        // Equal shares one after the other; the first gets what is left over.
        let (share_ps, rest_ps) = (duration_ps / self.calls as i64, duration_ps % self.calls as i64);
        let mut begin_ps = start_ps;
        for part in 0..self.calls {
            let part_ps = share_ps + if part == 0 { rest_ps } else { 0 };
            push(part, begin_ps, part_ps);
            begin_ps = begin_ps.saturating_add(part_ps);
        }
    }
}

/// The texts of a key.
struct Texts<'k> {
    name: &'k str,
    zero_cost: bool,
    kernel_type: Option<&'k str>,
    source: Option<&'k str>,
    rule: &'k str,
    simulation_shapes: Option<&'k str>,
    kernel_shapes: Option<&'k str>,
    sub_kernel_shapes: Option<&'k str>,
    hit_kernels: Option<&'k str>,
    missed_kernels: Option<&'k str>,
    /// The kernel types of `sub_kernel_durations`.
    parts: Vec<&'k str>,
}

impl<'k> Texts<'k> {
    /// Reads what [`super::chunk`] writes.
    fn read(key: &'k [u8]) -> Texts<'k> {
        let mut rest = key;
        let name = take_text(&mut rest).unwrap_or_default();
        let zero_cost = rest.split_off_first().is_some_and(|flag| *flag != 0);
        let mut next = || take_text(&mut rest);
        let mut texts = Texts {
            name,
            zero_cost,
            kernel_type: next(),
            source: next(),
            rule: next().unwrap_or_default(),
            simulation_shapes: next(),
            kernel_shapes: next(),
            sub_kernel_shapes: next(),
            hit_kernels: next(),
            missed_kernels: next(),
            parts: Vec::new(),
        };
        while !rest.is_empty() {
            texts.parts.extend(take_text(&mut rest));
        }
        texts
    }
}

fn take_text<'k>(rest: &mut &'k [u8]) -> Option<&'k str> {
    let (mut length, mut shift) = (0u64, 0);
    loop {
        let byte = *rest.split_off_first()?;
        length |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let text = rest.split_off(..length.checked_sub(1)? as usize)?;
    std::str::from_utf8(text).ok()
}

/// An element of `sub_kernel_shapes`.
struct SubKernel {
    kernel_type: Option<String>,
    kernel_shapes: Option<Operands>,
    simulation_shapes: Option<Operands>,
    padded: bool,
}

/// What an event says about the shapes of its calls.
struct EventShapes<'e> {
    operator: &'e str,
    entry: Option<&'e Entry>,
    source: TimeSource,
    /// The kernel types that the event names.
    kernel_types: Vec<&'e str>,
    simulated: Option<Operands>,
    kernel_shapes: Option<Operands>,
    sub_kernels: Vec<SubKernel>,
    named: Vec<String>,
}

impl<'e> EventShapes<'e> {
    fn new(texts: &Texts<'e>, operator: &'e str, kernel_type: Option<&'e str>, entry: Option<&'e Entry>) -> Self {
        let kernel_type = kernel_type.filter(|kernel_type| *kernel_type != "?").unwrap_or_default();
        let kernel_types = kernel_type.split(',').map(text::trim).filter(|part| !part.is_empty()).collect();
        let named = [texts.hit_kernels, texts.missed_kernels].into_iter().flatten().flat_map(names).collect();
        EventShapes {
            operator,
            entry,
            source: TimeSource::of_event(texts.source, texts.rule),
            kernel_types,
            simulated: texts.simulation_shapes.and_then(Operands::parse_list),
            kernel_shapes: texts.kernel_shapes.and_then(Operands::parse_list),
            sub_kernels: texts.sub_kernel_shapes.map(sub_kernels).unwrap_or_default(),
            named,
        }
    }

    fn prediction(&self, source: TimeSource, is_first_part: bool) -> Prediction {
        Prediction {
            operator: self.operator.into(),
            source,
            simulated_operands: self.simulated.clone(),
            is_simulated: false,
            is_first_part,
            composite: None,
            known_kernels: Box::default(),
        }
    }

    fn attention(&self) -> Option<AttentionKey> {
        self.simulated.as_ref().and_then(AttentionKey::predicted)
    }

    /// One call per part that has a duration of its own.
    fn parts(mut self, parts: &[&str], signatures: &mut Vec<Signature>) {
        let sub_kernels = std::mem::take(&mut self.sub_kernels);
        let mut left: Vec<Option<SubKernel>> = sub_kernels.into_iter().map(Some).collect();
        let only_gemm = parts.iter().filter(|part| plain_family(part) == Some("gemm")).count() == 1;
        for (at, &part) in parts.iter().enumerate() {
            let fits = |shapes: &&mut Option<SubKernel>| {
                shapes.as_ref().is_some_and(|shapes| shapes.kernel_type.as_deref() == Some(part))
            };
            let own = left.iter_mut().find(fits).and_then(Option::take);
            let source = match (self.source, &own) {
                (TimeSource::Measured, Some(own)) if own.padded => TimeSource::Padded,
                (source, _) => source,
            };
            let (kernel_shapes, simulated) = own.map_or((None, None), |own| (own.kernel_shapes, own.simulation_shapes));
            let product = self.simulated.as_ref().and_then(Operands::gemm_key);
            let (operands, bytes) = if is_collective(part) {
                let of_product = product.map(|key| key.batch * key.m * i128::from(key.n) * ELEMENT_BYTES);
                (None, message_bytes(kernel_shapes.as_ref()).or(of_product))
            } else {
                let of_event = || match (&self.simulated, product) {
                    (Some(simulated), Some(_)) if only_gemm && plain_family(part) == Some("gemm") => {
                        Some(simulated.first_two())
                    }
                    _ => None,
                };
                (kernel_shapes.or(simulated).or_else(of_event), None)
            };
            signatures.push(Signature {
                kernel_type: part.into(),
                operands: operands.and_then(|operands| operands.canonical(&[])),
                attention: (table_family(part) == Some("attention")).then(|| self.attention()).flatten(),
                bytes,
                side: Side::Predicted(Box::new(self.prediction(source, at == 0))),
            });
        }
    }

    /// One call, or equal shares for several kernel types.
    fn whole(self, signatures: &mut Vec<Signature>) {
        if self.kernel_types.len() > 1 {
            for (at, &part) in self.kernel_types.iter().enumerate() {
                let mut prediction = self.prediction(self.source, at == 0);
                prediction.is_simulated = self.kernel_shapes.is_none();
                let side = Side::Predicted(Box::new(prediction));
                signatures.push(Signature {
                    kernel_type: part.into(),
                    operands: None,
                    attention: None,
                    bytes: None,
                    side,
                });
            }
            return;
        }
        let mapped = self.entry.and_then(|entry| entry.kernel_type.as_deref()).filter(|mapped| !mapped.is_empty());
        let kernel_type = match (self.kernel_types.first(), mapped) {
            (Some(kernel_type), _) => kernel_type,
            (None, Some(mapped)) if self.source == TimeSource::Analytic => mapped,
            (None, _) => self.operator,
        };
        let mut prediction = self.prediction(self.source, true);
        let (operands, bytes) = if is_collective(kernel_type) {
            let of_operator = self.simulated.as_ref().map(|simulated| simulated.first_elements() * ELEMENT_BYTES);
            (None, message_bytes(self.kernel_shapes.as_ref()).or(of_operator))
        } else {
            prediction.is_simulated = self.kernel_shapes.is_none();
            (self.kernel_shapes.clone().or_else(|| self.simulated.clone()), None)
        };
        let is_attention = plain_family(kernel_type) == Some("attention") && composite(self.operator).is_none();
        let attention = is_attention.then(|| self.attention()).flatten();
        prediction.composite = self.composite();
        if prediction.composite.is_some() {
            let known = |sub_kernel: &SubKernel| {
                let operands = sub_kernel.kernel_shapes.clone().and_then(|operands| operands.canonical(&[]));
                Some((sub_kernel.kernel_type.as_deref()?.into(), operands))
            };
            prediction.known_kernels = self.sub_kernels.iter().filter_map(known).collect();
        }
        signatures.push(Signature {
            kernel_type: kernel_type.into(),
            operands: operands.and_then(|operands| operands.canonical(&[])),
            attention,
            bytes,
            side: Side::Predicted(Box::new(prediction)),
        });
    }

    /// The kernel types of an operator that was predicted with one duration.
    fn composite(&self) -> Option<Box<[Box<str>]>> {
        let one_figure = matches!(self.source, TimeSource::Partial | TimeSource::Analytic | TimeSource::Interpolated);
        if !one_figure || !self.kernel_types.is_empty() {
            return None;
        }
        let mut kernel_types: Vec<Box<str>> = match (composite(self.operator), self.entry) {
            (Some(known), _) => known.iter().map(|&name| name.into()).collect(),
            (None, Some(entry)) if entry.composite => {
                entry.sub_kernels.iter().map(|name| name.as_str().into()).collect()
            }
            _ => Vec::new(),
        };
        kernel_types.extend(self.named.iter().map(|name| name.as_str().into()));
        kernel_types.sort();
        kernel_types.dedup();
        (!kernel_types.is_empty()).then(|| kernel_types.into())
    }
}

/// The one number in the shapes of a collective.
fn message_bytes(shapes: Option<&Operands>) -> Option<i128> {
    match shapes?.0.as_slice() {
        [dims] if dims.len() == 1 => Some(i128::from(dims[0])),
        _ => None,
    }
}

/// A list of names as the simulator writes it.
fn names(text: &str) -> Vec<String> {
    let (Value::List(items) | Value::Tuple(items)) = literal::parse(text).unwrap_or(Value::None) else {
        return Vec::new();
    };
    items.iter().filter_map(|item| item.as_text()).map(|name| trim(name).to_owned()).collect()
}

/// The elements of `sub_kernel_shapes`, which is JSON in a text.
fn sub_kernels(text: &str) -> Vec<SubKernel> {
    let Ok(Value::List(items)) = perfdb_trace::json::parse(text.as_bytes()) else { return Vec::new() };
    let sub_kernel = |item: &Value| {
        let Value::Dict(members) = item else { return None };
        let text = |key: &str| members.get(key).and_then(Value::as_text);
        Some(SubKernel {
            kernel_type: text("kernel_type").map(str::to_owned),
            kernel_shapes: text("kernel_shapes").and_then(Operands::parse_list),
            simulation_shapes: text("simulation_shapes").and_then(Operands::parse_list),
            padded: text("shape_match_rule").is_some_and(|rule| rule.contains("padding")),
        })
    };
    items.iter().filter_map(sub_kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_in_a_list() {
        assert_eq!(names("['MatMulV2', ' Add ', 3]"), ["MatMulV2", "Add"]);
        assert_eq!(names("('MatMulV2',)"), ["MatMulV2"]);
        assert_eq!(names("MatMulV2"), Vec::<String>::new());
        assert_eq!(names(""), Vec::<String>::new());
    }
}
