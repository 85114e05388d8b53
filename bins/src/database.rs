//! The options that every tool of the database has: where it is, and how long to wait for its lock.

use crate::shards::is_recorded;
use crate::terminal::TerminalArguments;
use crate::{Failure, print_line, warn};
use clap::Args;
use perfdb_files::lock::{LockOptions, Notice};
use perfdb_files::paths::normalised;
use perfdb_report::layout::Layout;
use perfdb_store::Error;
use perfdb_store::directory::{DEVICES, Device, Home, data_root, tables_in, version_directory};
use perfdb_store::version::{Machine, VersionArguments, VersionText};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Names, without dashes, of the options of [`DatabaseArguments`] that the originals had.
pub const DATABASE_OPTIONS: [&str; 5] = ["database-path", "device", "vllm-version", "torch-version", "cann-version"];

/// Which database directory to use.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Database directory")]
pub struct DatabaseArguments {
    /// The directory itself; otherwise it is derived from the device and the versions
    #[arg(long, value_name = "DIR")]
    pub database_path: Option<OsString>,

    /// Device below the data root (`perfdb list --devices`) [default: ATLAS_800_A3_752T_128G_DIE]
    #[arg(long, value_name = "DEVICE", value_parser = clap::builder::PossibleValuesParser::new(DEVICES), hide_possible_values = true)]
    pub device: Option<String>,

    /// vLLM-Ascend version, or the whole name of a version directory [default: what is installed]
    #[arg(long, value_name = "VERSION", value_parser = VersionText::parse)]
    pub vllm_version: Option<VersionText>,

    /// PyTorch version [default: what is installed]
    #[arg(long, value_name = "VERSION", value_parser = VersionText::parse)]
    pub torch_version: Option<VersionText>,

    /// CANN version [default: what is installed]
    #[arg(long, value_name = "VERSION", value_parser = VersionText::parse)]
    pub cann_version: Option<VersionText>,
}

/// A database that is checked, and how lines about it are laid out.
#[derive(Debug, Clone, Args)]
pub(crate) struct CheckedDatabase {
    #[command(flatten)]
    terminal: TerminalArguments,

    #[command(flatten)]
    database: DatabaseArguments,
}

impl CheckedDatabase {
    /// The directory, as it is printed.
    pub(crate) fn directory(&self) -> Result<PathBuf, Failure> {
        self.database.directory(None)
    }

    /// How a text on stdout is laid out.
    pub(crate) fn layout(&self) -> Layout {
        self.terminal.layout()
    }
}

impl DatabaseArguments {
    /// The device that was named.
    pub fn named_device(&self) -> Option<Device> {
        self.device.as_ref().and_then(|name| name.parse().ok())
    }

    /// The versions that were named.
    pub fn versions(&self) -> VersionArguments {
        VersionArguments {
            vllm: self.vllm_version.clone(),
            torch: self.torch_version.clone(),
            cann: self.cann_version.clone(),
        }
    }

    /// The directory, as it is printed. `python` is the interpreter to ask for versions that are not given (`--python`, where a tool has it).
    pub fn directory(&self, python: Option<OsString>) -> Result<PathBuf, Failure> {
        if let Some(path) = &self.database_path {
            return Ok(normalised(path.as_ref()));
        }
        let versions = self.versions();
        versions.check().map_err(with_options)?;
        let machine = Machine {
            // Nothing is started for a command line that shards remember.
            python: if is_recorded() { "/dev/null".into() } else { python.unwrap_or_else(default_python) },
            python_timeout: Duration::from_secs(60),
            variable: &|name| std::env::var_os(name),
        };
        let name = versions.directory_name(&machine).map_err(with_options)?;
        let root = data_root(std::env::var_os("PERFDB_DATA_DIR"), &std::env::current_dir()?);
        Ok(version_directory(&root, self.named_device().unwrap_or_default(), &name))
    }

    /// Whose durations the directory takes.
    pub fn home(&self, directory: &Path) -> Home {
        Home::of(directory, self.named_device())
    }
}

/// The files of a database: its tables, and those that describe it, whether it has them or not.
pub(crate) fn files_of(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = tables_in(directory)?;
    files.extend(description_of(directory));
    Ok(files)
}

/// The files beside the tables of a database that say what it is and where it comes from; either may be missing.
pub(crate) fn description_of(directory: &Path) -> [PathBuf; 2] {
    ["op_mapping.yaml", perfdb_store::provenance::FILE_NAME].map(|name| directory.join(name))
}

/// The failure of versions that name no directory, with the options that help.
fn with_options(error: Error) -> Failure {
    match error {
        Error::VersionsBesideDirectory(name) => Failure::usage(format!(
            "--vllm-version {name} names a whole directory; leave out --torch-version and --cann-version"
        )),
        Error::UnknownVersions { .. } => {
            let how = "give the database folder (--database-path DIR) or the version flags";
            Failure::lines(vec![format!("{how}: {}", crate::error_line(&error))])
        }
        error => error.into(),
    }
}

/// The interpreter to ask: `$PERFDB_PYTHON`, else `python3`.
pub fn default_python() -> OsString {
    std::env::var_os("PERFDB_PYTHON").filter(|python| !python.is_empty()).unwrap_or_else(|| "python3".into())
}

/// How long to wait for the lock of a directory.
#[derive(Debug, Clone, Copy, Args)]
pub struct LockArguments {
    /// How long to wait for another run that changes the same directory; 0 = do not wait
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub lock_timeout: Duration,
}

impl LockArguments {
    /// For the library: waiting is reported on stderr once, a file system that cannot lock is warned about.
    pub fn options<'a>(&self, tool: &'a str) -> LockOptions<'a> {
        lock_options(tool, self.lock_timeout)
    }
}

/// How a tool takes locks.
pub fn lock_options(tool: &str, timeout: Duration) -> LockOptions<'_> {
    LockOptions { tool, timeout, notice: &print_notice }
}

/// A number of seconds from 0 up, for options.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    perfdb_files::time::seconds(text).ok_or_else(|| "not a number of seconds from 0 up".to_owned())
}

/// Waiting is no warning, and is printed even with `--quiet`.
fn print_notice(notice: &Notice) {
    match notice {
        Notice::Waiting { .. } => print_line(&notice.to_string()),
        Notice::NoLocks { .. } => warn(&notice.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_name_no_directory_come_with_the_options_that_help() {
        let text = |error| match with_options(error) {
            Failure::Usage(line) => line,
            Failure::Lines(lines) => lines.join("\n"),
            Failure::Reported(status) => status.to_string(),
        };
        assert_eq!(
            text(Error::VersionsBesideDirectory("vllm1_torch2_cann3".to_owned())),
            "--vllm-version vllm1_torch2_cann3 names a whole directory; leave out --torch-version and --cann-version"
        );
        assert_eq!(
            text(Error::UnknownVersions { missing: vec!["PyTorch", "CANN"] }),
            "give the database folder (--database-path DIR) or the version flags: could not determine runtime version(s): PyTorch, CANN"
        );
    }
}
