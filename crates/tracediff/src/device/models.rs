//! GPUs that a trace does not name, identified by their properties.

use super::{Device, Platform};

/// The name; where that is generic, the model whose compute capability, multiprocessors and memory these are.
pub(crate) fn inferred_name(device: &Device, platform: Platform) -> String {
    const SAY_NOTHING: [&str; 6] = ["", "unknown gpu", "amd", "nvidia", "amd radeon graphics", "amd instinct"];
    if !SAY_NOTHING.contains(&device.name.trim().to_lowercase().as_str()) {
        return device.name.clone();
    }
    let model = MODELS.iter().find(|model| {
        model.platform == platform
            && model.sm_count == device.sm_count
            && (model.capability.is_empty() || model.capability == device.compute_capability)
            && model.memory_gib.0 <= device.total_memory_gb
            && device.total_memory_gb < model.memory_gib.1
    });
    model.map_or_else(|| device.name.clone(), |model| model.name.to_owned())
}

/// A GPU by its properties.
struct Model {
    platform: Platform,
    /// `major.minor`; empty where the multiprocessors are enough.
    capability: &'static str,
    sm_count: i64,
    /// Least memory, and the least that is too much.
    memory_gib: (f64, f64),
    name: &'static str,
}

const fn amd(sm_count: i64, memory_gib: (f64, f64), name: &'static str) -> Model {
    Model { platform: Platform::Amd, capability: "", sm_count, memory_gib, name }
}

const fn nvidia(capability: &'static str, sm_count: i64, memory_gib: (f64, f64), name: &'static str) -> Model {
    Model { platform: Platform::Nvidia, capability, sm_count, memory_gib, name }
}

const ANY: (f64, f64) = (0.0, f64::INFINITY);

/// From the data sheets of the vendors.
const MODELS: [Model; 20] = [
    amd(104, ANY, "AMD Instinct MI210"),
    amd(110, ANY, "AMD Instinct MI250X"),
    amd(228, ANY, "AMD Instinct MI300A"),
    amd(304, (0.0, 200.0), "AMD Instinct MI300X"),
    amd(304, (200.0, f64::INFINITY), "AMD Instinct MI325X"),
    amd(256, ANY, "AMD Instinct MI355X"),
    nvidia("7.0", 80, ANY, "NVIDIA V100"),
    nvidia("7.5", 40, ANY, "NVIDIA T4"),
    nvidia("8.0", 108, (0.0, 60.0), "NVIDIA A100 40GB"),
    nvidia("8.0", 108, (60.0, f64::INFINITY), "NVIDIA A100 80GB"),
    nvidia("8.6", 84, ANY, "NVIDIA A40"),
    nvidia("8.6", 72, ANY, "NVIDIA A10"),
    nvidia("8.9", 142, ANY, "NVIDIA L40S"),
    nvidia("8.9", 58, ANY, "NVIDIA L4"),
    nvidia("9.0", 132, (0.0, 100.0), "NVIDIA H100"),
    nvidia("9.0", 132, (100.0, f64::INFINITY), "NVIDIA H200"),
    nvidia("9.0", 114, ANY, "NVIDIA H100 PCIe"),
    nvidia("9.0", 78, ANY, "NVIDIA H20"),
    nvidia("10.0", 148, ANY, "NVIDIA B200"),
    nvidia("10.3", 148, ANY, "NVIDIA B300"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_tell_models_without_a_name() {
        let device = |name: &str, capability: &str, sm_count, total_memory_gb| Device {
            name: name.to_owned(),
            compute_capability: capability.to_owned(),
            total_memory_gb,
            sm_count,
            warp_size: 64,
            max_threads_per_block: 1024,
            shared_mem_per_block_kb: 64.0,
        };
        for (device, platform, expected) in [
            (device("AMD Radeon Graphics", "9.4", 304, 191.98), Platform::Amd, "AMD Instinct MI300X"),
            (device("Unknown GPU", "9.4", 304, 255.98), Platform::Amd, "AMD Instinct MI325X"),
            (device("Unknown GPU", "9.0", 132, 79.2), Platform::Nvidia, "NVIDIA H100"),
            (device("NVIDIA H100 NVL", "9.0", 132, 93.0), Platform::Nvidia, "NVIDIA H100 NVL"),
            (device("Unknown GPU", "8.0", 132, 79.2), Platform::Nvidia, "Unknown GPU"),
        ] {
            assert_eq!(inferred_name(&device, platform), expected);
        }
    }
}
