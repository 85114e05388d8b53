//! Whatever stands in the two files, the parts of the attribution sum to the difference, to the picosecond.
#![allow(clippy::unwrap_used)]

use perfdb_compare::attribution::{Attribution, Explanation, Options, Passes, explain_files};
use perfdb_store::op_mapping::OpMapping;
use proptest::prelude::*;
use std::fmt::Write;

/// Kernels that families, the mapping or nobody knows, and collectives.
const TYPES: [&str; 12] = [
    "MatMulV2",
    "MatMulV3",
    "RmsNorm",
    "AddRmsNormBias",
    "Add",
    "SwiGlu",
    "FusedInferAttentionScore",
    "ReshapeAndCacheNdKernel",
    "hcom_allReduce_",
    "hcom_allGather_",
    "made_up_kernel_7",
    "made_up_kernel",
];
const OPERATORS: [&str; 6] = [
    "aten.mm.default",
    "aten.add.Tensor",
    "tensor_cast.attention.default",
    "tensor_cast.matmul_all_reduce.default",
    "tensor_cast.mlapo_quant.default",
    "tensor_cast.made_up.default",
];
const SHAPES: [&[&[u64]]; 6] = [
    &[],
    &[&[16, 5120], &[5120, 768]],
    &[&[16, 5120], &[768, 5120]],
    &[&[16, 5120], &[5120]],
    &[&[16, 8, 128], &[600, 128, 128], &[600, 128, 128]],
    &[&[32, 5120], &[320, 48, 16, 16]],
];
const SOURCES: [&str; 6] = ["MEASURED", "INTERPOLATED", "EXTRAPOLATED", "PARTIAL", "ANALYTIC", ""];
const MAPPING: &str = "operator_mappings:\n  aten.add.Tensor: {kernel_type: Add, alternate_kernel_types: [made_up_kernel]}\n  aten.mm.default: {kernel_type: MatMulV2}\n";

/// A time in thousandths of a microsecond, mostly ordinary, sometimes 0 or long.
fn thousandths() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 1u64..300_000, 1 => Just(0), 1 => 1_000_000_000u64..9_000_000_000]
}

fn us(thousandths: u64) -> String {
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
}

#[derive(Debug, Clone)]
struct Event {
    operator: usize,
    source: usize,
    shape: usize,
    /// Kernel types and times of the parts; none: the event names no kernel.
    kernels: Vec<(usize, u64)>,
    /// Whether the parts have times of their own.
    has_parts: bool,
    dur: u64,
}

impl Event {
    /// What the event adds to the predicted side, in thousandths of a microsecond.
    fn predicted(&self) -> u64 {
        if self.has_parts { self.kernels.iter().map(|&(_, time)| time).sum() } else { self.dur }
    }

    fn json(&self, ts: usize) -> String {
        let types: Vec<&str> = self.kernels.iter().map(|&(kernel, _)| TYPES[kernel]).collect();
        let (source, shapes) = (SOURCES[self.source], SHAPES[self.shape]);
        let mut args = format!(r#""simulation_shapes": "{shapes:?}", "source": "{source}""#);
        if !types.is_empty() {
            let _ = write!(args, r#", "kernel_type": "{}""#, types.join(","));
        }
        if types.len() == 1 {
            let _ = write!(args, r#", "kernel_shapes": "{shapes:?}""#);
        }
        if self.has_parts {
            let part = |(name, &(_, time)): (&&str, &(usize, u64))| format!("('{name}', {})", us(time));
            let parts: Vec<String> = types.iter().zip(&self.kernels).map(part).collect();
            let _ = write!(args, r#", "sub_kernel_durations": "[{}]""#, parts.join(", "));
        }
        let (name, dur) = (OPERATORS[self.operator], us(self.dur));
        format!(r#",{{"name": "{name}", "ph": "X", "pid": 0, "tid": 0, "ts": {ts}, "dur": {dur}, "args": {{{args}}}}}"#)
    }
}

fn event() -> impl Strategy<Value = Event> {
    let kernels = prop::collection::vec((0..TYPES.len(), thousandths()), 0..4);
    (0..OPERATORS.len(), 0..SOURCES.len(), 0..SHAPES.len(), kernels, any::<bool>(), thousandths()).prop_map(
        |(operator, source, shape, kernels, parts, dur)| {
            let has_parts = parts && kernels.len() > 1;
            Event { operator, source, shape, kernels, has_parts, dur }
        },
    )
}

/// Kernel type, shape, duration, and the gap in front of it in microseconds.
type Row = (usize, usize, u64, u64);

fn profile(rows: &[Row]) -> String {
    let mut text = "Type,Start Time(us),Duration(us),Input Shapes\n".to_owned();
    let mut start_us = 1_700_000_000_000_000;
    for &(kernel, shape, time, gap_us) in rows {
        // Never within one microsecond, so that no collective is listed twice.
        start_us += 1 + gap_us + time / 1000;
        let one = |dims: &&[u64]| dims.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let shapes = SHAPES[shape].iter().map(one).collect::<Vec<_>>().join(";");
        let _ = writeln!(text, "{},{start_us}\t,{},\"\"\"{shapes}\"\"\"", TYPES[kernel], us(time));
    }
    text
}

fn sums_are_exact(attribution: &Attribution) {
    let sum_ps: i128 = attribution.contributions.iter().map(|contribution| contribution.difference_ps).sum();
    assert_eq!(sum_ps, attribution.difference_ps);
    assert_eq!(attribution.difference_ps, attribution.predicted_ps - attribution.measured_ps);
    assert_eq!(
        attribution.gross_ps,
        attribution.contributions.iter().map(|contribution| contribution.difference_ps.abs()).sum::<i128>()
    );
    assert_eq!(attribution.by_cause_ps.values().sum::<i128>(), attribution.difference_ps);
    assert_eq!(attribution.coverage_ps.values().sum::<i128>(), attribution.predicted_ps);
    let both = |sums: &mut dyn Iterator<Item = (i128, i128)>| {
        sums.fold((0, 0), |(predicted, measured), sum| (predicted + sum.0, measured + sum.1))
    };
    let sides = (attribution.predicted_ps, attribution.measured_ps);
    assert_eq!(both(&mut attribution.groups.iter().map(|group| (group.predicted_ps, group.measured_ps))), sides);
    assert_eq!(both(&mut attribution.families.iter().map(|sum| (sum.predicted_ps, sum.measured_ps))), sides);
    assert!(
        attribution.joined_ps <= attribution.joined_with_names_ps
            && attribution.joined_with_names_ps <= attribution.measured_ps
    );
    assert!(attribution.within_10_percent_ps <= attribution.measured_ps);
}

fn explained(events: &[Event], rows: &[Row], passes: &str, with_mapping: bool) -> Explanation {
    let folder = tempfile::tempdir().unwrap();
    let (trace, csv) = (folder.path().join("trace.json"), folder.path().join("pass.csv"));
    let mut text =
        r#"{"traceEvents": [{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#
            .to_owned();
    events.iter().enumerate().for_each(|(ts, event)| text += &event.json(ts));
    std::fs::write(&trace, text + "]}").unwrap();
    std::fs::write(&csv, profile(rows)).unwrap();
    let mapping = OpMapping::parse(MAPPING).unwrap();
    let mapping = with_mapping.then_some(&mapping);
    let options = Options { mapping, passes: Passes::parse(passes).unwrap(), ..Options::default() };
    explain_files(&trace, &csv, &options).unwrap().result
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_parts_sum_to_the_difference(
        events in prop::collection::vec(event(), 0..40),
        rows in prop::collection::vec((0..TYPES.len(), 0..SHAPES.len(), thousandths(), 0u64..50), 0..60),
        passes in prop::sample::select(vec!["1", "2", "3", "7", "1.5"]),
        with_mapping in any::<bool>(),
    ) {
        let explanation = explained(&events, &rows, passes, with_mapping);
        let attribution = &explanation.attribution;
        sums_are_exact(attribution);
        let ps = |thousandths: u64| i128::from(thousandths) * 1000;
        prop_assert_eq!(attribution.predicted_ps, events.iter().map(|event| ps(event.predicted())).sum::<i128>());
        // Each group's mean over the passes is rounded.
        let passes: f64 = passes.parse().unwrap();
        let measured_ps = rows.iter().map(|row| ps(row.2)).sum::<i128>() as f64 / passes;
        prop_assert!((attribution.measured_ps as f64 - measured_ps).abs() <= 0.5 * attribution.groups.len() as f64 + 1e-3 * passes);
        let reconcile = explanation.reconcile;
        prop_assert_eq!(
            attribution.predicted_ps,
            reconcile.m6_hit_ps + reconcile.composite_rounding_ps + reconcile.not_in_m6_ps
        );
        if passes == 1.0 {
            prop_assert_eq!(attribution.measured_ps, rows.iter().map(|row| ps(row.2)).sum::<i128>());
        }
    }

    #[test]
    fn the_same_layers_over_and_over_sum_as_well(
        layer in prop::collection::vec(event(), 1..6),
        measured in prop::collection::vec((0..TYPES.len(), 0..SHAPES.len(), thousandths(), 0u64..50), 1..6),
        layers in 3usize..20,
        more in 0usize..3,
    ) {
        let explanation = explained(&vec![layer; layers].concat(), &measured.repeat(layers + more), "1", true);
        sums_are_exact(&explanation.attribution);
        for kind in explanation.layers.iter().flat_map(|layers| &layers.kinds) {
            if let Some(attribution) = &kind.attribution {
                prop_assert_eq!(attribution.difference_ps, attribution.predicted_ps - attribution.measured_ps);
                prop_assert_eq!(attribution.by_cause_ps.values().sum::<i128>(), attribution.difference_ps);
            }
        }
    }
}
