//! Traces of servers that annotate nothing: passes, phases and kinds of collectives, in one trace and in two.
//!
//! The servers run as vLLM does: a prompt is launched kernel by kernel, a decode pass is a graph per piece with attention between the
//! pieces, ranks gather logits once per pass, and sampled tokens are copied to the host.

use std::io::Cursor;

use perfdb_tracediff::{
    AnalysisOptions, CompareOptions, Document, FoundPasses, LoadOptions, PhaseFilter, PlainDocument, Selection, Trace,
    analyse, explain,
};

const LAYERS: u32 = 6;

/// Whose kernels a server runs.
#[derive(Clone, Copy, PartialEq)]
enum Vendor {
    Nvidia,
    /// Its library of collectives runs one kernel for all kinds.
    Amd,
}

/// A pass of a server.
#[derive(Clone, Copy)]
enum Pass {
    /// Reads prompts, which take this many times as long as one token per sequence.
    Prompts(f64),
    /// Generates a token per sequence, as graphs.
    Tokens,
    /// Likewise, kernel by kernel.
    Eager,
}

use Pass::{Eager, Prompts, Tokens};

struct Server {
    vendor: Vendor,
    events: Vec<String>,
    time: f64,
    id: u32,
    /// Of the last operator.
    external: u32,
}

impl Server {
    fn event(&mut self, category: &str, name: &str, start: f64, length: f64, args: &str) {
        self.events.push(format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": 1, "ts": {start}, "dur": {length}, "args": {{{args}}}}}"#
        ));
    }

    fn on_device(&mut self, category: &str, name: &str, length: f64) {
        let (start, id, external) = (self.time, self.id, self.external);
        let operator = if external == id { format!(r#", "External id": {id}"#) } else { String::new() };
        let args = format!(r#""correlation": {id}, "device": 0, "stream": 7{operator}"#);
        self.event(category, name, start, length, &args);
        self.time += length + 0.5;
    }

    /// What one call launches, for an operator.
    fn launched(&mut self, operator: &str, category: &str, name: &str, length: f64) {
        self.id += 1;
        let (id, start) = (self.id, self.time - 6.0);
        let call = match (self.vendor, category) {
            (Vendor::Nvidia, "kernel") => "cudaLaunchKernel",
            (Vendor::Nvidia, _) => "cudaMemcpyAsync",
            (Vendor::Amd, "kernel") => "hipLaunchKernel",
            (Vendor::Amd, _) => "hipMemcpyAsync",
        };
        self.external = id;
        self.event("cpu_op", operator, start, 4.0, &format!(r#""External id": {id}"#));
        self.event("cuda_runtime", call, start + 1.0, 1.0, &format!(r#""correlation": {id}, "External id": {id}"#));
        self.on_device(category, name, length);
    }

    /// What a graph holds.
    fn graph(&mut self, kernels: &[(&str, f64)]) {
        self.id += 1;
        let (id, start) = (self.id, self.time - 4.0);
        let call = if self.vendor == Vendor::Nvidia { "cudaGraphLaunch" } else { "hipGraphLaunch" };
        self.event("cuda_runtime", call, start, 2.0, &format!(r#""correlation": {id}"#));
        kernels.iter().for_each(|(name, length)| self.on_device("kernel", name, *length));
    }

    fn collective(&mut self, operator: &str, own: &str, length: f64) {
        let name =
            if self.vendor == Vendor::Nvidia { own } else { "ncclDevKernel_Generic_2(ncclDevKernelArgsStorage)" };
        self.launched(operator, "kernel", name, length);
    }

    fn attention(&mut self, is_prompt: bool, length: f64) {
        let nvidia = self.vendor == Vendor::Nvidia;
        if is_prompt && !nvidia {
            self.launched("vllm::unified_attention_with_output", "kernel", "_fwd_kernel", length);
        }
        let name = if nvidia { "flash_fwd_kernel" } else { "paged_attention_ll4mi_QKV_mfma16_kernel" };
        self.launched("vllm::unified_attention_with_output", "kernel", name, length);
        if !is_prompt && nvidia {
            self.launched("vllm::unified_attention_with_output", "kernel", "flash_fwd_combine_kernel", 1.0);
        }
    }

    fn pass(&mut self, pass: Pass) {
        self.time += 60.0;
        self.launched("aten::to", "gpu_memcpy", "Memcpy HtoD (Host -> Device)", 1.0);
        let (qkv, mlp) = match self.vendor {
            Vendor::Nvidia => ("nvjet_tst_qkv", "nvjet_tst_mlp"),
            Vendor::Amd => ("Cijk_Alik_Bljk_BBS_BH_MT64x16", "Cijk_Alik_Bljk_BBS_BH_MT192x16"),
        };
        let reduce = "void vllm::cross_device_reduce_1stage<half>";
        match pass {
            Prompts(_) | Eager => {
                let times = if let Prompts(times) = pass { times } else { 1.0 };
                self.launched("embed", "kernel", "triton_poi_fused_add_all_reduce_embedding_0", 1.0);
                for _ in 0..LAYERS {
                    self.launched("aten::mm", "kernel", qkv, 4.0 * times);
                    self.attention(true, 3.0 * times);
                    for _ in 0..2 {
                        self.launched("aten::mm", "kernel", mlp, 8.0 * times);
                        self.collective("vllm::all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 3.0 * times);
                    }
                }
            }
            Tokens => {
                self.graph(&[(qkv, 4.0)]);
                for layer in 1..=LAYERS {
                    self.attention(false, 3.0);
                    let next = if layer < LAYERS { (qkv, 4.0) } else { ("rms_norm_kernel", 1.0) };
                    self.graph(&[(mlp, 8.0), (reduce, 2.0), (mlp, 8.0), (reduce, 2.0), next]);
                }
            }
        }
        self.launched("aten::mm", "kernel", mlp, 8.0);
        self.collective("c10d::_allgather_base_", "ncclDevKernel_AllGather_RING_LL", 3.0);
        self.launched("aten::argmax", "kernel", "void at::native::reduce_kernel<512, ArgMaxOps>", 2.0);
        self.launched("aten::to", "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 1.0);
    }
}

impl Server {
    fn run(vendor: Vendor, passes: &[Pass]) -> Server {
        let mut server = Server { vendor, events: Vec::new(), time: 1000.0, id: 0, external: 0 };
        passes.iter().for_each(|pass| server.pass(*pass));
        server
    }

    fn text(&self) -> String {
        let device = if self.vendor == Vendor::Nvidia { "NVIDIA H100 80GB HBM3" } else { "AMD Instinct MI300X" };
        let events = self.events.join(",");
        format!(r#"{{"deviceProperties": [{{"id": 0, "name": "{device}"}}], "traceEvents": [{events}]}}"#)
    }
}

fn trace(vendor: Vendor, passes: &[Pass], options: &LoadOptions) -> Trace {
    Trace::from_reader("t.json", Cursor::new(Server::run(vendor, passes).text()), options).expect("a trace")
}

/// Collectives of which the trace check says that they wait for other ranks.
fn waiting(server: &Server) -> Option<u64> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.json");
    std::fs::write(&path, server.text()).expect("written");
    let report = perfdb_doctor::check(&path, &perfdb_doctor::Options::default()).expect("a report");
    let finding = report.finding(perfdb_doctor::Code::WaitingCollectives)?;
    finding.evidence.as_map().get("collectives").and_then(serde_json::Value::as_u64)
}

fn compared(trace1: &Trace, trace2: &Trace, phase: PhaseFilter) -> PlainDocument {
    let compare = CompareOptions { phase, ..CompareOptions::default() };
    let options = AnalysisOptions { compare, ..AnalysisOptions::default() };
    match analyse(trace1, trace2, &options).expect("an analysis").document {
        Document::Plain(plain) => *plain,
        other => panic!("another document: {other:?}"),
    }
}

fn found(vendor: Vendor, passes: &[Pass]) -> Option<FoundPasses> {
    let trace = trace(vendor, passes, &LoadOptions::default());
    trace.elapsed().expect("times").found_passes
}

fn one_prompt_and_nine_tokens() -> Vec<Pass> {
    [vec![Prompts(8.0)], vec![Tokens; 9]].concat()
}

#[test]
fn one_prompt_and_nine_tokens_are_ten_passes_of_either_vendor() {
    for vendor in [Vendor::Nvidia, Vendor::Amd] {
        let found = found(vendor, &one_prompt_and_nine_tokens()).expect("passes");
        assert_eq!((found.by, found.certainty), ("copy_to_host", "certain"));
        assert_eq!((found.passes, found.prefill, found.decode, found.alike), (10, 1, 9, 9));
        assert_eq!(found.layers, u64::from(LAYERS));
    }
}

#[test]
fn two_servers_are_compared_pass_by_pass_and_collective_by_collective() {
    let options = LoadOptions { collective_kinds: true, ..LoadOptions::default() };
    let passes = one_prompt_and_nine_tokens();
    let [one, other] = [Vendor::Nvidia, Vendor::Amd].map(|vendor| trace(vendor, &passes, &options));
    let plain = compared(&one, &other, PhaseFilter::All);
    let elapsed = plain.details.elapsed.as_ref().expect("times");
    assert_eq!((elapsed.elapsed.trace1.passes, elapsed.elapsed.trace2.passes), (10, 10));
    let calls = |class: &str| {
        let rows = &plain.comparison.operations;
        let row = rows.iter().find(|row| row.operation == class).expect(class);
        (row.trace1_count, row.trace2_count)
    };
    let sums = u64::from(2 * LAYERS * 10);
    assert_eq!(calls("All-Reduce"), (sums, sums));
    assert_eq!(calls("All-Gather"), (10, 10));
    assert!(plain.comparison.operations.iter().all(|row| row.operation != "Communication"));
    let decode = compared(&one, &other, PhaseFilter::Decode);
    assert_eq!(decode.details.elapsed.expect("times").elapsed.trace2.windows.len(), 9);
}

#[test]
fn one_trace_names_the_passes_and_the_collectives_of_the_host() {
    let alone = |repeated_passes| {
        let options = LoadOptions { alone: true, repeated_passes, ..LoadOptions::default() };
        trace(Vendor::Amd, &one_prompt_and_nine_tokens(), &options)
    };
    let selection = |phase| Selection { phase, ..Selection::default() };
    // Without a wish it is the whole trace, which says what there is.
    let whole = explain(&alone(false), &selection(PhaseFilter::All)).expect("a report");
    let found = whole.found_passes.as_ref().expect("passes");
    assert_eq!((whole.step_count, found.prefill, found.decode), (0, 1, 9));
    let row = whole.classes.iter().find(|row| row.class == "Communication").expect("collectives");
    let kinds: Vec<_> = row.collectives.iter().map(|kind| (kind.class, kind.kernels)).collect();
    assert_eq!(kinds, [("All-Reduce", u64::from(2 * LAYERS)), ("All-Gather", 10)]);
    let time: f64 = row.collectives.iter().map(|kind| kind.total_ms).sum();
    assert!((time - row.total_ms).abs() < 1e-9, "{time} {}", row.total_ms);
    // Layers are those of a pass, and their time is that of one.
    let layers = whole.layers.as_ref().expect("layers");
    assert_eq!((layers.count, layers.runs), (LAYERS.into(), LAYERS.into()));
    let sum = layers.per_layer_ms * f64::from(LAYERS * 10) + layers.between_layers_ms;
    assert!((sum - whole.kernel_ms).abs() < 1e-9, "{sum} {}", whole.kernel_ms);
    // Asked for, passes are steps, and add up to the whole.
    let trace = alone(true);
    let all = explain(&trace, &selection(PhaseFilter::All)).expect("a report");
    assert_eq!((all.step_count, all.kernel_count), (10, whole.kernel_count));
    assert!((all.elapsed_ms - whole.elapsed_ms).abs() < 1e-9);
    let decode = explain(&trace, &selection(PhaseFilter::Decode)).expect("a report");
    assert_eq!(decode.step_count, 9);
    let row = decode.classes.iter().find(|row| row.class == "Communication").expect("collectives");
    assert_eq!(row.collectives.len(), 1);
    assert_eq!((row.collectives[0].class, row.collectives[0].kernels), ("All-Gather", 9));
}

#[test]
fn prompts_are_told_from_tokens_in_any_order_and_number() {
    let several = |counts: &[(Pass, usize)]| -> Vec<Pass> {
        counts.iter().flat_map(|(pass, count)| vec![*pass; *count]).collect()
    };
    let cases = [
        ("two prompts first", several(&[(Prompts(8.0), 2), (Tokens, 6)])),
        ("a second prompt later", several(&[(Prompts(8.0), 1), (Tokens, 4), (Prompts(5.0), 1), (Tokens, 4)])),
        ("chunks of a prompt, the last one short", several(&[(Prompts(9.0), 3), (Prompts(3.0), 1), (Tokens, 6)])),
        ("prompts of any length", several(&[(Prompts(4.0), 1), (Tokens, 3), (Prompts(12.0), 1), (Tokens, 3)])),
        ("more prompts than tokens", several(&[(Prompts(8.0), 6), (Tokens, 3)])),
    ];
    for (case, passes) in cases {
        for vendor in [Vendor::Nvidia, Vendor::Amd] {
            let prompts = passes.iter().filter(|pass| matches!(pass, Prompts(_))).count();
            let found = found(vendor, &passes).unwrap_or_else(|| panic!("no passes: {case}"));
            let expected = (passes.len() as u64, prompts as u64, (passes.len() - prompts) as u64);
            assert_eq!((found.passes, found.prefill, found.decode), expected, "{case}");
        }
    }
}

#[test]
fn prompts_alone_have_no_phase() {
    let found = found(Vendor::Nvidia, &[Prompts(8.0); 4]).expect("passes");
    assert_eq!((found.passes, found.prefill, found.decode), (4, 0, 0));
}

#[test]
fn larger_messages_and_other_collectives_do_not_wait() {
    for vendor in [Vendor::Nvidia, Vendor::Amd] {
        // All-reduces of a prompt take thirty times as long as gathering logits, or those of single tokens.
        for tokens in [Tokens, Eager] {
            let passes = [vec![tokens; 4], vec![Prompts(30.0)], vec![tokens; 5]].concat();
            assert_eq!(waiting(&Server::run(vendor, &passes)), None);
        }
    }
}

#[test]
fn a_collective_that_waits_is_found_without_sizes() {
    for vendor in [Vendor::Nvidia, Vendor::Amd] {
        let mut server = Server::run(vendor, &[Eager; 4]);
        server.collective("vllm::all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 400.0);
        (0..4).for_each(|_| server.pass(Eager));
        assert_eq!(waiting(&server), Some(1));
    }
}
