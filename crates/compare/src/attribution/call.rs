//! Calls of kernels on both sides, in little memory: all that repeats stands in signatures.

use super::family::canonical_type;
use super::operands::{AttentionKey, Operands};
use bitcode::{Decode, Encode};
use indexmap::IndexSet;
use perfdb_model::predict::Estimate;
use rustc_hash::{FxBuildHasher, FxHashMap};
use serde::Serialize;

/// Where a predicted time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// A formula, or nothing that is known.
    Analytic,
    /// Beyond the rows of a table.
    Extrapolated,
    /// Between the rows of a table.
    Interpolated,
    /// A row of a table.
    Measured,
    /// A row for a larger shape.
    Padded,
    /// Some parts of a composite operator.
    Partial,
}

impl TimeSource {
    /// All, in the order of their names.
    pub const ALL: [TimeSource; 6] = [
        TimeSource::Analytic,
        TimeSource::Extrapolated,
        TimeSource::Interpolated,
        TimeSource::Measured,
        TimeSource::Padded,
        TimeSource::Partial,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TimeSource::Analytic => "analytic",
            TimeSource::Extrapolated => "extrapolated",
            TimeSource::Interpolated => "interpolated",
            TimeSource::Measured => "measured",
            TimeSource::Padded => "padded",
            TimeSource::Partial => "partial",
        }
    }

    pub(crate) fn of_event(source: Option<&str>, rule: &str) -> TimeSource {
        match source {
            Some("MEASURED") if rule.contains("padding") => TimeSource::Padded,
            Some("PADDED") => TimeSource::Padded,
            Some("MEASURED") => TimeSource::Measured,
            Some("INTERPOLATED") => TimeSource::Interpolated,
            Some("EXTRAPOLATED") => TimeSource::Extrapolated,
            Some("PARTIAL") => TimeSource::Partial,
            _ => TimeSource::Analytic,
        }
    }
}

/// One call of a kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    /// Position among the signatures.
    pub(crate) signature: u32,
    /// Predicted: position of the event in the trace.
    pub(crate) event: u32,
    /// When it starts, from the first call of its side.
    pub(crate) start_ps: i64,
    pub(crate) duration_ps: i64,
}

/// What equal calls of one side have in common.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) kernel_type: Box<str>,
    pub(crate) operands: Option<Operands>,
    pub(crate) attention: Option<AttentionKey>,
    /// Message size of a collective.
    pub(crate) bytes: Option<i128>,
    pub(crate) side: Side,
}

#[derive(Debug, Clone)]
pub(crate) enum Side {
    Predicted(Box<Prediction>),
    Measured(Box<Row>),
}

/// What only the predicted side knows.
#[derive(Debug, Clone)]
pub(crate) struct Prediction {
    pub(crate) operator: Box<str>,
    pub(crate) source: TimeSource,
    /// The operator's operands.
    pub(crate) simulated_operands: Option<Operands>,
    /// Whether the operands of the call are the operator's.
    pub(crate) is_simulated: bool,
    /// The first call of its event.
    pub(crate) is_first_part: bool,
    /// The kernel types of an operator that is predicted with one duration.
    pub(crate) composite: Option<Box<[Box<str>]>>,
    /// The kernels of such an operator that the event names.
    pub(crate) known_kernels: Box<[(Box<str>, Option<Operands>)]>,
}

/// The cells of a measured call that say what to measure again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Row {
    /// `Input Shapes`, as written.
    pub input_shapes: Box<str>,
    /// `Input Data Types`.
    pub input_types: Box<str>,
    /// `Input Formats`.
    pub input_formats: Box<str>,
    /// `Output Shapes`.
    pub output_shapes: Box<str>,
    /// `Output Data Types`.
    pub output_types: Box<str>,
    /// `Output Formats`.
    pub output_formats: Box<str>,
}

impl Signature {
    /// The shape that calls are grouped by.
    pub(crate) fn shape(&self) -> String {
        if super::family::is_collective(&self.kernel_type) {
            return self.bytes.filter(|bytes| *bytes != 0).map_or_else(String::new, |bytes| format!("{bytes} B"));
        }
        match (&self.attention, &self.operands) {
            (Some(key), _) => key.text(),
            (None, Some(operands)) => operands.text(),
            (None, None) => String::new(),
        }
    }

    pub(crate) fn prediction(&self) -> Option<&Prediction> {
        match &self.side {
            Side::Predicted(prediction) => Some(prediction),
            Side::Measured(_) => None,
        }
    }

    pub(crate) fn row(&self) -> Option<&Row> {
        match &self.side {
            Side::Measured(row) => Some(row),
            Side::Predicted(_) => None,
        }
    }
}

/// The calls of one side in the order of their starts, with their signatures.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) signatures: Vec<Signature>,
    pub(crate) calls: Vec<Call>,
}

/// What the attribution needs of each signature, as numbers that both sides share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    /// Kernel type and shape.
    pub(crate) group: u32,
    /// Kernel type and operands.
    pub(crate) operands: u32,
    /// Kernel type without its ending.
    pub(crate) canonical_type: u32,
}

/// Both sides of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pub(crate) signatures: Vec<Signature>,
    /// One per signature.
    pub(crate) keys: Vec<Keys>,
    /// How many different kernel types and shapes there are.
    pub(crate) group_count: usize,
    /// The kernel types without their endings.
    pub(crate) canonical_types: IndexSet<Box<str>, FxBuildHasher>,
    pub(crate) predicted: Vec<Call>,
    pub(crate) measured: Vec<Call>,
    /// What a database knows of each signature; empty without one.
    pub(crate) estimates: Vec<Option<Estimate>>,
}

impl Book {
    /// Brings both sides together.
    pub(crate) fn new(predicted: Calls, measured: Calls) -> Book {
        let first_measured = predicted.signatures.len() as u32;
        let mut signatures = predicted.signatures;
        signatures.extend(measured.signatures);
        let mut measured = measured.calls;
        measured.iter_mut().for_each(|call| call.signature += first_measured);
        let mut canonical_types: IndexSet<Box<str>, FxBuildHasher> = IndexSet::default();
        let mut groups: FxHashMap<(Box<str>, String), u32> = FxHashMap::default();
        let mut operands: FxHashMap<(Box<str>, Option<Operands>), u32> = FxHashMap::default();
        let keys = |signature: &Signature| {
            let next = groups.len() as u32;
            let group = *groups.entry((signature.kernel_type.clone(), signature.shape())).or_insert(next);
            let next = operands.len() as u32;
            let key = (signature.kernel_type.clone(), signature.operands.clone());
            let operands = *operands.entry(key).or_insert(next);
            let canonical_type = canonical_types.insert_full(canonical_type(&signature.kernel_type).into()).0 as u32;
            Keys { group, operands, canonical_type }
        };
        let keys = signatures.iter().map(keys).collect();
        let group_count = groups.len();
        let estimates = Vec::new();
        Book { signatures, keys, group_count, canonical_types, predicted: predicted.calls, measured, estimates }
    }

    pub(crate) fn signature(&self, call: &Call) -> &Signature {
        &self.signatures[call.signature as usize]
    }

    pub(crate) fn keys(&self, call: &Call) -> Keys {
        self.keys[call.signature as usize]
    }
}
