//! The report on a simulator's trace.

use std::collections::TryReserveError;

use super::collect::TcCollector;
use super::prepared::TcPrepared;
use super::rules::check_all;
use crate::finding::Findings;
use crate::report::{Kind, Report, Selection};

impl TcCollector {
    /// The report, if there is memory for the orders that the rules look in.
    pub(crate) fn report_with(
        self,
        file: &str,
        mut found: Findings,
        selection: &Selection,
    ) -> Result<Report, TryReserveError> {
        let prepared = TcPrepared::new(self)?;
        check_all(&prepared, &mut found)?;
        Ok(Report::new(file, Kind::TcTrace, found, prepared.certificate(), prepared.time, selection))
    }
}
