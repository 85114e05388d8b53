//! Rows that other processes have measured, from their journals.

use std::collections::VecDeque;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use super::{CaseKey, EndedCase, Finished, Line, ResultLine, RunFacts, read};
use crate::error::Error;
use crate::refusal::{CaseError, ErrorKind};
use crate::results::Times;

/// How a row ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ended {
    /// It ran.
    Ok(Finished),
    /// It failed.
    Failed(CaseError),
}

/// What journals say of rows; each line serves one row.
#[derive(Debug)]
pub(crate) struct MeasuredRows {
    ended: FxHashMap<CaseKey, VecDeque<Ended>>,
    facts: Vec<RunFacts>,
}

impl MeasuredRows {
    /// Reads journals.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<MeasuredRows, Error> {
        let mut measured = MeasuredRows { ended: FxHashMap::default(), facts: Vec::new() };
        for path in paths {
            for line in read(path)? {
                match line {
                    Line::Run(facts) => measured.facts.push(facts),
                    Line::Case(EndedCase { key, result, samples, .. }) => {
                        let ended = match result {
                            ResultLine::Ok(mut run) => {
                                run.times = Times::of_samples(&samples);
                                Ended::Ok(Finished { run, samples })
                            }
                            ResultLine::Failed { error, detail } => {
                                Ended::Failed(CaseError::new(error.unwrap_or(ErrorKind::Internal), detail))
                            }
                        };
                        measured.ended.entry(key).or_default().push_back(ended);
                    }
                }
            }
        }
        Ok(measured)
    }

    /// Takes what became of a row.
    pub(crate) fn take(&mut self, key: &CaseKey) -> Option<Ended> {
        self.ended.get_mut(key)?.pop_front()
    }

    /// How many lines about an operator nobody has taken: rows that were measured twice, or are in no table.
    pub(crate) fn left_of(&self, op: &str) -> usize {
        self.ended.iter().filter(|(key, _)| key.op == op).map(|(_, left)| left.len()).sum()
    }

    /// What the processes were measured with, where that is not the same: one text for each.
    pub(crate) fn different_machines(&self) -> Option<String> {
        let mut texts: Vec<String> = Vec::new();
        for facts in &self.facts {
            let versions =
                facts.versions.iter().filter_map(|(name, version)| Some(format!("{name} {}", version.as_ref()?)));
            let text = [facts.device.clone()].into_iter().chain(versions).collect::<Vec<_>>().join(", ");
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        (texts.len() > 1).then(|| texts.join("; "))
    }
}
