//! A gate that can be lived with: only what was inside a limit in an earlier comparison and is outside now fails.

use std::collections::BTreeMap;
use std::path::Path;

use perfdb_pycompat::value::Value;
use perfdb_trace::source::Source;

use crate::document::{Document, Overview};
use crate::error::Error;
use crate::family::Family;

/// The elapsed time as a whole.
const ELAPSED: &str = "elapsed";

/// Something that has become worse.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    /// `elapsed`, or an operation.
    pub name: String,
    /// The kernel of trace 2 with most time in the operation; nothing for the elapsed time.
    pub kernel: Option<String>,
    /// By how many percent trace 2 took longer than trace 1 before.
    pub before_pct: f64,
    /// By how many it does now.
    pub after_pct: f64,
}

/// How much longer trace 2 took than trace 1 in an earlier comparison, in percent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    excess_pct: BTreeMap<String, f64>,
}

impl Baseline {
    /// Reads the JSON of an earlier comparison under the default rules: a [`Document::Plain`] or a [`Document::Full`].
    ///
    /// # Errors
    /// When the file cannot be read, is no JSON, or not such a document.
    pub fn read(path: &Path) -> Result<Baseline, Error> {
        let text = Source::open(path)?.read_all()?;
        let refused = |reason: String| Error::Baseline { path: path.to_owned(), reason };
        let document = perfdb_trace::json::parse(&text).map_err(|error| refused(error.to_string()))?;
        Baseline::of(&document)
            .ok_or_else(|| refused("this is no JSON of compare-traces with elapsed times and operations".to_owned()))
    }

    fn of(document: &Value) -> Option<Baseline> {
        let Value::Dict(members) = document else { return None };
        let mut baseline = Baseline::default();
        let Value::Dict(elapsed) = members.get("elapsed")? else { return None };
        baseline.put(ELAPSED, percent(1.0, elapsed.get("ratio")?.as_double()?));
        let Value::List(rows) = members.get("operations")? else { return None };
        for row in rows {
            let Value::Dict(row) = row else { return None };
            let number = |key: &str| row.get(key).and_then(Value::as_double);
            let excess = percent(number("trace1_per_pass_ms")?, number("trace2_per_pass_ms")?);
            baseline.put(row.get("operation")?.as_text()?, excess);
        }
        Some(baseline)
    }

    fn put(&mut self, name: &str, excess_pct: f64) {
        self.excess_pct.insert(name.to_owned(), excess_pct);
    }

    /// What has left the limit, of what is more than the noise and than 1 % of the elapsed time of trace 1. Documents
    /// without elapsed times have no such values.
    pub fn check(&self, document: &Document, limit_pct: f64) -> Vec<Regression> {
        let Some(Overview { elapsed: Some(report), comparison, .. }) = document.overview() else { return Vec::new() };
        let mut found = Vec::new();
        let mut check = |name: &str, kernel: Option<&str>, [first, second]: [f64; 2], least_ms: f64| {
            let (Some(before_pct), after_pct) = (self.excess_pct.get(name).copied(), percent(first, second)) else {
                return;
            };
            if before_pct <= limit_pct && after_pct > limit_pct && second - first > least_ms {
                let kernel = kernel.map(str::to_owned);
                found.push(Regression { name: name.to_owned(), kernel, before_pct, after_pct });
            }
        };
        let whole = [report.elapsed.trace1.per_pass_ms, report.elapsed.trace2.per_pass_ms];
        check(ELAPSED, None, whole, report.threshold_ms);
        for row in &comparison.operations {
            let family = Family::of(&row.operation).label();
            let noise = report.waterfall.iter().find(|part| part.row == family).and_then(|part| part.noise_ms);
            let times = [row.trace1_per_pass_ms, row.trace2_per_pass_ms];
            check(&row.operation, Some(&row.trace2_kernel), times, report.threshold_ms.max(noise.unwrap_or(0.0)));
        }
        found
    }
}

/// By how many percent the second takes longer.
fn percent(first: f64, second: f64) -> f64 {
    if first > 0.0 { 100.0 * (second / first - 1.0) } else { f64::INFINITY }
}
