//! Hardware or kernel, as chart and table.

use crate::page::{Chart, Column, Roof, RoofPoint, RooflineScatter, Table};
use perfdb_tracediff::{RooflineRow, Rooflines};

/// The sentence that opens the section.
pub(super) fn note(found: &Rooflines) -> Option<String> {
    let said = if found.verdict.is_empty() { &found.unknown_peaks } else { &found.verdict };
    (!said.is_empty()).then(|| {
        format!(
            "Hardware or kernel: {}. Shapes and peaks are known for {:.1} % and {:.1} % of the time of computing kernels.",
            said,
            100.0 * found.coverage_trace1,
            100.0 * found.coverage_trace2
        )
    })
}

/// Each operator under the roof of its device.
pub(super) fn chart(found: &Rooflines) -> Chart {
    let names: Vec<String> = found.operations.iter().map(|row| format!("{} {}", row.operator, row.shapes)).collect();
    let point = |row: usize, of: &RooflineRow, tflop_s: Option<f64>| {
        let intensity = of.gflop * 1e9 / (of.mib * 1_048_576.0);
        let speed = tflop_s.filter(|speed| *speed > 0.0 && intensity.is_finite() && intensity > 0.0)?;
        Some(RoofPoint { name: names[row].as_str(), intensity, tflop_s: speed, row })
    };
    let points = |speed: fn(&RooflineRow) -> Option<f64>| {
        found.operations.iter().enumerate().filter_map(|(row, of)| point(row, of, speed(of))).collect()
    };
    let peaks = |side: usize| {
        let device = [&found.trace1_peaks, &found.trace2_peaks][side].as_ref()?;
        let uses = |part: &str| found.operations.iter().any(|row| row.unit == "matrix" && row.types.contains(part));
        let fastest = if uses("float4") {
            device.four_bit_tflop_s
        } else if uses("float8") {
            device.eight_bit_tflop_s
        } else if uses("int8") {
            device.int8_tflop_s.or(device.eight_bit_tflop_s)
        } else {
            None
        };
        Some((fastest.unwrap_or(device.sixteen_bit_tflop_s), device.memory_tb_s))
    };
    RooflineScatter {
        roofs: vec![
            Roof { name: "trace 1", peaks: peaks(0), points: points(|row| row.trace1_tflop_s) },
            Roof { name: "trace 2", peaks: peaks(1), points: points(|row| row.trace2_tflop_s) },
        ],
    }
    .chart("Operators under the roofs of their devices")
    .leads_to("shapes")
    .note("A roof is what the peaks allow in the fastest type that is used; operators in wider types have lower ones.")
}

/// A row per operator and shapes.
pub(super) fn table(found: &Rooflines) -> Table {
    let rows = &found.operations;
    let percent = |part: Option<f64>| part.map_or(f64::NAN, |part| 100.0 * part);
    let or_nothing = |value: Option<f64>| value.unwrap_or(f64::NAN);
    Table::new(
        "shapes",
        "Hardware or kernel, by operator and shapes",
        vec![
            Column::text("Operator", rows.iter().map(|row| row.operator.as_str())),
            Column::text("Shapes", rows.iter().map(|row| row.shapes.as_str())),
            Column::text("Types", rows.iter().map(|row| row.types.as_str())),
            Column::decimal("Trace 1", rows.iter().map(|row| row.trace1_ms), 3).unit("ms"),
            Column::decimal("Trace 2", rows.iter().map(|row| row.trace2_ms), 3).unit("ms"),
            Column::signed("Difference", rows.iter().map(|row| row.trace2_ms - row.trace1_ms), 3).unit("ms"),
            Column::signed("By work", rows.iter().map(|row| or_nothing(row.work_ms)), 3).unit("ms"),
            Column::signed("By hardware", rows.iter().map(|row| or_nothing(row.hardware_ms)), 3).unit("ms"),
            Column::signed("By kernel", rows.iter().map(|row| or_nothing(row.kernel_ms)), 3).unit("ms"),
            Column::decimal("Of peak 1", rows.iter().map(|row| percent(row.trace1_efficiency)), 1).unit("%"),
            Column::decimal("Of peak 2", rows.iter().map(|row| percent(row.trace2_efficiency)), 1).unit("%"),
            Column::text("Bound", rows.iter().map(|row| row.bound)),
            Column::whole("Calls 1", rows.iter().map(|row| row.trace1_calls as f64)),
            Column::whole("Calls 2", rows.iter().map(|row| row.trace2_calls as f64)),
            Column::decimal("Work", rows.iter().map(|row| row.gflop), 3).unit("GFLOP").hidden(),
            Column::decimal("Bytes", rows.iter().map(|row| row.mib), 3).unit("MiB").hidden(),
            Column::decimal("Speed 1", rows.iter().map(|row| or_nothing(row.trace1_tflop_s)), 3)
                .unit("TFLOP/s")
                .hidden(),
            Column::decimal("Speed 2", rows.iter().map(|row| or_nothing(row.trace2_tflop_s)), 3)
                .unit("TFLOP/s")
                .hidden(),
            Column::decimal("Bandwidth 1", rows.iter().map(|row| or_nothing(row.trace1_tb_s)), 3).unit("TB/s").hidden(),
            Column::decimal("Bandwidth 2", rows.iter().map(|row| or_nothing(row.trace2_tb_s)), 3).unit("TB/s").hidden(),
        ],
    )
}
