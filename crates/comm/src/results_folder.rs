//! The folder in which a run works: a temporary one, or one that the user names and keeps.

use crate::engine::{RankOfLauncher, RunOptions};
use crate::error::Error;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A folder for plan, worker and raw results.
#[derive(Debug)]
pub(crate) struct ResultsFolder {
    path: PathBuf,
    /// Removed unless kept.
    temporary: Option<perfdb_files::folders::PrivateFolder>,
    /// Shared by the ranks of a node that another launcher has started; removed by one of them.
    shared: bool,
}

impl ResultsFolder {
    /// Makes the folder, or takes the one that is named. One that already holds results is refused.
    pub(crate) fn make(options: &RunOptions) -> Result<Self, Error> {
        if let Some(path) = &options.results_dir {
            std::fs::create_dir_all(path).map_err(|e| Error::io(path, e))?;
            let path = std::path::absolute(path).map_err(|e| Error::io(path, e))?;
            refuse_results(&path)?;
            return Ok(Self { path, temporary: None, shared: false });
        }
        if let Some(rank) = &options.rank_of_launcher {
            let path = shared_folder(rank)?;
            refuse_results(&path)?;
            return Ok(Self { path, temporary: None, shared: true });
        }
        let temporary = perfdb_files::folders::private("perfdb-comm-");
        let temporary = temporary.map_err(|e| Error::io(std::env::temp_dir(), e))?;
        Ok(Self { path: temporary.path().to_owned(), temporary: Some(temporary), shared: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder where it is, and returns its path.
    pub(crate) fn keep(self) -> PathBuf {
        if let Some(temporary) = self.temporary {
            let _ = temporary.keep();
        }
        self.path
    }

    /// After success: a temporary folder goes. Where the results still are, if they are.
    pub(crate) fn end(self, options: &RunOptions) -> Option<PathBuf> {
        if self.shared {
            if options.rank_of_launcher.as_ref().is_some_and(|rank| rank.local_rank == 0) {
                let _ = std::fs::remove_dir_all(&self.path);
            }
            return None;
        }
        self.temporary.is_none().then_some(self.path)
    }
}

fn refuse_results(path: &Path) -> Result<(), Error> {
    for entry in std::fs::read_dir(path).map_err(|e| Error::io(path, e))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "run.json" || name == "prof" || (name.starts_with("rank") && name.ends_with(".jsonl")) {
            return Err(Error::ResultsExist { folder: path.to_owned(), found: name });
        }
    }
    Ok(())
}

/// A folder that all ranks which one launcher has started on this node find without talking to each other.
fn shared_folder(rank: &RankOfLauncher) -> Result<PathBuf, Error> {
    let (user, launcher) = (nix::unistd::getuid(), nix::unistd::getppid());
    let path = std::env::temp_dir().join(format!("perfdb-comm-{user}-{launcher}-{}", rank.master_port));
    match std::fs::DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let metadata = std::fs::symlink_metadata(&path).map_err(|e| Error::io(&path, e))?;
            if metadata.is_dir() && metadata.uid() == user.as_raw() {
                Ok(path)
            } else {
                Err(Error::input(&path, "is there, but not a folder of this user; name another folder for the results"))
            }
        }
        Err(error) => Err(Error::io(path, error)),
    }
}
