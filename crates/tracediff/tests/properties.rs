//! Properties of comparisons: symmetry, sums, independence of order and of pieces.

use std::fmt::Write as _;
use std::io::Cursor;

use perfdb_doctor::Code;
use perfdb_tracediff::{
    Analysis, AnalysisOptions, CompareOptions, Comparison, Document, Error, LoadOptions, OperationRow, PhaseFilter,
    Status, Trace, View, analyse, compare, events,
};
use proptest::prelude::*;

/// Names of several classes; two norms so that fused pairing takes part.
const NAMES: [&str; 10] = [
    "Cijk_A",
    "nvjet_B",
    "kernel_unified_attention_2d",
    "triton_red_fused_mean_mul_pow_rsqrt_1",
    "triton_red_fused_mean_mul_pow_rocm_unquantized_gemm_rsqrt_2",
    "triton_poi_fused_addmm_mul_silu_2",
    "void vllm::act_and_mul_kernel<silu>()",
    "opaque, \"quoted\"",
    "multimem_all_reduce_kernel",
    "void at::native::elementwise_kernel<128>()",
];

/// Of the names, that of a collective.
const COLLECTIVE: usize = 8;

#[derive(Debug, Clone)]
struct Kernel {
    name: usize,
    start_ns: u64,
    duration_ns: u64,
    device: u8,
    stream: u8,
    step: u8,
}

fn kernels() -> impl Strategy<Value = Vec<Kernel>> {
    let kernel = (0..NAMES.len(), 0_u64..2_000_000, 0_u64..20_000, 0_u8..2, 0_u8..2, 0_u8..4);
    let kernel = kernel.prop_map(|(name, start_ns, duration_ns, device, stream, step)| Kernel {
        name,
        start_ns,
        duration_ns,
        device,
        // Equal collectives of two streams are one that was recorded twice, and are counted once.
        stream: if name == COLLECTIVE { 0 } else { stream },
        step,
    });
    prop::collection::vec(kernel, 1..60)
}

/// A trace with three steps on the host; kernels of step 3 have no launch.
fn text(kernels: &[Kernel]) -> String {
    let mut events = Vec::new();
    for (step, name) in
        ["execute_context_1(99)_generation_0(0)", "execute_context_0(0)_generation_4(4)", "step[MIXED bs=2]"]
            .iter()
            .enumerate()
    {
        let start = 1_000_000 + step * 1000;
        events.push(format!(r#"{{"cat": "user_annotation", "name": "{name}", "ts": {start}, "dur": 900}}"#));
        events.push(format!(
            r#"{{"cat": "cuda_runtime", "name": "launch", "pid": 1, "tid": 1, "ts": {}, "args": {{"correlation": {step}}}}}"#,
            start + 10
        ));
    }
    for kernel in kernels {
        let name = NAMES[kernel.name].replace('"', "\\\"");
        let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        events.push(format!(
            r#"{{"cat": "kernel", "name": "{name}", "ts": {}, "dur": {}, "args": {{"device": {}, "stream": {}, "correlation": {}}}}}"#,
            us(kernel.start_ns),
            us(kernel.duration_ns),
            kernel.device,
            kernel.stream,
            kernel.step
        ));
    }
    let mut out = String::new();
    write!(out, r#"{{"traceEvents": [{}]}}"#, events.join(",\n")).expect("a String takes everything");
    out
}

/// How many kernels are not of the step before: nothing that starts before the first launched kernel of its device, and
/// nothing without a launch that starts before the first launched kernel of its stream.
fn counted(kernels: &[Kernel]) -> u64 {
    let launched = |kernel: &&Kernel| kernel.step < 3;
    let first =
        |of: &dyn Fn(&&Kernel) -> bool| kernels.iter().filter(launched).filter(of).map(|kernel| kernel.start_ns).min();
    let is_counted = |kernel: &&Kernel| {
        let on_device = first(&|other| other.device == kernel.device);
        let on_stream = first(&|other| (other.device, other.stream) == (kernel.device, kernel.stream));
        let in_backlog = !launched(kernel) && on_stream.is_none_or(|first| kernel.start_ns < first);
        on_device.is_none_or(|first| kernel.start_ns >= first && !in_backlog)
    };
    kernels.iter().filter(is_counted).count() as u64
}

/// As [`counted`], without devices that no step launched anything on: figures per pass leave them out. Where one of the traces has no launched
/// kernel, both are compared whole.
fn counted_in_passes(kernels: &[Kernel], other: &[Kernel]) -> u64 {
    let is_launched = |kernel: &Kernel| kernel.step < 3;
    if !kernels.iter().any(is_launched) || !other.iter().any(is_launched) {
        return counted(kernels);
    }
    let has_passes = |device: u8| kernels.iter().any(|kernel| kernel.device == device && is_launched(kernel));
    let in_passes: Vec<Kernel> = kernels.iter().filter(|kernel| has_passes(kernel.device)).cloned().collect();
    counted(&in_passes)
}

fn load(name: &str, kernels: &[Kernel], options: &LoadOptions) -> Trace {
    // Random durations look like those of another unit.
    let options = LoadOptions { accept: vec![Code::WrongUnit], ..options.clone() };
    Trace::from_reader(name, Cursor::new(text(kernels)), &options).expect("a trace")
}

fn plain(first: &[Kernel], second: &[Kernel]) -> Comparison {
    let options = LoadOptions::default();
    let (first, second) = (load("a", first, &options), load("b", second, &options));
    compare(&first, &second, &CompareOptions { threshold_ms: Some(0.01), ..CompareOptions::default() })
        .expect("a comparison")
}

fn mirrored(status: Status) -> Status {
    match status {
        Status::Slower => Status::Faster,
        Status::Faster => Status::Slower,
        Status::Trace1Only => Status::Trace2Only,
        Status::Trace2Only => Status::Trace1Only,
        Status::Similar => Status::Similar,
        Status::Mixed => Status::Mixed,
    }
}

/// A comparison as it must look from the other side.
fn exchanged(comparison: &Comparison) -> Comparison {
    let mut other = comparison.clone();
    for row in &mut other.operations {
        std::mem::swap(&mut row.trace1_count, &mut row.trace2_count);
        std::mem::swap(&mut row.trace1_avg_us, &mut row.trace2_avg_us);
        std::mem::swap(&mut row.trace1_total_ms, &mut row.trace2_total_ms);
        std::mem::swap(&mut row.trace1_per_pass_ms, &mut row.trace2_per_pass_ms);
        std::mem::swap(&mut row.trace1_pass_calls, &mut row.trace2_pass_calls);
        std::mem::swap(&mut row.trace1_us_per_call, &mut row.trace2_us_per_call);
        std::mem::swap(&mut row.trace1_kernel, &mut row.trace2_kernel);
        std::mem::swap(&mut row.trace1_kernels, &mut row.trace2_kernels);
        row.gap_ms = 0.0 - row.gap_ms;
        row.difference_ms = 0.0 - row.difference_ms;
        row.status = mirrored(row.status);
        no_ratios(row);
    }
    for row in &mut other.layers {
        std::mem::swap(&mut row.trace1_kernels, &mut row.trace2_kernels);
        std::mem::swap(&mut row.trace1_total_ms, &mut row.trace2_total_ms);
        row.difference_ms = 0.0 - row.difference_ms;
        row.status = mirrored(row.status);
        row.trace2_over_trace1 = None;
    }
    for row in &mut other.unmatched_operations {
        row.trace = 3 - row.trace;
    }
    other
}

fn no_ratios(row: &mut OperationRow) {
    (row.ratio, row.avg_ratio, row.trace2_over_trace1, row.avg_trace2_over_trace1) = (None, None, None, None);
}

fn without_ratios(mut comparison: Comparison) -> Comparison {
    comparison.operations.iter_mut().for_each(no_ratios);
    comparison.layers.iter_mut().for_each(|row| row.trace2_over_trace1 = None);
    comparison
}

fn explained(first: &[Kernel], second: &[Kernel], options: &LoadOptions) -> Analysis {
    let analysis = AnalysisOptions { explain: true, view: View::Plain, ..AnalysisOptions::default() };
    analyse(&load("a", first, options), &load("b", second, options), &analysis).expect("an analysis")
}

/// Picoseconds of milliseconds that stand for whole picoseconds.
fn ps(ms: f64) -> i64 {
    (ms * 1e9).round() as i64
}

proptest! {
    #[test]
    fn exchanging_the_traces_mirrors_the_result(first in kernels(), second in kernels()) {
        let (there, back) = (plain(&first, &second), plain(&second, &first));
        let expected = exchanged(&there);
        let back = without_ratios(back);
        prop_assert_eq!(&back.operations, &expected.operations);
        prop_assert_eq!(&back.layers, &expected.layers);
        let sorted = |comparison: &Comparison| {
            let mut rows: Vec<String> = comparison.unmatched_operations.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            rows
        };
        prop_assert_eq!(sorted(&back), sorted(&expected));
    }

    #[test]
    fn every_kernel_is_counted_once(first in kernels(), second in kernels()) {
        let comparison = plain(&first, &second);
        let of = |side: u8| -> u64 {
            let rows = comparison.operations.iter().map(|row| if side == 1 { row.trace1_count } else { row.trace2_count });
            let single = comparison.unmatched_operations.iter().filter(|row| row.trace == side).map(|row| row.count);
            rows.chain(single).sum()
        };
        prop_assert_eq!((of(1), of(2)), (counted(&first), counted(&second)));
        let metadata = &comparison.metadata;
        prop_assert!(metadata.trace1_busy_ms <= metadata.trace1_total_ms);
        prop_assert!(metadata.trace1_compared_ms <= metadata.trace1_total_ms);
    }

    #[test]
    fn the_order_of_events_does_not_show_in_sums(first in kernels(), second in kernels()) {
        let mut reversed = first.clone();
        reversed.reverse();
        let (a, b) = (plain(&first, &second), plain(&reversed, &second));
        prop_assert_eq!(a.metadata, b.metadata);
        prop_assert_eq!(a.operations, b.operations);
    }

    #[test]
    fn explanations_sum_to_the_difference(first in kernels(), second in kernels(), clip in any::<bool>()) {
        let options = LoadOptions { clip_overlaps: clip, ..LoadOptions::default() };
        let Document::Plain(document) = explained(&first, &second, &options).document else { panic!("a plain document") };
        let difference = document.details.explanation.and_then(|explanation| explanation.difference).expect("a difference");
        let parts: i64 = difference.parts.named().iter().map(|(_, value)| ps(*value)).sum();
        prop_assert_eq!(parts, ps(difference.elapsed_ms));
        let mut families = 0;
        for row in &difference.families {
            let parts = [row.calls_ms, row.speed_ms, row.fusion_ms, row.one_sided_ms, row.overlap_ms];
            let sum: i64 = parts.into_iter().map(ps).sum();
            prop_assert_eq!(sum, ps(row.difference_ms), "{}", row.family);
            prop_assert_eq!(ps(row.trace2_ms) - ps(row.trace1_ms), ps(row.difference_ms));
            families += sum;
        }
        let rest = [difference.parts.exposed_copies, difference.parts.host_late, difference.parts.device_idle];
        prop_assert_eq!(families + rest.into_iter().map(ps).sum::<i64>(), ps(difference.elapsed_ms));
        for group in &document.details.groups {
            let parts = ps(group.calls_ms) + ps(group.per_call_ms) + ps(group.one_sided_ms);
            prop_assert_eq!(parts, ps(group.difference_ms), "{}", group.group);
            prop_assert_eq!(ps(group.core_ms) + ps(group.helper_ms), ps(group.per_call_ms));
        }
    }

    #[test]
    fn groups_mirror_and_hold_every_kernel(first in kernels(), second in kernels()) {
        let groups = |first: &[Kernel], second: &[Kernel]| {
            let Document::Plain(document) = explained(first, second, &LoadOptions::default()).document else {
                panic!("a plain document")
            };
            document.details.groups
        };
        let (there, back) = (groups(&first, &second), groups(&second, &first));
        prop_assert_eq!(there.iter().map(|row| row.trace1_kernels).sum::<u64>(), counted_in_passes(&first, &second));
        prop_assert_eq!(there.iter().map(|row| row.trace2_kernels).sum::<u64>(), counted_in_passes(&second, &first));
        prop_assert_eq!(there.len(), back.len());
        let key = |name: &str| name.trim_start_matches("only1/").trim_start_matches("only2/").to_owned();
        let mut rows: Vec<_> = there.iter().map(|row| (key(&row.group), ps(row.trace1_ms), ps(row.trace2_ms), ps(row.calls_ms), ps(row.core_ms))).collect();
        let mut mirrored: Vec<_> = back.iter().map(|row| (key(&row.group), ps(row.trace2_ms), ps(row.trace1_ms), -ps(row.calls_ms), -ps(row.core_ms))).collect();
        rows.sort();
        mirrored.sort();
        prop_assert_eq!(rows, mirrored);
    }

    #[test]
    fn names_of_streams_do_not_matter(first in kernels(), second in kernels()) {
        let renamed = |kernels: &[Kernel]| -> Vec<Kernel> {
            kernels.iter().map(|kernel| Kernel { stream: 20 - 7 * kernel.stream, ..kernel.clone() }).collect()
        };
        let (as_named, otherwise) = (plain(&first, &second), plain(&renamed(&first), &renamed(&second)));
        prop_assert_eq!(as_named.metadata, otherwise.metadata);
        prop_assert_eq!(as_named.operations, otherwise.operations);
        prop_assert_eq!(as_named.layers, otherwise.layers);
    }

    #[test]
    fn a_trace_against_itself_pairs_every_kernel_with_itself(first in kernels()) {
        let trace = load("a", &first, &LoadOptions::default());
        let mut pairs: [Vec<String>; 2] = Default::default();
        events(&trace, &trace, PhaseFilter::All, |row| {
            pairs[usize::from(row.trace) - 1].push(row.pair.to_owned());
            Ok::<(), Error>(())
        })
        .expect("rows");
        prop_assert_eq!(&pairs[0], &pairs[1]);
        prop_assert!(pairs[0].iter().all(|pair| !pair.is_empty() && !pair.starts_with("only")));
    }

    #[test]
    fn clipped_streams_do_not_overlap(first in kernels()) {
        let one_stream: Vec<Kernel> = first.iter().map(|kernel| Kernel { device: 0, stream: 0, ..kernel.clone() }).collect();
        let options = LoadOptions { clip_overlaps: true, ..LoadOptions::default() };
        let trace = load("a", &one_stream, &options);
        let comparison = compare(&trace, &trace, &CompareOptions::default()).expect("a comparison");
        let metadata = comparison.metadata;
        prop_assert_eq!(ps(metadata.trace1_busy_ms), ps(metadata.trace1_total_ms));
    }
}
