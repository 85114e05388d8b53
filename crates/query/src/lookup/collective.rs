//! Looking up collectives by message size, devices and tier.

use crate::answer::{Answer, LookupError, More, Part, Prediction, RowRef, Source};
use crate::context::Context;
use crate::dtype::size_bytes;
use crate::interval::{OTHER_TYPE_OF_MESSAGE, message_of_other_type, wider};
use crate::query::{Argument, Grid};
use crate::semantics::Sizes;
use crate::table::collective::CollectiveRows;
use perfdb_store::dtype::DType;
use perfdb_store::op_mapping::Entry;
use smallvec::SmallVec;
use std::sync::Arc;

/// How is interpolated between two sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// The default: what the rules say.
    AlphaBeta,
    /// A straight line between the neighbours.
    BracketLinear,
}

impl Method {
    /// Reads the option of a mapping; nothing is the default.
    pub(crate) fn of(name: Option<&str>) -> Option<Method> {
        match name {
            None | Some("alpha_beta") => Some(Method::AlphaBeta),
            Some("bracket_linear") => Some(Method::BracketLinear),
            Some(_) => None,
        }
    }

    /// Its name in a mapping.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::AlphaBeta => "alpha_beta",
            Method::BracketLinear => "bracket_linear",
        }
    }
}

/// A message of a group of devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message {
    pub(crate) bytes: i64,
    pub(crate) dtype: DType,
    pub(crate) devices: i64,
    pub(crate) tier: Option<i64>,
    pub(crate) method: Method,
}

/// What a collective takes.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) kernel_type: Arc<str>,
    pub(crate) bytes: i64,
    pub(crate) duration_us: f64,
    pub(crate) is_interpolated: bool,
    /// Whether rows of another data type say so, where types are exact.
    pub(crate) is_of_other_type: bool,
    pub(crate) rows: SmallVec<[RowRef; 1]>,
    pub(crate) prediction: Option<Prediction>,
}

impl Sent {
    pub(crate) fn source(&self) -> Source {
        if self.is_interpolated { Source::Interpolated } else { Source::Measured }
    }

    pub(crate) fn part(&self) -> Part {
        Part {
            kernel_type: self.kernel_type.clone(),
            duration_us: self.duration_us,
            source: self.source(),
            rule: "comm",
            interval_us: self.prediction.as_ref().map(|prediction| {
                let interval_us = [prediction.low_us, prediction.high_us];
                if self.is_of_other_type { wider(interval_us, OTHER_TYPE_OF_MESSAGE) } else { interval_us }
            }),
            class: self.prediction.as_ref().map_or(self.source().class(), |prediction| prediction.class),
            input_shapes: vec![vec![self.bytes]],
            rows: self.rows.clone(),
        }
    }
}

/// A collective operator.
pub(crate) fn lookup(context: &Context<'_>, entry: &Entry) -> Result<Answer, LookupError> {
    let message = message(context).ok_or_else(|| LookupError::new("invalid_args"))?;
    let mut names = context.names(entry);
    if !context.rules.asks_alternates {
        names.truncate(1);
    }
    let mut miss = LookupError::new("csv_not_found");
    for name in names {
        match send(context, name, message) {
            Ok(sent) => {
                let is_of_other_type = sent.is_of_other_type;
                let answer = Answer {
                    duration_us: sent.duration_us,
                    confidence: if sent.is_interpolated { 0.8 } else { 0.9 },
                    source: sent.source(),
                    kernels: smallvec::smallvec![sent.kernel_type],
                    rule: Some("comm"),
                    rows: sent.rows,
                    share: 1.0,
                    more: sent
                        .prediction
                        .map(|prediction| Box::new(More { prediction: Some(prediction), ..More::default() })),
                };
                return Ok(if is_of_other_type { message_of_other_type(answer) } else { answer });
            }
            // What a table lacks says more than a name without one.
            Err(found) if found.reason.code() == "csv_not_found" => {}
            Err(found) => miss = found,
        }
    }
    Err(miss)
}

/// The message of a collective operator.
pub(crate) fn message(context: &Context<'_>) -> Option<Message> {
    let query = context.query;
    let (tensor, ranks) = (query.tensor(0)?, query.ranks()?);
    let devices = ranks.len() as i64;
    let mut bytes = tensor.elements().saturating_mul(size_bytes(tensor.dtype));
    if query.name() == "tensor_cast.reduce_scatter.default" && devices > 1 {
        bytes /= devices;
    }
    Some(Message { bytes, dtype: tensor.dtype, devices, tier: tier(context), method: Method::AlphaBeta })
}

/// What sending a message takes. Rows of its type come first where a table has several types: to reduce other elements takes another time.
pub(crate) fn send(context: &Context<'_>, name: &str, message: Message) -> Result<Sent, LookupError> {
    let Some(table) = context.collective(name)? else { return Err(LookupError::new("csv_not_found")) };
    if !table.has_sizes {
        return Err(LookupError::new("csv_format_raw"));
    }
    let own = table
        .of_type(message.dtype)
        .filter(|own| context.rules.exact_types && own.group(message.devices, message.tier).is_some());
    let sent = own.and_then(|own| send_in(context, own, message).ok());
    sent.map_or_else(|| send_in(context, table, message), Ok)
}

/// The same by the rows of one table.
fn send_in(context: &Context<'_>, table: &CollectiveRows, message: Message) -> Result<Sent, LookupError> {
    let bytes = message.bytes as f64;
    let types_count = context.rules.exact_types;
    let group = table.group(message.devices, message.tier);
    let bracket = group.and_then(|group| group.bracket(bytes));
    let is_row = bracket.is_some_and(|(low, high)| low.bytes == high.bytes);
    if context.rules.predicts()
        && !is_row
        && let Some((duration_us, prediction)) = table.predict(bytes, message.devices, message.tier)
    {
        return Ok(Sent {
            kernel_type: table.kernel_type.clone(),
            bytes: message.bytes,
            duration_us,
            is_interpolated: true,
            is_of_other_type: types_count && table.has_other_type(message.dtype),
            rows: prediction.rows.iter().map(|(row, _)| row.clone()).collect(),
            prediction: Some(prediction),
        });
    }
    let group = group.ok_or_else(|| LookupError::new("shape_mismatch"))?;
    let (low, high) = bracket.ok_or_else(|| LookupError::new("shape_mismatch"))?;
    if low.bytes == high.bytes {
        return Ok(Sent {
            kernel_type: table.kernel_type.clone(),
            bytes: message.bytes,
            duration_us: low.duration_us,
            is_interpolated: false,
            is_of_other_type: types_count && low.is_of_other_type(message.dtype),
            rows: smallvec::smallvec![table.reference(low)],
            prediction: None,
        });
    }
    let line =
        || low.duration_us + (bytes - low.bytes) / (high.bytes - low.bytes) * (high.duration_us - low.duration_us);
    let duration_us = match (message.method, context.rules.sizes) {
        (Method::BracketLinear, _) => line(),
        (Method::AlphaBeta, Sizes::GlobalFit) => group.fitted(bytes),
        (Method::AlphaBeta, Sizes::Bracket) if low.bytes > 0.0 => {
            let share = (bytes / low.bytes).ln() / (high.bytes / low.bytes).ln();
            low.duration_us * (high.duration_us / low.duration_us).powf(share)
        }
        (Method::AlphaBeta, Sizes::Bracket) => line(),
    };
    let bounds = (low.duration_us.min(high.duration_us), low.duration_us.max(high.duration_us));
    Ok(Sent {
        kernel_type: table.kernel_type.clone(),
        bytes: message.bytes,
        duration_us: duration_us.clamp(bounds.0, bounds.1),
        is_interpolated: true,
        is_of_other_type: types_count && [low, high].iter().any(|row| row.is_of_other_type(message.dtype)),
        rows: [low, high].map(|row| table.reference(row)).into_iter().collect(),
        prediction: None,
    })
}

/// The tier of the rank group; `None` if it is unknown.
pub(crate) fn tier(context: &Context<'_>) -> Option<i64> {
    let query = context.query;
    match &query.grid {
        Some(grid) => tier_in(grid, query.ranks()?),
        None => query.tier,
    }
}

fn tier_in(grid: &Grid, ranks: &[Argument]) -> Option<i64> {
    let coordinates = |rank: i64| -> Vec<i64> {
        let mut left = rank;
        let mut found: Vec<i64> = grid
            .shape
            .iter()
            .rev()
            .map(|&size| {
                let own = left.rem_euclid(size.max(1));
                left = left.div_euclid(size.max(1));
                own
            })
            .collect();
        found.reverse();
        found
    };
    let ranks: Vec<Vec<i64>> = ranks.iter().filter_map(Argument::as_integer).map(coordinates).collect();
    let differs = |dimension: usize| ranks.iter().any(|rank| rank.get(dimension) != ranks[0].get(dimension));
    match (0..grid.shape.len()).find(|&dimension| !ranks.is_empty() && differs(dimension)) {
        Some(dimension) => grid.tiers.iter().copied().filter(|tier| *tier <= dimension as i64).max(),
        None => grid.tiers.iter().copied().max(),
    }
}
