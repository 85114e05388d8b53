//! What a check is asked.

use super::messages::MessageSizes;
use super::ranges::Declaration;
use super::standard::Standard;
use crate::coverage::Workload;
use perfdb_grid::rules::RuleFile;
use std::path::PathBuf;

/// What is checked, and by what.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The database.
    pub directory: PathBuf,
    /// Which shapes kernels have.
    pub rules: RuleFile,
    /// How densely they should be measured.
    pub standard: Standard,
    /// Where; `None` for every bucket, from its smallest to its largest value.
    pub ranges: Option<Vec<Declaration>>,
    /// Without ranges: the whole range of each rule.
    pub full_range: bool,
    /// What users ask of the database.
    pub workloads: Option<Vec<Workload>>,
    /// Rules of the reader by which a call may be answered by a row that is not quite its own.
    pub allowed: Vec<String>,
    /// The database in use now.
    pub baseline: Option<PathBuf>,
    /// What benches of collectives measure by themselves; `None` where they are of no interest.
    pub message_sizes: Option<MessageSizes>,
}

impl Inputs {
    /// A database by the built-in rules, and nothing else.
    pub fn new(directory: impl Into<PathBuf>) -> Inputs {
        Inputs {
            directory: directory.into(),
            rules: RuleFile::built_in(),
            standard: Standard::v1(),
            ranges: None,
            full_range: false,
            workloads: None,
            allowed: Vec::new(),
            baseline: None,
            message_sizes: None,
        }
    }
}
