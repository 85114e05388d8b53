//! Folders that a run writes into at its end.

use std::path::Path;

use crate::error::Error;

/// Insists that files can be made in a folder, or in the nearest one above it where it is not there yet: what cannot be
/// kept is better not measured. Leaves nothing behind.
pub(crate) fn require_writable(folder: &Path) -> Result<(), Error> {
    let existing = folder
        .ancestors()
        .map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
        .find(|folder| folder.exists());
    tempfile::tempfile_in(existing.unwrap_or(folder)).map(drop).map_err(|source| Error::io(folder, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_or_the_nearest_one_above() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        require_writable(folder.path())?;
        require_writable(&folder.path().join("a/b"))?;
        require_writable(Path::new("not/there"))?;
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0, "nothing was left");
        let file = folder.path().join("file");
        std::fs::write(&file, "")?;
        assert!(require_writable(&file.join("below")).is_err());
        assert!(require_writable(Path::new("/proc/below")).is_err());
        Ok(())
    }
}
