//! A gate: what takes longer than a limit allows, and longer than in an earlier comparison by more than the noise, fails.

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
    /// By how many percent trace 2 took longer than trace 1 before; nothing of what was not there, infinite of what trace 1 did not run.
    pub before_pct: Option<f64>,
    /// By how many it does now; infinite where trace 1 does not run it.
    pub after_pct: f64,
    /// By how many ms per pass trace 2 takes longer than it would if nothing had become worse.
    pub worse_ms: f64,
}

/// How much longer trace 2 took than trace 1 in an earlier comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    /// In percent.
    excess_pct: BTreeMap<String, f64>,
    /// What trace 2 alone ran, in ms per pass.
    alone_ms: BTreeMap<String, f64>,
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
            .ok_or_else(|| refused("this is not a JSON of compare-traces with elapsed times and operations".to_owned()))
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
        if let Some(Value::List(rows)) = members.get("unmatched_operations") {
            for row in rows {
                let Value::Dict(row) = row else { return None };
                let number = |key: &str| row.get(key).and_then(Value::as_double);
                if number("trace")? == 2.0 {
                    baseline.alone_ms.insert(row.get("operation")?.as_text()?.to_owned(), number("per_pass_ms")?);
                }
            }
        }
        Some(baseline)
    }

    fn put(&mut self, name: &str, excess_pct: f64) {
        self.excess_pct.insert(name.to_owned(), excess_pct);
    }

    /// What is beyond the limit and has become worse by more than the noise and 1 % of the elapsed time, the worst first. Documents
    /// without elapsed times have no such values.
    pub fn check(&self, document: &Document, limit_pct: f64) -> Vec<Regression> {
        let Some(Overview { comparison, details, .. }) = document.overview() else { return Vec::new() };
        let Some(report) = &details.elapsed else { return Vec::new() };
        let mut found = Vec::new();
        let mut check = |name: &str, kernel: Option<&str>, [first, second]: [f64; 2], least_ms: f64| {
            let (before_pct, expected_ms) = self.expected(name, first);
            let (after_pct, worse_ms) = (percent(first, second), second - expected_ms);
            if after_pct > limit_pct && worse_ms > least_ms {
                let kernel = kernel.map(str::to_owned);
                found.push(Regression { name: name.to_owned(), kernel, before_pct, after_pct, worse_ms });
            }
        };
        let noise = |operation: &str| {
            let family = Family::of(operation).label();
            let noise = report.waterfall.iter().find(|part| part.row == family).and_then(|part| part.noise_ms);
            report.threshold_ms.max(noise.unwrap_or(0.0))
        };
        let whole = [report.elapsed.trace1.per_pass_ms, report.elapsed.trace2.per_pass_ms];
        check(ELAPSED, None, whole, report.threshold_ms.max(report.noise_ms.unwrap_or(0.0)));
        for row in &comparison.operations {
            let times = [row.trace1_per_pass_ms, row.trace2_per_pass_ms];
            check(&row.operation, Some(&row.trace2_kernel), times, noise(&row.operation));
        }
        for row in comparison.unmatched_operations.iter().filter(|row| row.trace == 2) {
            check(&row.operation, Some(&row.kernel), [0.0, row.per_pass_ms], noise(&row.operation));
        }
        found.sort_by(|a, b| b.worse_ms.total_cmp(&a.worse_ms).then_with(|| a.name.cmp(&b.name)));
        found
    }

    /// By how many percent trace 2 took longer before, and how long it would take now if that had stayed so. What was not
    /// there is expected to take as long as in trace 1.
    fn expected(&self, name: &str, first: f64) -> (Option<f64>, f64) {
        match (self.excess_pct.get(name), self.alone_ms.get(name)) {
            (Some(before), _) if before.is_finite() => (Some(*before), first * (1.0 + before / 100.0)),
            (_, Some(before_ms)) => (Some(f64::INFINITY), first.max(*before_ms)),
            _ => (None, first),
        }
    }
}

/// By how many percent the second takes longer.
fn percent(first: f64, second: f64) -> f64 {
    if first > 0.0 { 100.0 * (second / first - 1.0) } else { f64::INFINITY }
}
