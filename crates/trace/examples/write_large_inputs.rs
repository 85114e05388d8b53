//! Writes inputs of any size for benchmarks: a simulator's trace, and the CSV of a measured forward pass.
//!
//! ```sh
//! cargo run --release -p perfdb-trace --example write_large_inputs -- trace.json 672000 profile.csv 672000
//! ```
//!
//! Events and rows are streamed to disk, so memory stays small. The same counts always give the same bytes. Nothing in the
//! files was measured: the layers are those of a mixture-of-experts model in decode, the times are noise around plausible
//! ones. As in real files most of the trace is descriptions that the comparison tools do not use, composite operators carry
//! the times of their parts, and collectives are listed twice in the CSV.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Operator, kernel types, time in nanoseconds, shapes of the inputs.
type Operator = (&'static str, &'static [&'static str], u64, &'static str);

/// One layer.
const LAYER: [Operator; 11] = [
    (
        "tensor_cast.mlapo_quant.default",
        &["QuantBatchMatmulV3", "RmsNorm", "QuantBatchMatmulV3", "KvRmsNormRopeCache", "InterleaveRope"],
        48_900,
        "[[1, 8, 7168], [7168, 2112]]",
    ),
    ("aten.transpose.int", &[], 0, "[[1, 8, 16, 512]]"),
    ("tensor_cast.concat_and_cache_mla.default", &["accepted_miss"], 0, "[[8, 512], [8, 64]]"),
    (
        "tensor_cast.multihead_latent_attention_quant.default",
        &["BatchMatMulNd", "FusedInferAttentionScore", "TransposeBatchMatMul"],
        77_800,
        "[[8, 16, 576], [8, 1, 576]]",
    ),
    ("tensor_cast.quantize.default", &["AscendQuantV2"], 3_300, "[[8, 2048]]"),
    (
        "tensor_cast.static_quant_linear_all_reduce.default",
        &["QuantBatchMatmulV3", "hcom_allReduce_"],
        31_100,
        "[[8, 2048], [2048, 7168]]",
    ),
    ("tensor_cast.add_rms_norm_quant2.default", &["AddRmsNormDynamicQuant"], 6_800, "[[8, 7168], [8, 7168], [7168]]"),
    ("tensor_cast.moe_gating_top_k_softmax.default", &["MoeGatingTopK"], 6_100, "[[8, 256]]"),
    ("tensor_cast.dispatch_ffn_combine_quant.default", &["DispatchFFNCombine"], 301_000, "[[1, 8, 7168], [8, 8]]"),
    ("aten.index.Tensor", &["?"], 3_000, "[[163840, 64], [8]]"),
    ("aten.add.Tensor", &["AddAiCore"], 3_000, "[[8, 7168], [8, 7168]]"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let usage = "write_large_inputs TRACE EVENTS [CSV ROWS]";
    let [trace, events, rest @ ..] = arguments.as_slice() else { return Err(usage.into()) };
    write_trace(&mut BufWriter::with_capacity(1 << 20, File::create(trace)?), events.parse()?)?;
    match rest {
        [] => Ok(()),
        [csv, rows] => Ok(write_csv(&mut BufWriter::with_capacity(1 << 20, File::create(csv)?), rows.parse()?)?),
        _ => Err(usage.into()),
    }
}

/// A small deterministic generator (SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// `value`, up to three percent more or less.
    fn around(&mut self, value: u64) -> u64 {
        value * (970 + self.next() % 61) / 1000
    }
}

fn write_trace(out: &mut impl Write, events: u64) -> io::Result<()> {
    let mut noise = Noise(1);
    let mut now_us = 0;
    write!(
        out,
        r#"{{"traceEvents": [{{"name": "process_name", "ph": "M", "pid": 0, "args": {{"name": "empirical (PID: 0)"}}}}"#
    )?;
    for number in 0..events {
        let (operator, kernels, time_ns, shapes) = &LAYER[(number % LAYER.len() as u64) as usize];
        let time_ns = noise.around(*time_ns);
        let dur = (time_ns + 500) / 1000;
        let tensors = format!("tensor(..., device='meta', size={shapes}, dtype=torch.bfloat16)");
        let mut args = format!(
            r#""Inputs": "({tensors}, {tensors}) kwargs: {{}}", "Output": "{tensors}", "simulation_shapes": "{shapes}""#
        );
        // Writing to a String cannot fail.
        let _ = match kernels {
            ["?"] => write!(args, r#", "memory_access_time_s": "1.2e-06", "shape_match_rule": "analytic""#),
            [] => {
                write!(args, r#", "source": "MEASURED", "confidence": "1.0", "kernel_type": "", "zero_cost": "True""#)
            }
            [kernel] => write!(
                args,
                r#", "source": "{}", "confidence": "0.9", "kernel_type": "{kernel}", "kernel_shapes": "{shapes}", "shape_match_rule": "exact""#,
                if number / 11 % 7 == 3 { "INTERPOLATED" } else { "MEASURED" }
            ),
            parts => {
                let time = time_ns / parts.len() as u64 / 10;
                let times: Vec<String> =
                    parts.iter().map(|part| format!("('{part}', {}.{:02})", time / 100, time % 100)).collect();
                let texts: Vec<String> = parts
                    .iter()
                    .map(|part| format!(r#"{{\"kernel_type\": \"{part}\", \"kernel_shapes\": \"[]\"}}"#))
                    .collect();
                write!(
                    args,
                    r#", "source": "MEASURED", "confidence": "0.8", "kernel_type": "{}", "composite": "True", "sub_kernel_shapes": "[{}]", "sub_kernel_durations": "[{}]""#,
                    parts.join(","),
                    texts.join(", "),
                    times.join(", ")
                )
            }
        };
        write!(
            out,
            r#", {{"name": "{operator}", "cat": "empirical", "ph": "X", "ts": {now_us}, "dur": {dur}, "pid": 0, "tid": 0, "args": {{{args}}}}}"#
        )?;
        now_us += dur;
    }
    write!(out, "]}}")?;
    out.flush()
}

fn write_csv(out: &mut impl Write, rows: u64) -> io::Result<()> {
    let mut noise = Noise(2);
    let mut now_ns = 1_742_968_801_234_567_120u64;
    out.write_all(
        b"Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Mix Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats\r\n",
    )?;
    let kernels: Vec<(&str, u64, &str)> = LAYER
        .iter()
        .flat_map(|(_, kernels, time_ns, shapes)| {
            kernels.iter().map(move |kernel| (*kernel, time_ns / kernels.len() as u64, *shapes))
        })
        .filter(|(kernel, ..)| !["?", "accepted_miss"].contains(kernel))
        .collect();
    let mut written = 0;
    for (kernel, time_ns, shapes) in kernels.iter().cycle() {
        let time_ns = noise.around(*time_ns);
        let collective = kernel.starts_with("hcom_");
        for stream in if collective { &["N/A", "37"][..] } else { &["2"] } {
            if written == rows {
                return out.flush();
            }
            written += 1;
            let (core, shapes) = if collective { ("HCCL", String::new()) } else { ("AI_CORE", cell(shapes)) };
            write!(
                out,
                "1,4294967295,{written},{stream},{kernel}_op{written},{kernel},dynamic,{core},{}.{:03}\t,{}.{:03},0.731,24,0,{shapes},DT_BF16;DT_BF16,ND;ND,{shapes},DT_BF16,ND\r\n",
                now_ns / 1000,
                now_ns % 1000,
                time_ns / 1000,
                time_ns % 1000
            )?;
        }
        now_ns += time_ns + 900;
    }
    out.flush()
}

/// `[[8, 2048], [2048, 7168]]` as a cell: `"""8,2048;2048,7168"""`.
fn cell(shapes: &str) -> String {
    format!("\"\"\"{}\"\"\"", shapes.replace("], [", ";").replace(['[', ']', ' '], ""))
}
