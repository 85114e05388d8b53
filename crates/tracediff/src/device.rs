//! The GPU a trace was taken on.

pub(crate) mod models;

use perfdb_pycompat::value::Value;
use serde::Serialize;

use crate::columns::Runtimes;
use crate::rules::Rules;
use crate::time::{Picoseconds, picoseconds};

/// Vendor of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Platform {
    /// AMD.
    #[serde(rename = "AMD")]
    Amd,
    /// Huawei's NPUs.
    #[serde(rename = "Ascend")]
    Ascend,
    /// NVIDIA.
    #[serde(rename = "NVIDIA")]
    Nvidia,
    /// Another maker, whose runtime has a name of its own in traces.
    #[serde(rename = "other")]
    Other,
}

impl Platform {
    /// `AMD`, `Ascend`, `NVIDIA` or `other`.
    pub fn name(self) -> &'static str {
        match self {
            Platform::Amd => "AMD",
            Platform::Ascend => "Ascend",
            Platform::Nvidia => "NVIDIA",
            Platform::Other => "other",
        }
    }

    /// What is left of the guess by the device's properties where the host calls another maker's runtime alone.
    pub(crate) fn of_runtimes(self, runtimes: Runtimes) -> Platform {
        if self == Platform::Nvidia && runtimes.other && !runtimes.gpu { Platform::Other } else { self }
    }
}

/// Properties of the GPU, as results show them; missing numbers are 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Device {
    /// Name of the GPU.
    pub name: String,
    /// `major.minor`.
    pub compute_capability: String,
    /// Memory in GiB.
    pub total_memory_gb: f64,
    /// Number of multiprocessors or compute units.
    pub sm_count: i64,
    /// Threads that run in lockstep; 32 if missing.
    pub warp_size: i64,
    /// Largest thread block.
    pub max_threads_per_block: i64,
    /// Shared memory per block in KiB.
    pub shared_mem_per_block_kb: f64,
}

/// Top-level members of a trace that describe its GPU; the last of each wins.
#[derive(Debug, Default, Clone)]
pub(crate) struct Members {
    device_properties: Option<Value>,
    roctracer: bool,
    rocprofiler: bool,
    cut: Option<Value>,
}

/// The windows of a device that a cut trace stands for, ascending; where there are none, it stands for all of it.
#[derive(Debug, Default, Clone)]
pub(crate) struct CutWindows(Vec<(Picoseconds, Picoseconds)>);

impl CutWindows {
    /// Whether something that starts then is behind a window and in no other one: it only shows what came next.
    pub(crate) fn leave_out(&self, start: Picoseconds) -> bool {
        let behind = self.0.partition_point(|(from, _)| *from <= start);
        behind.checked_sub(1).is_some_and(|at| start >= self.0[at].1)
    }

    /// Where windows end that no other one follows at once.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Picoseconds> + '_ {
        let followed = |end: Picoseconds| self.0.iter().any(|(start, _)| *start == end);
        self.0.iter().map(|(_, end)| *end).filter(move |end| *end != Picoseconds::MAX && !followed(*end))
    }
}

/// Names of the members in the file.
pub(crate) const MEMBERS: [&str; 4] =
    ["deviceProperties", "roctracer_version", "rocprofiler_version", perfdb_trace::cut::MEMBER];

impl Members {
    /// Takes one member; `truthy` is whether it is present and neither zero nor empty.
    pub(crate) fn take(&mut self, name: &str, value: Option<Value>, truthy: bool) {
        match name {
            "deviceProperties" => self.device_properties = value,
            "roctracer_version" => self.roctracer = truthy,
            "rocprofiler_version" => self.rocprofiler = truthy,
            perfdb_trace::cut::MEMBER => self.cut = value,
            _ => {}
        }
    }

    /// Whether the trace describes its device.
    pub(crate) fn has_properties(&self) -> bool {
        self.first().is_some()
    }

    /// The windows of each device that a cut trace stands for; none of a device that it does not name.
    pub(crate) fn cut_windows(&self, devices: &[String]) -> Vec<CutWindows> {
        let mut found = vec![CutWindows::default(); devices.len()];
        let Some(Value::Dict(cut)) = &self.cut else { return found };
        let Some(Value::List(windows)) = cut.get("windows") else { return found };
        for window in windows {
            let Value::Dict(window) = window else { continue };
            let text = |key: &str| match window.get(key) {
                Some(Value::Text(text)) => Some(text.as_str()),
                _ => None,
            };
            let device = devices.iter().position(|device| Some(device.as_str()) == text("device"));
            let Some(device) = device else { continue };
            let time = |key: &str| text(key).and_then(|time| picoseconds(time.as_bytes()));
            let (start, end) = (time("start_us"), time("end_us"));
            found[device].0.push((start.unwrap_or(Picoseconds::MIN), end.unwrap_or(Picoseconds::MAX)));
        }
        found.iter_mut().for_each(|windows| windows.0.sort_unstable());
        found
    }

    fn first(&self) -> Option<&indexmap::IndexMap<String, Value>> {
        match &self.device_properties {
            Some(Value::List(devices)) => match devices.first() {
                Some(Value::Dict(properties)) => Some(properties),
                _ => None,
            },
            _ => None,
        }
    }

    /// Platform and device under a rule set; for wafer-core an AMD GPU without a name is an MI300X.
    pub(crate) fn device(&self, rules: Rules) -> (Platform, Device) {
        let get = |key: &str| self.first().and_then(|properties| properties.get(key));
        let name = match get("name") {
            Some(Value::Text(name)) => Some(name.as_str()),
            _ => None,
        };
        let warp_size = get("warpSize").and_then(integer);
        let platform = self.platform(rules, name.unwrap_or(""), warp_size);
        let unknown = if rules.is_legacy() && platform == Platform::Amd { "MI300X" } else { "Unknown GPU" };
        let name = name.filter(|name| rules.is_legacy() || !name.is_empty()).unwrap_or(unknown);
        let whole = |key: &str| get(key).and_then(integer).unwrap_or(0);
        let divided = |key: &str, unit: f64| get(key).and_then(double).unwrap_or(0.0) / unit;
        let device = Device {
            name: name.to_owned(),
            compute_capability: format!("{}.{}", part(get("computeMajor")), part(get("computeMinor"))),
            total_memory_gb: divided("totalGlobalMem", 1_073_741_824.0),
            sm_count: whole("numSms"),
            warp_size: warp_size.unwrap_or(32),
            max_threads_per_block: whole("maxThreadsPerBlock"),
            shared_mem_per_block_kb: divided("sharedMemPerBlock", 1024.0),
        };
        (platform, device)
    }

    fn platform(&self, rules: Rules, name: &str, warp_size: Option<i64>) -> Platform {
        let named = || {
            let name = name.to_lowercase();
            ["amd", "instinct", "radeon"].iter().any(|word| name.contains(word))
        };
        if !rules.is_legacy() && name.starts_with("Ascend ") {
            return Platform::Ascend;
        }
        let amd = self.roctracer || warp_size == Some(64) || !rules.is_legacy() && (self.rocprofiler || named());
        if amd { Platform::Amd } else { Platform::Nvidia }
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        Value::Float(number) if number.is_finite() => Some(*number as i64),
        _ => None,
    }
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) if number.is_finite() => Some(*number),
        _ => None,
    }
}

/// One half of the compute capability, as Python prints it.
fn part(value: Option<&Value>) -> String {
    match value {
        Some(Value::Text(text)) => text.clone(),
        Some(value) if double(value).is_some() => value.repr(),
        _ => "0".to_owned(),
    }
}
