//! Looking up collectives.

use crate::answer::{Hit, MissReason, Source};
use perfdb_pycompat::number::parse_float;
use perfdb_store::Error;
use perfdb_store::columns::COMMUNICATION_DURATION;
use perfdb_store::duration::{is_valid, number};
use perfdb_store::table::{ReadOptions, Table};
use std::path::Path;

/// The rows of a communication table; none of a table that was parsed from a profile and has no sizes.
#[derive(Debug)]
pub(crate) struct CommunicationRows {
    kernel_type: String,
    rows: Option<Vec<CommunicationRow>>,
}

#[derive(Debug, Clone, Copy)]
struct CommunicationRow {
    bytes: f64,
    devices: f64,
    tier: Option<f64>,
    duration_us: f64,
    line: u64,
}

impl CommunicationRows {
    pub(crate) fn read(path: &Path, kernel_type: &str) -> Result<CommunicationRows, Error> {
        let table = Table::read(path, &ReadOptions::database())?;
        let columns = ["message_bytes", "num_devices", COMMUNICATION_DURATION].map(|name| table.column(name));
        let tier = table.column("topology_tier");
        let [Some(bytes), Some(devices), Some(duration)] = columns else {
            return Ok(CommunicationRows { kernel_type: kernel_type.to_owned(), rows: None });
        };
        let read = |row: perfdb_store::table::Row<'_>| {
            let duration_us = number(row.cell(duration));
            is_valid(duration_us).then_some(())?;
            Some(CommunicationRow {
                bytes: parse_float(row.cell(bytes))?,
                devices: parse_float(row.cell(devices))?,
                tier: tier.and_then(|tier| parse_float(row.cell(tier))),
                duration_us,
                line: row.line().unwrap_or(0),
            })
        };
        let rows = table.rows().filter_map(read).collect();
        Ok(CommunicationRows { kernel_type: kernel_type.to_owned(), rows: Some(rows) })
    }

    /// The row of this size, else on the line through all rows of this group, within their range.
    pub(crate) fn find(&self, bytes: i64, devices: i64, tier: Option<i64>) -> Result<Hit, MissReason> {
        let rows = self.rows.as_ref().ok_or(MissReason::CsvFormatRaw)?;
        let target = bytes as f64;
        let in_tier = |row: &CommunicationRow| tier.is_none_or(|tier| row.tier == Some(tier as f64));
        let mut group: Vec<CommunicationRow> =
            rows.iter().copied().filter(|row| row.devices == devices as f64 && in_tier(row)).collect();
        if let Some(row) = group.iter().find(|row| row.bytes == target) {
            return Ok(self.hit(row.duration_us, 0.9, Source::Measured, vec![row.line]));
        }
        group.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
        let above =
            group.iter().position(|row| row.bytes > target).filter(|at| *at > 0).ok_or(MissReason::ShapeMismatch)?;
        let (below, above) = (group[above - 1], group[above]);
        let (low, high) = (below.duration_us.min(above.duration_us), below.duration_us.max(above.duration_us));
        let duration_us = line_through(&group, target).clamp(low, high);
        Ok(self.hit(duration_us, 0.8, Source::Interpolated, vec![below.line, above.line]))
    }

    fn hit(&self, duration_us: f64, confidence: f64, source: Source, lines: Vec<u64>) -> Hit {
        Hit { duration_us, confidence, source, kernel_type: self.kernel_type.clone(), rule: "comm", lines }
    }
}

/// The least squares of duration = α + β·bytes over all rows, at one size.
fn line_through(rows: &[CommunicationRow], target: f64) -> f64 {
    let count = rows.len() as f64;
    let mean = |value: fn(&CommunicationRow) -> f64| rows.iter().map(value).sum::<f64>() / count;
    let (mean_bytes, mean_duration) = (mean(|row| row.bytes), mean(|row| row.duration_us));
    let covariance: f64 = rows.iter().map(|row| (row.bytes - mean_bytes) * (row.duration_us - mean_duration)).sum();
    let variance: f64 = rows.iter().map(|row| (row.bytes - mean_bytes).powi(2)).sum();
    mean_duration + covariance / variance * (target - mean_bytes)
}
