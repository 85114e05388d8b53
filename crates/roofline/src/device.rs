//! What makers promise of their devices.

use crate::kernels::Work;
use crate::precision::Precision;

/// An accelerator: peaks of its matrix units without sparsity, and of its memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// The name, as simulators and profilers have it.
    pub name: &'static str,
    /// 16-bit operations per second, in 10¹².
    pub bf16_tera: f64,
    /// 8-bit operations per second (integer, or floating where there is no integer unit), in 10¹².
    pub eight_bit_tera: Option<f64>,
    /// 4-bit floating operations per second, in 10¹².
    pub four_bit_tera: Option<f64>,
    /// Bytes per second of the memory, in 10¹².
    pub memory_tera: f64,
}

const fn device(name: &'static str, bf16: f64, eight: Option<f64>, four: Option<f64>, memory: f64) -> Device {
    Device { name, bf16_tera: bf16, eight_bit_tera: eight, four_bit_tera: four, memory_tera: memory }
}

/// NVIDIA: data sheets of the products (dense figures). Ascend: the number in the name is the 16-bit peak in TFLOP/s of a
/// package; a die of the A3 has half of it. 8-bit integers run at twice the rate.
const DEVICES: [Device; 19] = [
    device("ATLAS_800_A2_376T_64G", 376.0, Some(752.0), None, 1.6),
    device("ATLAS_800_A2_313T_64G", 313.0, Some(626.0), None, 1.6),
    device("ATLAS_800_A2_280T_64G", 280.0, Some(560.0), None, 1.6),
    device("ATLAS_800_A2_280T_64G_PCIE", 280.0, Some(560.0), None, 1.6),
    device("ATLAS_800_A2_280T_32G_PCIE", 280.0, Some(560.0), None, 0.8),
    device("ATLAS_800_A3_752T_128G_DIE", 376.0, Some(752.0), None, 1.6),
    device("ATLAS_800_A3_560T_128G_DIE", 280.0, Some(560.0), None, 1.6),
    device("NVIDIA A100-SXM4-40GB", 312.0, Some(624.0), None, 1.555),
    device("NVIDIA A100-SXM4-80GB", 312.0, Some(624.0), None, 2.039),
    device("NVIDIA H100 80GB HBM3", 989.4, Some(1978.9), None, 3.35),
    device("NVIDIA H100 PCIe", 756.0, Some(1513.0), None, 2.0),
    device("NVIDIA H200", 989.4, Some(1978.9), None, 4.8),
    device("NVIDIA H20", 148.0, Some(296.0), None, 4.0),
    device("NVIDIA B200", 2250.0, Some(4500.0), Some(9000.0), 8.0),
    device("NVIDIA L40S", 362.05, Some(733.0), None, 0.864),
    device("NVIDIA L20", 119.5, Some(239.0), None, 0.864),
    device("NVIDIA L4", 121.0, Some(242.0), None, 0.3),
    device("NVIDIA A10", 125.0, Some(250.0), None, 0.6),
    device("NVIDIA GeForce RTX 4090", 165.2, Some(330.3), None, 1.008),
];

impl Device {
    /// All that are known.
    pub fn all() -> &'static [Device] {
        &DEVICES
    }

    /// The device of a name; letters in any case, `-`, `_` and blanks alike.
    pub fn find(name: &str) -> Option<&'static Device> {
        let plain = |text: &str| -> String {
            text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
        };
        let asked = plain(name);
        DEVICES.iter().find(|device| plain(device.name) == asked)
    }

    /// Operations per second in a type; `None` where its matrix units have no such type.
    pub fn operations_per_second(&self, precision: Precision) -> Option<f64> {
        let tera = match precision {
            Precision::Fp32 => return None,
            Precision::Fp16 | Precision::Bf16 => self.bf16_tera,
            Precision::Fp8 | Precision::Int8 => self.eight_bit_tera?,
            Precision::Fp4 | Precision::Int4 => self.four_bit_tera?,
        };
        Some(tera * 1e12)
    }

    /// The shortest time that the peaks allow, in microseconds: the longer one of computing and of moving bytes.
    pub fn shortest_us(&self, work: Work, precision: Precision) -> Option<f64> {
        let compute_us = work.operations / self.operations_per_second(precision)? * 1e6;
        Some(compute_us.max(work.bytes / (self.memory_tera * 1e12) * 1e6))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        assert_eq!(Device::find("nvidia_h200"), Device::find("NVIDIA H200"));
        assert_eq!(Device::find("ATLAS_800_A3_752T_128G_DIE").map(|device| device.bf16_tera), Some(376.0));
        assert_eq!(Device::find("H"), None);
    }

    #[test]
    fn the_slower_one_of_computing_and_moving_counts() {
        let device = device("made up", 100.0, None, None, 1.0);
        let compute = Work { operations: 1e12, bytes: 1.0 };
        assert_eq!(device.shortest_us(compute, Precision::Bf16), Some(1e4));
        assert_eq!(device.shortest_us(Work { bytes: 2e12, ..compute }, Precision::Bf16), Some(2e6));
        assert_eq!(device.shortest_us(compute, Precision::Int8), None);
    }
}
