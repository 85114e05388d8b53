//! The report on a simulator's trace.

use super::collect::TcCollector;
use super::prepared::TcPrepared;
use super::rules::check_all;
use crate::finding::Findings;
use crate::report::{Kind, Report, Selection};

impl TcCollector {
    pub(crate) fn report_with(self, file: &str, mut found: Findings, selection: &Selection) -> Report {
        let prepared = TcPrepared::new(self);
        check_all(&prepared, &mut found);
        Report::new(file, Kind::TcTrace, found, prepared.certificate(), prepared.time, selection)
    }
}
