//! The parts of a difference, each with its cause.

use super::group::Sources;
use super::interval::Interval;
use crate::profile::RelativeSpread;
use bitcode::{Decode, Encode};
use serde::Serialize;

/// Why predicted and measured time differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Cause {
    /// A composite operator priced without a table.
    Analytic,
    /// A measured collective waits for other devices (an estimate).
    CollectiveWait,
    /// More or fewer calls.
    Count,
    /// More or fewer layers.
    Layers,
    /// An operator for which no kernel is known.
    Mapping,
    /// A measured kernel that nobody predicts.
    NotModelled,
    /// Another kernel for the same work.
    OtherKernel,
    /// A composite operator of which only parts are known.
    Partial,
    /// A predicted kernel that was never measured.
    PredictedOnly,
    /// Shapes that do not meet.
    Shape,
    /// A call takes more or less time.
    Time,
}

impl Cause {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Analytic => "analytic",
            Cause::CollectiveWait => "collective_wait",
            Cause::Count => "count",
            Cause::Layers => "layers",
            Cause::Mapping => "mapping",
            Cause::NotModelled => "not_modelled",
            Cause::OtherKernel => "other_kernel",
            Cause::Partial => "partial",
            Cause::PredictedOnly => "predicted_only",
            Cause::Shape => "shape",
            Cause::Time => "time",
        }
    }
}

impl Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A part of predicted − measured time. All parts sum to the difference exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct Contribution {
    /// Why.
    pub cause: Cause,
    /// The family of the kernel.
    pub family: String,
    /// The kernel type.
    pub kernel_type: String,
    /// The shape, see the guide for its form.
    pub shape: String,
    /// How much, in picoseconds.
    pub difference_ps: i128,
    /// What the database knows of its predicted calls, where they do not come from rows as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// What the cause needs.
    #[serde(flatten)]
    pub detail: Detail,
}

/// What there is to say about a contribution beside its time.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
#[serde(untagged)]
pub enum Detail {
    /// Of [`Cause::Count`] and [`Cause::Layers`].
    Calls(Calls),
    /// Of [`Cause::Time`].
    Time(TimeDetail),
    /// Of [`Cause::CollectiveWait`].
    Wait(WaitDetail),
    /// Of [`Cause::PredictedOnly`].
    Predicted(PredictedDetail),
    /// Of [`Cause::NotModelled`].
    Measured(MeasuredDetail),
    /// Of the causes with several groups.
    Pool(PoolDetail),
}

/// Calls in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Encode, Decode)]
pub struct Calls {
    /// On the predicted side.
    pub predicted_calls: f64,
    /// On the measured side.
    pub measured_calls: f64,
    /// Both exactly, in a unit that they share.
    #[serde(skip)]
    pub(crate) exact: (i128, i128),
}

/// The tenth and the ninetieth percentile of the measured calls, from five calls on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct Spread {
    /// Picoseconds that a tenth of the calls stays within.
    pub p10_ps: i64,
    /// Picoseconds that nine tenths of the calls stay within.
    pub p90_ps: i64,
}

/// A call takes more or less time.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct TimeDetail {
    /// Where the predicted time comes from.
    pub source: Sources,
    /// Whether the predicted mean lies between the measured P10 and P90.
    pub inside_spread: bool,
    /// Whether it lies inside that band of the *mean*: then it can't be told from the measured one.
    pub noise: bool,
    /// Mean of the predicted calls.
    pub predicted_mean_ps: i128,
    /// Mean of the measured calls.
    pub measured_mean_ps: i128,
    /// How many there are.
    #[serde(flatten)]
    pub calls: Calls,
    /// The spread of the measured calls.
    #[serde(flatten)]
    pub spread: Option<Spread>,
}

impl TimeDetail {
    /// The spread over the measured mean.
    pub(crate) fn relative_spread(&self) -> Option<RelativeSpread> {
        let mean_ps = (self.measured_mean_ps > 0).then_some(self.measured_mean_ps as f64)?;
        self.spread
            .map(|spread| RelativeSpread { low: spread.p10_ps as f64 / mean_ps, high: spread.p90_ps as f64 / mean_ps })
    }
}

/// A collective waits.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct WaitDetail {
    /// Always: how long a collective waits is not in a profile.
    pub estimate: bool,
    /// How many there are.
    #[serde(flatten)]
    pub calls: Calls,
    /// The spread of the measured calls.
    #[serde(flatten)]
    pub spread: Option<Spread>,
}

/// Where predicted calls stand that were never measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Before everything that was measured.
    Head,
    /// Among it.
    Body,
    /// Behind it.
    Tail,
}

/// A predicted kernel that was never measured.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct PredictedDetail {
    /// Where the predicted time comes from.
    pub source: Sources,
    /// Where the calls stand.
    pub place: Position,
    /// How many there are.
    pub predicted_calls: f64,
}

/// A measured kernel that nobody predicts.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct MeasuredDetail {
    /// How many calls there are.
    pub measured_calls: f64,
    /// The composite operator that it may be a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composite: Option<String>,
    /// The spread of the calls.
    #[serde(flatten)]
    pub spread: Option<Spread>,
}

/// Several groups that stand for each other.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct PoolDetail {
    /// The groups.
    pub parts: Vec<Part>,
    /// Time of the predicted ones.
    pub predicted_ps: i128,
    /// Time of the measured ones.
    pub measured_ps: i128,
    /// The predicted shape that is most like the measured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closest: Option<String>,
}

/// A group in a pool.
#[derive(Debug, Clone, PartialEq, Serialize, Encode, Decode)]
pub struct Part {
    /// The kernel type.
    pub kernel_type: String,
    /// The shape.
    pub shape: String,
    /// Calls beyond those of the measured side.
    pub predicted_calls: f64,
    /// Calls beyond those of the predicted side.
    pub measured_calls: f64,
    /// What these calls make.
    pub difference_ps: i128,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_relative_to_the_measured_mean() {
        let of = |measured_mean_ps| TimeDetail {
            source: Sources::default(),
            inside_spread: false,
            noise: false,
            predicted_mean_ps: 7,
            measured_mean_ps,
            calls: Calls { predicted_calls: 1.0, measured_calls: 1.0, exact: (1, 1) },
            spread: Some(Spread { p10_ps: 20, p90_ps: 60 }),
        };
        assert_eq!(of(40).relative_spread(), Some(RelativeSpread { low: 0.5, high: 1.5 }));
        assert_eq!(of(0).relative_spread(), None);
        assert_eq!(TimeDetail { spread: None, ..of(40) }.relative_spread(), None);
    }
}
