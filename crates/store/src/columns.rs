//! Names of the columns of a compute table, in canonical order.

/// The columns that describe a case.
pub const BASE: [&str; 8] = joined(&[&["OP State", "Accelerator Core"], &TENSORS]);
/// The columns that describe arguments and results.
pub const TENSORS: [&str; 6] = [INPUT_SHAPES, INPUT_TYPES, INPUT_FORMATS, OUTPUT_SHAPES, OUTPUT_TYPES, OUTPUT_FORMATS];

/// Groups of columns, one after another.
pub const fn joined<const N: usize>(groups: &[&[&'static str]]) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut group, mut end) = (0, 0);
    while group < groups.len() {
        let mut at = 0;
        while at < groups[group].len() {
            names[end] = groups[group][at];
            (at, end) = (at + 1, end + 1);
        }
        group += 1;
    }
    assert!(end == N, "as many names as the groups have");
    names
}

/// Positions of columns in [`BASE`].
pub mod base {
    /// `Accelerator Core`; in a profile the task type stands there.
    pub const CORE: usize = 1;
    /// [`INPUT_SHAPES`](super::INPUT_SHAPES).
    pub const INPUT_SHAPES: usize = 2;
    /// [`INPUT_TYPES`](super::INPUT_TYPES).
    pub const INPUT_TYPES: usize = 3;
    /// [`INPUT_FORMATS`](super::INPUT_FORMATS).
    pub const INPUT_FORMATS: usize = 4;
    /// [`OUTPUT_SHAPES`](super::OUTPUT_SHAPES).
    pub const OUTPUT_SHAPES: usize = 5;
    /// [`OUTPUT_TYPES`](super::OUTPUT_TYPES).
    pub const OUTPUT_TYPES: usize = 6;

    // A position that does not fit its name does not compile.
    const _: () = {
        const fn is_at(position: usize, name: &str) -> bool {
            let (found, name) = (super::BASE[position].as_bytes(), name.as_bytes());
            let mut at = 0;
            while at < name.len() {
                if at >= found.len() || found[at] != name[at] {
                    return false;
                }
                at += 1;
            }
            found.len() == name.len()
        }
        assert!(is_at(CORE, "Accelerator Core"));
        assert!(is_at(INPUT_SHAPES, super::INPUT_SHAPES) && is_at(OUTPUT_SHAPES, super::OUTPUT_SHAPES));
        assert!(is_at(INPUT_TYPES, super::INPUT_TYPES) && is_at(OUTPUT_TYPES, super::OUTPUT_TYPES));
        assert!(is_at(INPUT_FORMATS, super::INPUT_FORMATS));
    };
}

/// Shapes of the arguments.
pub const INPUT_SHAPES: &str = "Input Shapes";
/// Data types of the arguments.
pub const INPUT_TYPES: &str = "Input Data Types";
/// Formats of the arguments.
pub const INPUT_FORMATS: &str = "Input Formats";
/// Shapes of the results.
pub const OUTPUT_SHAPES: &str = "Output Shapes";
/// Data types of the results.
pub const OUTPUT_TYPES: &str = "Output Data Types";
/// Formats of the results.
pub const OUTPUT_FORMATS: &str = "Output Formats";

/// The measured duration: the minimum over replays. The name is historical.
pub const MEASURED_DURATION: &str = "Average Duration(us)";
/// What older files call the measured duration.
pub const OLD_MEASURED_DURATION: &str = "MicroBench Duration(us)";
/// Columns that old files have and that a rewrite drops.
pub(crate) const OBSOLETE: [&str; 2] = ["MicroBench Task Duration(us)", "MicroBench Kernel Duration(us)"];
/// The profiled mean.
pub const PROFILED_DURATION: &str = "Profiling Average Duration(us)";
/// Mean, median and standard deviation of the profiled durations.
pub const PROFILED: [&str; 3] = [PROFILED_DURATION, "Profiling Median Duration(us)", "Profiling Std Duration(us)"];
/// The duration of a communication table.
pub const COMMUNICATION_DURATION: &str = "Duration(us)";
/// The columns that may hold a row's duration, those that count first in front.
pub const DURATIONS: [&str; 3] = [MEASURED_DURATION, PROFILED_DURATION, COMMUNICATION_DURATION];
/// Expert-parallel size of a measurement of [`DISPATCH_FFN_COMBINE`](crate::kernel::DISPATCH_FFN_COMBINE), part of its identity.
pub const EP_SIZE: &str = "EP Size";
/// Where a row's duration comes from, in databases that were scaled to measured rows: `measured`, or [`CALIBRATED`].
pub const DURATION_SOURCE: &str = "Duration Source";
/// The mark of a row whose duration was scaled to others, and not measured.
pub const CALIBRATED: &str = "calibrated";

/// The columns of a communication table.
pub const COMMUNICATION: [&str; 6] =
    ["message_bytes", "num_devices", "dtype", "topology_tier", COMMUNICATION_DURATION, "bandwidth_gbps"];

/// The hardware counters of a profile.
pub const METRICS: [&str; 25] = [
    "aicore_time(us)",
    "aic_total_cycles",
    "aic_mac_time(us)",
    "aic_mac_ratio",
    "aic_scalar_time(us)",
    "aic_scalar_ratio",
    "aic_mte1_time(us)",
    "aic_mte1_ratio",
    "aic_mte2_time(us)",
    "aic_mte2_ratio",
    "aic_fixpipe_time(us)",
    "aic_fixpipe_ratio",
    "aic_icache_miss_rate",
    "aiv_time(us)",
    "aiv_total_cycles",
    "aiv_vec_time(us)",
    "aiv_vec_ratio",
    "aiv_scalar_time(us)",
    "aiv_scalar_ratio",
    "aiv_mte2_time(us)",
    "aiv_mte2_ratio",
    "aiv_mte3_time(us)",
    "aiv_mte3_ratio",
    "aiv_icache_miss_rate",
    "cube_utilization(%)",
];

/// The column that holds a metric's mean over replays.
pub(crate) fn measured_metric(metric: &str) -> String {
    format!("MicroBench {metric}")
}

/// The column that holds a metric's mean over a profile.
pub(crate) fn profiled_metric(metric: &str) -> String {
    format!("Profiling Average {metric}")
}

/// The profile that runtime values are from.
pub const RUNTIME_SOURCE: &str = "Runtime source_profile";
/// Lengths of the sequences of an attention call.
pub const RUNTIME_LENGTHS: [&str; 5] = [
    "Runtime actual_seq_lengths_shape",
    "Runtime actual_seq_lengths_values",
    "Runtime actual_seq_lengths_kv_shape",
    "Runtime actual_seq_lengths_kv_values",
    "Runtime avg_seq_len",
];
/// Shape of the table of cache blocks.
pub const RUNTIME_BLOCK_TABLE: &str = "Runtime block_table_shape";
/// Blocks of the cache that are in use.
pub const RUNTIME_VALID_BLOCKS: &str = "Runtime block_table_valid_blocks";
/// Settings of an attention call.
pub const RUNTIME_SETTINGS: [&str; 5] = [
    "Runtime num_heads",
    "Runtime num_key_value_heads",
    "Runtime sparse_mode",
    "Runtime input_layout",
    "Runtime block_size",
];
/// Whether a row has all runtime values.
pub const RUNTIME_COMPLETENESS: &str = "Runtime metadata_completeness";
/// The shapes that the operator of a replayed kernel is called with.
pub const RUNTIME_OPERATOR_SHAPES: &str = "Runtime operator_input_shapes_raw";
/// Runtime values of attention rows, in canonical order.
pub(crate) const RUNTIME: [&str; 16] = joined(&[
    &[RUNTIME_SOURCE],
    &RUNTIME_LENGTHS,
    &[RUNTIME_BLOCK_TABLE, RUNTIME_VALID_BLOCKS],
    &RUNTIME_SETTINGS,
    &["Runtime attn_state", "Runtime kv_cache_mode", RUNTIME_COMPLETENESS],
]);

/// Columns whose name contains one of these are measurements.
const MEASUREMENTS: [&str; 7] = ["duration", "latency", "time", "cycles", "ratio", "miss", "utilization"];

/// Whether the cells of a column are measured: a new row has none there.
pub fn is_measurement(name: &str) -> bool {
    let lower = name.to_lowercase();
    !name.starts_with("Runtime ") && MEASUREMENTS.iter().any(|word| lower.contains(word))
}

/// The columns of a table that start-microbench makes.
pub fn full_schema() -> Vec<String> {
    let mut columns: Vec<String> = BASE.map(str::to_owned).into();
    columns.push(MEASURED_DURATION.to_owned());
    columns.extend(PROFILED.map(str::to_owned));
    columns.extend(METRICS.iter().flat_map(|metric| [measured_metric(metric), profiled_metric(metric)]));
    columns
}

/// The columns of a table that parse-kernel-details makes.
pub(crate) fn parsed_schema() -> Vec<String> {
    let mut columns: Vec<String> = BASE.map(str::to_owned).into();
    columns.extend(PROFILED.map(str::to_owned));
    columns.extend(METRICS.iter().map(|metric| profiled_metric(metric)));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_have_the_documented_widths() {
        assert_eq!((full_schema().len(), parsed_schema().len()), (62, 36));
    }
}
