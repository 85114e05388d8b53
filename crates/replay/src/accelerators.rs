//! Which accelerators of this machine a process may use.

use std::path::Path;

use crate::backend::Backend;
use crate::settings_error::SettingsError;

/// The environment's variables about accelerators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visibility {
    /// `PERFDB_VISIBLE_NPUS`: their number, instead of looking.
    pub number: Option<String>,
    /// `ASCEND_RT_VISIBLE_DEVICES` or `CUDA_VISIBLE_DEVICES`: those that are left.
    pub limited_to: Option<String>,
}

/// The accelerators of a backend that are visible, as the driver names them.
pub fn visible(backend: Backend, visibility: &Visibility) -> Vec<String> {
    visible_below(Path::new("/dev"), backend, visibility)
}

fn visible_below(folder: &Path, backend: Backend, visibility: &Visibility) -> Vec<String> {
    let prefix = match backend {
        Backend::Npu => "davinci",
        Backend::TorchCuda => "nvidia",
        Backend::Native | Backend::TorchCpu => return Vec::new(),
    };
    let limit: Option<Vec<String>> = visibility
        .limited_to
        .as_ref()
        .filter(|text| !text.trim().is_empty())
        .map(|text| text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect());
    let stated = visibility.number.as_deref().and_then(|text| text.trim().parse::<usize>().ok());
    if let Some(number) = stated.filter(|_| backend == Backend::Npu) {
        let names = limit.filter(|names| names.len() >= number);
        return match names {
            Some(names) => names.into_iter().take(number).collect(),
            None => (0..number).map(|index| index.to_string()).collect(),
        };
    }
    let mut found: Vec<u32> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok())
        .collect();
    found.sort_unstable();
    match limit {
        // Names other than numbers (UUIDs) are the driver's own.
        Some(names) => names
            .into_iter()
            .filter(|name| name.parse::<u32>().map_or(!found.is_empty(), |index| found.contains(&index)))
            .collect(),
        None => found.iter().map(ToString::to_string).collect(),
    }
}

/// The accelerators that a run was asked to use, by index among the visible ones.
pub fn choose(visible: &[String], indices: &[usize], backend: Backend) -> Result<Vec<String>, SettingsError> {
    if backend.is_host() && indices.len() > 1 {
        return Err(SettingsError::HostHasNoDevices(backend));
    }
    indices
        .iter()
        .map(|&index| {
            visible.get(index).cloned().ok_or(SettingsError::NoDevice { index, visible: visible.len(), backend })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_limits_and_numbers() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        for name in ["davinci0", "davinci10", "davinci2", "davinci_manager", "nvidia0", "nvidiactl"] {
            std::fs::write(folder.path().join(name), "")?;
        }
        let see = |number: Option<&str>, limited_to: Option<&str>| {
            let visibility =
                Visibility { number: number.map(str::to_owned), limited_to: limited_to.map(str::to_owned) };
            visible_below(folder.path(), Backend::Npu, &visibility)
        };
        assert_eq!(see(None, None), ["0", "2", "10"]);
        assert_eq!(see(None, Some("2,7")), ["2"]);
        assert_eq!(see(Some("x"), Some("")), ["0", "2", "10"]);
        assert_eq!(see(Some("2"), None), ["0", "1"]);
        assert_eq!(visible_below(folder.path(), Backend::TorchCuda, &Visibility::default()), ["0"]);
        assert!(choose(&see(Some("2"), None), &[0, 2], Backend::Npu).is_err());
        assert_eq!(choose(&see(Some("2"), None), &[1], Backend::Npu)?, ["1"]);
        Ok(())
    }
}
