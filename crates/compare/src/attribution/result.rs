//! What a difference is split into.

use super::call::Row;
use super::call::TimeSource;
use super::constant::LayersNote;
use super::contribution::Cause;
use super::contribution::Contribution;
use super::group::{Join, Sources};
use super::operands::AttentionKey;
use bitcode::{Decode, Encode};
use serde::Serialize;
use std::collections::BTreeMap;

/// The difference of a forward pass and its parts. All times in picoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct Attribution {
    /// Sum of the predicted calls.
    pub predicted_ps: i128,
    /// Sum of the measured groups, each of one pass.
    pub measured_ps: i128,
    /// Predicted less measured time: the sum of all contributions.
    pub difference_ps: i128,
    /// Sum of the contributions' absolute values.
    pub gross_ps: i128,
    /// Sum over kernel types of the absolute differences.
    pub gross_by_type_ps: i128,
    /// Predicted time by its source.
    pub coverage_ps: BTreeMap<TimeSource, i128>,
    /// Measured time of groups whose shapes match.
    pub joined_ps: i128,
    /// The same, collectives by their name alone.
    pub joined_with_names_ps: i128,
    /// Measured time that is predicted within a tenth.
    pub within_10_percent_ps: i128,
    /// How many passes the measured side holds.
    pub passes: f64,
    /// Sums of the contributions by cause.
    pub by_cause_ps: BTreeMap<Cause, i128>,
    /// A constant difference of layers.
    pub layers_note: Option<LayersNote>,
    /// What attention works on.
    pub workload: Option<Workload>,
    /// Sums by family, largest first.
    pub families: Vec<FamilySum>,
    /// The parts, largest first.
    #[serde(rename = "leaves")]
    pub contributions: Vec<Contribution>,
    /// All groups, largest first.
    pub groups: Vec<Group>,
}

/// The attention that takes most time on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct Workload {
    /// Of the predicted side.
    pub predicted: AttentionKey,
    /// Of the measured side.
    pub measured: AttentionKey,
    /// Whether query tokens agree, and sequences where known.
    pub same: bool,
}

impl Serialize for AttentionKey {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.query_tokens, self.kv_blocks, self.sequences].serialize(serializer)
    }
}

/// Time of a family on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct FamilySum {
    /// The family.
    pub family: String,
    /// On the predicted side.
    pub predicted_ps: i128,
    /// On the measured side.
    pub measured_ps: i128,
    /// Predicted less measured.
    pub difference_ps: i128,
}

/// One kernel type and shape.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct Group {
    /// The kernel type.
    pub kernel_type: String,
    /// The shape.
    pub shape: String,
    /// The family.
    pub family: String,
    /// Time on the predicted side.
    pub predicted_ps: i128,
    /// Time on the measured side.
    pub measured_ps: i128,
    /// Calls on the predicted side.
    pub predicted_calls: f64,
    /// Calls on the measured side, in one pass.
    pub measured_calls: f64,
    /// How the sides met.
    pub join: Join,
    /// A label of the pool that took its count part; for reading, not for programs.
    pub pool: Option<String>,
    /// The cells of its first measured row.
    #[serde(skip)]
    pub row: Option<Row>,
    /// Where the predicted time comes from.
    #[serde(skip)]
    pub sources: Sources,
}
