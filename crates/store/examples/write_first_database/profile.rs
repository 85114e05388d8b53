//! What profilers write of them.

use crate::model::{Call, Noise, formats, microseconds, shapes};
use std::fmt::Write as _;

/// Lengths of the sequences that the decode steps read, one dump per step. The second and third are the same.
pub(crate) const DECODE_LENGTHS: [[u64; 8]; 4] = [
    [257, 120, 98, 311, 64, 205, 180, 77],
    [258, 121, 99, 312, 65, 206, 181, 78],
    [258, 121, 99, 312, 65, 206, 181, 78],
    [514, 242, 198, 624, 130, 412, 362, 156],
];

/// The columns of the hardware counters.
const COUNTERS: &str = "\
    ,aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio\
    ,aic_mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us)\
    ,aic_fixpipe_ratio,aic_icache_miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio\
    ,aiv_scalar_time(us),aiv_scalar_ratio,aiv_mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us)\
    ,aiv_mte3_ratio,aiv_icache_miss_rate,cube_utilization(%)\
\n";

/// Four fifths of the time on the cores that the kernel uses, nothing on the others.
fn counters(call: &Call, nanoseconds: u64) -> String {
    let busy = microseconds(nanoseconds * 4 / 5);
    let cycles = nanoseconds * 4 / 5 * 9 / 5;
    let core = |used: bool, ratios: usize| {
        if used {
            format!("{busy},{cycles}{},0.01", format!(",{busy},0.8").repeat(ratios))
        } else {
            format!("0,0{},0", ",0,0".repeat(ratios))
        }
    };
    let cube = matches!(call.core, "AI_CORE" | "MIX_AIC");
    let vector = matches!(call.core, "AI_VECTOR_CORE" | "MIX_AIC");
    format!("{},{},{}", core(cube, 5), core(vector, 4), if cube { "62.5" } else { "0" })
}

pub(crate) fn kernel_details(calls: &[(usize, Call)]) -> String {
    let mut text =
        "Step Id,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,\
                    Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats"
            .to_owned();
    text.push_str(COUNTERS);
    let mut noise = Noise(7);
    let mut now = 0;
    let mut last_pass = 0;
    for (number, (pass, call)) in calls.iter().enumerate() {
        let wait = if *pass == last_pass { 400 + noise.permille(20) } else { 180_000 };
        last_pass = *pass;
        let duration = call.nanoseconds * noise.permille(4) / 1000;
        // Profilers list a collective twice, on no stream and on that of the hardware.
        let streams: &[&str] = if call.is_collective() { &["N/A", "37"] } else { &["2"] };
        now += wait;
        for stream in streams {
            let _ = writeln!(
                text,
                "{},{stream},{kernel}_{number},{kernel},dynamic,{core},17600000{at:08}.{fraction:03}\t,{duration},{wait},24,{cells}",
                pass + 1,
                kernel = call.kernel,
                core = call.core,
                at = now / 1000,
                fraction = now % 1000,
                duration = microseconds(duration),
                wait = microseconds(wait),
                cells = cells(call, duration),
            );
        }
        now += duration;
    }
    text
}

/// One record per decode step; of the prefill nothing was dumped.
pub(crate) fn attention_records() -> String {
    let record = |lengths: &[u64; 8]| {
        format!(
            "{{\"query_shape\": [8, 4, 128], \"key_shape\": [64, 128, 128], \"value_shape\": [64, 128, 128], \
             \"actual_seq_lengths\": [1, 2, 3, 4, 5, 6, 7, 8], \"actual_seq_lengths_kv\": {lengths:?}, \
             \"atten_mask_shape\": [2048, 2048], \"block_table_shape\": [8, 8], \"block_table_valid_blocks\": null, \
             \"num_heads\": 4, \"num_key_value_heads\": 1, \"sparse_mode\": 3, \"input_layout\": \"TND\", \"block_size\": 128}}\n"
        )
    };
    DECODE_LENGTHS.iter().map(record).collect()
}

/// Shapes, types, formats and counters of a call.
fn cells(call: &Call, duration: u64) -> String {
    [
        shapes(&call.input_shapes).as_str(),
        &call.input_types,
        &formats(&call.input_types),
        &shapes(&call.output_shapes),
        &call.output_types,
        &formats(&call.output_types),
        &counters(call, duration),
    ]
    .join(",")
}

/// Every compute kernel of the profile once, measured alone: three percent faster, down projections a third.
pub(crate) fn op_summary(calls: &[(usize, Call)]) -> String {
    let mut text = "Device_id,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us),\
                    Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats"
        .to_owned();
    text.push_str(COUNTERS);
    let mut noise = Noise(11);
    let mut seen = std::collections::HashSet::new();
    let mut measured: Vec<Call> =
        calls.iter().map(|(_, call)| call.clone()).filter(|call| !call.is_collective()).collect();
    measured.push(Call::product(64, 1024, 768));
    let distinct = measured.iter().filter(|call| seen.insert((call.kernel, call.input_shapes.clone())));
    for (number, call) in distinct.enumerate() {
        let share = if call.input_shapes == "8,2048;1024,2048" { 680 } else { 970 };
        let duration = call.nanoseconds * share / 1000 * noise.permille(1) / 1000;
        let _ = writeln!(
            text,
            "0,2,{kernel}_{number},{kernel},dynamic,{core},17670000{at:08}.000\t,{duration},0.500,{cells}",
            kernel = call.kernel,
            core = call.core,
            at = number * 100,
            duration = microseconds(duration),
            cells = cells(call, duration),
        );
    }
    text
}
