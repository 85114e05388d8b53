//! Forward passes of servers that annotate none.

use perfdb_tracediff::{
    AnalysisOptions, Basis, Boundaries, CompareOptions, Document, LoadOptions, PhaseFilter, Trace, TraceElapsed,
    analyse,
};
use std::io::Cursor;

/// What a made-up server does in a pass.
#[derive(Clone, Copy)]
struct Server {
    layers: u32,
    /// Whether tokens are copied to the host at the end.
    copies: bool,
    /// Whether a graph launches the kernels of a decode pass.
    graphs: bool,
    /// Whether each layer copies something to the host.
    copies_in_layers: bool,
}

const SERVER: Server = Server { layers: 6, copies: true, graphs: true, copies_in_layers: false };

struct Recording {
    events: Vec<String>,
    time: f64,
    correlation: u32,
}

impl Recording {
    fn event(&mut self, category: &str, name: &str, start: f64, length: f64) {
        let correlation = self.correlation;
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "ts": {start}, "dur": {length}, "args": {{"correlation": {correlation}}}}}"#
        ));
    }

    fn run(&mut self, category: &str, name: &str, length: f64) {
        let time = self.time;
        self.event(category, name, time, length);
        self.time += length + 0.5;
    }

    /// Something that one call launches.
    fn launched(&mut self, call: &str, category: &str, name: &str, length: f64) {
        self.correlation += 1;
        let time = self.time;
        self.event("cuda_runtime", call, time - 2.0, 1.0);
        self.run(category, name, length);
    }

    fn pass(&mut self, server: Server, tokens: f64) {
        self.time += 40.0;
        let is_replayed = server.graphs && tokens < 2.0;
        if server.copies {
            self.launched("cudaMemcpyAsync", "gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1.0);
        }
        self.launched("cudaLaunchKernel", "kernel", "triton_poi_fused_embedding_0", 1.0);
        if is_replayed {
            self.correlation += 1;
            let time = self.time;
            self.event("cuda_runtime", "cudaGraphLaunch", time - 2.0, 1.0);
        }
        for _ in 0..server.layers {
            for (name, length) in [("nvjet_tst_qkv", 4.0), ("flash_fwd_splitkv_kernel", 3.0), ("nvjet_tst_mlp", 8.0)] {
                if is_replayed {
                    self.run("kernel", name, length * tokens)
                } else {
                    self.launched("cudaLaunchKernel", "kernel", name, length * tokens)
                }
            }
            if server.copies_in_layers {
                self.launched("cudaMemcpyAsync", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 1.0);
            }
        }
        self.launched("cudaLaunchKernel", "kernel", "void at::native::reduce_kernel<argmax>", 2.0);
        if server.copies {
            self.launched("cudaMemcpyAsync", "gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 1.0);
        }
    }
}

fn events(server: Server, tokens: &[f64]) -> Vec<String> {
    let mut recording = Recording { events: Vec::new(), time: 100.0, correlation: 0 };
    tokens.iter().for_each(|tokens| recording.pass(server, *tokens));
    recording.events
}

fn trace(events: &[String]) -> Trace {
    let text = format!(r#"{{"traceEvents": [{}]}}"#, events.join(","));
    Trace::from_reader("t.json", Cursor::new(text), &LoadOptions::default()).expect("a trace")
}

fn elapsed(trace: &Trace, phase: PhaseFilter) -> (Basis, TraceElapsed) {
    let compare = CompareOptions { phase, ..CompareOptions::default() };
    let options = AnalysisOptions { compare, ..AnalysisOptions::default() };
    match analyse(trace, trace, &options).expect("an analysis").document {
        Document::Plain(plain) => {
            let elapsed = plain.details.elapsed.expect("elapsed times").elapsed;
            (elapsed.basis, elapsed.trace1)
        }
        other => panic!("another document: {other:?}"),
    }
}

#[test]
fn a_prefill_and_its_decode_passes_are_told_apart() {
    let trace = trace(&events(SERVER, &[5.0, 1.0, 1.0, 1.0, 1.0]));
    let (basis, found) = elapsed(&trace, PhaseFilter::All);
    assert_eq!((basis, found.passes, found.boundaries), (Basis::Pass, 5, Boundaries::Repetition));
    let how = found.found_passes.expect("they were found");
    assert_eq!((how.by, how.certainty), ("copy_to_host", "certain"));
    assert_eq!((how.passes, how.prefill, how.decode, how.alike, how.layers), (5, 1, 4, 5, 6));
    let phases: Vec<_> = found.phases.iter().map(|phase| (phase.phase, phase.passes)).collect();
    assert_eq!(phases, [("decode", 4), ("prefill", 1)]);
    let (_, decode) = elapsed(&trace, PhaseFilter::Decode);
    assert_eq!((decode.passes, decode.windows.len()), (4, 4));
    // Of a decode pass: 21 kernels, two copies, and all gaps.
    assert!((decode.median_pass_ms.expect("four passes") - 0.146).abs() < 1e-6, "{:?}", decode.median_pass_ms);
}

#[test]
fn gaps_separate_passes_without_copies() {
    let server = Server { copies: false, ..SERVER };
    let (basis, found) = elapsed(&trace(&events(server, &[5.0, 1.0, 1.0, 1.0, 1.0])), PhaseFilter::All);
    assert_eq!((basis, found.passes), (Basis::Pass, 5));
    let how = found.found_passes.expect("they were found");
    assert_eq!((how.by, how.prefill, how.decode), ("repetition", 1, 4));
    let last = found.windows.last().expect("five windows");
    assert!((last.elapsed_ms - 0.1025).abs() < 1e-6, "{last:?}");
}

#[test]
fn a_pass_that_the_trace_cuts_is_left_out() {
    let all = events(SERVER, &[1.0; 6]);
    // From the middle of the first pass on.
    let (_, found) = elapsed(&trace(&all[14..]), PhaseFilter::All);
    assert_eq!((found.passes, found.left_out_passes), (5, 1));
    // To the middle of the last one.
    let (_, found) = elapsed(&trace(&all[..all.len() - 14]), PhaseFilter::All);
    assert_eq!((found.passes, found.left_out_passes), (5, 1));
}

#[test]
fn layers_are_no_passes() {
    let per_layer = Server { layers: 24, copies_in_layers: true, ..SERVER };
    for (server, passes) in [(per_layer, 1), (Server { layers: 40, ..SERVER }, 1), (SERVER, 2)] {
        let (basis, found) = elapsed(&trace(&events(server, &vec![1.0; passes])), PhaseFilter::All);
        assert_eq!((basis, found.boundaries), (Basis::Whole, Boundaries::Whole));
        assert_eq!(found.found_passes, None);
    }
}

#[test]
fn without_prompts_or_graphs_phases_are_unknown() {
    let server = Server { graphs: false, ..SERVER };
    let (basis, found) = elapsed(&trace(&events(server, &[1.0; 4])), PhaseFilter::All);
    let how = found.found_passes.expect("they were found");
    assert_eq!((basis, how.passes, how.prefill, how.decode), (Basis::Pass, 4, 0, 0));
}
