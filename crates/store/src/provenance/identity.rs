//! The device and the versions that a database is of.

use crate::directory::DEVICES;
use crate::op_mapping::OpMapping;
use perfdb_files::paths::absolute;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Versions of the software that kernels ran under, where known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// vLLM-Ascend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vllm: Option<String>,
    /// PyTorch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// CANN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cann: Option<String>,
}

/// The device and the versions that durations belong to, where known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// The device.
    pub device: Option<String>,
    /// The versions.
    pub versions: Versions,
}

/// Where two databases are of different things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `device`, `vLLM`, `PyTorch` or `CANN`.
    pub what: &'static str,
    /// What the first is of.
    pub first: String,
    /// What the second is of.
    pub second: String,
}

impl Identity {
    /// What the path of a database tells: `<DEVICE>/vllm_ascend/vllm<V>_torch<T>_cann<C>`, or `<DEVICE>/hccl/v<C>` of collectives. Words
    /// behind the versions, such as `_shape_generated`, are not part of them.
    pub fn of_path(directory: &Path) -> Identity {
        let path = std::fs::canonicalize(directory).unwrap_or_else(|_| absolute(directory));
        let parts: Vec<String> =
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let device = parts.iter().rev().find(|part| DEVICES.contains(&part.as_str())).cloned();
        let versions = match parts.as_slice() {
            [.., folder, name] if folder == "hccl" => {
                Versions { cann: version_behind(name, "v"), ..Versions::default() }
            }
            [.., name] => versions_of_name(name),
            [] => Versions::default(),
        };
        Identity { device, versions }
    }

    /// What an operator mapping says of the data beside it. Its `version` is that of vLLM in some files and its own in others, so it says
    /// nothing.
    pub fn of_mapping(mapping: &OpMapping) -> Identity {
        let versions =
            Versions { vllm: None, torch: mapping.pytorch_version.clone(), cann: mapping.cann_version.clone() };
        Identity { device: mapping.device.clone(), versions }
    }

    /// This, and what `other` knows besides.
    #[must_use]
    pub fn or(self, other: Identity) -> Identity {
        Identity {
            device: self.device.or(other.device),
            versions: Versions {
                vllm: self.versions.vllm.or(other.versions.vllm),
                torch: self.versions.torch.or(other.versions.torch),
                cann: self.versions.cann.or(other.versions.cann),
            },
        }
    }

    pub(crate) fn parts(&self) -> [(&'static str, Option<&str>); 4] {
        let Versions { vllm, torch, cann } = &self.versions;
        [
            ("device", self.device.as_deref()),
            ("vLLM", vllm.as_deref()),
            ("PyTorch", torch.as_deref()),
            ("CANN", cann.as_deref()),
        ]
    }

    /// What both know and is not the same.
    pub fn differences(&self, other: &Identity) -> Vec<Difference> {
        let pairs = self.parts().into_iter().zip(other.parts());
        let known = pairs.filter_map(|((what, first), (_, second))| Some((what, first?, second?)));
        known
            .filter(|(_, first, second)| first != second)
            .map(|(what, first, second)| Difference { what, first: first.to_owned(), second: second.to_owned() })
            .collect()
    }
}

fn versions_of_name(name: &str) -> Versions {
    let parsed = || {
        let (vllm, rest) = name.strip_prefix("vllm")?.split_once("_torch")?;
        let (torch, cann) = rest.split_once("_cann")?;
        let cann = cann.split('_').next()?;
        Some(Versions { vllm: not_empty(vllm), torch: not_empty(torch), cann: not_empty(cann) })
    };
    parsed().unwrap_or_default()
}

fn version_behind(name: &str, prefix: &str) -> Option<String> {
    not_empty(name.strip_prefix(prefix)?).filter(|version| version.starts_with(|first: char| first.is_ascii_digit()))
}

fn not_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str) -> Identity {
        Identity::of_path(path.as_ref())
    }

    #[test]
    fn a_path_tells_device_and_versions() {
        let found = named("/data/TEST_DEVICE/vllm_ascend/vllm0.18.0_torch2.9.0_cann8.5_shape_generated");
        let text = |text: &str| Some(text.to_owned());
        let versions = Versions { vllm: text("0.18.0"), torch: text("2.9.0"), cann: text("8.5") };
        assert_eq!(found, Identity { device: text("TEST_DEVICE"), versions });
        assert_eq!(named("/data/TEST_DEVICE/hccl/v8.5").versions.cann, text("8.5"));
        assert_eq!(named("/somewhere/db"), Identity::default());
        assert_eq!(named("/somewhere/hccl/vault"), Identity::default());
    }

    #[test]
    fn only_what_both_know_can_differ() {
        let (old, new) = (named("/TEST_DEVICE/vllm1_torch2_cann8.5"), named("/x/vllm1_torch2_cann8.6"));
        let found = old.differences(&new);
        assert_eq!(found, [Difference { what: "CANN", first: "8.5".into(), second: "8.6".into() }]);
    }
}
