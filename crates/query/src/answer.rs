//! Answers, and why there is none.

use crate::interpolate::Among;
use crate::query::Shape;
use crate::reason::Reason;
use perfdb_model::predict::{Class, CollocatedRow, Doubt};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The rule of answers from rows of another data type.
pub(crate) const OTHER_TYPE: &str = "other_type";
/// How far an answer from rows of another data type is trusted.
pub(crate) const OTHER_TYPE_CONFIDENCE: f64 = 0.5;

/// The rule of answers from rows that calibrate-database scaled, as their column `Duration Source` says.
pub(crate) use perfdb_store::columns::CALIBRATED;

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A row, or a sum of rows.
    Measured,
    /// A smaller row, because kernels round tokens up to a tile.
    Padded,
    /// Rows around it.
    Interpolated,
    /// Some of the parts of a composite.
    Partial,
}

impl Source {
    /// The name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Source::Measured => "MEASURED",
            Source::Padded => "PADDED",
            Source::Interpolated => "INTERPOLATED",
            Source::Partial => "PARTIAL",
        }
    }

    /// How an answer from there lies to the rows, where nothing else tells.
    pub(crate) fn class(self) -> Class {
        match self {
            Source::Measured => Class::Measured,
            Source::Padded => Class::Padded,
            Source::Interpolated | Source::Partial => Class::Inside,
        }
    }
}

/// A row that an answer is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRef {
    /// The file.
    pub path: Arc<Path>,
    /// The line on which the row starts.
    pub line: u32,
}

impl fmt::Display for RowRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        write!(formatter, "{name}:{}", self.line)
    }
}

/// One kernel of an answer that is a sum.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The kernel type.
    pub kernel_type: Arc<str>,
    /// Its share.
    pub duration_us: f64,
    /// Where it comes from.
    pub source: Source,
    /// The rule by which its row matched, or the method of its interpolation.
    pub rule: &'static str,
    /// The 90 % interval, where it is predicted or the table shows how far its calls spread.
    pub interval_us: Option<[f64; 2]>,
    /// How it lies to the measured rows.
    pub class: Class,
    /// The input shapes that it was looked up with; none for attention, which is looked up by lengths and heads.
    pub input_shapes: Vec<Shape>,
    /// The rows that it is based on.
    pub rows: SmallVec<[RowRef; 1]>,
}

/// How an answer lies between rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpolation {
    /// `linear_1d`, `griddata_linear`, with `_sqrt` over the root of lengths.
    pub method: &'static str,
    /// The axes, in the order of the coordinates of the points.
    pub axes: SmallVec<[&'static str; 3]>,
    /// The coordinates of the call.
    pub target: SmallVec<[f64; 3]>,
    /// The points used: coordinates, duration and weight.
    pub points: Vec<WeightedPoint>,
    /// How many rows could have been used.
    pub candidate_count: usize,
    /// Lowest and highest value over all triangulations, where more than one is right.
    pub range_us: Option<[f64; 2]>,
    /// The points of the table among which they are.
    pub(crate) among: Option<Among>,
}

/// A point between which is interpolated.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedPoint {
    /// On each axis.
    pub coordinates: SmallVec<[f64; 3]>,
    /// The duration there.
    pub duration_us: f64,
    /// Its share in the answer.
    pub weight: f64,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The duration.
    pub duration_us: f64,
    /// 1 for a row that fits as it is, less for what is derived.
    pub confidence: f64,
    /// Where it comes from.
    pub source: Source,
    /// The tables that answered.
    pub(crate) kernels: SmallVec<[Arc<str>; 1]>,
    /// The rule by which rows matched; `None` for sums without one.
    pub rule: Option<&'static str>,
    /// The rows that it is based on.
    pub rows: SmallVec<[RowRef; 1]>,
    /// The share of the queried elements that its row has: less than 1 if it is padded.
    pub(crate) share: f64,
    /// More about it, where it is more than one row.
    pub(crate) more: Option<Box<More>>,
}

/// What only sums and interpolated answers have.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct More {
    pub(crate) parts: Vec<Part>,
    pub(crate) missed: Vec<Arc<str>>,
    pub(crate) interpolation: Option<Interpolation>,
    pub(crate) method: Option<&'static str>,
    pub(crate) prediction: Option<Prediction>,
    pub(crate) is_of_other_version: bool,
}

/// The confidence of an answer, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The lower end of the 90 % interval.
    pub low_us: f64,
    /// Its upper end.
    pub high_us: f64,
    /// How the call lies to the measured rows; of a sum, how that of its predicted parts does whose interval is widest.
    pub class: Class,
    /// The rows that it is based on with their weights, the heaviest first; none for a sum.
    pub rows: Vec<(RowRef, f64)>,
    /// The row of the same sizes that differs in other columns, where it tells something.
    pub collocated: Option<Collocated>,
    /// The fitted roofline's duration over this one; `None` for rows as they are, and for sums.
    pub efficiency: Option<f64>,
    /// How unsure it is and where it lies in its slice, whose rows are numbered by their lines: for choosing what to measure next. `None`
    /// for rows as they are, and for sums.
    pub doubt: Option<Doubt>,
    /// All of it, for a person.
    pub sentence: String,
}

/// A row of the same sizes as a call, of which something else differs: the data type, the distribution of tokens over experts.
#[derive(Debug, Clone, PartialEq)]
pub struct Collocated {
    /// The row.
    pub row: RowRef,
    /// By how much longer it took than calls of the same shape take around these sizes, relatively: 0.03 for 3 % longer.
    pub excess: f64,
    /// How much of the logarithm of that counts for the call.
    pub share: f64,
}

impl Collocated {
    /// With a name for the number of the row.
    pub(crate) fn new(collocated: CollocatedRow, reference: impl FnOnce(u32) -> RowRef) -> Collocated {
        Collocated { row: reference(collocated.row), excess: collocated.excess, share: collocated.share }
    }
}

impl Answer {
    /// The kernel type; several are joined by `,`, none is `None`.
    pub fn kernel_type(&self) -> Option<Cow<'_, str>> {
        match self.kernels.as_slice() {
            [] => None,
            [one] => Some(Cow::Borrowed(one)),
            several => Some(Cow::Owned(several.join(","))),
        }
    }

    /// Whether it is that of a smaller row, because kernels round sizes up. Only told by rules that look for a bracket first.
    pub fn is_padded(&self) -> bool {
        self.share < 1.0
    }

    /// Whether the rows are of another data type than the query.
    pub fn is_of_other_type(&self) -> bool {
        self.rule == Some(OTHER_TYPE)
    }

    /// The kernels that add up to the answer; none where it is one row.
    pub fn parts(&self) -> &[Part] {
        self.more.as_ref().map_or(&[], |more| &more.parts)
    }

    /// The kernels of which nothing is known, in a partial answer.
    pub fn missed_kernels(&self) -> &[Arc<str>] {
        self.more.as_ref().map_or(&[], |more| &more.missed)
    }

    /// Between which places the answer lies, if it is interpolated over axes.
    pub fn interpolation(&self) -> Option<&Interpolation> {
        self.more.as_ref()?.interpolation.as_ref()
    }

    /// The confidence of the answer; only under [`ReaderSemantics::Best`](crate::ReaderSemantics::Best).
    pub fn prediction(&self) -> Option<&Prediction> {
        self.more.as_ref()?.prediction.as_ref()
    }

    /// Whether one of its rows was measured with another version than the database: a collective of another CANN.
    pub fn is_of_other_version(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.is_of_other_version)
    }

    /// How the call lies to the measured rows.
    pub fn class(&self) -> Class {
        self.prediction().map_or(self.source.class(), |prediction| prediction.class)
    }

    /// The 90 % interval of the answer: its own, or that of `predicted`, which [`ReaderSemantics::Best`](crate::ReaderSemantics::Best) gives
    /// for the same query. That one is about another estimate, so it is at least as wide as the two are apart: no answer lies outside of its
    /// interval. A partial sum has only its own: a prediction is of the whole.
    pub fn interval_or(&self, predicted: impl FnOnce() -> Option<Answer>) -> Option<[f64; 2]> {
        let us = self.duration_us;
        let about = |[low_us, high_us]: [f64; 2]| [low_us.min(us), high_us.max(us)];
        match self.interval_us() {
            Some(own) => Some(own),
            None if self.source == Source::Partial => None,
            None => predicted()?.interval_us().map(about),
        }
    }

    pub(crate) fn interval_us(&self) -> Option<[f64; 2]> {
        self.prediction().map(|prediction| [prediction.low_us, prediction.high_us])
    }

    /// The method of an interpolated answer.
    pub fn method(&self) -> Option<&'static str> {
        let more = self.more.as_ref()?;
        more.method.or(more.interpolation.as_ref().map(|interpolation| interpolation.method))
    }

    pub(crate) fn free(kernel_type: Arc<str>, rule: &'static str) -> Answer {
        Answer {
            duration_us: 0.0,
            confidence: 1.0,
            source: Source::Measured,
            kernels: SmallVec::from_elem(kernel_type, 1),
            rule: Some(rule),
            rows: SmallVec::new(),
            share: 1.0,
            more: None,
        }
    }
}

/// No answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{reason}{}", detail.as_deref().map(|detail| format!(" ({detail})")).unwrap_or_default())]
pub struct LookupError {
    /// Why.
    pub reason: Reason,
    /// More about it, such as why a table cannot be used.
    pub detail: Option<String>,
}

impl From<Reason> for LookupError {
    fn from(reason: Reason) -> Self {
        LookupError { reason, detail: None }
    }
}

impl LookupError {
    /// Whether a table cannot be read or used, so that nothing is known about its rows; the detail names file and reason.
    pub fn is_unreadable(&self) -> bool {
        self.reason.is_unreadable()
    }

    /// That a row of a batch is no query, and why.
    pub fn malformed(reason: impl Into<String>) -> Self {
        LookupError { reason: Reason::new("malformed_query"), detail: Some(reason.into()) }
    }

    pub(crate) fn new(code: &'static str) -> Self {
        Reason::new(code).into()
    }
}
