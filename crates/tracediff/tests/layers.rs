//! How many layers a trace has: one number everywhere in a report, and none where it is not certain.

use perfdb_tracediff::{
    AnalysisOptions, Document, LoadOptions, PlainDocument, Selection, Trace, analyse, explain, tracks,
};
use std::io::Cursor;

/// Kernels of a layer, and how long they take.
type Layer = &'static [(&'static str, f64)];

const DECODER: Layer = &[
    ("rms_norm_kernel", 3.0),
    ("nvjet_tst_qkv", 20.0),
    ("flash_fwd_splitkv_kernel", 12.0),
    ("nvjet_tst_out", 9.0),
    ("act_and_mul_kernel", 4.0),
];
const BACKWARD: Layer = &[
    ("nvjet_tst_wgrad", 21.0),
    ("flash_bwd_dq_dk_dv_loop_kernel", 30.0),
    ("nvjet_tst_dgrad", 19.0),
    ("layer_norm_grad_input_kernel", 4.0),
];
const BOTTLENECK: Layer = &[
    ("sm80_xmma_fprop_implicit_gemm_cudnn", 20.0),
    ("cudnn::bn_fw_tr_1C11_kernel", 8.0),
    ("vectorized_elementwise_kernel<relu>", 4.0),
    ("sm80_xmma_fprop_implicit_gemm_cudnn", 22.0),
    ("cudnn::bn_fw_tr_1C11_kernel", 9.0),
];

/// Steps that run stretches of layers, each so many times, with copies and embeddings before each stretch.
fn trace_of(steps: u32, stretches: &[(Layer, u32)], alone: bool) -> Trace {
    let (mut events, mut now, mut correlation) = (Vec::new(), 1000.0, 0);
    let mut event = |category: &str, name: &str, start: f64, length: f64, correlation: u32| {
        events.push(format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "ts": {start}, "dur": {length}, "args": {{"correlation": {correlation}}}}}"#
        ));
    };
    for step in 0..steps {
        let (begin, mut launches) = (now, 0.0);
        let mut launched = |name: &str, length: f64, event: &mut dyn FnMut(&str, &str, f64, f64, u32)| {
            correlation += 1;
            launches += 1.0;
            event("cuda_runtime", "cudaLaunchKernel", begin + launches, 0.8, correlation);
            // No two calls take the same time.
            let length = length + f64::from(correlation % 7) * 0.25;
            event("kernel", name, now + 2000.0, length, correlation);
            now += length + 1.0;
        };
        for (at, (layer, count)) in stretches.iter().enumerate() {
            for before in 0..3 {
                launched(["CatArrayBatchedCopy", "embedding_kernel"][(at + before) % 2], 2.0, &mut event);
            }
            for (name, length) in (0..*count).flat_map(|_| layer.iter()) {
                launched(name, *length, &mut event);
            }
        }
        event("user_annotation", &format!("ProfilerStep#{step}"), begin, 1900.0, 0);
        now = now.max(begin + 2000.0) + 200.0;
    }
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    let options = LoadOptions { alone, ..LoadOptions::default() };
    Trace::from_reader("t.json", Cursor::new(text), &options).expect("a trace")
}

fn compared(first: &Trace, second: &Trace) -> PlainDocument {
    match analyse(first, second, &AnalysisOptions::default()).expect("an analysis").document {
        Document::Plain(plain) => *plain,
        other => panic!("another document: {other:?}"),
    }
}

/// Layers and runs per pass of a trace that is compared with itself, and of its report.
fn counted(stretches: &[(Layer, u32)]) -> [Option<(u64, u64)>; 2] {
    let trace = trace_of(2, stretches, false);
    let elapsed = compared(&trace, &trace).details.elapsed.expect("elapsed times").elapsed.trace1;
    let one = explain(&trace_of(2, stretches, true), &Selection::default()).expect("a report");
    [elapsed.layers_per_pass.zip(elapsed.layer_runs_per_pass), one.layers.map(|layers| (layers.count, layers.runs))]
}

#[test]
fn layers_are_counted_alike_in_both_reports() {
    assert_eq!(counted(&[(DECODER, 12)]), [Some((12, 12)); 2]);
    // Five images, each with an encoder of its own for the text.
    let images = [(DECODER, 40), (DECODER, 23)].repeat(5);
    assert_eq!(counted(&images), [Some((63, 315)); 2]);
    // The backward pass runs the same layers once more.
    assert_eq!(counted(&[(DECODER, 12), (BACKWARD, 12)]), [Some((12, 12)); 2]);
}

#[test]
fn what_repeats_without_mixing_tokens_has_no_certain_count() {
    assert_eq!(counted(&[(BOTTLENECK, 16)]), [None; 2]);
    // A few layers beside much else are not the model.
    assert_eq!(counted(&[(DECODER, 3), (BOTTLENECK, 40)]), [None; 2]);
}

#[test]
fn a_strip_says_how_often_its_kind_runs_in_a_pass() {
    let images = [(DECODER, 40), (DECODER, 23)].repeat(5);
    let (two, three) = (trace_of(2, &images, false), trace_of(3, &images, false));
    let plain = compared(&two, &three);
    let strip = &plain.details.strips[0];
    assert_eq!((strip.trace1_layers, strip.trace2_layers), (630, 945));
    assert_eq!((strip.trace1_per_pass, strip.trace2_per_pass), (315.0, 315.0));
    assert_eq!((plain.comparison.metadata.trace1_layers, plain.comparison.layers.len()), (63, 63));
}

#[test]
fn another_number_of_layers_is_another_workload() {
    let why = |first: &[(Layer, u32)], second: &[(Layer, u32)]| {
        compared(&trace_of(2, first, false), &trace_of(2, second, false))
            .details
            .elapsed
            .expect("times")
            .different_workloads
    };
    let other = why(&[(DECODER, 24)], &[(DECODER, 12)]);
    assert_eq!(other.as_deref(), Some("a pass of trace 1 runs 24 layers, a pass of trace 2 12"));
    // Of so many layers one may be found in one trace only.
    assert_eq!(why(&[(DECODER, 24)], &[(DECODER, 23)]), None);
    assert_eq!(why(&[(DECODER, 24)], &[(BOTTLENECK, 12)]), None, "the layers of trace 2 are not certain");
}

#[test]
fn every_run_of_a_layer_is_a_slice() {
    let trace = trace_of(1, &[(DECODER, 40), (DECODER, 23)].repeat(5), true);
    let found = tracks(&trace, &Selection::default()).expect("tracks");
    let names: Vec<&str> = found[0].layers.iter().map(|slice| slice.name.as_str()).collect();
    assert_eq!(names.len(), 315);
    assert_eq!((names[0], names[62], names[63]), ("layer 0", "layer 62", "layer 0"));
    assert!(found[0].layers.windows(2).all(|pair| pair[0].end <= pair[1].start));
}

/// Seven layers whose kernels have names of their own; which of them is fast differs from kernel to kernel.
fn named_layers() -> (Trace, Vec<Vec<(String, f64)>>) {
    let kinds = ["rms_norm_kernel", "nvjet_tst_qkv", "flash_fwd_splitkv_kernel", "nvjet_tst_out", "act_and_mul_kernel"];
    let layer = |number: usize| -> Vec<(String, f64)> {
        let kernel =
            |(at, kind): (usize, &&str)| (format!("{kind}_of_{number}"), 10.0 + ((number * (at + 2)) % 7) as f64);
        kinds.iter().enumerate().map(kernel).collect()
    };
    let layers: Vec<Vec<(String, f64)>> = (0..7).map(layer).collect();
    let mut now = 0.0;
    let event = |(name, length): &(String, f64)| {
        now += 20.0;
        format!(r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "ts": {now}, "dur": {length}, "args": {{}}}}"#)
    };
    let events: Vec<String> = layers.iter().flatten().map(event).collect();
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    (Trace::from_reader("t.json", Cursor::new(text), &LoadOptions::default()).expect("a trace"), layers)
}

#[test]
fn names_and_times_of_a_strip_are_those_of_one_layer() {
    let (trace, layers) = named_layers();
    let plain = compared(&trace, &trace);
    let strip = plain.details.strips.first().expect("a strip");
    let of = |names: &dyn Fn(usize) -> Vec<String>, us: &dyn Fn(usize) -> f64| -> Vec<(String, f64)> {
        (0..strip.rows.len()).map(|row| (names(row).join(" + "), us(row))).collect()
    };
    for side in [
        of(&|row| strip.rows[row].trace1_names.clone(), &|row| strip.rows[row].trace1_us),
        of(&|row| strip.rows[row].trace2_names.clone(), &|row| strip.rows[row].trace2_us),
    ] {
        let mut sorted = side.clone();
        sorted.sort_by(|a, b| a.0.cmp(&b.0));
        let is_it = |layer: &Vec<(String, f64)>| {
            let mut layer = layer.clone();
            layer.sort_by(|a, b| a.0.cmp(&b.0));
            layer == sorted
        };
        assert!(layers.iter().any(is_it), "{side:?}");
    }
}
