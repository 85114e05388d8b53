//! What operators must do, and whether hardware or kernels make the difference.

use super::gold;

use std::io::Cursor;
use std::path::Path;

use perfdb_tracediff::{
    AnalysisOptions, Document, LoadOptions, OperatorCall, Rooflines, Trace, analyse, operator_calls,
};

fn event(category: &str, name: &str, start: f64, length: f64, args: &str) -> String {
    format!(
        r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": {length}, "args": {{{args}}}}}"#
    )
}

/// An operator that begins at `start`, takes 10 µs on the host and launches a kernel of `kernel_us` in the middle.
fn operator(name: &str, dims: &str, kernel: &str, start: f64, kernel_us: f64, number: u32) -> Vec<String> {
    let types = format!("[{}]", vec![r#""c10::BFloat16""#; dims.matches("],").count() + 1].join(", "));
    let args =
        format!(r#""External id": {number}, "Input Dims": {dims}, "Input type": {types}, "Concrete Inputs": []"#);
    let launch = format!(r#""External id": {number}, "correlation": {number}"#);
    vec![
        event("cpu_op", name, start, 10.0, &args),
        event("cuda_runtime", "cudaLaunchKernel", start + 4.0, 1.0, &launch),
        event("kernel", kernel, start + 20.0, kernel_us, &launch),
    ]
}

fn trace(device: &str, events: &[String]) -> Trace {
    let text = format!(r#"{{"deviceProperties": [{{"name": "{device}"}}], "traceEvents": [{}]}}"#, events.join(","));
    Trace::from_reader("t.json", Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

fn rooflines(first: &Trace, second: &Trace) -> Rooflines {
    match analyse(first, second, &AnalysisOptions::default()).expect("an analysis").document {
        Document::Plain(plain) => plain.details.roofline.expect("rooflines"),
        other => panic!("another document: {other:?}"),
    }
}

const SQUARE: &str = "[[4096, 4096], [4096, 4096]]";

#[test]
fn hardware_and_kernel_share_a_difference() {
    // 989.4 against 312 TFLOP/s, and a kernel that reaches 80 % of the one and 40 % of the other.
    let operations = 2.0 * 4096_f64.powi(3);
    let time = |peak: f64, efficiency: f64| (operations / (peak * 1e6) / efficiency * 1e6).round() / 1e6;
    let hopper = trace("NVIDIA H100 80GB HBM3", &operator("aten::mm", SQUARE, "nvjet", 0.0, time(989.4, 0.8), 1));
    let ampere = trace("NVIDIA A100-SXM4-80GB", &operator("aten::mm", SQUARE, "ampere_gemm", 0.0, time(312.0, 0.4), 1));
    let found = rooflines(&hopper, &ampere);
    let close = |found: Option<f64>, expected: f64| found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-6);
    assert!(close(found.hardware_ratio, 989.4 / 312.0), "{found:?}");
    assert!(close(found.efficiency_ratio, 2.0) && close(found.work_ratio, 1.0), "{found:?}");
    assert!(close(found.time_ratio, 2.0 * 989.4 / 312.0), "{found:?}");
    assert_eq!((found.coverage_trace1, found.coverage_trace2), (1.0, 1.0));
    let row = &found.operations[0];
    assert!(close(row.trace1_efficiency, 0.8) && close(row.trace2_efficiency, 0.4), "{row:?}");
    assert_eq!((row.operator.as_str(), row.shapes.as_str(), row.bound), ("mm", "4096×4096, 4096×4096", "compute"));
    assert_eq!(row.gflop, operations / 1e9);
    let sum = found.hardware_ms + found.kernel_ms + found.work_ms + found.one_sided_ms + found.other_ms;
    assert!((sum - found.difference_ms).abs() < 1e-12);
    assert!(found.verdict.ends_with("hardware 3.171 x kernel efficiency 2.000"), "{}", found.verdict);
}

#[test]
fn the_innermost_operator_with_a_formula_counts_once() {
    let outer = r#""External id": 1, "Input Dims": [[8, 16], [32, 16], []], "Input type": ["float", "float", ""], "Concrete Inputs": ["", "", ""]"#;
    let inner = r#""External id": 2, "Input Dims": [[8, 16], [16, 32]], "Input type": ["float", "float"], "Concrete Inputs": ["", ""]"#;
    let events = [
        event("cpu_op", "aten::linear", 0.0, 50.0, outer),
        event("cpu_op", "aten::t", 1.0, 2.0, r#""External id": 9, "Input Dims": [[32, 16]], "Input type": ["float"]"#),
        event("cpu_op", "aten::mm", 5.0, 40.0, inner),
        event("cuda_runtime", "cudaLaunchKernel", 10.0, 1.0, r#""correlation": 1"#),
        event("cuda_runtime", "cudaLaunchKernel", 20.0, 1.0, r#""correlation": 2"#),
        event("kernel", "sgemm", 60.0, 3.0, r#""correlation": 1"#),
        event("kernel", "splitKreduce", 63.0, 1.0, r#""correlation": 2"#),
    ];
    let calls = operator_calls(&trace("NVIDIA L4", &events));
    let [OperatorCall { operator, work, kernel_us, .. }] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((operator.as_str(), work.operations, *kernel_us), ("aten::mm", 2.0 * 8.0 * 16.0 * 32.0, 4.0));
}

#[test]
fn unknown_devices_and_missing_shapes_are_said() {
    let mut events = operator("aten::mm", SQUARE, "gemm", 0.0, 300.0, 1);
    events.push(event("kernel", "my_kernel", 500.0, 100.0, r#""correlation": 7"#));
    let (known, unknown) = (trace("NVIDIA H200", &events), trace("GPU of mine", &events));
    let found = rooflines(&known, &known);
    assert!((found.coverage_trace1 - 0.75).abs() < 1e-12 && found.time_ratio == Some(1.0), "{found:?}");
    let found = rooflines(&known, &unknown);
    assert_eq!((found.coverage_trace1, found.time_ratio, found.trace2_peaks), (0.0, None, None));
    assert_eq!(found.unknown_peaks, "no peaks are known of GPU of mine");
    assert_eq!(found.operations.len(), 1);
    assert!(found.operations[0].trace2_tflop_s.is_some() && found.operations[0].trace2_efficiency.is_none());
}

#[test]
fn the_sentence_begins_with_its_coverage_and_is_left_out_below_half() {
    let with = |unknown_us: f64| {
        let mut events = operator("aten::mm", SQUARE, "gemm", 0.0, 300.0, 1);
        events.push(event("kernel", "my_kernel", 500.0, unknown_us, r#""correlation": 7"#));
        trace("NVIDIA H200", &events)
    };
    let (most, half, less) = (with(100.0), with(290.0), with(400.0));
    let of = |first: &Trace, second: &Trace| rooflines(first, second).verdict;
    assert!(of(&most, &most).starts_with("of the 75 % with known shapes: "), "{}", of(&most, &most));
    assert!(of(&most, &half).starts_with("of the 75 and 51 % with known shapes: "), "{}", of(&most, &half));
    assert_eq!([of(&most, &less), of(&less, &most)], [String::new(), String::new()]);
}

#[test]
fn products_of_cut_numbers_have_their_own_peak() {
    let types = r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"], "External id": 1"#;
    let with = |kernel: &str| {
        trace(
            "NVIDIA A100-SXM4-80GB",
            &[event("cpu_op", "aten::mm", 0.0, 10.0, types), event("kernel", kernel, 20.0, 3.0, r#""External id": 1"#)],
        )
    };
    let (cut, whole) = (with("sm80_xmma_gemm_f32f32_tf32f32_f32"), with("ampere_sgemm_128x64"));
    let rows = rooflines(&cut, &whole).operations;
    assert_eq!(rows.len(), 2, "{rows:?}");
}

/// Real traces with tables of another tool.
#[test]
fn operations_and_bytes_equal_the_reference_tables() {
    let Some(traces) = gold::traces() else { return };
    let compared: usize = traces.iter().map(|(trace, tables)| compare_with(trace, tables)).sum();
    assert_eq!(compared, 8);
}

/// Compares the rows of a table that have figures; how many.
fn compare_with(file: &Path, reference: &Path) -> usize {
    let calls = operator_calls(&Trace::open(file, &LoadOptions::default()).expect("a trace"));
    let mut table = csv::Reader::from_path(reference.join("unified_perf_summary.csv")).expect("a table");
    let header = table.headers().expect("a header").clone();
    let mut compared = 0;
    for row in table.records() {
        let row = row.expect("a row");
        let cell = |name: &str| header.iter().position(|column| column == name).and_then(|at| row.get(at));
        let number = |name: &str| cell(name).and_then(|cell| cell.parse::<f64>().ok());
        let (Some(gflop), Some(mib)) = (number("GFLOPS"), number("Data Moved (MB)")) else { continue };
        let name = cell("name").expect("a name");
        let own: Vec<&OperatorCall> = calls.iter().filter(|call| call.operator == name).collect();
        assert_eq!(own.len() as f64, number("operation_count").expect("a count"), "{} {name}", file.display());
        let mean = |value: fn(&OperatorCall) -> f64| own.iter().map(|call| value(call)).sum::<f64>() / own.len() as f64;
        for (column, value) in [
            (Some(gflop), mean(|call| call.work.operations / 1e9)),
            (Some(mib), mean(|call| call.work.bytes / 1_048_576.0)),
            (number("TFLOPS/s_mean"), mean(|call| call.work.operations / call.kernel_us / 1e6)),
            (number("TB/s_mean"), mean(|call| call.work.bytes / call.kernel_us / 1e6)),
            (number("Kernel Time (µs)_mean"), mean(|call| call.kernel_us)),
        ] {
            let expected = column.expect("a number");
            assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{} {name}: {value} {expected}", file.display());
        }
        compared += 1;
    }
    compared
}

/// A capture of three kernels in two operators, and a server that replays it twice.
fn captured(change: &str) -> (String, String) {
    let shapes = r#""Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"], "Concrete Inputs": ["", ""], "External id": 1"#;
    let launch = |kernel: &str, start: f64, number: u32, external: u32| {
        let args = format!(r#""correlation": {number}, "External id": {external}, "kernel": "{kernel}""#);
        event("cuda_runtime", "hipModuleLaunchKernel", start, 1.0, &args)
    };
    let capture = [
        event("cuda_runtime", "hipStreamBeginCapture", 0.0, 1.0, r#""correlation": 50"#),
        event("cpu_op", "aten::mm", 10.0, 20.0, shapes),
        launch("gemm", 12.0, 51, 1),
        launch("split_k_reduce", 14.0, 52, 1),
        event("cpu_op", "my::norm", 40.0, 10.0, r#""External id": 2"#),
        launch("norm", 42.0, 53, 2),
        event("cuda_runtime", "hipStreamEndCapture", 60.0, 1.0, r#""correlation": 54"#),
        launch("outside", 70.0, 55, 2),
    ];
    let mut replays = Vec::new();
    for number in 0..2 {
        let start = 100.0 * f64::from(number);
        let args = format!(r#""correlation": {}"#, 7 + number);
        replays.push(event("cuda_runtime", "hipGraphLaunch", start, 1.0, &args));
        for (at, name) in ["gemm", "split_k_reduce", change].into_iter().enumerate() {
            replays.push(event("kernel", name, start + 20.0 + 10.0 * at as f64, 5.0, &args));
        }
    }
    (list(&capture), list(&replays))
}

fn list(events: &[String]) -> String {
    format!(r#"{{"deviceProperties": [{{"name": "NVIDIA H200"}}], "traceEvents": [{}]}}"#, events.join(","))
}

#[test]
fn replayed_kernels_have_the_operators_of_their_capture() {
    let folder = tempfile::tempdir().expect("a folder");
    let with = |change: &str| {
        let (capture, replay) = captured(change);
        let paths = ["capture.json", "replay.json"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], capture).expect("written");
        std::fs::write(&paths[1], replay).expect("written");
        Trace::open_with_capture(&paths[1], Some(&paths[0]), &LoadOptions::default()).expect("a trace")
    };
    let joined = with("norm");
    let calls = operator_calls(&joined);
    let found: Vec<(&str, f64)> = calls.iter().map(|call| (call.operator.as_str(), call.kernel_us)).collect();
    assert_eq!(found, [("aten::mm", 10.0), ("aten::mm", 10.0)]);
    let roofline = rooflines(&joined, &joined);
    assert_eq!((roofline.trace1_replayed, roofline.trace1_captured), (1.0, Some(1.0)));
    // A third of the names is another one: that is no replay of this capture.
    let other = with("another");
    assert!(operator_calls(&other).is_empty());
    assert_eq!(rooflines(&other, &other).trace1_captured, Some(0.0));
}

/// Captures of a product, one for each number of rows, as AMD's profiler writes them, and replays of some of them.
fn captured_batches(captured: &[u64], replayed: &[u64], has_sizes: bool) -> Trace {
    let size = |rows: &u64| format!(r#""grid": [{rows}, 1, 1], "block": [256, 1, 1]"#);
    let mut capture = Vec::new();
    for (number, rows) in (0..).zip(captured) {
        let (start, id) = (100.0 * f64::from(number), number + 1);
        let shapes = format!(
            r#""Input Dims": [[{rows}, 64], [64, 64]], "Input type": ["float", "float"], "Concrete Inputs": ["", ""], "External id": {id}"#
        );
        let args = format!(r#""correlation": {id}, "External id": {id}, "kernel": "gemm", {}"#, size(rows));
        capture.extend([
            event("cuda_runtime", "hipStreamBeginCapture", start, 1.0, &format!(r#""correlation": {}"#, 50 + id)),
            event("cpu_op", "aten::mm", start + 10.0, 20.0, &shapes),
            event("cuda_runtime", "hipModuleLaunchKernel", start + 12.0, 1.0, &args),
            event("cuda_runtime", "hipStreamEndCapture", start + 60.0, 1.0, &format!(r#""correlation": {}"#, 70 + id)),
        ]);
    }
    let mut replays = Vec::new();
    for (number, rows) in (0..).zip(replayed) {
        let (start, args) = (100.0 * f64::from(number), format!(r#""correlation": {}"#, 7 + number));
        replays.push(event("cuda_runtime", "hipGraphLaunch", start, 1.0, &args));
        let args = if has_sizes { format!("{args}, {}", size(rows)) } else { args };
        replays.push(event("kernel", "gemm", start + 20.0, *rows as f64, &args));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let paths = ["capture.json", "replay.json"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], list(&capture)).expect("written");
    std::fs::write(&paths[1], list(&replays)).expect("written");
    Trace::open_with_capture(&paths[1], Some(&paths[0]), &LoadOptions::default()).expect("a trace")
}

#[test]
fn captures_of_one_size_are_joined_by_launch_dimensions() {
    // One of three batches was replayed: its launches have the dimensions of the captured ones.
    let trace = captured_batches(&[8, 16, 32], &[16, 16], true);
    let calls = operator_calls(&trace);
    let found: Vec<(f64, f64)> = calls.iter().map(|call| (call.work.operations, call.kernel_us)).collect();
    assert_eq!(found, [(2.0 * 16.0 * 64.0 * 64.0, 16.0); 2]);
    assert!(trace.notes().is_empty(), "{:?}", trace.notes());
}

#[test]
fn captures_that_nothing_separates_give_operators_but_no_shapes() {
    // No dimensions are recorded, or they are those of none.
    for (replayed, has_sizes) in [([16, 16], false), ([64, 64], true)] {
        let trace = captured_batches(&[8, 16], &replayed, has_sizes);
        assert!(operator_calls(&trace).is_empty());
        let analysis = analyse(&trace, &trace, &AnalysisOptions::default()).expect("an analysis");
        let Document::Plain(plain) = analysis.document else { panic!("another document") };
        assert_eq!(plain.comparison.operations[0].trace1_cpu_op.as_deref(), Some("aten::mm"));
        assert!(trace.notes()[0].starts_with("2 of 2 replays of graphs get no shapes"), "{:?}", trace.notes());
    }
    // Captures that say the same are one.
    assert_eq!(operator_calls(&captured_batches(&[16, 16], &[16], false)).len(), 1);
}

#[test]
fn replays_alone_have_no_operator() {
    let (_, replay) = captured("norm");
    let trace = Trace::from_reader("r.json", Cursor::new(replay), &LoadOptions::default()).expect("a trace");
    let analysis = analyse(&trace, &trace, &AnalysisOptions::default()).expect("an analysis");
    let Document::Plain(plain) = analysis.document else { panic!("another document") };
    assert!(plain.comparison.operations.iter().all(|row| row.trace1_cpu_op.is_none()));
    let roofline = plain.details.roofline.expect("rooflines");
    assert_eq!((roofline.trace1_replayed, roofline.trace1_captured, roofline.operations.len()), (1.0, None, 0));
}

/// A step of a server with two layers, whose kernels are launched by an operator on packed sequences.
fn served(step: &str, kernel: &str) -> Vec<String> {
    let attention = r#""Input Dims": [[8, 4, 16], [8, 2, 16], [8, 2, 16], [8, 4, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"], "Concrete Inputs": []"#;
    let cache = r#""Input Dims": [[8, 2, 16], [8, 2, 16], [90, 16, 2, 16], [90, 16, 2, 16], [8]], "Input type": ["c10::BFloat16", "c10::BFloat16", "unsigned char", "unsigned char", "long int"], "Concrete Inputs": []"#;
    let mut events = vec![event("user_annotation", step, 0.0, 100.0, "")];
    for layer in 0..2_u32 {
        let (start, number) = (f64::from(layer) * 40.0, 2 * layer);
        let launch = |number: u32| format!(r#""correlation": {number}"#);
        events.extend([
            event("cpu_op", "vllm::unified_attention_with_output", start, 30.0, attention),
            event("cpu_op", "_C_cache_ops::reshape_and_cache_flash", start + 1.0, 9.0, cache),
            event("cuda_runtime", "cudaLaunchKernel", start + 5.0, 1.0, &launch(number + 1)),
            event("cuda_runtime", "cudaLaunchKernel", start + 20.0, 1.0, &launch(number + 2)),
            event("kernel", "reshape_and_cache_flash_kernel", start + 25.0, 2.0, &launch(number + 1)),
            event("kernel", kernel, start + 28.0, 10.0, &launch(number + 2)),
        ]);
    }
    events
}

#[test]
fn attention_of_servers_has_the_lengths_of_its_step() {
    let step = "execute_5_context_1(sq3sk5sqsq9sqsk15)_generation_2(sq2sk9sqsq2sqsk9)";
    let causal = "fmhaSm100aKernel_QkvE4m3OBfloat16H16PagedKvCausalP16VarSeqQ128Kv128PersistentContext";
    let windowed = "fmhaSm100aKernel_QkvE4m3OBfloat16H16PagedKvSlidingOrChunkedCausalP16VarSeqQ128Kv128";
    let calls = |step: &str, kernel: &str| operator_calls(&trace("NVIDIA B200", &served(step, kernel)));
    let attention = |step: &str, kernel: &str| {
        let calls = calls(step, kernel);
        let works: Vec<_> =
            calls.iter().filter(|call| call.operator.contains("attention")).map(|call| call.work).collect();
        assert!(works.windows(2).all(|pair| pair[0] == pair[1]));
        works.first().copied()
    };
    let found = attention(step, causal).expect("everything is known");
    assert_eq!(found.operations, 2.0 * 4.0 * 32.0 * (15.0 - 4.5 + 9.0));
    assert_eq!(found.bytes, 5.0 * 6.0 * 32.0 * 2.0 + 9.0 * 2.0 * 32.0);
    // A window, a name that says nothing, a step that says too little.
    assert_eq!(attention(step, windowed), None);
    assert_eq!(attention(step, "kernel_unified_attention_2d"), None);
    assert_eq!(attention("execute_context_1(3)_generation_2(2)", causal), None);
    // The cache was written to in any case: keys and values of eight tokens, read in 16 bits and written in 8.
    let written: Vec<f64> = calls(step, windowed).iter().map(|call| call.work.bytes).collect();
    assert_eq!(written, [8.0 * 2.0 * 32.0 * 3.0; 2]);
}

#[test]
fn whoever_knows_the_model_may_say_that_it_has_no_windows() {
    let step = "step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=90 g_sk=90]";
    let text = list(&served(step, "kernel_unified_attention_2d"));
    let open = |unwindowed| {
        let options = LoadOptions { unwindowed, ..LoadOptions::default() };
        Trace::from_reader("t.json", Cursor::new(text.clone()), &options).expect("a trace")
    };
    let (unknown, known) = (open(false), open(true));
    let found = rooflines(&unknown, &known);
    assert_eq!((found.trace1_unknown_windows, found.trace2_unknown_windows), (2, 0));
    let row = found.operations.iter().find(|row| row.operator == "attention").expect("attention");
    assert_eq!((row.trace1_calls, row.trace2_calls), (0, 2));
    assert_eq!(row.shapes, "2 of 90 tokens, 4/2 heads of 16");
    assert_eq!(row.gflop, 2.0 * 4.0 * 32.0 * 90.0 / 1e9);
}
