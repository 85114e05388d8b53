//! What a check answers.

use super::finding::{Finding, Verdict};
use super::questions::Judged;
use super::repair::Repair;

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What is not as the standard asks, tables by name, buckets by their first rows, then what concerns no table.
    pub findings: Vec<Finding>,
    /// Declared ranges that nothing is asked of, by their key and why.
    pub unmet: Vec<String>,
    /// The nine conditions, in order.
    pub gates: Vec<Verdict>,
    /// The calls of the workloads, and how they are answered.
    pub questions: Vec<Judged>,
    /// Rows that would close findings.
    pub repairs: Vec<Repair>,
    /// How much was looked at.
    pub counts: Counts,
    /// Distinct signatures of the database, and of the one in use now.
    pub signatures: (usize, Option<usize>),
}

/// Sums of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Tables that a rule knows.
    pub tables: usize,
    /// Buckets that density was asked of.
    pub asked: usize,
    /// Measured values in these.
    pub values: usize,
    /// Buckets of one value.
    pub single: usize,
    /// Rows of other shapes than their kernel's rule makes.
    pub foreign: usize,
}
