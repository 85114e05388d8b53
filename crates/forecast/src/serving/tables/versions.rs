//! Versions of frameworks, and which of them is asked first.

use crate::Error;
use std::path::{Path, PathBuf};

/// A version as frameworks count theirs: `0.19.0`, `1.3.0rc10`, `0.5.10.post1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    numbers: [u64; 3],
    /// A release comes after its candidates.
    candidate: u64,
    post: u64,
}

impl Version {
    /// Reads a version; text behind one, such as `-dev`, does not count.
    pub fn parse(text: &str) -> Option<Version> {
        let mut rest = text.strip_prefix('v').unwrap_or(text);
        let mut numbers = [0; 3];
        for (at, number) in numbers.iter_mut().enumerate() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            match rest[..digits].parse() {
                Ok(read) => *number = read,
                Err(_) if at == 2 => break,
                Err(_) => return None,
            }
            rest = &rest[digits..];
            match rest.strip_prefix('.') {
                Some(behind) if at < 2 && behind.starts_with(|c: char| c.is_ascii_digit()) => rest = behind,
                _ if at == 0 => return None,
                _ => break,
            }
        }
        let number_behind = |mark: &str| {
            let behind = rest.split_once(mark)?.1;
            let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            behind[..digits].parse().ok()
        };
        Some(Version {
            numbers,
            candidate: number_behind("rc").unwrap_or(u64::MAX),
            post: number_behind("post").unwrap_or(0),
        })
    }
}

/// The folders of versions in the order in which they are asked: the wanted one and newer ones, then older ones, the nearest first. A wanted
/// folder whose name is not a version, such as a calibrated copy, is asked before all versions, the newest first.
pub(super) fn ordered(folder: &Path, wanted: Option<&str>) -> Result<Vec<(String, PathBuf)>, Error> {
    let malformed = |error: std::io::Error| Error::Malformed { path: folder.to_owned(), reason: error.to_string() };
    let mut known = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(malformed)? {
        let entry = entry.map_err(malformed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(version) = Version::parse(&name)
            && entry.path().is_dir()
        {
            known.push((version, name, entry.path()));
        }
    }
    known.sort();
    if let Some(name) = wanted.filter(|name| Version::parse(name).is_none() && !name.is_empty())
        && folder.join(name).is_dir()
    {
        let versions = known.into_iter().rev().map(|(_, name, path)| (name, path));
        return Ok(std::iter::once((name.to_owned(), folder.join(name))).chain(versions).collect());
    }
    let wanted = wanted.and_then(Version::parse).or_else(|| known.last().map(|(version, ..)| *version));
    let older = known.partition_point(|(version, ..)| Some(*version) < wanted);
    let (older, newer) = known.split_at(older);
    Ok(newer.iter().chain(older.iter().rev()).map(|(_, name, path)| (name.clone(), path.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_the_order_of_their_release() {
        let sorted =
            ["0.5.9", "0.5.10", "0.5.10.post1", "1.0.0rc3", "1.2.0rc6", "1.2.0rc6.post2", "1.2.0rc10", "1.2.0", "2.27"];
        let read: Vec<_> = sorted.iter().map(|text| Version::parse(text).expect("a version")).collect();
        assert!(read.is_sorted_by(|a, b| a < b), "{read:?}");
        assert_eq!(Version::parse("nightly-5b8c30d62b754b57"), None);
        assert_eq!(Version::parse(""), None);
    }

    #[test]
    fn newer_versions_help_out_before_older_ones() {
        let folder = tempfile::tempdir().expect("a folder");
        for version in ["0.14.0", "0.19.0", "0.24.0", "mine"] {
            std::fs::create_dir(folder.path().join(version)).expect("a folder");
        }
        let names = |wanted: Option<&str>| -> Vec<String> {
            ordered(folder.path(), wanted).expect("versions").into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(Some("0.18.1")), ["0.19.0", "0.24.0", "0.14.0"]);
        assert_eq!(names(None), ["0.24.0", "0.19.0", "0.14.0"]);
        assert_eq!(names(Some("mine")), ["mine", "0.24.0", "0.19.0", "0.14.0"]);
        assert_eq!(names(Some("nightly")), ["0.24.0", "0.19.0", "0.14.0"]);
    }
}
