//! Where times belong: an accelerator's tables take times of its own engine, a host's those of gloo.

use crate::backend::Backend;
use crate::error::Error;
use perfdb_files::paths::absolute;
use perfdb_store::directory::{DEVICES, Device, Home};
use std::path::Path;

/// The device whose folder this is: a part of the absolute path that is the name of a device. A host's name goes before an
/// accelerator's.
fn device_of(folder: &Path) -> Option<(&'static str, Home)> {
    let parts: Vec<String> =
        absolute(folder).components().map(|part| part.as_os_str().to_string_lossy().into()).collect();
    let found = DEVICES.into_iter().filter(|device| parts.iter().any(|part| part == device));
    let device = found.max_by_key(|device| *device == Device::HOST_CPU.name())?;
    let home = if device == Device::HOST_CPU.name() { Home::Host } else { Home::Accelerator };
    Some((device, home))
}

/// Refuses times of `backend` in a folder where they do not belong. Folders of no device take everything.
pub(crate) fn check(folder: &Path, backend: Backend) -> Result<(), Error> {
    let (device, takes) = match device_of(folder) {
        None => return Ok(()),
        Some((device, Home::Accelerator)) => (device, Backend::Hccl),
        Some((device, Home::Host)) => (device, Backend::Gloo),
    };
    if backend == takes {
        return Ok(());
    }
    Err(Error::ForeignTimes { folder: folder.to_owned(), backend, device, takes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_take_their_own_engine() {
        let refused = |folder: &str, backend| check(Path::new(folder), backend).is_err();
        let npu = "data/ATLAS_800_A3_752T_128G_DIE/hccl/v8.5";
        assert!(!refused(npu, Backend::Hccl) && refused(npu, Backend::Nccl) && refused(npu, Backend::Gloo));
        let host = "data/HOST_CPU/hccl/v8.5";
        assert!(refused(host, Backend::Hccl) && refused(host, Backend::Nccl) && !refused(host, Backend::Gloo));
        assert!(!refused("out", Backend::Gloo) && !refused(&format!("{npu}/../../../out"), Backend::Gloo));
        assert!(!refused("ATLAS_800_A3_752T_128G_DIE/HOST_CPU", Backend::Gloo));
        assert!(!refused("my_ATLAS_800_A3_752T_128G_DIE", Backend::Gloo));
    }
}
