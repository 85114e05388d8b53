//! Where a table's durations were measured.

use super::MAPPING;
use crate::directory::DEVICES;
use crate::op_mapping::OpMapping;
use perfdb_files::paths::{absolute, within};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The device and the version of the software, where they are known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The accelerator.
    pub(super) device: Option<String>,
    /// The folder of the version: `vllm0.18.0_torch2.9.0_cann8.5`.
    pub(super) version: Option<String>,
    /// What the mapping says: versions by their keys.
    pub(super) versions: Vec<(&'static str, String)>,
}

/// Origins by folder: a mapping is read once.
#[derive(Debug, Default)]
pub(super) struct Origins(BTreeMap<PathBuf, Origin>);

impl Origins {
    /// That of the tables of a folder.
    pub(super) fn of(&mut self, folder: &Path) -> &Origin {
        self.0.entry(folder.to_owned()).or_insert_with(|| Origin::read(folder))
    }
}

impl Origin {
    fn read(folder: &Path) -> Origin {
        // A mapping that cannot be used is copied as it is, and says nothing here.
        let mapping = OpMapping::load(&within(folder, MAPPING)).ok().flatten();
        let path = absolute(folder);
        let names: Vec<String> =
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        let known = names.iter().rev().find(|name| DEVICES.contains(&name.as_str())).cloned();
        let Some(mapping) = mapping else {
            let version = known.as_ref().and(names.last().cloned());
            return Origin { device: known, version, versions: Vec::new() };
        };
        let versions = [
            ("perfdb.cann_version", mapping.cann_version),
            ("perfdb.pytorch_version", mapping.pytorch_version),
            ("perfdb.op_plugin_version", mapping.op_plugin_version),
            ("perfdb.collection_date", mapping.collection_date),
        ];
        Origin {
            device: mapping.device.or(known),
            version: names.last().cloned(),
            versions: versions.into_iter().filter_map(|(key, value)| Some((key, value?))).collect(),
        }
    }
}
