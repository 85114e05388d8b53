//! What makers promise of their devices.

mod table;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::kernels::Work;
use crate::precision::Precision;

/// An accelerator: peaks without sparsity, and its memory.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "a map with the keys name, sixteen_bit_tflop_s and memory_tb_s")]
pub struct Device {
    /// The name, as simulators and profilers have it.
    pub name: Cow<'static, str>,
    /// Operations on 16-bit floating numbers per second, in 10¹².
    pub sixteen_bit_tflop_s: f64,
    /// 8-bit operations per second (integer, or floating where there is no integer unit), in 10¹².
    #[serde(default)]
    pub eight_bit_tflop_s: Option<f64>,
    /// 4-bit floating operations per second, in 10¹².
    #[serde(default)]
    pub four_bit_tflop_s: Option<f64>,
    /// Operations per second on 32-bit numbers that are cut to fewer bits before they are multiplied (TF32, XF32), in 10¹².
    #[serde(default)]
    pub tf32_tflop_s: Option<f64>,
    /// Operations on 32-bit numbers per second, of the faster one of matrix and other units, in 10¹².
    #[serde(default)]
    pub fp32_tflop_s: Option<f64>,
    /// Operations on 64-bit numbers per second, of the faster one of matrix and other units, in 10¹².
    #[serde(default)]
    pub fp64_tflop_s: Option<f64>,
    /// Bytes per second of the memory, in 10¹².
    pub memory_tb_s: f64,
}

/// The more of these limits the time of some work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Operations.
    Compute,
    /// Bytes to and from the memory.
    Memory,
}

impl Device {
    /// All that are known.
    pub fn all() -> &'static [Device] {
        &table::DEVICES
    }

    /// The device of a name; letters in any case, `-`, `_` and blanks alike.
    pub fn find(name: &str) -> Option<&'static Device> {
        let asked = plain(name);
        Device::all().iter().find(|device| plain(&device.name) == asked)
    }

    /// The device that a profiler calls so: `NVIDIA H100 80GB HBM3`, `AMD Instinct MI300X VF`, `Tesla V100-SXM2-32GB`.
    pub fn recognise(name: &str) -> Option<&'static Device> {
        Device::find(name).or_else(|| {
            let words = words(name);
            let (_, found) = table::MARKS
                .iter()
                .find(|(marks, _)| marks.iter().all(|mark| words.iter().any(|word| word == mark)))?;
            Device::find(found)
        })
    }

    /// Operations per second in a type; `None` where the device has no units for it, or nobody said how fast they are.
    pub fn operations_per_second(&self, precision: Precision) -> Option<f64> {
        let tera = match precision {
            Precision::Fp64 => self.fp64_tflop_s?,
            Precision::Fp32 => self.fp32_tflop_s?,
            Precision::Tf32 => self.tf32_tflop_s?,
            Precision::Fp16 | Precision::Bf16 => self.sixteen_bit_tflop_s,
            Precision::Fp8 | Precision::Int8 => self.eight_bit_tflop_s?,
            Precision::Fp4 | Precision::Int4 => self.four_bit_tflop_s?,
        };
        Some(tera * 1e12)
    }

    /// The shortest time that the peaks allow, in microseconds: the longer one of computing and of moving bytes.
    pub fn shortest_us(&self, work: Work, precision: Precision) -> Option<f64> {
        self.limit(work, precision).map(|(time_us, _)| time_us)
    }

    /// [`Device::shortest_us`], and which of the two it is.
    pub fn limit(&self, work: Work, precision: Precision) -> Option<(f64, Bound)> {
        let memory_us = work.bytes / (self.memory_tb_s * 1e12) * 1e6;
        if work.operations == 0.0 {
            return Some((memory_us, Bound::Memory));
        }
        let compute_us = work.operations / self.operations_per_second(precision)? * 1e6;
        Some(if compute_us > memory_us { (compute_us, Bound::Compute) } else { (memory_us, Bound::Memory) })
    }

    /// Whether every peak is a positive number.
    fn is_sound(&self) -> bool {
        let others =
            [self.eight_bit_tflop_s, self.four_bit_tflop_s, self.tf32_tflop_s, self.fp32_tflop_s, self.fp64_tflop_s];
        let mut peaks = others.into_iter().flatten().chain([self.sixteen_bit_tflop_s, self.memory_tb_s]);
        peaks.all(|peak| peak.is_finite() && peak > 0.0)
    }
}

/// Devices of a user before those that are known.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a map with the key devices")]
pub struct Devices {
    devices: Vec<Device>,
}

impl Devices {
    /// These, if every peak is a positive number.
    ///
    /// # Errors
    /// The name of a device with one that is not.
    pub fn checked(self) -> Result<Devices, String> {
        match self.devices.iter().find(|device| !device.is_sound()) {
            Some(device) => Err(device.name.clone().into_owned()),
            None => Ok(self),
        }
    }

    /// The device that a profiler calls so. A user's device has the name whole, or all its words are in it.
    pub fn recognise(&self, name: &str) -> Option<&Device> {
        let asked = words(name);
        let own = self.devices.iter().find(|device| {
            let own = words(&device.name);
            plain(&device.name) == plain(name) || !own.is_empty() && own.iter().all(|word| asked.contains(word))
        });
        own.or_else(|| Device::recognise(name))
    }
}

fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        assert_eq!(Device::find("nvidia_h200"), Device::find("NVIDIA H200"));
        assert_eq!(Device::find("ATLAS_800_A3_752T_128G_DIE").map(|device| device.sixteen_bit_tflop_s), Some(376.0));
        assert_eq!(Device::find("H"), None);
    }

    #[test]
    fn the_slower_one_of_computing_and_moving_counts() {
        let device = Device {
            name: "made up".into(),
            sixteen_bit_tflop_s: 100.0,
            eight_bit_tflop_s: None,
            four_bit_tflop_s: None,
            tf32_tflop_s: None,
            fp32_tflop_s: None,
            fp64_tflop_s: None,
            memory_tb_s: 1.0,
        };
        let compute = Work { operations: 1e12, bytes: 1.0 };
        assert_eq!(device.limit(compute, Precision::Bf16), Some((1e4, Bound::Compute)));
        assert_eq!(device.limit(Work { bytes: 2e12, ..compute }, Precision::Bf16), Some((2e6, Bound::Memory)));
        assert_eq!(device.shortest_us(compute, Precision::Int8), None);
        assert_eq!(device.shortest_us(Work { operations: 0.0, bytes: 1e12 }, Precision::Int8), Some(1e6));
    }

    #[test]
    fn profilers_call_devices_by_many_names() {
        for (name, expected) in [
            ("AMD Instinct MI300X", "AMD Instinct MI300X"),
            ("AMD Instinct MI300X VF", "AMD Instinct MI300X"),
            ("AMD Instinct MI250X / MI250", "AMD Instinct MI250X"),
            ("NVIDIA H100", "NVIDIA H100 80GB HBM3"),
            ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"),
            ("NVIDIA H100 NVL", "NVIDIA H100 NVL"),
            ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe"),
            ("NVIDIA GH200 480GB", "NVIDIA GH200"),
            ("NVIDIA H200 NVL", "NVIDIA H200 NVL"),
            ("NVIDIA H20", "NVIDIA H20"),
            ("NVIDIA B300 SXM6 AC", "NVIDIA B300"),
            ("NVIDIA GB200", "NVIDIA GB200"),
            ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"),
            ("A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"),
            ("NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe"),
            ("NVIDIA A100 40GB", "NVIDIA A100-SXM4-40GB"),
            ("Tesla V100-SXM2-32GB", "Tesla V100-SXM2"),
            ("Tesla T4", "Tesla T4"),
            ("NVIDIA L40S", "NVIDIA L40S"),
        ] {
            assert_eq!(Device::recognise(name).map(|device| device.name.as_ref()), Some(expected), "{name}");
        }
        for unknown in ["NVIDIA A10G", "Unknown GPU", "", "NVIDIA Z100"] {
            assert_eq!(Device::recognise(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_name_that_is_recognised_is_in_the_table() {
        for (marks, name) in table::MARKS {
            assert!(Device::find(name).is_some(), "{marks:?}");
        }
        assert!(Device::all().iter().all(Device::is_sound));
    }

    #[test]
    fn a_users_device_comes_first() {
        let own = Device {
            memory_tb_s: 1.5,
            name: "H100".into(),
            ..Device::find("NVIDIA H100 PCIe").expect("known").clone()
        };
        let devices = Devices { devices: vec![own.clone()] }.checked().expect("sound");
        assert_eq!(devices.recognise("NVIDIA H100 80GB HBM3"), Some(&own));
        assert_eq!(devices.recognise("NVIDIA H200"), Device::find("NVIDIA H200"));
        let wrong = Devices { devices: vec![Device { memory_tb_s: 0.0, ..own }] };
        assert_eq!(wrong.checked(), Err("H100".to_owned()));
    }
}
