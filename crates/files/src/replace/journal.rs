//! What is still to be renamed of a set, for the run after one that was killed.
//!
//! The journal `.perfdb.journal` lies in a locked directory from before the first rename of a set until after the last. It begins with a line that
//! names what it is, then the number of the process, then the files of the set below that directory, each ended by a NUL byte. Whoever
//! takes the lock next finishes the renames. Nothing but a temporary's own name can be renamed by a journal, so that one which somebody else has
//! put there does no more than the files beside it ask for.

use super::target::follow_links;
use super::temporary::temporary_name;
use crate::paths::parent_of;
use crate::system;
use nix::fcntl::OFlag;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Name of the journal within a directory.
pub const JOURNAL_FILE: &str = ".perfdb.journal";

const FIRST_LINE: &[u8] = b"perfdb: files of a set that is being replaced\n";

/// The text of a journal.
pub(super) fn text(process: u32, below: &[PathBuf]) -> Vec<u8> {
    let mut text = FIRST_LINE.to_vec();
    text.extend_from_slice(format!("{process}\n").as_bytes());
    for path in below {
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(0);
    }
    text
}

fn parse(text: &[u8]) -> Option<(u32, Vec<PathBuf>)> {
    let rest = text.strip_prefix(FIRST_LINE)?;
    let end = rest.iter().position(|&byte| byte == b'\n')?;
    let process = std::str::from_utf8(rest.get(..end)?).ok()?.parse().ok()?;
    let names = rest.get(end + 1..)?.strip_suffix(&[0])?.split(|&byte| byte == 0);
    let paths: Vec<PathBuf> = names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect();
    let is_below = |path: &PathBuf| path.components().all(|part| matches!(part, Component::Normal(_)));
    paths.iter().all(is_below).then_some((process, paths))
}

/// Finishes the renames of a set that a killed run has begun. Only for the holder of the directory's lock.
pub(crate) fn complete(directory: &Path) -> io::Result<()> {
    let journal = directory.join(JOURNAL_FILE);
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let mut file = match fs::OpenOptions::new().read(true).custom_flags(flags).open(&journal) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is no journal; remove it"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let Some((process, below)) = parse(&bytes) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "is no journal; remove it"));
    };
    let mut folders: Vec<PathBuf> = Vec::new();
    for path in below {
        let target = follow_links(&directory.join(&path))?;
        let temporary = temporary_name(&target, process)?;
        if fs::symlink_metadata(&temporary).is_ok_and(|metadata| metadata.is_file()) {
            system::rename(&temporary, &target)?;
            tracing::info!("wrote {}, which a killed run had not come to", crate::escape::shown(&target));
            let folder = parent_of(&target);
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    for folder in folders {
        // Some file systems cannot sync a directory.
        let _ = system::sync_folder(&folder);
    }
    system::remove(&journal)
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        let below = [PathBuf::from("Add.csv"), PathBuf::from("reports/a b.md"), OsStr::from_bytes(b"\xff.csv").into()];
        assert_eq!(parse(&text(7, &below)), Some((7, below.to_vec())));
        for bad in ["", "perfdb: files of a set that is being replaced\n7\n", "x\n7\na\0"] {
            assert_eq!(parse(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn nothing_outside_the_directory_is_touched() {
        for path in ["../Add.csv", "/Add.csv", "x/../../Add.csv", "./Add.csv"] {
            let paths = parse(&text(7, &[path.into()]));
            assert!(paths.is_none() || path == "./Add.csv", "{path}");
        }
    }

    #[test]
    fn what_is_not_yet_renamed_is_renamed_and_the_rest_stays() -> TestResult {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        for (name, content) in
            [("a", "new a"), ("b", "old b"), (".b.tmp-77", "new b"), (".c.tmp-77", "new c"), (".d.tmp-77", "")]
        {
            fs::write(at(name), content)?;
        }
        fs::write(at(JOURNAL_FILE), text(77, &["a".into(), "b".into(), "c".into()]))?;
        complete(folder.path())?;
        let read = |name: &str| fs::read_to_string(at(name));
        assert_eq!((read("a")?, read("b")?, read("c")?), ("new a".into(), "new b".into(), "new c".into()));
        assert!(!at(JOURNAL_FILE).exists() && at(".d.tmp-77").exists() && !at(".b.tmp-77").exists());
        Ok(complete(folder.path())?)
    }

    #[test]
    fn what_is_no_journal_is_an_error_and_stays() -> TestResult {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join(JOURNAL_FILE), "something else")?;
        assert!(complete(folder.path()).is_err());
        assert!(folder.path().join(JOURNAL_FILE).exists());
        Ok(())
    }
}
