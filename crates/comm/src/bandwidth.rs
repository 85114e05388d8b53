//! The report: latencies with algorithm and bus bandwidth in the convention of nccl-tests.

use crate::aggregate::Measurement;
use crate::collective::Collective;
use crate::dtype::CollectiveDType;
use crate::plan::Plan;
use perfdb_pycompat::csv_text::push_cell;
use perfdb_pycompat::float::round;
use perfdb_pycompat::format::{fixed, pad_left, pad_right};
use serde::Serialize;

/// One line of the report. Times in microseconds without dispatch correction, bandwidths in 1e9 bytes per second, both
/// rounded to three decimals.
#[derive(Clone, Debug, Serialize)]
pub struct BandwidthRow {
    /// Operator.
    pub op: Collective,
    /// Size label in bytes.
    pub message_bytes: u64,
    /// Ranks in the group.
    pub num_devices: u64,
    /// Tier that the row is filed under.
    pub topology_tier: u64,
    /// Element type as the tables name it.
    pub dtype: &'static str,
    /// The times, rounded.
    #[serde(flatten)]
    pub measurement: Measurement,
    /// The bytes that the bandwidths refer to.
    pub size_bytes: u64,
    /// `size_bytes` per median.
    pub algbw_gbps: f64,
    /// Algorithm bandwidth times the operator's factor: what the wires of one rank carry.
    pub busbw_gbps: f64,
}

const COLUMNS: [&str; 16] = [
    "op",
    "message_bytes",
    "num_devices",
    "topology_tier",
    "dtype",
    "api",
    "ranks_reported",
    "samples",
    "median_us",
    "min_us",
    "max_us",
    "mean_us",
    "slowest_rank_us",
    "size_bytes",
    "algbw_gbps",
    "busbw_gbps",
];

/// The lines of a report, in the order of the measurements.
pub(crate) fn bandwidth_rows(plan: &Plan, measurements: &[Measurement], dtype: CollectiveDType) -> Vec<BandwidthRow> {
    measurements
        .iter()
        .map(|value| {
            let point = &plan.configs[value.config];
            let chunk_bytes = point.chunk_elements.saturating_mul(plan.element_size);
            let size_bytes = point.op.size_bytes(chunk_bytes, point.num_devices);
            let algbw_gbps = size_bytes as f64 / (value.median_us * 1e-6) / 1e9;
            BandwidthRow {
                op: point.op,
                message_bytes: point.message_bytes,
                num_devices: point.num_devices,
                topology_tier: point.topology_tier,
                dtype: dtype.table_name(),
                measurement: value.rounded(3),
                size_bytes,
                algbw_gbps: round(algbw_gbps, 3),
                busbw_gbps: round(algbw_gbps * point.op.bus_factor(point.num_devices), 3),
            }
        })
        .collect()
}

/// The report as CSV with LF line ends.
pub fn to_csv(rows: &[BandwidthRow]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in rows {
        let measured = &row.measurement;
        let mut cells = vec![
            row.op.name().to_owned(),
            row.message_bytes.to_string(),
            row.num_devices.to_string(),
            row.topology_tier.to_string(),
            row.dtype.to_owned(),
            measured.api.clone().unwrap_or_default(),
            measured.ranks_reported.to_string(),
            measured.samples.to_string(),
        ];
        let times = [measured.median_us, measured.min_us, measured.max_us, measured.mean_us, measured.slowest_rank_us];
        cells.extend(times.map(|time| fixed(time, 3)));
        cells.push(row.size_bytes.to_string());
        cells.extend([row.algbw_gbps, row.busbw_gbps].map(|bandwidth| fixed(bandwidth, 3)));
        for (position, cell) in cells.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            push_cell(&mut text, cell);
        }
        text.push('\n');
    }
    text
}

/// The report as a JSON array of objects.
pub fn to_json(rows: &[BandwidthRow]) -> String {
    let text = perfdb_pycompat::json::to_string(rows).unwrap_or_else(|_| "[]".into());
    text + "\n"
}

/// The numbers as a table for people.
pub fn to_table(rows: &[BandwidthRow]) -> String {
    let header: [&str; 10] =
        ["op", "bytes", "devices", "tier", "dtype", "median us", "min us", "max us", "algbw GB/s", "busbw GB/s"];
    let mut lines: Vec<[String; 10]> = vec![header.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        [
            row.op.name().to_owned(),
            row.message_bytes.to_string(),
            row.num_devices.to_string(),
            row.topology_tier.to_string(),
            row.dtype.to_owned(),
            fixed(row.measurement.median_us, 2),
            fixed(row.measurement.min_us, 2),
            fixed(row.measurement.max_us, 2),
            fixed(row.algbw_gbps, 3),
            fixed(row.busbw_gbps, 3),
        ]
    }));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| if column == 0 { pad_right(cell, *width) } else { pad_left(cell, *width) })
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanRequest;

    fn rows() -> Vec<BandwidthRow> {
        let request = PlanRequest {
            ops: vec![Collective::AllReduce, Collective::ReduceScatter],
            num_devices: vec![4],
            bytes_grid: vec![1_048_577],
            ..PlanRequest::default()
        };
        let plan = request.plan().unwrap();
        let value = |config| Measurement {
            config,
            api: (config == 0).then(|| "all_reduce".to_owned()),
            ranks_reported: 4,
            samples: 3,
            median_us: 100.0,
            min_us: 90.5,
            max_us: 120.0,
            mean_us: 103.5,
            slowest_rank_us: 110.0,
        };
        bandwidth_rows(&plan, &[value(0), value(1)], CollectiveDType::FLOAT16)
    }

    #[test]
    fn bandwidths_count_what_was_really_sent() {
        let rows = rows();
        // 2^20 bytes in 100 us; times 2(n-1)/n.
        assert_eq!((rows[0].size_bytes, rows[0].algbw_gbps, rows[0].busbw_gbps), (1_048_576, 10.486, 15.729));
        // Four pieces of 2^20 bytes; times (n-1)/n.
        assert_eq!((rows[1].size_bytes, rows[1].algbw_gbps, rows[1].busbw_gbps), (4_194_304, 41.943, 31.457));
    }

    #[test]
    fn as_csv() {
        let csv = to_csv(&rows());
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(
            lines[1],
            "all_reduce,1048577,4,1,DT_FP16,all_reduce,4,3,100.000,90.500,120.000,103.500,110.000,1048576,10.486,15.729"
        );
        assert_eq!(lines[2].split(',').nth(5), Some(""));
        assert!(!csv.contains('\r'));
    }

    #[test]
    fn as_json() {
        let rows: serde_json::Value = serde_json::from_str(&to_json(&rows())).unwrap();
        let keys: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, COLUMNS);
        assert_eq!((&rows[0]["median_us"], &rows[1]["api"]), (&serde_json::json!(100.0), &serde_json::Value::Null));
    }

    #[test]
    fn as_a_table() {
        insta::assert_snapshot!(to_table(&rows()));
    }
}
