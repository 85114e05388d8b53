//! What a change of the database does to a forward pass.

use crate::coverage::{AnswerSource, Asked, Options, Workload, audit};
use crate::versions::{Error, Place};
use indexmap::IndexMap;
use perfdb_model::predict::{Calls, Class, Estimate, sum};
use perfdb_query::{Database, ReaderSemantics};

/// A forward pass, as both databases have it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadDiff {
    /// The workload.
    pub name: String,
    /// Calls that both databases answer, with what they cost in each.
    pub answered: Change,
    /// Calls that only the first, only the second, and neither database answers from rows of its own.
    pub unanswered_calls: [u64; 3],
    /// The 90 % interval of the answered calls' time, in each database.
    pub intervals_us: [[f64; 2]; 2],
    /// The answered calls by kernel type, the largest change first.
    pub kernels: Vec<(String, Change)>,
}

/// What some calls cost in two databases.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Change {
    /// How many calls.
    pub calls: u64,
    /// Their time in the first database.
    pub a_us: f64,
    /// Their time in the second database.
    pub b_us: f64,
}

impl Change {
    /// How much longer they take in the second database.
    pub fn difference_us(&self) -> f64 {
        self.b_us - self.a_us
    }

    fn add(&mut self, calls: u64, a_us: f64, b_us: f64) {
        self.calls += calls;
        self.a_us += a_us * calls as f64;
        self.b_us += b_us * calls as f64;
    }
}

/// Asks both databases for the calls of forward passes.
///
/// # Errors
/// When a database cannot be read, or is replaced meanwhile.
pub fn compare(a: &Place, b: &Place, workloads: &[Workload]) -> Result<Vec<WorkloadDiff>, Error> {
    let ask = |place: &Place| -> Result<_, Error> {
        let database = Database::open(&place.directory)?;
        let options = Options {
            directory: place.directory.clone(),
            semantics: ReaderSemantics::default(),
            mapping: place.mapping.clone(),
            leave_out: false,
        };
        Ok(audit(&database, workloads.to_vec(), &options)?.workloads)
    };
    // One after the other: an open database may be large.
    let (a, b) = (ask(a)?, ask(b)?);
    Ok(a.iter().zip(&b).map(|(a, b)| of_workload(&a.name, &a.asked, &b.asked)).collect())
}

fn of_workload(name: &str, a: &[Asked], b: &[Asked]) -> WorkloadDiff {
    let mut found = WorkloadDiff {
        name: name.to_owned(),
        answered: Change::default(),
        unanswered_calls: [0; 3],
        intervals_us: [[0.0; 2]; 2],
        kernels: Vec::new(),
    };
    let mut terms: [Vec<Calls<'_>>; 2] = Default::default();
    let mut kernels: IndexMap<&str, Change> = IndexMap::new();
    for (a, b) in a.iter().zip(b) {
        let calls = a.question.calls;
        let (Some(a_us), Some(b_us)) = (answer(a), answer(b)) else {
            let which = match (answer(a), answer(b)) {
                (Some(_), _) => 0,
                (_, Some(_)) => 1,
                _ => 2,
            };
            found.unanswered_calls[which] += calls;
            continue;
        };
        found.answered.add(calls, a_us, b_us);
        for (terms, (asked, us)) in terms.iter_mut().zip([(a, a_us), (b, b_us)]) {
            terms.push(term(asked, us));
        }
        for (kernel, us, _) in &a.finding.kernels {
            kernels.entry(kernel).or_default().add(calls, *us, 0.0);
        }
        for (kernel, us, _) in &b.finding.kernels {
            let change = kernels.entry(kernel).or_default();
            // Calls count once, by the first database where it has the kernel.
            let is_known = a.finding.kernels.iter().any(|(known, ..)| known == kernel);
            change.b_us += us * calls as f64;
            change.calls += if is_known { 0 } else { calls };
        }
    }
    found.intervals_us = terms.map(|terms| {
        let together = sum(terms);
        [together.low_us, together.high_us]
    });
    found.kernels = kernels.into_iter().map(|(kernel, change)| (kernel.to_owned(), change)).collect();
    found.kernels.sort_by(|(_, a), (_, b)| b.difference_us().abs().total_cmp(&a.difference_us().abs()));
    found
}

/// The calls of a question, for a sum. A composite errs as its first kernel does.
fn term(asked: &Asked, duration_us: f64) -> Calls<'_> {
    let [low_us, high_us] = asked.finding.interval_us.unwrap_or([duration_us; 2]);
    Calls {
        kernel_type: asked.finding.kernels.first().map_or("", |(kernel, ..)| kernel),
        estimate: Estimate { duration_us, low_us, high_us, class: Class::Inside },
        count: asked.question.calls as f64,
    }
}

/// The duration of a call that is based on rows.
fn answer(asked: &Asked) -> Option<f64> {
    match asked.finding.source {
        AnswerSource::Free => Some(0.0),
        AnswerSource::Exact | AnswerSource::Padded | AnswerSource::Interpolated => asked.finding.duration_us,
        AnswerSource::Beyond | AnswerSource::Partial | AnswerSource::Missing => None,
    }
}
