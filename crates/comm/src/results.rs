//! The results folder: what a run leaves behind, read back.
//!
//! ```text
//! plan.json      the plan document
//! run.json       which engine ran it
//! rank<r>.jsonl  one line per point and rank
//! prof/…         profiler output of the leader, see the profile module
//! ```

use crate::backend::Backend;
use crate::dtype::CollectiveDType;
use crate::error::Error;
use crate::plan::Plan;
use perfdb_files::escape::shown;
use perfdb_pycompat::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The schema of [`RunRecord`] as a document.
pub const RUN_SCHEMA: &str = "perfdb.comm-run/1";

/// Where a run's times come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// Kernel tables of the profiler.
    Profiler,
    /// Around the call.
    Event,
}

impl Timing {
    /// `profiler` or `event`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Profiler => "profiler",
            Self::Event => "event",
        }
    }
}

/// `run.json`: which engine ran the plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`RUN_SCHEMA`].
    pub schema: String,
    /// Engine.
    pub backend: Backend,
    /// Where the times come from.
    pub timing: Timing,
    /// Ranks of the run.
    pub world_size: u64,
    /// Version of torch.
    pub torch: String,
    /// Element type of the tensors that were really used.
    pub executed_dtype: CollectiveDType,
}

/// The result of one rank for one point.
#[derive(Clone, Debug, PartialEq)]
pub enum PointResult {
    /// Times of its calls.
    Samples {
        /// The call that was used, where it is recorded.
        api: Option<String>,
        /// Microseconds, in the order of the calls; at least one, all finite and above zero.
        samples_us: Vec<f64>,
    },
    /// Why there are none.
    Failed(String),
}

/// The file of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankResults {
    /// By point; of several lines for a point the last counts.
    pub points: BTreeMap<usize, PointResult>,
    /// Whether the rank reached its end.
    pub done: bool,
    /// Points whose values this rank found wrong.
    pub wrong: Vec<usize>,
}

/// A results folder.
#[derive(Clone, Debug)]
pub struct Results {
    pub directory: PathBuf,
    /// What was to be run.
    pub plan: Plan,
    /// What ran it.
    pub run: RunRecord,
    /// Rank files at hand, of ranks that are in a group.
    pub ranks: BTreeMap<u64, RankResults>,
    /// Things that a reader of the outcome should know.
    pub warnings: Vec<String>,
}

/// Reads `plan.json`.
pub(crate) fn read_plan(directory: &Path) -> Result<Plan, Error> {
    let path = directory.join("plan.json");
    let plan: Plan = read_document(&path, crate::plan::PLAN_SCHEMA)?;
    match plan.inconsistency() {
        Some(reason) => Err(Error::input(&path, reason)),
        None => Ok(plan),
    }
}

/// Reads `run.json`.
pub(crate) fn read_run(directory: &Path) -> Result<RunRecord, Error> {
    let path = directory.join("run.json");
    read_document(&path, RUN_SCHEMA)
}

/// Reads a document after checking its schema, so that a file of another kind is called that.
fn read_document<T: serde::de::DeserializeOwned>(path: &Path, schema: &str) -> Result<T, Error> {
    let text = read_text(path)?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| Error::input(path, format!("not JSON: {e}")))?;
    let found = value.get("schema");
    if found.and_then(|found| found.as_str()) != Some(schema) {
        let found = found.map_or_else(|| "missing".into(), ToString::to_string);
        return Err(Error::input(path, format!("schema is {found}, expected \"{schema}\"")));
    }
    T::deserialize(value).map_err(|e| Error::input(path, e.to_string()))
}

fn read_text(path: &Path) -> Result<String, Error> {
    tracing::debug!(file = %path.display(), "reading");
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    String::from_utf8(bytes)
        .map_err(|e| Error::input(path, format!("not valid UTF-8 (at byte {})", e.utf8_error().valid_up_to())))
}

impl Results {
    /// Reads a folder: plan, run and the files of all ranks that are in a group.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        Self::read_with(directory, Damage::IsAnError)
    }

    /// Reads the folder of a run that broke off: lines that cannot be read are left out with a warning.
    pub(crate) fn read_broken(directory: &Path) -> Result<Self, Error> {
        Self::read_with(directory, Damage::IsLeftOut)
    }

    fn read_with(directory: &Path, damage: Damage) -> Result<Self, Error> {
        let plan = read_plan(directory)?;
        let run = read_run(directory)?;
        let mut ranks = BTreeMap::new();
        let mut warnings = Vec::new();
        let in_a_group: std::collections::BTreeSet<u64> =
            plan.configs.iter().flat_map(|point| plan.groups[point.group].ranks.iter().copied()).collect();
        for rank in in_a_group {
            let path = directory.join(format!("rank{rank}.jsonl"));
            match std::fs::read(&path) {
                Ok(bytes) => {
                    ranks.insert(rank, parse_rank_file(&path, &bytes, plan.configs.len(), damage, &mut warnings)?);
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(path, error)),
            }
        }
        Ok(Self { directory: directory.to_owned(), plan, run, ranks, warnings })
    }
}

/// What a line in the middle of a rank file is that is no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    IsAnError,
    IsLeftOut,
}

/// Parses the lines of a rank file. A last line that is cut off is left out with a warning.
pub(crate) fn parse_rank_file(
    path: &Path,
    bytes: &[u8],
    points: usize,
    damage: Damage,
    warnings: &mut Vec<String>,
) -> Result<RankResults, Error> {
    let mut results = RankResults::default();
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let last = lines.iter().rposition(|line| !line.trim_ascii().is_empty());
    for (index, line) in lines.iter().enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let number = index as u64 + 1;
        match perfdb_trace::json::parse(line.trim_ascii()) {
            Ok(value) => take_line(&mut results, &value, points).map_err(|reason| Error::line(path, number, reason))?,
            Err(reason) if Some(index) == last => {
                warnings.push(format!("{}:{number}: last line left out, it is cut off ({reason})", shown(path)));
            }
            Err(reason) if damage == Damage::IsLeftOut => {
                warnings.push(format!("{}:{number}: left out, not JSON: {reason}", shown(path)));
            }
            Err(reason) => return Err(Error::line(path, number, format!("not JSON: {reason}"))),
        }
    }
    Ok(results)
}

/// Takes over what one line holds; lines with nothing of interest pass.
fn take_line(results: &mut RankResults, line: &Value, points: usize) -> Result<(), String> {
    let Value::Dict(line) = line else {
        return Ok(());
    };
    if line.get("done") == Some(&Value::Bool(true)) {
        results.done = true;
    }
    let Some(config) = line.get("config") else {
        return Ok(());
    };
    let samples = line.get("samples_us");
    let error = line.get("error");
    if samples.is_none() && error.is_none() {
        return Ok(());
    }
    let config = match config {
        Value::Int(config) if *config >= 0 && (*config as u64) < points as u64 => *config as usize,
        other => return Err(format!("config {} is not in the plan, which has {points}", other.repr())),
    };
    if line.get("verified") == Some(&Value::Bool(false)) {
        results.wrong.push(config);
    }
    let result = match (error, samples) {
        (Some(Value::Text(text)), _) if text.trim().is_empty() => PointResult::Failed("failed without a reason".into()),
        (Some(Value::Text(text)), _) => PointResult::Failed(text.clone()),
        (Some(other), _) => PointResult::Failed(other.repr()),
        (None, Some(samples)) => match usable_samples(samples) {
            Ok(samples_us) => {
                let api = line.get("api").and_then(Value::as_text).map(str::to_owned);
                PointResult::Samples { api, samples_us }
            }
            Err(reason) => PointResult::Failed(reason),
        },
        (None, None) => return Ok(()),
    };
    results.points.insert(config, result);
    Ok(())
}

/// Samples as numbers; why not, when one is missing, not finite or not above zero.
fn usable_samples(samples: &Value) -> Result<Vec<f64>, String> {
    let Value::List(items) = samples else {
        return Err("samples_us is no list".into());
    };
    if items.is_empty() {
        return Err("no samples".into());
    }
    items
        .iter()
        .map(|item| match item {
            Value::Int(_) | Value::BigInt(_) | Value::Float(_) => match item.as_double() {
                Some(sample) if sample.is_finite() && sample > 0.0 => Ok(sample),
                _ => Err(format!("a sample is {}, not a time above zero", item.repr())),
            },
            other => Err(format!("a sample is {}, not a time above zero", other.repr())),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<(RankResults, Vec<String>), Error> {
        let mut warnings = Vec::new();
        parse_rank_file(Path::new("rank0.jsonl"), text.as_bytes(), 4, Damage::IsAnError, &mut warnings)
            .map(|r| (r, warnings))
    }

    #[test]
    fn lines_of_interest_are_taken_and_others_pass() {
        let text = concat!(
            "{\"rank\": 0, \"pid\": 12}\n",
            "[]\n",
            "{\"config\": 0, \"api\": \"all_reduce\", \"samples_us\": [1.5, 2], \"verified\": true}\n",
            "{\"config\": 1, \"error\": \"wrong result\"}\n",
            "{\"config\": 2, \"samples_us\": [1.0, 0.0]}\n",
            "{\"config\": 3, \"samples_us\": []}\n",
            "{\"done\": true}\n",
        );
        let (rank, warnings) = parse(text).unwrap();
        assert!(rank.done && warnings.is_empty());
        let samples = PointResult::Samples { api: Some("all_reduce".into()), samples_us: vec![1.5, 2.0] };
        assert_eq!(rank.points[&0], samples);
        assert_eq!(rank.points[&1], PointResult::Failed("wrong result".into()));
        assert!(matches!(&rank.points[&2], PointResult::Failed(reason) if reason.contains("0.0")));
        assert!(matches!(&rank.points[&3], PointResult::Failed(reason) if reason.contains("no samples")));
    }

    #[test]
    fn a_failure_without_a_reason_says_so() {
        let (rank, _) = parse("{\"config\": 0, \"error\": \"\"}\n{\"config\": 1, \"error\": \" \"}\n").unwrap();
        let failed = PointResult::Failed("failed without a reason".into());
        assert_eq!([&rank.points[&0], &rank.points[&1]], [&failed, &failed]);
    }

    #[test]
    fn a_plan_with_a_line_feed_in_a_name_is_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let plan = r#"{"schema": "perfdb.comm-plan/1", "configs": [{"op": "all\nreduce"}]}"#;
        std::fs::write(folder.path().join("plan.json"), plan.replace("perfdb.comm-plan/1", crate::plan::PLAN_SCHEMA))
            .unwrap();
        let error = read_plan(folder.path()).unwrap_err().to_string();
        assert!(error.contains("all\\nreduce") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn numbers_that_are_none_fail_the_point_alone() {
        let (rank, _) =
            parse("{\"config\": 0, \"samples_us\": [1.0, NaN]}\n{\"config\": 1, \"samples_us\": [1]}\n").unwrap();
        assert!(matches!(&rank.points[&0], PointResult::Failed(reason) if reason.contains("nan")));
        assert!(matches!(&rank.points[&1], PointResult::Samples { .. }));
    }

    #[test]
    fn only_the_last_line_may_be_cut_off() {
        let (rank, warnings) = parse("{\"config\": 0, \"samples_us\": [1.5]}\n{\"config\": 1, \"sam").unwrap();
        assert_eq!((rank.points.len(), warnings.len()), (1, 1));
        assert!(warnings[0].starts_with("rank0.jsonl:2: "), "{warnings:?}");
        let error = parse("{\"config\": 0, \"sam\n{\"config\": 1, \"samples_us\": [1.5]}\n").unwrap_err();
        assert!(error.to_string().starts_with("rank0.jsonl:1: not JSON"), "{error}");
    }

    #[test]
    fn a_point_that_the_plan_lacks_is_an_error() {
        let error = parse("{\"config\": 4, \"samples_us\": [1.5]}\n").unwrap_err();
        assert!(error.to_string().starts_with("rank0.jsonl:1: config 4"), "{error}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_rank_file(Path::new("x"), &bytes, 4, Damage::IsAnError, &mut Vec::new());
        }

        #[test]
        fn samples_read_back(samples in proptest::collection::vec(1e-3f64..1e9, 1..20), config in 0usize..4) {
            let line = serde_json::json!({"config": config, "samples_us": samples}).to_string();
            let (rank, _) = parse(&line).unwrap();
            let expected = PointResult::Samples { api: None, samples_us: samples };
            prop_assert_eq!(&rank.points[&config], &expected);
        }
    }
}
