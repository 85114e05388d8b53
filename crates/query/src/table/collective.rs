//! Tables of collectives: durations by message size.

use super::columns::is_empty_cell;
use crate::answer::{Collocated, Prediction, RowRef};
use perfdb_model::predict::{Collective, Point, Rows, Table};
use perfdb_pycompat::number::parse_float;
use perfdb_store::Error;
use perfdb_store::columns::{COMMUNICATION_DURATION, MEASURED_DURATION, PROFILED_DURATION};
use perfdb_store::dtype::DType;
use perfdb_store::duration::is_valid;
use perfdb_store::registry::parts::is_shared;
use perfdb_store::table::Scan;
use std::path::Path;
use std::sync::{Arc, OnceLock};

const WANTED: [&str; 7] = [
    "message_bytes",
    "num_devices",
    "topology_tier",
    MEASURED_DURATION,
    PROFILED_DURATION,
    COMMUNICATION_DURATION,
    "dtype",
];

/// The rows of a table, in groups that are asked together.
#[derive(Debug)]
pub(crate) struct CollectiveRows {
    pub(crate) kernel_type: Arc<str>,
    path: Arc<Path>,
    /// Whether it has sizes; a table parsed from a profile has none.
    pub(crate) has_sizes: bool,
    has_tier: bool,
    groups: Vec<Group>,
    /// The rows of each type, where there are several.
    by_type: Vec<(DType, CollectiveRows)>,
    /// The tiers that questions are asked of, in order; none where the table knows no tiers.
    pub(crate) tiers: Vec<Option<f64>>,
    /// What was learnt of the rows of each tier that questions are asked of; made when it is first asked for.
    by_tier: OnceLock<Table>,
    /// What was learnt of all rows, for questions without a tier.
    of_all: OnceLock<Table>,
}

/// Rows of one number of devices, of one tier or of all.
#[derive(Debug)]
pub(crate) struct Group {
    devices: f64,
    tier: Option<f64>,
    /// By size, those of one size in file order.
    pub(crate) rows: Vec<SizedRow>,
    /// Intercept and slope of the straight line through all of them.
    line: (f64, f64, f64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SizedRow {
    pub(crate) bytes: f64,
    pub(crate) duration_us: f64,
    pub(crate) line: u32,
    dtype: Option<DType>,
}

impl CollectiveRows {
    pub(crate) fn read(path: Arc<Path>, kernel_type: Arc<str>) -> Result<CollectiveRows, Error> {
        let mut scan = Scan::open(&path, &WANTED)?;
        let has_sizes = scan.has(0) && scan.has(1);
        let has_tier = scan.has(2);
        let preferred = (3..6).find(|column| scan.has(*column)).unwrap_or(5);
        let mut order = [3, 4, 5];
        order.sort_by_key(|column| *column != preferred);
        let mut rows = Vec::new();
        while let Some(row) = scan.next_row()? {
            let cell = |column: usize| {
                let cell = row.cell(column);
                (!is_empty_cell(&cell)).then(|| parse_float(&cell)).flatten()
            };
            let duration = |column: &usize| Some(row.number(*column)).filter(|duration| is_valid(*duration));
            let (Some(bytes), Some(devices)) = (cell(0), cell(1)) else { continue };
            if let Some(duration_us) = order.iter().find_map(duration) {
                let line = u32::try_from(row.line).unwrap_or(u32::MAX);
                let dtype: Option<DType> = row.cell(6).trim().parse().ok();
                rows.push((devices, cell(2), SizedRow { bytes, duration_us, line, dtype }));
            }
        }
        let mut types: Vec<Option<DType>> = rows.iter().map(|(_, _, row)| row.dtype).collect();
        types.sort_unstable();
        types.dedup();
        let new = || CollectiveRows {
            kernel_type: kernel_type.clone(),
            path: path.clone(),
            has_sizes,
            has_tier,
            groups: Vec::new(),
            by_type: Vec::new(),
            tiers: Vec::new(),
            by_tier: OnceLock::new(),
            of_all: OnceLock::new(),
        };
        let of = |wanted: DType| {
            let own = rows.iter().filter(|(_, _, row)| row.dtype == Some(wanted));
            (wanted, new().with(own.copied()))
        };
        let by_type = if types.len() > 1 { types.into_iter().flatten().map(of).collect() } else { Vec::new() };
        Ok(CollectiveRows { by_type, ..new().with(rows.iter().copied()) })
    }

    fn with(self, rows: impl Iterator<Item = (f64, Option<f64>, SizedRow)>) -> CollectiveRows {
        let has_tier = self.has_tier;
        let mut table = self;
        for (devices, tier, row) in rows {
            table.add(devices, None, row);
            if let Some(tier) = tier.filter(|_| has_tier) {
                table.add(devices, Some(tier), row);
            }
        }
        for group in &mut table.groups {
            group.rows.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
            group.line = line_through(&group.rows);
        }
        table.tiers = tiers(&table.groups, has_tier);
        table
    }

    /// The rows of a type, where the table has several types.
    pub(crate) fn of_type(&self, dtype: DType) -> Option<&CollectiveRows> {
        self.by_type.iter().find(|(own, _)| *own == dtype).map(|(_, rows)| rows)
    }

    fn add(&mut self, devices: f64, tier: Option<f64>, row: SizedRow) {
        let at = self.groups.iter().position(|group| group.devices == devices && group.tier == tier);
        let at = at.unwrap_or_else(|| {
            self.groups.push(Group { devices, tier, rows: Vec::new(), line: (0.0, 0.0, 0.0) });
            self.groups.len() - 1
        });
        self.groups[at].rows.push(row);
    }

    /// The rows of this many devices, and of this tier where the table knows tiers.
    pub(crate) fn group(&self, devices: i64, tier: Option<i64>) -> Option<&Group> {
        let tier = tier.filter(|_| self.has_tier).map(|tier| tier as f64);
        self.groups.iter().find(|group| group.devices == devices as f64 && group.tier == tier)
    }

    /// What rows of all numbers of devices say of a message: its duration, and the confidence of that.
    pub(crate) fn predict(&self, bytes: f64, devices: i64, tier: Option<i64>) -> Option<(f64, Prediction)> {
        let tier = tier.filter(|_| self.has_tier).map(|tier| tier as f64);
        let place = self.place(bytes, devices as f64);
        let explanation = match self.tiers.iter().position(|own| *own == tier) {
            Some(slice) => self.by_tier.get_or_init(|| self.learn(&self.tiers)).explain(slice, &place)?,
            None if tier.is_none() => self.of_all.get_or_init(|| self.learn(&[None])).explain(0, &place)?,
            None => return None,
        };
        let reference = |line: u32| RowRef { path: self.path.clone(), line };
        let estimate = explanation.estimate;
        let prediction = Prediction {
            low_us: estimate.low_us,
            high_us: estimate.high_us,
            class: estimate.class,
            rows: explanation.neighbours.iter().map(|near| (reference(near.row), near.weight)).collect(),
            collocated: explanation.collocated.map(|collocated| Collocated::new(collocated, reference)),
            efficiency: Some(explanation.efficiency),
            sentence: explanation.to_string(),
            doubt: explanation.doubt,
        };
        Some((estimate.duration_us, prediction))
    }

    /// The rows of tiers, named by their lines.
    fn learn(&self, tiers: &[Option<f64>]) -> Table {
        let rows_of = |tier: &Option<f64>| {
            let mut rows = Rows::new(2);
            for (place, row) in self.places(*tier) {
                rows.push(row.line, &place, row.duration_us, None);
            }
            rows
        };
        Table::new(tiers.iter().map(rows_of).collect(), Some(0))
    }

    /// The rows of a tier as places.
    pub(crate) fn places(&self, tier: Option<f64>) -> impl Iterator<Item = (Point, &SizedRow)> {
        let groups = self.groups.iter().filter(move |group| group.tier == tier);
        groups.flat_map(move |group| group.rows.iter().map(move |row| (self.place(row.bytes, group.devices), row)))
    }

    fn place(&self, message_bytes: f64, ranks: f64) -> Point {
        let call = Collective { message_bytes, ranks };
        if is_shared(&self.kernel_type) { Point::gather(call) } else { Point::collective(call) }
    }

    /// Whether any row is of another type than a message.
    pub(crate) fn has_other_type(&self, dtype: DType) -> bool {
        self.groups.iter().any(|group| group.has_other_type(dtype))
    }

    /// How many rows there are.
    pub(crate) fn row_count(&self) -> usize {
        self.groups.iter().filter(|group| group.tier.is_none()).map(|group| group.rows.len()).sum()
    }

    pub(crate) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    pub(crate) fn reference(&self, row: &SizedRow) -> RowRef {
        RowRef { path: self.path.clone(), line: row.line }
    }
}

impl SizedRow {
    /// Whether it is of another type than a message; not where it does not name its type.
    pub(crate) fn is_of_other_type(&self, dtype: DType) -> bool {
        self.dtype.is_some_and(|own| own != dtype)
    }
}

impl Group {
    /// The first rows of the nearest sizes on both sides; the same one twice where the size is there.
    pub(crate) fn bracket(&self, bytes: f64) -> Option<(&SizedRow, &SizedRow)> {
        let above = self.rows.partition_point(|row| row.bytes < bytes);
        let high = self.rows.get(above)?;
        if high.bytes == bytes {
            return Some((high, high));
        }
        let size = self.rows.get(above.checked_sub(1)?)?.bytes;
        let first = self.rows.partition_point(|row| row.bytes < size);
        Some((self.rows.get(first)?, high))
    }

    /// Whether any of its rows is of another type than a message.
    pub(crate) fn has_other_type(&self, dtype: DType) -> bool {
        self.rows.iter().any(|row| row.is_of_other_type(dtype))
    }

    /// The straight line through all sizes.
    pub(crate) fn fitted(&self, bytes: f64) -> f64 {
        let (mean_bytes, mean_duration, slope) = self.line;
        mean_duration + slope * (bytes - mean_bytes)
    }
}

fn tiers(groups: &[Group], has_tier: bool) -> Vec<Option<f64>> {
    let mut tiers: Vec<Option<f64>> =
        groups.iter().map(|group| group.tier).filter(|tier| tier.is_some() == has_tier).collect();
    tiers.sort_unstable_by(|a, b| a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0)));
    tiers.dedup();
    tiers
}

/// The least squares of duration = α + β·bytes, as the means of both and β.
fn line_through(rows: &[SizedRow]) -> (f64, f64, f64) {
    let count = rows.len() as f64;
    let mean = |value: fn(&SizedRow) -> f64| rows.iter().map(value).sum::<f64>() / count;
    let (mean_bytes, mean_duration) = (mean(|row| row.bytes), mean(|row| row.duration_us));
    let covariance: f64 = rows.iter().map(|row| (row.bytes - mean_bytes) * (row.duration_us - mean_duration)).sum();
    let variance: f64 = rows.iter().map(|row| (row.bytes - mean_bytes).powi(2)).sum();
    (mean_bytes, mean_duration, if variance > 0.0 { covariance / variance } else { 0.0 })
}
