//! The GPUs of a trace, as its members describe them.

use perfdb_pycompat::value::Value;

use super::secrets;

/// Top-level members that describe the devices; the last of each wins.
#[derive(Debug, Default, Clone)]
pub(crate) struct DeviceMembers {
    properties: Vec<Properties>,
    rocm: bool,
    /// Names of environment variables that look like secrets.
    pub(crate) secrets: Vec<String>,
}

#[derive(Debug, Clone)]
struct Properties {
    id: Option<i64>,
    major: Option<i64>,
    warp: Option<i64>,
    amd: bool,
}

/// Names of the members in the file.
pub(crate) const MEMBERS: [&str; 7] = [
    "deviceProperties",
    "roctracer_version",
    "rocprofiler_version",
    secrets::MEMBERS[0],
    secrets::MEMBERS[1],
    secrets::MEMBERS[2],
    secrets::MEMBERS[3],
];

impl DeviceMembers {
    /// Takes one member; `truthy` is whether it is there and neither zero nor empty.
    pub(crate) fn take(&mut self, name: &str, value: Option<Value>, truthy: bool) {
        match name {
            "deviceProperties" => {
                self.properties = match value {
                    Some(Value::List(devices)) => devices.iter().map(properties).collect(),
                    _ => Vec::new(),
                }
            }
            "roctracer_version" | "rocprofiler_version" => self.rocm |= truthy,
            _ => {
                if let Some(value) = value {
                    secrets::collect(&value, &mut self.secrets);
                }
            }
        }
    }

    /// Whether the devices are AMD's, where the members show.
    pub(crate) fn is_amd(&self) -> bool {
        self.rocm || self.properties.iter().any(|device| device.amd || device.warp == Some(64))
    }

    /// First number of the compute capability of a device; of the first one if it is not listed.
    pub(crate) fn compute_major(&self, device: Option<i64>) -> Option<i64> {
        let listed = self.properties.iter().find(|properties| properties.id.is_some() && properties.id == device);
        listed.or(self.properties.first()).and_then(|properties| properties.major)
    }
}

fn properties(device: &Value) -> Properties {
    let Value::Dict(members) = device else { return Properties { id: None, major: None, warp: None, amd: false } };
    let whole = |key: &str| match members.get(key) {
        Some(Value::Int(number)) => Some(*number),
        Some(Value::Float(number)) if number.is_finite() => Some(*number as i64),
        _ => None,
    };
    let amd = match members.get("name") {
        Some(Value::Text(name)) => {
            let name = name.to_lowercase();
            ["amd", "instinct", "radeon"].iter().any(|word| name.contains(word))
        }
        _ => false,
    };
    Properties { id: whole("id"), major: whole("computeMajor"), warp: whole("warpSize"), amd }
}
