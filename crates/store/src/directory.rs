//! Where things are: devices, the data root, version directories, the files of a database that are tables.

use crate::error::Error;
use perfdb_files::input::not_a_regular_file;
use perfdb_files::paths::{absolute, normalised, within};
use perfdb_files::replace;
use perfdb_files::walk::walk;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// A device that has a place below the data root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device(&'static str);

/// The names of all devices.
pub const DEVICES: [&str; 9] = [
    "TEST_DEVICE",
    "ATLAS_800_A2_376T_64G",
    "ATLAS_800_A2_313T_64G",
    "ATLAS_800_A2_280T_64G",
    "ATLAS_800_A2_280T_64G_PCIE",
    "ATLAS_800_A2_280T_32G_PCIE",
    "ATLAS_800_A3_752T_128G_DIE",
    "ATLAS_800_A3_560T_128G_DIE",
    "HOST_CPU",
];

impl Device {
    /// Where durations measured on a host's processor belong.
    pub const HOST_CPU: Device = Device("HOST_CPU");

    /// The name.
    pub fn name(self) -> &'static str {
        self.0
    }
}

impl Default for Device {
    fn default() -> Self {
        Device("ATLAS_800_A3_752T_128G_DIE")
    }
}

/// A name that is none of [`DEVICES`].
#[derive(Debug, thiserror::Error)]
#[error("unknown device; one of {}", DEVICES.join(", "))]
pub struct UnknownDevice;

impl FromStr for Device {
    type Err = UnknownDevice;

    fn from_str(name: &str) -> Result<Self, UnknownDevice> {
        DEVICES.iter().find(|device| **device == name).map(|device| Device(device)).ok_or(UnknownDevice)
    }
}

/// Whose durations a database directory takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// An accelerator's: everything but what was measured on a host's processor or with CUDA.
    Accelerator,
    /// A host's: what was measured on a host's processor, and nothing else.
    Host,
}

impl Home {
    /// The home that a database directory is: a host's when the device says so or, without a device, when a part of its absolute path is `HOST_CPU`.
    pub fn of(directory: &Path, device: Option<Device>) -> Home {
        let is_host = match device {
            Some(device) => device == Device::HOST_CPU,
            None => absolute(directory).components().any(|part| part.as_os_str() == Device::HOST_CPU.name()),
        };
        if is_host { Home::Host } else { Home::Accelerator }
    }

    /// Whether a measurement of this origin (the `Task Type` of a profile) belongs here.
    pub fn takes(self, origin: &str) -> bool {
        match self {
            Home::Host => origin == "HOST_CPU",
            Home::Accelerator => !matches!(origin, "HOST_CPU" | "CUDA"),
        }
    }
}

const CHECKOUT: &str = "tensor_cast/performance_model/profiling_database";

/// The data root: `variable` (the value of `PERFDB_DATA_DIR`) if set, else the checkout's around `current`, relative when it lies below it.
pub fn data_root(variable: Option<OsString>, current: &Path) -> PathBuf {
    let root = match variable.filter(|value| !value.is_empty()) {
        Some(root) => current.join(root),
        None => {
            let checkout = current.ancestors().find(|directory| directory.join(CHECKOUT).is_dir()).unwrap_or(current);
            checkout.join(CHECKOUT).join("data")
        }
    };
    match root.strip_prefix(current) {
        Ok(below) if !below.components().any(|part| part == Component::ParentDir) => normalised(below),
        _ => normalised(&root),
    }
}

/// The directory of a version: data root, device, `vllm_ascend`, name.
pub fn version_directory(data_root: &Path, device: Device, name: &str) -> PathBuf {
    normalised(&data_root.join(device.name()).join("vllm_ascend").join(name))
}

/// Whether a path below a database is a table's. A folder with a table's name counts: reading it is the error.
pub fn is_table(path: &Path) -> bool {
    path.file_name().is_some_and(|name| is_table_name(&name.to_string_lossy())) && (path.is_file() || path.is_dir())
}

/// Whether a file of a database is a table: a `.csv` that is none of the files that tools keep beside tables.
pub(crate) fn is_table_name(name: &str) -> bool {
    name.ends_with(".csv")
        && !name.ends_with(".dropped.csv")
        && !name.ends_with(CONFLICTS)
        && !replace::is_leftover_name(name)
}

/// How the file beside a table is called, behind the kernel type, that keeps rows which lost to others when databases were merged.
pub const CONFLICTS: &str = ".conflicts.csv";

/// The folder of a database that keeps the reports of its updates.
pub const REPORTS: &str = "reports";

/// Refuses a kernel type whose table no tool would read.
pub(crate) fn check_table_name(source: &Path, kernel_type: &str, stem: &str) -> Result<(), Error> {
    let name = format!("{stem}.csv");
    if is_table_name(&name) {
        return Ok(());
    }
    let kernel_type = perfdb_files::escape::excerpt(kernel_type);
    let reason =
        format!("kernel type {kernel_type} would be kept in {name}, which no tool takes for a table; rename it");
    Err(Error::input(source, None, reason))
}

/// Whether a folder of a database holds no tables, with anything else in it.
pub(crate) fn is_side_folder(name: &str) -> bool {
    name == REPORTS || name.starts_with("msprof_run_") || name.starts_with("PROF_")
}

/// Whether a path below a database lies in a folder that holds no tables.
///
/// ```
/// use perfdb_store::directory::is_in_side_folder;
/// assert!(is_in_side_folder("x/PROF_1/mindstudio_profiler_output/Add.csv".as_ref()));
/// assert!(!is_in_side_folder("x/reports".as_ref()));
/// ```
pub fn is_in_side_folder(below: &Path) -> bool {
    let folders = below.parent().into_iter().flat_map(Path::components);
    folders.into_iter().any(|part| is_side_folder(&part.as_os_str().to_string_lossy()))
}

/// The tables of a directory, not below it, by name.
pub fn tables_in(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::io(directory, source);
    let mut tables = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = within(directory, entry.file_name());
        if is_table_name(&entry.file_name().to_string_lossy()) && is_there(&path)? {
            tables.push(path);
        }
    }
    tables.sort();
    Ok(tables)
}

/// Whether something with a table's name can be read as one. What went away since the folder was listed is no table; a link that leads nowhere, a
/// file behind a folder without permission and a pipe are errors, so that no table is left out in silence.
fn is_there(path: &Path) -> Result<bool, Error> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() || found.is_dir() => Ok(true),
        Ok(found) => Err(Error::io(path, not_a_regular_file(found.file_type()))),
        Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => Ok(false),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// The folders below a directory that have tables. Folders that hold no tables and folders that are links are not entered.
pub fn tables_below(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut folders = BTreeSet::new();
    walk(
        directory,
        |name| !is_side_folder(name),
        |entry| {
            let path = within(directory, entry.below);
            if is_table(&path) {
                folders.extend(path.parent().filter(|folder| *folder != directory).map(Path::to_owned));
            }
        },
    )?;
    Ok(folders.into_iter().collect())
}

/// The tables called `file_name` anywhere below a directory, in the order of their paths' components. Folders that hold no tables and folders
/// that are links are not entered.
pub fn tables_named(directory: &Path, file_name: &str) -> Result<Vec<PathBuf>, Error> {
    let mut named = Vec::new();
    walk(
        directory,
        |name| !is_side_folder(name),
        |entry| {
            if entry.name == file_name && is_table_name(entry.name) {
                named.push(within(directory, entry.below));
            }
        },
    )?;
    let mut found = Vec::with_capacity(named.len());
    for path in named {
        if is_there(&path)? {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn the_root_is_the_nearest_checkout_and_told_relative_when_below() -> TestResult {
        let folder = tempfile::tempdir()?;
        let checkout = folder.path().join("checkout");
        let inner = checkout.join("tools/inner");
        fs::create_dir_all(&inner)?;
        fs::create_dir_all(checkout.join(CHECKOUT))?;
        assert_eq!(data_root(None, &checkout), Path::new(CHECKOUT).join("data"));
        assert_eq!(data_root(None, &inner), checkout.join(CHECKOUT).join("data"));
        assert_eq!(data_root(None, folder.path()), Path::new(CHECKOUT).join("data"));
        assert_eq!(data_root(Some("".into()), &checkout), Path::new(CHECKOUT).join("data"));
        assert_eq!(data_root(Some("./x/".into()), &checkout), Path::new("x"));
        assert_eq!(data_root(Some("../x".into()), &checkout), checkout.join("../x"));
        assert_eq!(data_root(Some("/elsewhere".into()), &checkout), Path::new("/elsewhere"));
        Ok(())
    }

    #[test]
    fn a_home_is_told_by_the_device_or_by_the_path() {
        let host = Path::new("/data/HOST_CPU/vllm_ascend/x");
        assert_eq!(Home::of(host, None), Home::Host);
        assert_eq!(Home::of(host, Some(Device::default())), Home::Accelerator);
        assert_eq!(Home::of("/data/HOST_CPU/../x".as_ref(), None), Home::Accelerator);
        assert_eq!(Home::of("/data/HOST_CPU_2".as_ref(), None), Home::Accelerator);
        assert_eq!(Home::of("/x".as_ref(), Some(Device::HOST_CPU)), Home::Host);
        let taken = |home: Home| ["HOST_CPU", "CUDA", "AI_CORE", ""].map(|origin| home.takes(origin));
        assert_eq!(taken(Home::Accelerator), [false, false, true, true]);
        assert_eq!(taken(Home::Host), [true, false, false, false]);
    }

    #[test]
    fn what_tools_keep_beside_tables_is_no_table() -> TestResult {
        let folder = tempfile::tempdir()?;
        for path in [
            "B.csv",
            "A.csv",
            "A.dropped.csv",
            "A.conflicts.csv",
            "A.csv.replaced",
            ".A.csv.tmp-1",
            "x/A.csv",
            "reports/A.csv",
            "PROF_1/A.csv",
            "x-b/A.csv",
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(perfdb_files::paths::parent_of(&path))?;
            fs::write(path, "")?;
        }
        std::os::unix::fs::symlink("x", folder.path().join("link"))?;
        fs::create_dir(folder.path().join("C.csv"))?;
        let relative = |paths: Vec<PathBuf>| -> Vec<String> {
            paths
                .iter()
                .map(|path| {
                    path.strip_prefix(folder.path()).map_or_else(|_| String::new(), |path| path.display().to_string())
                })
                .collect()
        };
        assert_eq!(relative(tables_in(folder.path())?), ["A.csv", "B.csv", "C.csv"]);
        assert_eq!(relative(tables_named(folder.path(), "A.csv")?), ["A.csv", "x/A.csv", "x-b/A.csv"]);
        assert_eq!(relative(tables_named(folder.path(), "C.csv")?), ["C.csv"]);
        Ok(())
    }

    #[test]
    fn a_table_that_cannot_be_reached_is_not_left_out() -> TestResult {
        let folder = tempfile::tempdir()?;
        let table = folder.path().join("A.csv");
        let refused = || {
            let listed = tables_in(folder.path()).map_err(|error| error.to_string());
            let named = tables_named(folder.path(), "A.csv").map_err(|error| error.to_string());
            [listed, named].map(|found| found.is_err_and(|line| line.contains("A.csv: ")))
        };
        std::os::unix::fs::symlink("nowhere", &table)?;
        assert_eq!(refused(), [true; 2], "a link that leads nowhere");
        fs::remove_file(&table)?;
        std::os::unix::fs::symlink("/dev/null", &table)?;
        assert_eq!(refused(), [true; 2], "a device");
        fs::remove_file(&table)?;
        fs::write(folder.path().join("B"), "")?;
        std::os::unix::fs::symlink("B", &table)?;
        assert_eq!(tables_in(folder.path())?, [table]);
        Ok(())
    }
}
