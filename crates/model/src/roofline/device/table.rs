//! The devices that are known, one by one from what their makers publish: dense figures (half of what a sheet prints "with
//! sparsity"), of one device as a profiler sees it (one die of an MI250X, an eighth of an HGX board, a seventy-second of a rack),
//! rates of matrix units in 64 and 32 bits where a sheet has them. What no sheet says is not there.
//!
//! | devices | source |
//! | --- | --- |
//! | Ascend | the number in the name is the 16-bit peak in TFLOP/s of a package; a die of the A3 has half of it; 8-bit integers run at twice the rate |
//! | MI210, MI250, MI250X | AMD Instinct MI200 series data sheets; those of MI250 and MI250X are of two dies |
//! | MI300A, MI300X, MI325X, MI350X, MI355X | AMD Instinct data sheet of each |
//! | V100, T4, A10, A40, L4, L40, L40S | NVIDIA data sheet of each |
//! | A100 | NVIDIA A100 data sheet (2021) |
//! | H100 SXM, H200, GH200 | NVIDIA H100 white paper (V1.04: 66.9, 494.7, 989.4, 1978.9), memories by the data sheets of H100, H200 and GH200 (96 GB) |
//! | H100 PCIe | NVIDIA H100 white paper |
//! | H100 NVL, H200 NVL | NVIDIA data sheet of each |
//! | H20, L20 | figures that NVIDIA gave to partners (2023); no public sheet |
//! | B200, B300 | NVIDIA HGX and DGX B200 and B300 sheets, of eight: 600 TFLOP/s of FP32 each, 296 and 10 of FP64, 108 PFLOP/s of dense FP4 on the B300 |
//! | GB200, GB300 | NVIDIA GB200 and GB300 NVL72 sheets, of seventy-two: 5760 TFLOP/s and 6 PFLOP/s of FP32, 2880 and 100 TFLOP/s of FP64, 24 POP/s of sparse INT8 on the GB300 |
//! | RTX 4090 | NVIDIA Ada white paper, with 32-bit accumulation |

use std::borrow::Cow;

use super::Device;

/// Columns: 16, 8 and 4 bits, TF32, FP32 and FP64 in TFLOP/s, and the memory in TB/s; 0 without units for it, or where no sheet has it.
const fn device(name: &'static str, peaks: [f64; 7]) -> Device {
    with_int8(name, 0.0, peaks)
}

/// The same, with another rate of 8-bit integers.
const fn with_int8(name: &'static str, int8: f64, peaks: [f64; 7]) -> Device {
    let [sixteen, eight, four, tf32, fp32, fp64, memory] = peaks;
    Device {
        name: Cow::Borrowed(name),
        sixteen_bit_tflop_s: sixteen,
        eight_bit_tflop_s: known(eight),
        int8_tflop_s: known(int8),
        four_bit_tflop_s: known(four),
        tf32_tflop_s: known(tf32),
        fp32_tflop_s: known(fp32),
        fp64_tflop_s: known(fp64),
        memory_tb_s: memory,
    }
}

const fn known(peak: f64) -> Option<f64> {
    if peak > 0.0 { Some(peak) } else { None }
}

pub(super) static DEVICES: [Device; 40] = [
    device("ATLAS_800_A2_376T_64G", [376.0, 752.0, 0.0, 0.0, 0.0, 0.0, 1.6]),
    device("ATLAS_800_A2_313T_64G", [313.0, 626.0, 0.0, 0.0, 0.0, 0.0, 1.6]),
    device("ATLAS_800_A2_280T_64G", [280.0, 560.0, 0.0, 0.0, 0.0, 0.0, 1.6]),
    device("ATLAS_800_A2_280T_64G_PCIE", [280.0, 560.0, 0.0, 0.0, 0.0, 0.0, 1.6]),
    device("ATLAS_800_A2_280T_32G_PCIE", [280.0, 560.0, 0.0, 0.0, 0.0, 0.0, 0.8]),
    device("ATLAS_800_A3_752T_128G_DIE", [376.0, 752.0, 0.0, 0.0, 0.0, 0.0, 1.6]),
    device("ATLAS_800_A3_560T_128G_DIE", [280.0, 560.0, 0.0, 0.0, 0.0, 0.0, 1.6]),
    device("AMD Instinct MI210", [181.0, 181.0, 0.0, 0.0, 45.3, 45.3, 1.638]),
    device("AMD Instinct MI250", [181.0, 181.0, 0.0, 0.0, 45.3, 45.3, 1.638]),
    device("AMD Instinct MI250X", [191.5, 191.5, 0.0, 0.0, 47.9, 47.9, 1.638]),
    device("AMD Instinct MI300A", [980.6, 1961.2, 0.0, 490.3, 122.6, 122.6, 5.3]),
    device("AMD Instinct MI300X", [1307.4, 2614.9, 0.0, 653.7, 163.4, 163.4, 5.3]),
    device("AMD Instinct MI325X", [1307.4, 2614.9, 0.0, 653.7, 163.4, 163.4, 6.0]),
    device("AMD Instinct MI350X", [2306.9, 4613.7, 9227.5, 0.0, 144.2, 72.1, 8.0]),
    device("AMD Instinct MI355X", [2516.6, 5033.2, 10066.3, 0.0, 157.3, 78.6, 8.0]),
    device("Tesla V100-PCIE", [112.0, 0.0, 0.0, 0.0, 14.0, 7.0, 0.9]),
    device("Tesla V100-SXM2", [125.0, 0.0, 0.0, 0.0, 15.7, 7.8, 0.9]),
    device("Tesla T4", [65.0, 130.0, 0.0, 0.0, 8.1, 0.0, 0.32]),
    device("NVIDIA A100-PCIE-40GB", [312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 1.555]),
    device("NVIDIA A100 80GB PCIe", [312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 1.935]),
    device("NVIDIA A100-SXM4-40GB", [312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 1.555]),
    device("NVIDIA A100-SXM4-80GB", [312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 2.039]),
    device("NVIDIA H100 NVL", [835.0, 1671.0, 0.0, 418.0, 60.0, 60.0, 3.9]),
    device("NVIDIA H100 PCIe", [756.0, 1513.0, 0.0, 378.0, 51.0, 51.0, 2.0]),
    device("NVIDIA H100 80GB HBM3", [989.4, 1978.9, 0.0, 494.7, 66.9, 66.9, 3.35]),
    device("NVIDIA GH200", [989.4, 1978.9, 0.0, 494.7, 66.9, 66.9, 4.0]),
    device("NVIDIA H200 NVL", [835.0, 1671.0, 0.0, 418.0, 60.0, 60.0, 4.8]),
    device("NVIDIA H200", [989.4, 1978.9, 0.0, 494.7, 66.9, 66.9, 4.8]),
    device("NVIDIA H20", [148.0, 296.0, 0.0, 74.0, 44.0, 1.0, 4.0]),
    device("NVIDIA B200", [2250.0, 4500.0, 9000.0, 1125.0, 75.0, 37.0, 8.0]),
    device("NVIDIA GB200", [2500.0, 5000.0, 10000.0, 1250.0, 80.0, 40.0, 8.0]),
    with_int8("NVIDIA B300", 150.0, [2250.0, 4500.0, 13500.0, 1125.0, 75.0, 1.25, 8.0]),
    with_int8("NVIDIA GB300", 166.7, [2500.0, 5000.0, 15000.0, 1250.0, 83.3, 1.39, 8.0]),
    device("NVIDIA L40S", [362.05, 733.0, 0.0, 183.0, 91.6, 0.0, 0.864]),
    device("NVIDIA L40", [181.05, 362.0, 0.0, 90.5, 90.5, 0.0, 0.864]),
    device("NVIDIA L20", [119.5, 239.0, 0.0, 59.8, 59.8, 0.0, 0.864]),
    device("NVIDIA L4", [121.0, 242.0, 0.0, 60.0, 30.3, 0.0, 0.3]),
    device("NVIDIA A40", [149.7, 299.3, 0.0, 74.8, 37.4, 0.0, 0.696]),
    device("NVIDIA A10", [125.0, 250.0, 0.0, 62.5, 31.2, 0.0, 0.6]),
    device("NVIDIA GeForce RTX 4090", [165.2, 330.3, 0.0, 82.6, 82.6, 0.0, 1.008]),
];

/// Words of a name that tell a device, the more special ones first.
pub(super) static MARKS: [(&[&str], &str); 33] = [
    (&["mi210"], "AMD Instinct MI210"),
    (&["mi250x"], "AMD Instinct MI250X"),
    (&["mi250"], "AMD Instinct MI250"),
    (&["mi300a"], "AMD Instinct MI300A"),
    (&["mi300x"], "AMD Instinct MI300X"),
    (&["mi325x"], "AMD Instinct MI325X"),
    (&["mi350x"], "AMD Instinct MI350X"),
    (&["mi355x"], "AMD Instinct MI355X"),
    (&["v100", "pcie"], "Tesla V100-PCIE"),
    (&["v100"], "Tesla V100-SXM2"),
    (&["t4"], "Tesla T4"),
    (&["a100", "pcie", "40gb"], "NVIDIA A100-PCIE-40GB"),
    (&["a100", "pcie"], "NVIDIA A100 80GB PCIe"),
    (&["a100", "40gb"], "NVIDIA A100-SXM4-40GB"),
    (&["a100"], "NVIDIA A100-SXM4-80GB"),
    (&["h100", "nvl"], "NVIDIA H100 NVL"),
    (&["h100", "pcie"], "NVIDIA H100 PCIe"),
    (&["h100"], "NVIDIA H100 80GB HBM3"),
    (&["gh200"], "NVIDIA GH200"),
    (&["h200", "nvl"], "NVIDIA H200 NVL"),
    (&["h200"], "NVIDIA H200"),
    (&["h20"], "NVIDIA H20"),
    (&["b200"], "NVIDIA B200"),
    (&["gb200"], "NVIDIA GB200"),
    (&["b300"], "NVIDIA B300"),
    (&["gb300"], "NVIDIA GB300"),
    (&["l40s"], "NVIDIA L40S"),
    (&["l40"], "NVIDIA L40"),
    (&["l20"], "NVIDIA L20"),
    (&["l4"], "NVIDIA L4"),
    (&["a40"], "NVIDIA A40"),
    (&["a10"], "NVIDIA A10"),
    (&["rtx", "4090"], "NVIDIA GeForce RTX 4090"),
];

/// Memories in GB, as software finds them: what is kept for correcting errors is left out where the sheet counts it.
pub(super) static MEMORIES: [(&str, f64); 22] = [
    ("AMD Instinct MI300A", 128.0),
    ("AMD Instinct MI300X", 192.0),
    ("AMD Instinct MI325X", 256.0),
    ("AMD Instinct MI350X", 288.0),
    ("AMD Instinct MI355X", 288.0),
    ("NVIDIA A100-PCIE-40GB", 40.0),
    ("NVIDIA A100 80GB PCIe", 80.0),
    ("NVIDIA A100-SXM4-40GB", 40.0),
    ("NVIDIA A100-SXM4-80GB", 80.0),
    ("NVIDIA H100 NVL", 94.0),
    ("NVIDIA H100 PCIe", 80.0),
    ("NVIDIA H100 80GB HBM3", 80.0),
    ("NVIDIA GH200", 96.0),
    ("NVIDIA H200 NVL", 141.0),
    ("NVIDIA H200", 141.0),
    ("NVIDIA B200", 180.0),
    ("NVIDIA GB200", 186.0),
    ("NVIDIA B300", 270.0),
    ("NVIDIA GB300", 278.0),
    ("NVIDIA L40S", 48.0),
    ("NVIDIA L4", 24.0),
    ("NVIDIA A10", 24.0),
];
