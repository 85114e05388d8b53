//! Writes the pair of small traces in `testdata/gpu-traces`: one server on two GPUs, made up, always the same bytes.
//!
//! ```text
//! cargo run -p perfdb-tracediff --example write_demo_pair -- testdata/gpu-traces
//! ```

use std::fmt::Write as _;
use std::path::Path;

/// Layers of the model.
const LAYERS: usize = 4;

/// Steps of the server: context tokens, sequences that generate.
const STEPS: [(u32, u32); 5] = [(2048, 0), (0, 8), (0, 8), (512, 8), (0, 9)];

/// One vendor's way through a layer: host operator, kernel, nanoseconds per prefill token, nanoseconds of a decode step.
struct Gpu {
    file: &'static str,
    header: &'static str,
    launch: &'static str,
    graph: &'static str,
    layer: &'static [(&'static str, &'static str, u64, u64)],
    tail: &'static [(&'static str, &'static str, u64, u64)],
    seed: u64,
}

const MI300X: Gpu = Gpu {
    file: "mi300x.json",
    header: r#""deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992, "computeMajor": 9, "computeMinor": 4, "maxThreadsPerBlock": 1024, "warpSize": 64, "sharedMemPerBlock": 65536, "numSms": 304}], "roctracer_version": 4.1"#,
    launch: "hipLaunchKernel",
    graph: "hipGraphLaunch",
    layer: &[
        ("vllm::unified_attention_with_output", "kernel_unified_attention_2d", 260, 31_000),
        ("aten::mm", "Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1_ISA942", 410, 26_000),
        ("aten::rms_norm", "triton_red_fused__to_copy_add_mean_mul_pow_rocm_unquantized_gemm_rsqrt_1", 42, 6_100),
        ("aten::mm", "Cijk_Alik_Bljk_BBS_BH_MT160x256x64_MI16x16x1_ISA942", 760, 41_000),
        ("_C::silu_and_mul", "void vllm::act_and_mul_kernel<c10::BFloat16, true>(c10::BFloat16*, int)", 52, 6_400),
        ("aten::mm", "void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>(int, int)", 510, 22_000),
        ("_C::all_reduce", "void vllm::cross_device_reduce_2stage<__hip_bfloat16, 8>(int)", 150, 19_000),
        (
            "_C_cache_ops::reshape_and_cache_flash",
            "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(int)",
            26,
            4_900,
        ),
    ],
    tail: &[
        ("aten::mm", "Cijk_Alik_Bljk_BBS_BH_MT256x48x64_MI16x16x1_ISA942", 90, 120_000),
        ("aten::argmax", "void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float>>(int)", 20, 24_000),
    ],
    seed: 300,
};

const H100: Gpu = Gpu {
    file: "h100.json",
    header: r#""deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017755648, "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132}], "cupti_version": 26"#,
    launch: "cudaLaunchKernel",
    graph: "cudaGraphLaunch",
    layer: &[
        (
            "vllm::unified_attention_with_output",
            "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(Params)",
            190,
            21_000,
        ),
        ("aten::mm", "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNN", 330, 21_000),
        ("aten::rms_norm", "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1", 28, 3_900),
        ("_C::scaled_fp8_quant", "void vllm::scaled_fp8_quant_kernel<c10::BFloat16>(int)", 11, 2_100),
        ("aten::_scaled_mm", "nvjet_qqtst_320x128_128x4_1x2_h_bz_coopB_TNT", 480, 24_000),
        ("_C::silu_and_mul", "void vllm::act_and_mul_kernel<c10::BFloat16, true>(c10::BFloat16*, int)", 37, 4_600),
        ("aten::mm", "nvjet_tst_192x192_64x3_2x1_v_bz_splitK_TNT", 350, 17_000),
        ("_C::all_reduce", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(int)", 120, 13_000),
        (
            "_C_cache_ops::reshape_and_cache_flash",
            "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(int)",
            19,
            3_300,
        ),
    ],
    tail: &[
        ("aten::mm", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 70, 96_000),
        ("aten::argmax", "void at::native::reduce_kernel<512, 1, at::native::ArgMaxOps<float>>(int)", 16, 19_000),
    ],
    seed: 100,
};

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| "testdata/gpu-traces".into());
    std::fs::create_dir_all(&folder)?;
    for (file, text) in demo_pair() {
        std::fs::write(Path::new(&folder).join(file), text)?;
    }
    Ok(())
}

/// File names and texts of the pair.
pub fn demo_pair() -> [(&'static str, String); 2] {
    [&MI300X, &H100].map(|gpu| (gpu.file, Writer::new(gpu).trace()))
}

/// Writes one trace; times in nanoseconds.
struct Writer<'a> {
    gpu: &'a Gpu,
    events: Vec<String>,
    host: u64,
    device: u64,
    last_id: u64,
    state: u64,
}

impl<'a> Writer<'a> {
    fn new(gpu: &'a Gpu) -> Self {
        Writer { gpu, events: Vec::new(), host: 1_000_000, device: 0, last_id: 100, state: gpu.seed }
    }

    fn trace(mut self) -> String {
        for (context, generation) in STEPS {
            self.step(context, generation);
        }
        format!("{{{}, \"traceEvents\": [\n{}\n]}}\n", self.gpu.header, self.events.join(",\n"))
    }

    /// Eager kernels where prompts are read, one graph otherwise.
    fn step(&mut self, context: u32, generation: u32) {
        let begin = self.host;
        let eager = context > 0;
        let count = (LAYERS * self.gpu.layer.len() + self.gpu.tail.len()) as u64;
        let span = if eager { 40_000 + count * 12_000 } else { 120_000 };
        let main = self.frame("vllm/v1/engine/core.py(282): step", begin, span, None);
        let model =
            self.frame("vllm/model_executor/models/llama.py(584): forward", begin + 4_000, span - 8_000, Some(main));
        let name = format!("execute_context_{}({context})_generation_{generation}({generation})", u32::from(eager));
        self.event("user_annotation", &name, begin + 6_000, span - 12_000, "");
        self.host += 20_000;
        let graph = (!eager).then(|| {
            let replay = self.frame("torch/cuda/graphs.py(91): replay", self.host, 60_000, Some(model));
            self.last_id = replay;
            self.launch(self.gpu.graph, None)
        });
        for layer in 0..=LAYERS {
            let kernels = if layer < LAYERS { self.gpu.layer } else { self.gpu.tail };
            for (operator, kernel, per_token, decode) in kernels {
                let time =
                    if eager { per_token * u64::from(context) + decode * u64::from(generation) / 16 } else { *decode };
                let correlation = graph.unwrap_or_else(|| self.eager_launch(operator, model));
                self.kernel(kernel, time, correlation, graph.is_none());
            }
        }
        self.host = begin + span + 10_000;
    }

    fn eager_launch(&mut self, operator: &str, model: u64) -> u64 {
        self.frame("vllm/model_executor/layers/linear.py(444): forward", self.host, 11_000, Some(model));
        self.last_id += 1;
        let external = self.last_id;
        self.event("cpu_op", operator, self.host + 1_000, 9_000, &format!(r#""External id": {external}"#));
        let correlation = self.launch(self.gpu.launch, Some(external));
        self.host += 12_000;
        correlation
    }

    fn launch(&mut self, name: &str, external: Option<u64>) -> u64 {
        self.last_id += 1;
        let correlation = self.last_id;
        let external = external.map_or_else(String::new, |id| format!(r#", "External id": {id}"#));
        self.event(
            "cuda_runtime",
            name,
            self.host + 3_000,
            4_000,
            &format!(r#""correlation": {correlation}{external}"#),
        );
        correlation
    }

    fn kernel(&mut self, name: &str, time: u64, correlation: u64, eager: bool) {
        // Up to 6 % around the mean, by a linear congruential generator.
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let time = time * (940 + (self.state >> 33) % 121) / 1000;
        self.device = self.device.max(self.host + 9_000) + if eager { 900 } else { 300 };
        let start = self.device;
        self.device += time;
        self.event_at(
            0,
            "kernel",
            name,
            start,
            time,
            &format!(r#""device": 0, "stream": 7, "correlation": {correlation}"#),
        );
    }

    fn frame(&mut self, name: &str, start: u64, time: u64, parent: Option<u64>) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let parent = parent.map_or_else(|| "null".to_owned(), |id| id.to_string());
        self.event(
            "python_function",
            name,
            start,
            time,
            &format!(r#""Python id": {id}, "Python parent id": {parent}"#),
        );
        id
    }

    fn event(&mut self, category: &str, name: &str, start: u64, time: u64, args: &str) {
        self.event_at(4242, category, name, start, time, args);
    }

    fn event_at(&mut self, process: u32, category: &str, name: &str, start: u64, time: u64, args: &str) {
        let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, "tid": {process}, "ts": {}, "dur": {}, "args": {{{args}}}}}"#,
            us(start),
            us(time)
        );
        self.events.push(text);
    }
}
