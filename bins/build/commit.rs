//! The commit that a repository stands at, from git's files: neither git nor a network is needed.

use std::fs;
use std::path::{Path, PathBuf};

/// A commit and the files that change when another one takes its place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) hash: String,
    pub(crate) told_by: Vec<PathBuf>,
}

/// The commit of the repository whose top is `top`.
pub(crate) fn of_repository(top: &Path) -> Option<Found> {
    let git = git_directory(top)?;
    // A worktree has a HEAD of its own and shares the branches.
    let shared = match fs::read_to_string(git.join("commondir")) {
        Ok(path) => git.join(path.trim_end()),
        Err(_) => git.clone(),
    };
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let mut told_by = vec![git.join("HEAD"), git.join("logs/HEAD")];
    let hash = match head.trim_end().strip_prefix("ref: ") {
        None => head.trim_end().to_owned(),
        Some(branch) => {
            told_by.extend([shared.join(branch), shared.join("packed-refs")]);
            match fs::read_to_string(shared.join(branch)) {
                Ok(hash) => hash.trim_end().to_owned(),
                Err(_) => packed(&fs::read_to_string(shared.join("packed-refs")).ok()?, branch)?,
            }
        }
    };
    // Cargo takes a file that is missing for one that has changed.
    told_by.retain(|path| path.exists());
    let is_hash = hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(Found { hash, told_by })
}

fn git_directory(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let pointer = fs::read_to_string(&git).ok()?;
    Some(top.join(pointer.strip_prefix("gitdir: ")?.trim_end()))
}

fn packed(text: &str, branch: &str) -> Option<String> {
    let mut refs = text.lines().filter_map(|line| line.split_once(' '));
    refs.find(|(_, name)| *name == branch).map(|(hash, _)| hash.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "1111111111111111111111111111111111111111";
    const SECOND: &str = "2222222222222222222222222222222222222222";

    fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = top.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        top
    }

    fn hash(top: &Path) -> Option<String> {
        of_repository(top).map(|found| found.hash)
    }

    #[test]
    fn the_commit_of_a_branch() {
        let top = files(&[
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/refs/heads/main", &format!("{FIRST}\n")),
            (".git/packed-refs", &format!("# pack-refs\n{SECOND} refs/heads/main\n")),
        ]);
        let found = of_repository(top.path()).unwrap();
        assert_eq!(found.hash, FIRST);
        let git = top.path().join(".git");
        assert_eq!(found.told_by, [git.join("HEAD"), git.join("refs/heads/main"), git.join("packed-refs")]);
    }

    #[test]
    fn the_commit_of_a_packed_branch() {
        let refs = format!("{FIRST} refs/heads/main2\n{SECOND} refs/heads/main\n^{FIRST}\n");
        let top = files(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/packed-refs", &refs)]);
        assert_eq!(hash(top.path()).as_deref(), Some(SECOND));
    }

    #[test]
    fn the_commit_of_a_worktree_and_of_no_branch() {
        let top = files(&[
            ("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n"),
            ("main/.git/worktrees/w/commondir", "../..\n"),
            ("main/.git/refs/heads/w", SECOND),
            ("w/.git", "gitdir: ../main/.git/worktrees/w\n"),
            ("main/.git/HEAD", &format!("{FIRST}\n")),
        ]);
        assert_eq!(hash(&top.path().join("w")).as_deref(), Some(SECOND));
        assert_eq!(hash(&top.path().join("main")).as_deref(), Some(FIRST));
    }

    #[test]
    fn without_a_repository_or_a_commit_there_is_none() {
        let top = files(&[("src/lib.rs", "")]);
        assert_eq!(hash(top.path()), None);
        let unborn = files(&[(".git/HEAD", "ref: refs/heads/main\n")]);
        assert_eq!(hash(unborn.path()), None);
    }
}
