//! A finished database, a table of collectives, and a simulator's trace that was predicted from them.

use crate::model::{Call, Noise, formats, gate_nanoseconds, microseconds, shapes};
use std::fmt::Write as _;

pub(crate) const TABLE_HEADER: &str = "OP State,Accelerator Core,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,\
                            Output Formats,Average Duration(us),Profiling Average Duration(us)\n";

pub(crate) fn table_row(text: &mut String, call: &Call, duration: u64) {
    let _ = writeln!(
        text,
        "dynamic,{},{},{},{},{},{},{},{duration},{duration}",
        call.core,
        shapes(&call.input_shapes),
        call.input_types,
        formats(&call.input_types),
        shapes(&call.output_shapes),
        call.output_types,
        formats(&call.output_types),
        duration = microseconds(duration),
    );
}

/// Nine weights at eight numbers of tokens; one shape stands there a second time, as merged databases have it.
pub(crate) fn products() -> String {
    let mut text = TABLE_HEADER.to_owned();
    let mut noise = Noise(13);
    for k in [1024, 2048, 5120] {
        for n in [768, 3200, 5120] {
            for tokens in [1, 8, 16, 64, 256, 512, 1024, 4096] {
                let call = Call::product(tokens, k, n);
                table_row(&mut text, &call, call.nanoseconds * noise.permille(2) / 1000);
            }
        }
    }
    let again = Call::product(16, 5120, 768);
    table_row(&mut text, &again, again.nanoseconds * 1300 / 1000);
    text
}

pub(crate) fn gates() -> String {
    let mut text = TABLE_HEADER.to_owned();
    let mut noise = Noise(17);
    for width in [4096, 6400] {
        for tokens in [1, 16, 64, 256, 1024, 4096] {
            let (inputs, outputs) = (format!("{tokens},{width}"), format!("{tokens},{}", width / 2));
            let call = Call::new("SwiGlu", "AI_VECTOR_CORE", &inputs, &outputs, gate_nanoseconds(tokens, width));
            table_row(&mut text, &call, call.nanoseconds * noise.permille(2) / 1000);
        }
    }
    text
}

/// All-reduces over 16 ranks between pods; the middle one is far off.
pub(crate) fn collectives() -> String {
    let mut text = "message_bytes,num_devices,dtype,topology_tier,Duration(us),bandwidth_gbps\n".to_owned();
    for (bytes, nanoseconds) in
        [(4096, 10_560), (16384, 31_790), (65536, 14_120), (1_048_576, 19_950), (16_777_216, 178_400_u64)]
    {
        let _ = writeln!(
            text,
            "{bytes},16,DT_BF16,1,{},{:.6}",
            microseconds(nanoseconds),
            f64::from(bytes) / nanoseconds as f64
        );
    }
    text
}

/// A trace of the simulator: two layers of products and gates, predicted from [`products`] and [`gates`]. The last product says
/// another time than its table, as a trace does that is older than the database. The process with the number 1 is the analytic
/// model's.
pub(crate) fn trace() -> String {
    let tensor = |shape: &str, kind: &str| {
        let weight =
            if kind == "weight" { ("Parameter containing:\\n", ",\\n       requires_grad=True") } else { ("", "") };
        format!("{}tensor(..., device='meta', size=({shape}), dtype=torch.bfloat16{})", weight.0, weight.1)
    };
    let product = |k: u64, n: u64, us: u64, analytic: u64| {
        let rule = if k == n { "identity" } else { "transpose" };
        let inputs = format!("({}, {})", tensor(&format!("64, {k}"), ""), tensor(&format!("{k}, {n}"), "weight"));
        let args = format!(
            r#""Inputs": "{inputs} kwargs: {{}}", "Output": "{}", "simulation_shapes": "[[64, {k}], [{k}, {n}]]", "source": "MEASURED", "confidence": "1.0", "kernel_type": "MatMulV2", "kernel_shapes": "[[64, {k}], [{n}, {k}]]", "shape_match_rule": "{rule}""#,
            tensor(&format!("64, {n}"), "")
        );
        ("aten.mm.default", args, us, analytic)
    };
    let gate = |us: u64, analytic: u64| {
        let args = format!(
            r#""Inputs": "({},) kwargs: {{}}", "Output": "{}", "simulation_shapes": "[[64, 6400]]", "source": "MEASURED", "confidence": "1.0", "kernel_type": "SwiGlu", "kernel_shapes": "[[64, 6400]]", "shape_match_rule": "identity""#,
            tensor("64, 6400", ""),
            tensor("64, 3200", "")
        );
        ("tensor_cast.swiglu.default", args, us, analytic)
    };
    let layer = [product(5120, 768, 10, 7), product(5120, 5120, 47, 44), gate(4, 2)];
    let mut events = vec![
        r#"{"name": "process_name", "ph": "M", "pid": 0, "args": {"name": "empirical (PID: 0)"}}"#.to_owned(),
        r#"{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": "analytic (PID: 1)"}}"#.to_owned(),
    ];
    let (mut now, mut analytic_now) = (0, 0);
    for (name, args, us, analytic) in layer.iter().chain(&layer).chain([&product(2048, 3200, 19, 12)]) {
        events.push(format!(
            r#"{{"name": "{name}", "cat": "empirical", "ph": "X", "ts": {now}, "dur": {us}, "pid": 0, "tid": 0, "args": {{{args}}}}}"#
        ));
        events.push(format!(
            r#"{{"name": "{name}", "cat": "analytic", "ph": "X", "ts": {analytic_now}, "dur": {analytic}, "pid": 1, "tid": 0, "args": {{"is_compute_bound": "False"}}}}"#
        ));
        now += us;
        analytic_now += analytic;
    }
    format!("{{\"traceEvents\": [\n{}\n]}}\n", events.join(",\n"))
}

pub(crate) const MAPPING: &str = "\
# Operators of the example, and the kernels that they are looked up under.
version: \"1.0\"
device: EXAMPLE_DEVICE
cann_version: \"8.5\"
communication_data_ref: ../hccl/
communication_fallback: analytic

operator_mappings:
  aten.mm.default:
    kernel_type: MatMulV2
  aten.embedding.default:
    kernel_type: GatherV2
  aten.argmax.default:
    kernel_type: ArgMaxV2
  aten.transpose.int:
    zero_cost: true
  tensor_cast.rms_norm.default:
    kernel_type: RmsNorm
  tensor_cast.add_rms_norm2.default:
    kernel_type: AddRmsNormBias
  tensor_cast.reshape_and_cache.default:
    kernel_type: ReshapeAndCacheNdKernel
  tensor_cast.swiglu.default:
    kernel_type: SwiGlu
  tensor_cast.attention.default:
    kernel_type: FusedInferAttentionScore
    query_mode: attention_special
  tensor_cast.all_reduce.default:
    kernel_type: hcom_allReduce_
    category: communication
";
