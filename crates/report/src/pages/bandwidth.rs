//! What collectives reach.

use super::counted;
use crate::page::number::{grouped, size_bytes};
use crate::page::{Bandwidth, BandwidthCurve, Block, Chart, Column, KeyFigure, Page, Part, Provenance, Table, Trust};
use perfdb_comm::bandwidth::BandwidthRow;
use perfdb_comm::bench::Outcome;
use std::collections::BTreeMap;

/// The page of a run.
pub fn bandwidth_page(outcome: &Outcome, provenance: Provenance) -> Page {
    let rows = &outcome.bandwidths;
    let mut blocks = Vec::new();
    if !rows.is_empty() {
        blocks.push(Block::Chart(curves(rows, "Bus bandwidth over the size of the message", "GB/s", |row| {
            row.busbw_gbps
        })));
        blocks.push(Block::Chart(curves(rows, "Median time over the size of the message", "µs", |row| {
            row.measurement.median_us
        })));
        blocks.push(Block::Table(table(rows)));
    }
    if !outcome.missing.is_empty() {
        blocks.push(Block::Table(Table::new(
            "missing",
            "Points without a time",
            vec![
                Column::text("Point", outcome.missing.iter().map(|missing| missing.point.as_str())),
                Column::text("Why", outcome.missing.iter().map(|missing| missing.reason.as_str())),
            ],
        )));
    }
    let best = rows.iter().max_by(|a, b| a.busbw_gbps.total_cmp(&b.busbw_gbps));
    let verdict = match best {
        Some(best) => format!(
            "{} reaches {} GB/s of bus bandwidth among {} ranks at {}.",
            best.op.name(),
            grouped(best.busbw_gbps, 2),
            best.num_devices,
            size_bytes(best.message_bytes as f64)
        ),
        None => "Nothing was measured.".to_owned(),
    };
    let measured = counted(rows.len(), "point was measured", "points were measured");
    let trust = match (&outcome.failure, outcome.missing.len()) {
        (Some(failure), _) => Trust::low(format!("{measured}; the run failed: {failure}")),
        (None, 0) if rows.is_empty() => Trust::low("nothing was measured"),
        (None, 0) => Trust::high(format!("all {measured}")),
        (None, missing) => Trust::limited(format!("{measured}, {} missing", grouped(missing as f64, 0))),
    };
    let part = Part {
        verdict,
        trust: Some(trust),
        figures: vec![
            KeyFigure::new("Points", grouped(rows.len() as f64, 0)),
            KeyFigure::new("Missing", grouped(outcome.missing.len() as f64, 0)),
            KeyFigure::new("Best bus bandwidth", best.map_or_else(|| "–".to_owned(), |best| format!("{} GB/s", grouped(best.busbw_gbps, 2)))),
        ],
        notes: vec!["Bandwidths as nccl-tests has them: 10⁹ bytes per second of the median; bus bandwidth is what the wires of one rank carry.".to_owned()],
        blocks,
        ..Part::default()
    };
    Page { title: "Measured collectives".to_owned(), parts: vec![part], provenance }
}

fn curves(rows: &[BandwidthRow], title: &str, upwards: &str, value: fn(&BandwidthRow) -> f64) -> Chart {
    let mut series: BTreeMap<String, Vec<(f64, f64, usize)>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let name = format!("{}, {} ranks, tier {}", row.op.name(), row.num_devices, row.topology_tier);
        series.entry(name).or_default().push((row.message_bytes as f64, value(row), at));
    }
    for points in series.values_mut() {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let curves: Vec<BandwidthCurve<'_>> = series
        .iter()
        .enumerate()
        .map(|(class, (name, points))| BandwidthCurve { name, points: points.clone(), is_model: false, class })
        .collect();
    Bandwidth { curves, upwards }.chart(title).leads_to("points")
}

fn table(rows: &[BandwidthRow]) -> Table {
    Table::new(
        "points",
        "All points",
        vec![
            Column::text("Operator", rows.iter().map(|row| row.op.name())),
            Column::whole("Bytes", rows.iter().map(|row| row.message_bytes as f64)),
            Column::whole("Ranks", rows.iter().map(|row| row.num_devices as f64)),
            Column::whole("Tier", rows.iter().map(|row| row.topology_tier as f64)),
            Column::text("Type", rows.iter().map(|row| row.dtype)),
            Column::decimal("Median", rows.iter().map(|row| row.measurement.median_us), 3).unit("µs"),
            Column::decimal("Least", rows.iter().map(|row| row.measurement.min_us), 3).unit("µs"),
            Column::decimal("Most", rows.iter().map(|row| row.measurement.max_us), 3).unit("µs"),
            Column::decimal("Algorithm", rows.iter().map(|row| row.algbw_gbps), 3).unit("GB/s"),
            Column::decimal("Bus", rows.iter().map(|row| row.busbw_gbps), 3).unit("GB/s"),
            Column::whole("Samples", rows.iter().map(|row| row.measurement.samples as f64)).hidden(),
            Column::decimal("Slowest rank", rows.iter().map(|row| row.measurement.slowest_rank_us), 3)
                .unit("µs")
                .hidden(),
        ],
    )
}
