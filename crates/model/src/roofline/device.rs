//! What makers promise of their devices.

mod table;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::roofline::kernels::Work;
use crate::roofline::precision::Precision;

/// An accelerator: peaks without sparsity, and its memory.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "a map with the keys name, sixteen_bit_tflop_s and memory_tb_s")]
pub struct Device {
    /// The name, as simulators and profilers have it.
    pub name: Cow<'static, str>,
    /// Operations on 16-bit floating numbers per second, in 10¹².
    pub sixteen_bit_tflop_s: f64,
    /// 8-bit operations per second (integer, or floating without integer unit), in 10¹².
    #[serde(default)]
    pub eight_bit_tflop_s: Option<f64>,
    /// 8-bit integer operations per second where they are not as fast as others of 8 bits, in 10¹².
    #[serde(default)]
    pub int8_tflop_s: Option<f64>,
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

    /// Bytes of its memory, where its maker says so.
    pub fn memory_bytes(&self) -> Option<f64> {
        table::MEMORIES.iter().find(|(name, _)| *name == self.name).map(|(_, gigabytes)| gigabytes * 1e9)
    }

    /// Operations per second in a type; `None` where the device has no units for it, or nobody said how fast they are.
    pub(crate) fn operations_per_second(&self, precision: Precision) -> Option<f64> {
        let tera = match precision {
            Precision::Fp64 => self.fp64_tflop_s?,
            Precision::Fp32 => self.fp32_tflop_s?,
            Precision::Tf32 => self.tf32_tflop_s?,
            Precision::Fp16 | Precision::Bf16 => self.sixteen_bit_tflop_s,
            Precision::Fp8 => self.eight_bit_tflop_s?,
            Precision::Int8 => self.int8_tflop_s.or(self.eight_bit_tflop_s)?,
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
        let others = [
            self.eight_bit_tflop_s,
            self.int8_tflop_s,
            self.four_bit_tflop_s,
            self.tf32_tflop_s,
            self.fp32_tflop_s,
            self.fp64_tflop_s,
        ];
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
            int8_tflop_s: None,
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
            ("AMD Instinct MI250", "AMD Instinct MI250"),
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

    /// What the sheet of a device prints, and of how many devices, or halves of them where it counts sparsity: 16, 8 and 4 bits, TF32,
    /// FP32, FP64 (0: nothing), TB/s.
    type Sheet = (&'static str, [(f64, f64); 7]);

    const NONE: (f64, f64) = (0.0, 1.0);

    /// A row of a sheet of one device without sparsity.
    const fn plain_sheet(printed: [f64; 7]) -> [(f64, f64); 7] {
        let [sixteen, eight, four, tf32, fp32, fp64, memory] = printed;
        [(sixteen, 1.0), (eight, 1.0), (four, 1.0), (tf32, 1.0), (fp32, 1.0), (fp64, 1.0), (memory, 1.0)]
    }

    /// A row of a sheet of several devices whose tensor figures (16, 8 and 4 bits, TF32) are sparse.
    const fn sparse_sheet(devices: f64, printed: [f64; 7]) -> [(f64, f64); 7] {
        let [sixteen, eight, four, tf32, fp32, fp64, memory] = printed;
        let half = 2.0 * devices;
        [
            (sixteen, half),
            (eight, half),
            (four, half),
            (tf32, half),
            (fp32, devices),
            (fp64, devices),
            (memory, devices),
        ]
    }

    /// Printed figures of the sheets, with which the table is compared: TFLOP/s, TB/s.
    const SHEETS: [Sheet; 33] = [
        // AMD Instinct data sheets; MI250 and MI250X: of two dies.
        ("AMD Instinct MI210", plain_sheet([181.0, 181.0, 0.0, 0.0, 45.3, 45.3, 1.6384])),
        ("AMD Instinct MI250", [(362.1, 2.0), (362.1, 2.0), NONE, NONE, (90.5, 2.0), (90.5, 2.0), (3.2768, 2.0)]),
        ("AMD Instinct MI250X", [(383.0, 2.0), (383.0, 2.0), NONE, NONE, (95.7, 2.0), (95.7, 2.0), (3.2768, 2.0)]),
        ("AMD Instinct MI300A", plain_sheet([980.6, 1961.2, 0.0, 490.3, 122.6, 122.6, 5.3])),
        ("AMD Instinct MI300X", plain_sheet([1307.4, 2614.9, 0.0, 653.7, 163.4, 163.4, 5.3])),
        ("AMD Instinct MI325X", plain_sheet([1307.4, 2614.9, 0.0, 653.7, 163.4, 163.4, 6.0])),
        // CDNA 4 has no TF32, and 64 bits run at half the rate of 32.
        ("AMD Instinct MI350X", plain_sheet([2306.9, 4613.7, 9227.5, 0.0, 144.2, 72.1, 8.0])),
        ("AMD Instinct MI355X", plain_sheet([2516.6, 5033.2, 10066.3, 0.0, 157.3, 78.6, 8.0])),
        // NVIDIA V100, T4, A100, A40 and A10 data sheets: dense beside sparse.
        ("Tesla V100-PCIE", plain_sheet([112.0, 0.0, 0.0, 0.0, 14.0, 7.0, 0.9])),
        ("Tesla V100-SXM2", plain_sheet([125.0, 0.0, 0.0, 0.0, 15.7, 7.8, 0.9])),
        ("Tesla T4", plain_sheet([65.0, 130.0, 0.0, 0.0, 8.1, 0.0, 0.32])),
        ("NVIDIA A100-PCIE-40GB", plain_sheet([312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 1.555])),
        ("NVIDIA A100 80GB PCIe", plain_sheet([312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 1.935])),
        ("NVIDIA A100-SXM4-40GB", plain_sheet([312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 1.555])),
        ("NVIDIA A100-SXM4-80GB", plain_sheet([312.0, 624.0, 0.0, 156.0, 19.5, 19.5, 2.039])),
        ("NVIDIA A40", plain_sheet([149.7, 299.3, 0.0, 74.8, 37.4, 0.0, 0.696])),
        ("NVIDIA A10", plain_sheet([125.0, 250.0, 0.0, 62.5, 31.2, 0.0, 0.6])),
        // NVIDIA L4, L40, L40S, H100, H200 and GH200 data sheets: tensor figures with sparsity.
        ("NVIDIA L4", sparse_sheet(1.0, [242.0, 485.0, 0.0, 120.0, 30.3, 0.0, 0.3])),
        ("NVIDIA L40", sparse_sheet(1.0, [362.1, 724.0, 0.0, 181.0, 90.5, 0.0, 0.864])),
        ("NVIDIA L40S", sparse_sheet(1.0, [724.1, 1466.0, 0.0, 366.0, 91.6, 0.0, 0.864])),
        ("NVIDIA H100 PCIe", sparse_sheet(1.0, [1513.0, 3026.0, 0.0, 756.0, 51.0, 51.0, 2.0])),
        ("NVIDIA H100 NVL", sparse_sheet(1.0, [1671.0, 3341.0, 0.0, 835.0, 60.0, 60.0, 3.9])),
        ("NVIDIA H100 80GB HBM3", sparse_sheet(1.0, [1979.0, 3958.0, 0.0, 989.0, 67.0, 67.0, 3.35])),
        ("NVIDIA GH200", sparse_sheet(1.0, [1979.0, 3958.0, 0.0, 989.0, 67.0, 67.0, 4.0])),
        ("NVIDIA H200 NVL", sparse_sheet(1.0, [1671.0, 3341.0, 0.0, 835.0, 60.0, 60.0, 4.8])),
        ("NVIDIA H200", sparse_sheet(1.0, [1979.0, 3958.0, 0.0, 989.0, 67.0, 67.0, 4.8])),
        // Figures that NVIDIA gave to partners, dense.
        ("NVIDIA H20", plain_sheet([148.0, 296.0, 0.0, 74.0, 44.0, 1.0, 4.0])),
        ("NVIDIA L20", plain_sheet([119.5, 239.0, 0.0, 59.8, 59.8, 0.0, 0.864])),
        // NVIDIA HGX and DGX sheets: eight devices; FP4 of the B300 dense.
        ("NVIDIA B200", sparse_sheet(8.0, [36e3, 72e3, 144e3, 18e3, 600.0, 296.0, 64.0])),
        (
            "NVIDIA B300",
            [(36e3, 16.0), (72e3, 16.0), (108e3, 8.0), (18e3, 16.0), (600.0, 8.0), (10.0, 8.0), (64.0, 8.0)],
        ),
        // NVIDIA NVL72 sheets; FP4 of the GB300 dense.
        ("NVIDIA GB200", sparse_sheet(72.0, [360e3, 720e3, 1440e3, 180e3, 5760.0, 2880.0, 576.0])),
        (
            "NVIDIA GB300",
            [
                (360e3, 144.0),
                (720e3, 144.0),
                (1080e3, 72.0),
                (180e3, 144.0),
                (6000.0, 72.0),
                (100.0, 72.0),
                (576.0, 72.0),
            ],
        ),
        // NVIDIA Ada white paper, dense, with 32-bit accumulation.
        ("NVIDIA GeForce RTX 4090", plain_sheet([165.2, 330.3, 0.0, 82.6, 82.6, 0.0, 1.008])),
    ];

    #[test]
    fn peaks_are_those_of_the_sheets() {
        for (name, printed) in SHEETS {
            let device = Device::find(name).expect(name);
            let found = [
                Some(device.sixteen_bit_tflop_s),
                device.eight_bit_tflop_s,
                device.four_bit_tflop_s,
                device.tf32_tflop_s,
                device.fp32_tflop_s,
                device.fp64_tflop_s,
                Some(device.memory_tb_s),
            ];
            for (found, (printed, devices)) in found.into_iter().zip(printed) {
                let expected = printed / devices;
                // Sheets round to three digits, the table has more where a white paper does.
                let agrees = found.map_or(expected == 0.0, |found| (found / expected - 1.0).abs() < 5e-3);
                assert!(agrees, "{name}: {found:?} instead of {expected}");
            }
        }
        let named = |device: &&Device| !device.name.starts_with("ATLAS");
        assert_eq!(Device::all().iter().filter(named).count(), SHEETS.len());
        let eight_bits = |name: &str| {
            let device = Device::find(name).expect(name);
            [Precision::Int8, Precision::Fp8].map(|precision| device.operations_per_second(precision))
        };
        // Blackwell Ultra gave up 8-bit integers: 24 POP/s with sparsity in a rack.
        let [integer, floating] = eight_bits("NVIDIA GB300");
        assert!(integer.is_some_and(|integer| (integer / (24e15 / 144.0) - 1.0).abs() < 5e-3));
        assert_eq!(floating, Some(5e15));
        assert_eq!(eight_bits("NVIDIA B200"), [Some(4.5e15); 2]);
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
