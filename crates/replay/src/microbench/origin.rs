//! Where the numbers of a measuring run come from: the file beside its report.

use std::path::Path;

use indexmap::IndexMap;
use perfdb_files::time::RunTime;
use perfdb_store::update::Samples;
use serde::Serialize;

use crate::journal::{self, Line, RunFacts};
use crate::results::Times;
use crate::settings::RunSettings;

/// The document's kind and version.
const SCHEMA: &str = "perfdb.microbench-run/1";

/// The origin file of a run.
#[derive(Debug, Serialize)]
pub struct Origin {
    schema: &'static str,
    date: String,
    database: String,
    backend: String,
    device: Option<String>,
    versions: IndexMap<String, Option<String>>,
    repeats: Option<u32>,
    warmup: u32,
    seed: u64,
    fresh_inputs: bool,
    resumed: bool,
    cases: Vec<CaseOrigin>,
}

/// `[operator, shape, task_type, samples, min_us, median_us, mean_us, std_us]`.
type CaseOrigin = (String, String, String, u64, f64, f64, f64, f64);

/// What a run was asked for that its journal does not have.
#[derive(Debug, Clone)]
pub struct Asked {
    pub backend: String,
    /// Timed runs, where known.
    pub repeats: Option<u32>,
    /// Untimed runs.
    pub warmup: u32,
    /// Seed of random inputs.
    pub seed: u64,
    /// New inputs are built before every run.
    pub fresh_inputs: bool,
    /// An interrupted run was continued.
    pub resumed: bool,
}

impl Asked {
    /// What these settings ask for.
    pub fn new(settings: &RunSettings, resumed: bool) -> Asked {
        Asked {
            backend: settings.backend.name().to_owned(),
            repeats: settings.repeats.flag,
            warmup: settings.warmup,
            seed: settings.seed,
            fresh_inputs: settings.has_fresh_inputs(),
            resumed,
        }
    }
}

impl Origin {
    /// The origin of these samples. Run facts come from the first line of the journal, else from what was asked for.
    pub fn new(database: &Path, time: &RunTime, asked: &Asked, facts: Option<&RunFacts>, samples: &Samples) -> Origin {
        let own_version = [("perfdb".to_owned(), Some(env!("CARGO_PKG_VERSION").to_owned()))];
        let cases = samples.iter().filter_map(|(operator, _, sample)| {
            let times = Times::of(sample.durations_us().iter().copied())?;
            let Times { min_us, median_us, mean_us, std_us } = times;
            let task_type = sample.task_type().to_owned();
            let shape = sample.text_form();
            Some((operator.to_owned(), shape, task_type, sample.count(), min_us, median_us, mean_us, std_us))
        });
        Origin {
            schema: SCHEMA,
            date: time.iso.clone(),
            database: database.to_string_lossy().into_owned(),
            backend: facts.map_or(&asked.backend, |facts| &facts.backend).clone(),
            device: facts.map(|facts| facts.device.clone()),
            versions: facts.map_or_else(|| own_version.into_iter().collect(), |facts| facts.versions.clone()),
            repeats: facts.map(|facts| facts.repeats).or(asked.repeats),
            warmup: facts.map_or(asked.warmup, |facts| facts.warmup),
            seed: facts.map_or(asked.seed, |facts| facts.seed),
            fresh_inputs: facts.map_or(asked.fresh_inputs, |facts| facts.fresh_inputs),
            resumed: asked.resumed,
            cases: cases.collect(),
        }
    }

    /// The document's text.
    pub fn text(&self) -> Result<String, perfdb_pycompat::json::NotRepresentable> {
        Ok(perfdb_pycompat::json::to_string(self)? + "\n")
    }
}

/// The facts in the first line of a journal, where there is one.
pub(crate) fn facts_of(journal: &Path) -> Option<RunFacts> {
    journal::read(journal).ok()?.into_iter().find_map(|line| match line {
        Line::Run(facts) => Some(facts),
        Line::Case(_) => None,
    })
}
