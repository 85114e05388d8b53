//! Replacing files whole: a temporary beside the target, synced, renamed over it.
//!
//! A file is [staged](Staged) first, which leaves the target as it is, and [committed](commit) then. A set of files is committed together: an
//! error leaves every file of the set as it was. In directories that are [locked](crate::lock) the set also survives a kill: what is not yet
//! renamed then is renamed by the next run that takes the lock. A killed process can leave temporaries (`.<name>.tmp-<pid>`), which go with a
//! later run, never half a file.
//!
//! ```
//! # fn main() -> Result<(), perfdb_files::Error> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let (first, second) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
//! use perfdb_files::replace::{self, Parents, Staged};
//!
//! replace::replace(&first, b"alone", Parents::MustExist)?;
//!
//! let set = vec![Staged::with(&first, b"one", Parents::MustExist)?, Staged::with(&second, b"two", Parents::MustExist)?];
//! replace::commit(set)?;
//! # assert_eq!(std::fs::read(&first).unwrap(), b"one");
//! # Ok(()) }
//! ```

mod claim;
mod commit;
mod direct;
pub(crate) mod journal;
mod staged;
mod target;
mod temporary;

pub(crate) use self::commit::commit_in;
pub use self::staged::{Parents, Staged, discard};
pub use self::temporary::{is_leftover_name, remove_leftovers};

use self::direct::names_descriptor;
use crate::error::Error;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Replaces one file by `content`.
pub fn replace(path: &Path, content: &[u8], parents: Parents) -> Result<(), Error> {
    commit(vec![Staged::with(path, content, parents)?])
}

/// Gives every staged file its name, all of them or, on an error, none. Sets that belong to a database are committed under its
/// [locks](crate::lock::DirectoryLocks::commit) instead, where a kill cannot tear them apart either.
///
/// Every file is on the disk before the first is renamed, and what goes to a pipe or a device is written before: what most often fails does so
/// while nothing has changed. No signal that can be caught ends the process between two renames.
pub fn commit(set: Vec<Staged>) -> Result<(), Error> {
    commit_in(set, &[])
}

/// Whether a path leads to a file, or to none yet, that is replaced as a whole: pipes, devices and what the shell has opened are written to.
pub fn is_replaced(path: &Path) -> bool {
    !names_descriptor(path) && fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

/// Refuses outputs that are among the inputs, under any name: a link, a second name of the file, `./x` for `x`.
pub fn refuse_inputs<'o, 'i>(
    outputs: impl IntoIterator<Item = &'o Path>,
    inputs: impl IntoIterator<Item = &'i Path>,
) -> Result<(), Error> {
    let outputs: Vec<_> = outputs.into_iter().filter_map(|output| Some((output, regular_file(output)?))).collect();
    if outputs.is_empty() {
        return Ok(());
    }
    for input in inputs.into_iter().filter_map(regular_file) {
        if let Some((output, _)) = outputs.iter().find(|(_, file)| *file == input) {
            let reason = "is an input of this run; give the output another name";
            return Err(Error::io(*output, io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
    }
    Ok(())
}

fn regular_file(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listing::names;
    use std::os::unix::fs::{PermissionsExt, symlink};

    type TestResult = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_mode_is_kept_and_nothing_else_is_left() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a.csv");
        fs::write(&path, "old")?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640))?;
        replace(&path, b"new", Parents::MustExist)?;
        assert_eq!(fs::read(&path)?, b"new");
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path())?, ["a.csv"]);
        Ok(())
    }

    #[test]
    fn a_new_file_gets_the_mode_of_the_umask() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (ours, usual) = (folder.path().join("ours"), folder.path().join("usual"));
        replace(&ours, b"", Parents::MustExist)?;
        fs::write(&usual, "")?;
        assert_eq!(fs::metadata(ours)?.permissions(), fs::metadata(usual)?.permissions());
        Ok(())
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() -> TestResult {
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("inner"))?;
        let (link, target) = (folder.path().join("link"), folder.path().join("inner/target"));
        symlink("inner/target", &link)?;
        replace(&link, b"made through a dangling link", Parents::MustExist)?;
        replace(&link, b"new", Parents::MustExist)?;
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        assert_eq!(fs::read(target)?, b"new");
        assert_eq!(names(folder.path())?, ["inner", "link"]);
        Ok(())
    }

    #[test]
    fn a_set_that_fails_while_staging_changes_nothing() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (good, bad) = (folder.path().join("good"), folder.path().join("none/bad"));
        fs::write(&good, "old")?;
        let staged = Staged::with(&good, b"new", Parents::MustExist)?;
        assert!(Staged::with(&bad, b"new", Parents::MustExist).is_err());
        drop(staged);
        assert_eq!(fs::read(&good)?, b"old");
        assert_eq!(names(folder.path())?, ["good"]);
        Ok(())
    }

    #[test]
    fn a_rename_that_fails_leaves_every_file_of_the_set_as_it_was() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (a, b, c) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        fs::write(&a, "old")?;
        let set = [&a, &b, &c].map(|path| Staged::with(path, b"new", Parents::MustExist)).into_iter();
        let set = set.collect::<Result<Vec<_>, _>>()?;
        // Nothing can be renamed over a folder.
        fs::create_dir(&c)?;
        match commit(set) {
            Err(Error::Io { path, .. }) => assert_eq!(path, c),
            other => panic!("expected an error, found {other:?}"),
        }
        assert_eq!(fs::read(&a)?, b"old");
        assert_eq!(names(folder.path())?, ["a", "c"]);
        Ok(())
    }

    #[test]
    fn an_output_that_is_an_input_is_refused_by_whatever_name() -> TestResult {
        let folder = tempfile::tempdir()?;
        let (trace, link, new) = (folder.path().join("t"), folder.path().join("link"), folder.path().join("new"));
        fs::write(&trace, "{}")?;
        symlink("t", &link)?;
        assert!(refuse_inputs([new.as_path(), &link], [trace.as_path()]).is_err());
        assert!(refuse_inputs([folder.path().join("./t").as_path()], [new.as_path(), &trace]).is_err());
        assert!(refuse_inputs([new.as_path()], [trace.as_path()]).is_ok());
        assert!(refuse_inputs([Path::new("/dev/null")], [Path::new("/dev/null")]).is_ok());
        Ok(())
    }

    #[test]
    fn folders_are_made_on_request_and_vanish_with_the_staged_file() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("x/y/z.csv");
        drop(Staged::with(&path, b"1", Parents::Create)?);
        assert_eq!(names(folder.path())?, Vec::<String>::new());
        replace(&path, b"2", Parents::Create)?;
        assert_eq!(fs::read(path)?, b"2");
        Ok(())
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_behind_the_file() {
        // Nobody makes folders there.
        let error = replace(Path::new("/proc/none/m6.json"), b"", Parents::Create).unwrap_err().to_string();
        assert!(error.starts_with("/proc/none/m6.json: /proc/none: "), "{error}");
    }

    #[test]
    fn one_name_is_staged_once_at_a_time() -> TestResult {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        let first = Staged::with(&path, b"first", Parents::MustExist)?;
        let other_spelling = folder.path().join("./a");
        assert!(Staged::with(&other_spelling, b"second", Parents::MustExist).is_err());
        commit(vec![first])?;
        assert_eq!(fs::read(&path)?, b"first");
        replace(&other_spelling, b"third", Parents::MustExist)?;
        assert_eq!((fs::read(&path)?, names(folder.path())?), (b"third".to_vec(), vec!["a".to_owned()]));
        Ok(())
    }

    #[test]
    fn a_folder_is_not_made_for_what_is_no_file_name() -> TestResult {
        let folder = tempfile::tempdir()?;
        assert!(replace(&folder.path().join("new/.."), b"", Parents::Create).is_err());
        assert_eq!(names(folder.path())?, Vec::<String>::new());
        Ok(())
    }

    #[test]
    fn a_pipe_is_written_to_directly() -> TestResult {
        let folder = tempfile::tempdir()?;
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU)?;
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe)
        });
        replace(&pipe, b"through", Parents::MustExist)?;
        assert_eq!(reader.join().map_err(|_| "the reader panicked")??, b"through");
        assert_eq!(names(folder.path())?, ["pipe"]);
        Ok(())
    }

    #[test]
    fn a_directory_is_no_file() -> TestResult {
        let folder = tempfile::tempdir()?;
        assert!(replace(folder.path(), b"", Parents::MustExist).is_err());
        Ok(())
    }
}
