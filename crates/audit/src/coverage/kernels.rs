//! What kernels lack, and how far their tables can be trusted.

use crate::coverage::asked::Asked;
use crate::coverage::{AnswerSource, Shares};
use indexmap::IndexMap;
use perfdb_files::parallel::on_all_cores;
use perfdb_query::{Database, Score};
use rayon::prelude::*;

/// A kernel type: how its calls are answered, and what its table is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelAudit {
    /// The kernel type; operators that no kernel is known for have their own name.
    pub kernel_type: String,
    /// Its calls in all workloads, the parts of composite calls by themselves.
    pub shares: Shares,
    /// What its table is worth; `None` without a table, or where it was not asked for.
    pub trust: Option<Trust>,
}

/// How far predictions from the rows of a table are off, where rows are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Trust {
    /// How many rows have a duration.
    pub rows: usize,
    /// Figures for single rows, for all rows with one number on an axis, and for configurations.
    pub scores: Vec<Score>,
}

impl KernelAudit {
    /// The time of its calls that are not based on rows of their own.
    pub fn doubtful_us(&self) -> f64 {
        self.shares.total().time_us - self.shares.of(AnswerSource::Exact).time_us
    }

    /// Its calls that are not based on rows of their own.
    pub fn doubtful_calls(&self) -> u64 {
        self.shares.total().calls - self.shares.of(AnswerSource::Exact).calls
    }
}

/// The kernels of some calls, the one with most doubtful time first; those without any doubt by their time.
pub(crate) fn kernels<'a>(asked: impl Iterator<Item = &'a Asked>) -> Vec<KernelAudit> {
    let mut all: IndexMap<&str, Shares> = IndexMap::new();
    for one in asked.filter(|one| one.finding.source != AnswerSource::Free) {
        let calls = one.question.calls;
        if one.finding.kernels.is_empty() {
            all.entry(&one.question.name).or_default().add(one.finding.source, calls, one.duration_us());
        }
        let is_one = one.finding.kernels.len() == 1;
        for (kernel, duration_us, source) in &one.finding.kernels {
            // A call that is one kernel has what the simulation says where there is nothing else.
            let duration_us = if is_one { one.duration_us() } else { Some(*duration_us) };
            let duration_us = duration_us.filter(|_| is_one || *source != AnswerSource::Missing);
            all.entry(kernel).or_default().add(*source, calls, duration_us);
        }
    }
    let kernel = |(kernel, shares): (&str, Shares)| KernelAudit { kernel_type: kernel.to_owned(), shares, trust: None };
    let mut kernels: Vec<KernelAudit> = all.into_iter().map(kernel).collect();
    kernels.sort_by(|a, b| {
        let by_doubt = b.doubtful_us().total_cmp(&a.doubtful_us()).then(b.doubtful_calls().cmp(&a.doubtful_calls()));
        by_doubt.then(b.shares.total().time_us.total_cmp(&a.shares.total().time_us))
    });
    kernels
}

/// Leaves rows of the kernels' tables out and predicts them from the others.
pub(crate) fn trust(database: &Database, kernels: &mut [KernelAudit]) {
    let judge = |kernel: &mut KernelAudit| {
        let evaluation = database.evaluate(&kernel.kernel_type).ok().flatten();
        kernel.trust = evaluation.map(|found| Trust { rows: found.rows, scores: found.scores() });
    };
    on_all_cores(|| kernels.par_iter_mut().for_each(judge));
}
