//! Workloads against a database.

use crate::coverage::answer_source::{AnswerSource, Judge};
use crate::coverage::asked::Asked;
use crate::coverage::kernels::{KernelAudit, kernels, trust};
use crate::coverage::{Error, Question, Share, Shares, Workload};
use indexmap::IndexMap;
use perfdb_files::parallel::on_all_cores;
use perfdb_query::{Database, ReaderSemantics};
use perfdb_store::op_mapping::{Lookup, OpMapping};
use rayon::prelude::*;
use std::path::PathBuf;

/// How to judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The directory, for messages.
    pub directory: PathBuf,
    /// Lookup rules.
    pub semantics: ReaderSemantics,
    /// Names the kernel type of an operator without an answer.
    pub mapping: OpMapping,
    /// Whether rows of the tables that are asked are left out and predicted from the others, which takes most of the time.
    pub leave_out: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            directory: PathBuf::new(),
            semantics: ReaderSemantics::default(),
            mapping: OpMapping::default(),
            leave_out: true,
        }
    }
}

/// A workload and how it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadAudit {
    /// The workload.
    pub name: String,
    /// Its questions, in their order.
    pub asked: Vec<Asked>,
    /// Its calls that cost something, by what their answers are based on.
    pub shares: Shares,
    /// Its calls that cost nothing.
    pub free_calls: u64,
    /// Interpolated calls by the axes between whose rows they lie, most calls first; empty axes for sums of kernels.
    pub by_axes: Vec<(Vec<&'static str>, Share)>,
}

/// How a database answers workloads.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// The workloads, in the order given.
    pub workloads: Vec<WorkloadAudit>,
    /// The kernels of all of them, the one with most time that is not based on rows of its own first.
    pub kernels: Vec<KernelAudit>,
}

impl Audit {
    /// The workloads that were asked for, to ask them again.
    pub fn into_workloads(self) -> Vec<Workload> {
        let workload = |audit: WorkloadAudit| Workload {
            name: audit.name,
            questions: audit.asked.into_iter().map(|asked| asked.question).collect(),
        };
        self.workloads.into_iter().map(workload).collect()
    }
}

/// How often a database that others write to is asked all over again.
const MOST_ATTEMPTS: usize = 5;

/// Asks a database for the calls of workloads. On all cores; the same figures on any number of them.
///
/// All figures are of one state of the database: where its files are replaced meanwhile, it is asked again.
///
/// # Errors
/// When files of the database are replaced every time that it is asked, or cannot be read any more.
pub fn audit(database: &Database, mut workloads: Vec<Workload>, options: &Options) -> Result<Audit, Error> {
    for _ in 0..MOST_ATTEMPTS {
        let audit = of_one_reading(database, workloads, options);
        if !database.reopen()? {
            return Ok(audit);
        }
        workloads = audit.into_workloads();
    }
    Err(Error::Changed { path: options.directory.clone() })
}

/// The figures, which are of one state of the database only if nobody writes to it meanwhile.
pub(crate) fn of_one_reading(database: &Database, workloads: Vec<Workload>, options: &Options) -> Audit {
    let judge = Judge::of(database, options.semantics);
    let workloads: Vec<WorkloadAudit> =
        workloads.into_iter().map(|workload| of_workload(&judge, workload, &options.mapping)).collect();
    let mut kernels = kernels(workloads.iter().flat_map(|workload| &workload.asked));
    if options.leave_out {
        trust(database, &mut kernels);
    }
    Audit { workloads, kernels }
}

fn of_workload(judge: &Judge<'_>, workload: Workload, mapping: &OpMapping) -> WorkloadAudit {
    let asked: Vec<Asked> = on_all_cores(|| {
        let ask = |question: Question| -> Asked {
            let entry = mapping.find(question.query.name(), Lookup::Nested);
            let table = entry.as_ref().and_then(|entry| entry.kernel_type.as_deref());
            Asked { finding: judge.finding(&question.query, table), question }
        };
        workload.questions.into_par_iter().map(ask).collect()
    });
    let mut shares = Shares::default();
    let mut free_calls = 0;
    let mut by_axes: IndexMap<Vec<&'static str>, Share> = IndexMap::new();
    for one in &asked {
        let (calls, source) = (one.question.calls, one.finding.source);
        if source == AnswerSource::Free {
            free_calls += calls;
            continue;
        }
        let duration_us = one.duration_us();
        shares.add(source, calls, duration_us);
        if source == AnswerSource::Interpolated {
            let time_us = calls as f64 * duration_us.unwrap_or(0.0);
            by_axes.entry(one.finding.axes.clone()).or_default().add(calls, time_us);
        }
    }
    let mut by_axes: Vec<_> = by_axes.into_iter().collect();
    by_axes.sort_by(|a, b| b.1.calls.cmp(&a.1.calls).then(b.1.time_us.total_cmp(&a.1.time_us)));
    WorkloadAudit { name: workload.name, asked, shares, free_calls, by_axes }
}
