//! The events of a chrome trace.

use serde::Serialize;

/// The counter's process.
pub(crate) const COUNTER_PROCESS: usize = 0;

/// Whole nanoseconds as the microseconds of the format.
pub(crate) fn us(ns: i64) -> f64 {
    ns as f64 / 1000.0
}

/// An event; what it has beside its phase.
#[derive(Debug, Serialize)]
#[serde(tag = "ph")]
pub(crate) enum Event<'a> {
    /// A name or an order of a process or a thread.
    #[serde(rename = "M")]
    Metadata { name: &'static str, pid: usize, tid: usize, args: Label<'a> },
    /// A call, or a whole window.
    #[serde(rename = "X")]
    Slice {
        name: &'a str,
        pid: usize,
        tid: usize,
        ts: f64,
        dur: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cname: Option<&'static str>,
        #[serde(skip_serializing_if = "Args::is_empty")]
        args: Args<'a>,
    },
    /// The tail of an arrow.
    #[serde(rename = "s")]
    ArrowTail { id: u64, name: &'static str, cat: &'static str, pid: usize, tid: usize, ts: f64 },
    /// The head of an arrow, which points at the slice around it.
    #[serde(rename = "f")]
    ArrowHead { id: u64, name: &'static str, cat: &'static str, bp: &'static str, pid: usize, tid: usize, ts: f64 },
    /// A value from here on.
    #[serde(rename = "C")]
    Counter { name: &'a str, pid: usize, ts: f64, args: Microseconds },
}

/// The value of a counter.
#[derive(Debug, Serialize)]
pub(crate) struct Microseconds {
    pub(crate) us: f64,
}

/// What a metadata event says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Label<'a> {
    Name(&'a str),
    SortIndex(usize),
}

/// What there is to say about a call.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Args<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) shape: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) family: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) cause: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lost_us: Option<f64>,
}

impl Args<'_> {
    fn is_empty(&self) -> bool {
        self.shape.is_empty() && self.family.is_empty() && self.cause.is_empty() && self.lost_us.is_none()
    }
}
